"""What commands print: results on stdout, messages and progress on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trafficgen.cli._ending import say_line
from trafficgen.cli._progress import Progress, clear_line


@dataclass
class Messages:
    """Messages to the person at the terminal.

    Attributes:
        quiet: Whether only errors are said.
        verbose: Whether details are said as well.
    """

    quiet: bool = False
    verbose: bool = False

    def say(self, text: str) -> None:
        """Say something that is not a result."""
        if not self.quiet:
            self.fail(text)

    def fail(self, text: str) -> None:
        """Say why the exit code is not 0; nothing silences that."""
        clear_line()
        say_line(text)

    def detail(self, text: str) -> None:
        """Say something that only a curious person wants to know."""
        if self.verbose:
            self.say(text)

    def warn(self, texts: Iterable[str]) -> None:
        """Say what is doubtful, a line each."""
        for text in texts:
            self.say(f"warning: {text}")

    def progress(self, what: str) -> Progress:
        """Return a line about work that may take long; a quiet command has none."""
        return Progress(quiet=self.quiet, what=what)


def print_json(value: object) -> None:
    """Print one JSON object; NaN and infinity become null. What the encoding lacks is escaped as
    JSON does.
    """
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(finite(value), indent=1, ensure_ascii=ascii_only, allow_nan=False))


def print_json_lists(head: dict[str, object], lists: Mapping[str, Iterable[object]]) -> None:
    """Print what :func:`print_json` would of an object that ends with long lists, without having
    them in memory.
    """
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"

    def text(value: object) -> str:
        try:
            found = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
            if not ascii_only or found.isascii():
                found.encode()
                return found
        except ValueError:
            pass  # a number that is not finite, or bytes that are not UTF-8
        return json.dumps(finite(value), indent=1, ensure_ascii=ascii_only, allow_nan=False)

    write = sys.stdout.write
    write(text(head).removesuffix("\n}"))
    for name, items in lists.items():
        write(f',\n "{name}": [')
        between = ""
        for item in items:
            # Line breaks within texts are escaped: those that are left are of the layout.
            write(f"{between}\n  " + text(item).replace("\n", "\n  "))
            between = ","
        write("\n ]" if between else "]")
    write("\n}\n")


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


def number(value: object, *, digits: int = 4) -> str:
    """Return a number for people: a few digits, ``-`` where there is none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return "-"
    return f"{value:,d}" if isinstance(value, int) else f"{value:.{digits}g}"
