"""Pieces of Markdown that generated pages are made of."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

_GENERATED = "<!-- Made by `make docs` from the code; do not edit. -->"

Rows = list[tuple[str, ...]]


def page(title: str, *parts: str) -> str:
    """Return a page: title, note that it is generated, parts parted by empty lines."""
    return "\n\n".join([f"# {title}", _GENERATED, *(part.strip("\n") for part in parts)]) + "\n"


def table(header: tuple[str, ...], rows: Rows) -> str:
    """Return a Markdown table."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines
    )


def bullets(items: Iterable[str]) -> str:
    """Return a list, an item a line."""
    return "\n".join(f"- {' '.join(item.split())}" for item in items)


def first_line(thing: object) -> str:
    """Return the first sentence of a docstring, on one line."""
    return inspect.cleandoc(thing.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
