"""What stdout can show: a terminal of some width, with colours or without, or a file or pipe."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap

from trafficgen.formatting import printable

#: Lines are folded to at least this width, characters.
_NARROWEST = 20


def is_styled() -> bool:
    """Return whether stdout is a terminal with colours (no ``NO_COLOR``, no ``TERM=dumb``)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


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


def say_line(text: str = "", *, indent: int = 2) -> None:
    """Print one line; a narrower terminal gets it folded between words, the rest indented.

    Names of files may come from others too: none of them moves the cursor.
    """
    text = printable(text)
    if is_styled() and len(text) > columns():
        text = textwrap.fill(
            text, columns(), subsequent_indent=" " * indent, break_on_hyphens=False
        )
    print(text)
