"""Numbers that a workload file keeps in files beside it: one a line, or a column of a CSV or
Parquet file.
"""

from __future__ import annotations

import array
import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trafficgen.errors import WorkloadFileError
from trafficgen.units import FloatArray

#: Eight bytes each when they are read.
MOST_NUMBERS = 100_000_000
_REMEDY = "give a file with a number a line, or a CSV or Parquet file with a column of numbers"


def read_numbers(
    path: Path, *, column: str | None, usual: tuple[str, ...], most: int = MOST_NUMBERS
) -> FloatArray:
    """Return the numbers of a file, shape (n,), n >= 1.

    Args:
        path: The file, Parquet where its name ends so, else text.
        column: Name of the column; None: the only one, else the first of ``usual`` that is there.
        usual: Names that the column has when nothing is said.
        most: Numbers that the file may have.

    Raises:
        WorkloadFileError: If the file cannot be read, has no such column, no number, something else
            among them, or too many.
    """
    try:
        is_parquet = path.suffix.lower() == ".parquet"
        values = (
            _of_parquet(path, column, usual, most)
            if is_parquet
            else _of_text(path, column, usual, most)
        )
    except (OSError, UnicodeDecodeError, csv.Error, pa.ArrowException) as error:
        reason = (
            error.strerror if isinstance(error, OSError) and error.strerror else "not such a file"
        )
        raise _refusal(path, f"cannot be read ({reason})") from error
    if not values.size:
        raise _refusal(path, "holds no number")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise _refusal(path, f"value {int(bad[0]) + 1} is not a finite number")
    return values


def _of_parquet(path: Path, column: str | None, usual: tuple[str, ...], most: int) -> FloatArray:
    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        name = names[_place(path, names, column, usual)]
        if file.metadata.num_rows > most:
            raise _refusal(path, f"has {file.metadata.num_rows:,} rows, more than {most:,}")
        found = file.read(columns=[name]).column(name)
    if found.null_count:
        raise _refusal(path, f"column {name!r} has {found.null_count} empty values")
    kind = found.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise _refusal(path, f"column {name!r} holds {kind} and no numbers")
    return np.asarray(found.cast(pa.float64()).to_numpy(), dtype=np.float64)


def _of_text(path: Path, column: str | None, usual: tuple[str, ...], most: int) -> FloatArray:
    values = array.array("d")
    place: int | None = None
    with path.open(encoding="utf-8-sig", newline="") as file:
        for line, row in _rows(file):
            if place is None:
                header = [name.strip() for name in row]
                place = (
                    _place(path, header, column, usual)
                    if _is_header(row) or column is not None
                    else 0
                )
                if _is_header(row):
                    continue
                if len(row) > 1:
                    raise _refusal(path, f"line {line} has {len(row)} columns without names")
            try:
                values.append(float(row[place]))
            except (ValueError, IndexError):
                raise _refusal(path, f"line {line}: no number in {','.join(row)!r}") from None
            if len(values) > most:
                raise _refusal(path, f"has more than {most:,} numbers")
    return np.frombuffer(values, dtype=np.float64).copy() if values else np.empty(0)


def _rows(file: io.TextIOBase | io.TextIOWrapper) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbers and cells of the lines that hold something; what begins with # is a
    remark.
    """
    for line, row in enumerate(csv.reader(file), start=1):
        if row and any(cell.strip() for cell in row) and not row[0].lstrip().startswith("#"):
            yield line, row


def _is_header(row: list[str]) -> bool:
    try:
        float(row[0])
    except ValueError:
        return True
    return False


def _place(path: Path, names: list[str], column: str | None, usual: tuple[str, ...]) -> int:
    if column is not None:
        if column in names:
            return names.index(column)
        raise _refusal(path, f"has no column {column!r}; columns are {', '.join(names)}")
    if len(names) == 1:
        return 0
    for name in usual:
        if name in names:
            return names.index(name)
    wanted = " or ".join(usual)
    raise _refusal(
        path,
        f"has the columns {', '.join(names)}, and none of them is {wanted}",
        "name one with column",
    )


def _refusal(path: Path, problem: str, remedy: str = _REMEDY) -> WorkloadFileError:
    return WorkloadFileError(file=str(path), problem=problem, remedy=remedy)
