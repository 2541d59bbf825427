"""Numbers in files next to a workload file: one a line, or a column of a CSV or Parquet file."""

from __future__ import annotations

import array
import csv
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trafficgen.errors import WorkloadFileError
from trafficgen.formatting import name_columns, suggest_file
from trafficgen.input_files import find_named_file
from trafficgen.units import FloatArray

#: Eight bytes each when they are read.
MOST_NUMBERS = 100_000_000
#: Characters of a number, and of a line with other columns: no such file has longer ones.
_LONGEST_NUMBER = 100
_LONGEST_LINE = 100_000
#: Size up to which a file of few numbers may hold other columns too.
_LARGEST_BYTES = 10_000_000
_REMEDY = "give a file with a number a line, or a CSV or Parquet file with a column of numbers"


T = TypeVar("T")


@dataclass(frozen=True)
class ColumnFiles:
    """Files of numbers next to a workload file; each is read once.

    Attributes:
        folder: Where the files are looked for.
        file: Name of the workload file, or option, that names them, for messages.
        are_of_user: Whether the user named them, who may name any file; others must be regular
            files in the folder.
        digests: Digest of the numbers of each file that was read.
    """

    folder: Path
    file: str
    are_of_user: bool = False
    digests: list[str] = field(default_factory=list)
    _read: dict[tuple[str, str | None], FloatArray] = field(default_factory=dict)

    def read(
        self, name: str, column: str | None, usual: tuple[str, ...], *, most: int = MOST_NUMBERS
    ) -> FloatArray:
        """Read the numbers of a file, as :func:`read_numbers` does."""
        if (name, column) not in self._read:
            path = self.folder / name
            if not self.are_of_user:
                largest = max(_LARGEST_BYTES, most * _LONGEST_NUMBER)
                path = find_named_file(name, self.folder, most_bytes=largest)
            numbers = read_numbers(path, column=column, usual=usual, most=most)
            self.digests.append(f"sha256:{hashlib.sha256(numbers.tobytes()).hexdigest()}")
            self._read[name, column] = numbers
        return self._read[name, column]

    def check(self, at: str, make: Callable[[], T]) -> T:
        """Return what ``make`` returns, and name the place of a value or file that it refuses."""
        try:
            return make()
        except WorkloadFileError as error:
            if error.file == self.file:
                raise
            raise self.error(at, f"{error.file}: {error.problem}", error.remedy) from error
        except ValueError as error:
            problem, _, remedy = str(error).rpartition("; ")
            remedy = remedy if problem else "correct it"
            raise self.error(at, problem or str(error), remedy) from error

    def error(self, at: str, problem: str, remedy: str) -> WorkloadFileError:
        """Return the error of a key of the workload file."""
        return WorkloadFileError(file=self.file, problem=f"{at}: {problem}", remedy=remedy)


def read_numbers(
    path: Path, *, column: str | None, usual: tuple[str, ...], most: int = MOST_NUMBERS
) -> FloatArray:
    """Read the numbers of a file, shape (n,), n >= 1.

    The file is Parquet if its name ends so, else text. Without ``column`` it is the only one, else
    the first of ``usual`` that exists. It may have up to ``most`` numbers.

    Raises:
        WorkloadFileError: If the file cannot be read, lacks the column, has no number, something
            else among them, or too many.
    """
    read = _read_parquet if path.suffix.lower() == ".parquet" else _read_text
    try:
        values = read(path, column, usual, most)
    except (OSError, UnicodeDecodeError, csv.Error, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or "not such a file"
        raise _error(path, f"cannot be read ({reason}){suggest_file(path)}") from error
    if not values.size:
        raise _error(path, "holds no number")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise _error(path, f"value {int(bad[0]) + 1} is not a finite number")
    return values


def _read_parquet(path: Path, column: str | None, usual: tuple[str, ...], most: int) -> FloatArray:
    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        name = names[_find_column(path, names, column, usual)]
        if file.metadata.num_rows > most:
            raise _error(path, f"has {file.metadata.num_rows:,} rows, more than {most:,}")
        kind = file.schema_arrow.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise _error(path, f"column {name!r} holds {kind} instead of numbers")
        found = file.read(columns=[name]).column(name)
    if found.null_count:
        raise _error(path, f"column {name!r} has {found.null_count} empty values")
    return np.asarray(found.cast(pa.float64()).to_numpy(), dtype=np.float64)


def _read_text(path: Path, column: str | None, usual: tuple[str, ...], most: int) -> FloatArray:
    values = array.array("d")
    place: int | None = None
    with path.open(encoding="utf-8-sig", newline="") as file:
        for line, row in _rows(path, file):
            if place is None:
                has_header = not _is_number(row[0])
                names = [name.strip() for name in row]
                is_named = has_header or column is not None
                place = _find_column(path, names, column, usual) if is_named else 0
                if has_header:
                    continue
                if len(row) > 1:
                    raise _error(path, f"line {line} has {len(row)} columns without names")
            try:
                values.append(float(row[place]))
            except (ValueError, IndexError):
                where = f" in column {place + 1}" if len(row) > 1 else ""
                raise _error(path, f"line {line}: no number{where}") from None
            if len(values) > most:
                raise _error(path, f"has more than {most:,} numbers")
    return np.frombuffer(values, dtype=np.float64).copy() if values else np.empty(0)


def _rows(path: Path, file: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of each line that is not empty and does not begin with #."""
    for line, row in enumerate(csv.reader(_lines(path, file)), start=1):
        if row and any(cell.strip() for cell in row) and not row[0].lstrip().startswith("#"):
            yield line, row


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    """Yield the lines of a file, or refuse one without end."""
    number = 0
    while text := file.readline(_LONGEST_LINE):
        number += 1
        if len(text) == _LONGEST_LINE:
            raise _error(path, f"line {number} is longer than {_LONGEST_LINE:,} characters")
        yield text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _find_column(path: Path, names: list[str], column: str | None, usual: tuple[str, ...]) -> int:
    if column is not None:
        if column in names:
            return names.index(column)
        raise _error(path, f"has no column {column!r}, but {name_columns(names)}")
    if len(names) == 1:
        return 0
    for name in usual:
        if name in names:
            return names.index(name)
    problem = f"has {name_columns(names)}, but no {' or '.join(usual)}"
    raise _error(path, problem, "name one with column")


def _error(path: Path, problem: str, remedy: str = _REMEDY) -> WorkloadFileError:
    return WorkloadFileError(file=str(path), problem=problem, remedy=remedy)
