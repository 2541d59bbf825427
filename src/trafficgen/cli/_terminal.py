"""What stdout can show: a terminal of some width, with colours or without, or a file or pipe that
people search.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata

#: Width that lines are folded to where they go to a file: none.
_NARROWEST = 20


def is_styled() -> bool:
    """Return whether stdout is a terminal that may be given colours and laid out to its width.

    A set ``NO_COLOR`` (no-color.org) and ``TERM=dumb`` give what a pipe gets.
    """
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def columns() -> int:
    """Return the width of the terminal, characters."""
    return max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)


def shows_blocks() -> bool:
    """Return whether stdout's encoding has block elements."""
    try:
        "▁█".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def printable(text: str) -> str:
    """Return a text that can be printed: control characters and bytes that are not UTF-8 become
    question marks.
    """
    shown = "".join(
        "?" if unicodedata.category(character) == "Cc" else character for character in text
    )
    return shown.encode(errors="replace").decode()


def say_line(text: str = "", *, indent: int = 2) -> None:
    """Print one line; a terminal that is narrower gets it folded between words, what follows
    indented.
    """
    if not is_styled() or len(text) <= columns():
        print(text)
        return
    print(textwrap.fill(text, columns(), subsequent_indent=" " * indent, break_on_hyphens=False))
