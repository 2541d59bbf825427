"""What commands print: results on stdout, messages and progress on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trafficgen.cli._progress import Progress, clear_line
from trafficgen.cli._signals import print_error
from trafficgen.formatting import number as number  # noqa: PLC0414 - commands print with it
from trafficgen.json_text import JsonColumns


@dataclass
class Messages:
    """Messages to the person at the terminal.

    Attributes:
        verbose: Whether details are printed as well.
    """

    quiet: bool = False
    verbose: bool = False

    def say(self, text: str) -> None:
        """Print something that is not a result."""
        if not self.quiet:
            self.fail(text)

    def fail(self, text: str) -> None:
        """Print why the exit code is not 0; nothing silences that."""
        clear_line()
        print_error(text)

    def detail(self, text: str) -> None:
        """Print something that only a curious person wants to know."""
        if self.verbose:
            self.say(text)

    def warn(self, texts: Iterable[str]) -> None:
        """Print what is doubtful, a line each."""
        for text in texts:
            self.say(f"warning: {text}")

    def progress(self, what: str) -> Progress:
        """Return a line about work that may take long; a quiet command has none."""
        return Progress(quiet=self.quiet, what=what, detail=self.detail if self.verbose else None)


def print_json(value: object) -> None:
    """Print one JSON object; NaN and infinity become null."""
    print(_json_text(value))


def print_json_lists(head: dict[str, object], lists: Mapping[str, Iterable[JsonColumns]]) -> None:
    """Print a JSON object that ends with long lists, without having them in memory."""
    write = sys.stdout.write
    write(_json_text(head).removesuffix("\n}"))
    for name, pieces in lists.items():
        write(f',\n "{name}": [')
        between = "\n  "
        for columns in pieces:
            write(between + ",\n  ".join(_row_texts(columns, level=2)))
            between = ",\n  "
        write("]" if between == "\n  " else "\n ]")
    write("\n}\n")


def _row_texts(columns: JsonColumns, *, level: int) -> list[str]:
    """Return objects of columns as JSON at a level of a text, as :func:`_json_text` has them.

    A column is written at once: an encoder that lays out objects takes ten times as long for
    millions.
    """
    texts = (
        _row_texts(column, level=level + 1)
        if isinstance(column, Mapping)
        else _value_texts(column, level=level + 1)
        for column in columns.values()
    )
    inside, outside = "\n" + " " * (level + 1), "\n" + " " * level
    layout = f",{inside}".join(f"{_json_text(key)}: ".replace("%", "%%") + "%s" for key in columns)
    layout = "{" + inside + layout + outside + "}"
    return [layout % row for row in zip(*texts, strict=True)]


def _value_texts(column: Any, *, level: int) -> list[str]:
    """Return values of a column as JSON at a level of a text."""
    values = column if isinstance(column, list) else column.to_pylist()
    kinds = set(map(type, values))
    if kinds <= {int, float} and all(map(math.isfinite, values)):
        return list(map(repr, values))
    if kinds == {str}:
        together = _json_text("".join(values))
        if together.isascii():
            return list(map(json.encoder.encode_basestring, values))
    indent = "\n" + " " * level
    if kinds == {list} and all(values) and {type(one) for row in values for one in row} == {int}:
        inside = indent + " "
        return [f"[{inside}{f',{inside}'.join(map(str, row))}{indent}]" for row in values]
    # Line breaks within texts are escaped: those that are left are of the layout.
    return ["null" if one is None else _json_text(one).replace("\n", indent) for one in values]


def _json_text(value: object) -> str:
    """Return a value as JSON; what the encoding of stdout lacks is escaped."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    try:
        text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8" if is_utf8 else "ascii")
    except ValueError:  # a number that is not finite, or a character that cannot be encoded
        return json.dumps(finite(value), indent=1, ensure_ascii=not is_utf8, allow_nan=False)
    return text


def finite(value: object) -> object:
    """Return a value with NaN and infinity replaced by None and texts made UTF-8, at any depth."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()  # bytes of a file's name that are not UTF-8
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return value
