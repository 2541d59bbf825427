"""What commands print: results on stdout, messages and progress on stderr."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trafficgen.cli._progress import Progress, clear_line
from trafficgen.cli._signals import print_error
from trafficgen.errors import TrafficgenWarning
from trafficgen.formatting import number as number  # noqa: PLC0414 - commands print with it
from trafficgen.formatting import printable
from trafficgen.json_text import JsonColumns, finite
from trafficgen.options import option

if TYPE_CHECKING:
    import pyarrow as pa


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


#: What JSON escapes, and what an encoding may lack.
_NOT_PLAIN = r"[^ !#-\[\]-~]"


@dataclass
class Messages:
    """Messages to the person at the terminal; a quiet command does not warn either."""

    quiet: bool = option(False, "-q", "--quiet", help="Print errors only.")
    verbose: bool = option(False, "-v", "--verbose", help="Print more on stderr.")

    def __post_init__(self) -> None:
        if self.quiet:
            warnings.simplefilter("ignore", TrafficgenWarning)

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
            write(between + _joined(_row_texts(columns, level=2), ",\n  "))
            between = ",\n  "
        write("]" if between == "\n  " else "\n ]")
    write("\n}\n")


def _joined(texts: pa.Array, separator: str) -> str:
    """Return the texts of a column as one."""
    import pyarrow as pa  # noqa: PLC0415 - --help needs none
    import pyarrow.compute as pc  # noqa: PLC0415

    together = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
    return str(pc.binary_join(together, separator)[0].as_py())


def _row_texts(columns: JsonColumns, *, level: int) -> pa.Array:
    """Return objects of columns as JSON at a level of a text, as :func:`_json_text` has them.

    Arrow lays out a column at once: an encoder takes fifty times as long for millions of objects.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - --help needs none

    inside, before, parts = "\n" + " " * (level + 1), "{", []
    for key, column in columns.items():
        parts.append(f"{before}{inside}{_json_text(key)}: ")
        if isinstance(column, Mapping):
            parts.append(_row_texts(column, level=level + 1))
        else:
            parts.append(_value_texts(column, level=level + 1))
        before = ","
    return pc.binary_join_element_wise(*parts, "\n" + " " * level + "}", "")


def _value_texts(column: Any, *, level: int) -> pa.Array:
    """Return values of a column as JSON at a level of a text."""
    import pyarrow as pa  # noqa: PLC0415 - --help needs none
    import pyarrow.compute as pc  # noqa: PLC0415

    indent = "\n" + " " * level
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, list):
        values = column
    elif pa.types.is_integer(column.type):
        return column.cast(pa.string()).fill_null("null")
    elif pa.types.is_string(column.type) and not (
        pc.any(pc.match_substring_regex(column, _NOT_PLAIN)).as_py()
    ):
        return pc.binary_join_element_wise('"', column, '"', "").fill_null("null")
    elif pa.types.is_list(column.type) and pc.min(pc.list_value_length(column)).as_py():
        texts = _value_texts(column.flatten(), level=level + 1)
        offsets = pc.subtract(column.offsets, column.offsets[0])  # those of a slice
        rows = pc.binary_join(pa.ListArray.from_arrays(offsets, texts), f",{indent} ")
        return pc.binary_join_element_wise(f"[{indent} ", rows, f"{indent}]", "")
    else:
        values = column.to_pylist()
    if set(map(type, values)) <= {int, float} and all(map(math.isfinite, values)):
        return pa.array(map(repr, values), pa.string())
    # Line breaks within texts are escaped: those that are left are of the layout.
    texts = ("null" if one is None else _json_text(one).replace("\n", indent) for one in values)
    return pa.array(texts, pa.string())


def _json_text(value: object) -> str:
    """Return a value as JSON; what the encoding of stdout lacks is escaped."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    try:
        text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8" if is_utf8 else "ascii")
    except ValueError:  # a number that is not finite, or a character that cannot be encoded
        return json.dumps(finite(value), indent=1, ensure_ascii=not is_utf8, allow_nan=False)
    return text
