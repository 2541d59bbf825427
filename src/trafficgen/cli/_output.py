"""What commands print: results on stdout, messages and progress on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trafficgen.cli._progress import Progress, clear_line
from trafficgen.cli._signals import print_error
from trafficgen.formatting import number as number  # noqa: PLC0414 - commands print with it


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


def print_json_lists(head: dict[str, object], lists: Mapping[str, Iterable[object]]) -> None:
    """Print a JSON object that ends with long lists, without having them in memory."""
    write = sys.stdout.write
    write(_json_text(head).removesuffix("\n}"))
    for name, items in lists.items():
        write(f',\n "{name}": [')
        between = ""
        for item in items:
            # Line breaks within texts are escaped: those that are left are of the layout.
            write(f"{between}\n  " + _json_text(item).replace("\n", "\n  "))
            between = ","
        write("\n ]" if between else "]")
    write("\n}\n")


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
