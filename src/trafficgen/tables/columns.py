"""Columns of tables: what each means, and the arrays in their buffers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.units import BITS_PER_BYTE, BoolArray, IntArray

_Rows = TypeVar("_Rows", pa.Table, pa.RecordBatch)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        name: Its name, with the unit at the end.
        type: Its Arrow type.
        meaning: What it means, a sentence for people.
        is_nullable: Whether it may have nulls.
    """

    name: str
    type: pa.DataType
    meaning: str
    is_nullable: bool = False

    @property
    def field(self) -> pa.Field:
        """The column as a field of an Arrow schema."""
        return pa.field(self.name, self.type, nullable=self.is_nullable)


def nullable(name: str, kind: pa.DataType, meaning: str) -> Column:
    """Return a column that may have nulls."""
    return Column(name, kind, meaning, is_nullable=True)


def schema_of(columns: Iterable[Column]) -> pa.Schema:
    """Return the Arrow schema of columns."""
    return pa.schema([column.field for column in columns])


def values_of(array: pa.Array) -> npt.NDArray[np.generic]:
    """Return values of numbers or booleans (of nulls any value); only booleans are copied."""
    _, buffer = array.buffers()
    if pa.types.is_boolean(array.type):
        return _unpacked(buffer, array.offset, len(array))
    dtype = np.dtype(array.type.to_pandas_dtype())
    return np.frombuffer(buffer, dtype=dtype)[array.offset : array.offset + len(array)]


def validity_of(array: pa.Array) -> BoolArray | None:
    """Return where an array is not null, ``None`` for everywhere."""
    return _unpacked(array.buffers()[0], array.offset, len(array)) if array.null_count else None


def set_values(
    table: pa.Table, name: str, values: npt.ArrayLike | pa.Array, null: BoolArray | None = None
) -> pa.Table:
    """Return a table with other values in a column of the same type, null where ``null`` is."""
    place = table.schema.get_field_index(name)
    field = table.schema.field(place)
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        values = pa.array(values, type=field.type, mask=null)
    return table.set_column(place, field, values)


def shift_values(table: _Rows, **shifts: int) -> _Rows:
    """Return rows with a whole number added to the values of columns, by the columns' names."""
    for name, shift in shifts.items():
        if shift == 0:
            continue
        column = table.column(name)
        table = set_values(table, name, pc.add(column, pa.scalar(shift, type=column.type)))
    return table


def rows_taken(table: pa.Table, order: IntArray) -> pa.Table:
    """Return rows of a table of numbers, booleans and dictionaries, each column in one chunk."""
    columns = [_taken(_in_one_chunk(table.column(name)), order) for name in table.column_names]
    return pa.table(columns, schema=table.schema)


def _in_one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _taken(array: pa.Array, order: IntArray) -> pa.Array:
    if isinstance(array, pa.DictionaryArray):
        return pa.DictionaryArray.from_arrays(_taken(array.indices, order), array.dictionary)
    if array.null_count == len(array):
        return pa.nulls(len(order), array.type)
    values, known = np.take(values_of(array), order), validity_of(array)
    data = (
        _packed(values.view(np.bool_)) if pa.types.is_boolean(array.type) else pa.py_buffer(values)
    )
    if known is None:
        return pa.Array.from_buffers(array.type, len(order), [None, data])
    taken = np.take(known, order)
    nulls = len(order) - int(np.count_nonzero(taken))
    return pa.Array.from_buffers(array.type, len(order), [_packed(taken), data], null_count=nulls)


def _packed(values: BoolArray) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def _unpacked(buffer: pa.Buffer, offset: int, count: int) -> BoolArray:
    first_byte, skipped = divmod(offset, BITS_PER_BYTE)
    packed = np.frombuffer(buffer, dtype=np.uint8)[first_byte:]
    return np.unpackbits(packed, count=skipped + count, bitorder="little")[skipped:].view(np.bool_)
