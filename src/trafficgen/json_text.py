"""JSON of unknown origin as plain values: unique keys, finite numbers, bounded nesting.

Text within it may be packed: compressed by zlib (RFC 1950) and in base64.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Union

from trafficgen.formatting import clean_text

if TYPE_CHECKING:
    import pyarrow as pa

#: Objects with the same keys: the values of each key, as an Arrow column, plain values, or the
#: columns of an object within.
JsonColumns = Mapping[str, Union["pa.Array", "pa.ChunkedArray", list[Any], "JsonColumns"]]

#: Levels of nested objects and lists; a model of a population has about fifteen.
MOST_LEVELS = 64
TOO_DEEP = f"it is nested too deeply: more than {MOST_LEVELS} levels"
_LONGEST_KEY = 40
_STRAY_BYTE_ORDER_MARK = "\ufeff"


class JsonTextError(ValueError):
    """A text that is not JSON, or JSON that none of our files has."""


def read_json(text: str) -> object:
    """Parse a JSON text (RFC 8259).

    Python's own reader accepts repeated keys, NaN and Infinity, and fails on deep nesting.

    Raises:
        JsonTextError: If the text is not JSON, or has one of these; the message names the place.
    """
    try:
        found = json.loads(
            text.removeprefix(_STRAY_BYTE_ORDER_MARK), object_pairs_hook=_refuse_repetition
        )
    except json.JSONDecodeError as error:
        problem = f"line {error.lineno}, column {error.colno}: it is not valid JSON ({error.msg})"
        raise JsonTextError(problem) from None
    except RecursionError:
        raise JsonTextError(TOO_DEEP) from None
    except JsonTextError:
        raise
    except ValueError:  # Python's limit of the digits of a whole number
        raise JsonTextError("it has a whole number of thousands of digits") from None
    refuse_odd_values(found)
    return found


def clean_texts(value: Any) -> Any:
    """Return plain values with every text, and every key, on one line without control characters.

    What others write in models, workloads, paths and tables is cleaned with it where it is read:
    names of streams and flows come to files of other tools, reports and terminals.
    """
    if isinstance(value, str):
        return value if value.isprintable() else clean_text(value)
    if isinstance(value, dict):
        return {clean_texts(key): clean_texts(one) for key, one in value.items()}
    if isinstance(value, list):
        return [clean_texts(one) for one in value]
    return value


def refuse_odd_values(value: object) -> None:
    """Raise JsonTextError for infinite numbers and nesting beyond :data:`MOST_LEVELS`."""
    keys: list[object] = []
    within: list[Iterator[tuple[object, object]]] = [iter([("", value)])]
    while within:
        for key, one in within[-1]:
            if isinstance(one, float) and not math.isfinite(one):
                place = ".".join(map(str, [*keys, key][1:])) or "the file as a whole"
                raise JsonTextError(f"{place}: {one} is not a number of JSON")
            if isinstance(one, dict | list):
                if len(within) > MOST_LEVELS:
                    raise JsonTextError(TOO_DEEP)
                keys.append(key)
                within.append(iter(one.items()) if isinstance(one, dict) else enumerate(one))
                break
        else:
            within.pop()
            del keys[-1:]


def _refuse_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonTextError(
                    f"the key {json.dumps(key[:_LONGEST_KEY])} is given twice in one object"
                )
            seen.add(key)
    return found


def iterate_rows(columns: JsonColumns) -> Iterator[dict[str, object]]:
    """Yield objects of columns."""
    values = (
        iterate_rows(column)
        if isinstance(column, Mapping)
        else (column if isinstance(column, list) else column.to_pylist())
        for column in columns.values()
    )
    for row in zip(*values, strict=True):
        yield dict(zip(columns, row, strict=True))


def pack_text(text: str) -> str:
    """Return a text in its packed form."""
    return base64.b64encode(zlib.compress(text.encode(), level=9)).decode()


def unpack_text(packed: str, *, most_bytes: int) -> str:
    """Return the text that was packed: a small file must not take much memory.

    Raises:
        ValueError: If it is not what :func:`pack_text` returns, or longer than ``most_bytes``.
    """
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(base64.b64decode(packed, validate=True), most_bytes)
        if unpacking.eof:
            return text.decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"must be packed text, zlib in base64: {error}") from error
    raise ValueError(f"packed text is cut short, or longer than {most_bytes:,} bytes when unpacked")


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
