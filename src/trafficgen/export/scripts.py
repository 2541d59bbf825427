"""Shell scripts of exports, which find their files wherever they are called from."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

_HEAD = """\
#!/bin/sh
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
"""


def write_script(path: Path, body: str) -> None:
    """Write an executable script for the POSIX shell, in which ``$here`` is its folder."""
    write_executable(path, _HEAD + body)


def write_executable(path: Path, text: str) -> str:
    """Write a script that can be executed, and return its name."""
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path.name


def fill_template(name: str, values: Mapping[str, object]) -> str:
    """Return the template ``name`` with each ``@KEY@`` replaced by the Python literal of its value.

    Raises:
        ValueError: If a value has no place in the template.
    """
    text = files("trafficgen.export").joinpath("templates", name).read_text(encoding="utf-8")
    for key, value in values.items():
        place = f"@{key}@"
        if place not in text:
            raise ValueError(f"{name} has no place for {key}")
        text = text.replace(place, repr(value))
    return text
