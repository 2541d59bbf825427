"""Rows taken buffer by buffer: what Arrow's own ``take`` gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from trafficgen.tables import PACKET_SCHEMA
from trafficgen.tables.columns import rows_taken, validity_of, values_of


def packets_of(rows: int, *, seed: int, null_share: float) -> pa.Table:
    """Return a table with every column of the schema; optional ones have nulls."""
    generator = np.random.default_rng(seed)
    columns = []
    for field in PACKET_SCHEMA:
        nulls = generator.random(rows) < null_share if field.nullable else None
        if pa.types.is_dictionary(field.type):
            names = np.array(["playout", "end"])[generator.integers(0, 2, rows)]
            columns.append(pa.array(names, mask=nulls).dictionary_encode().cast(field.type))
        else:
            numbers = generator.integers(0, 2 if pa.types.is_boolean(field.type) else 200, rows)
            columns.append(pa.array(numbers, mask=nulls).cast(field.type))
    return pa.table(columns, schema=PACKET_SCHEMA)


@settings(deadline=None)  # the first array loads pandas
@given(
    rows=st.integers(1, 70),
    cut=st.integers(0, 20),
    null_share=st.sampled_from([0.0, 0.4, 1.0]),
    pieces=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
def test_rows_taken_are_those_that_arrow_takes(
    *, rows: int, cut: int, null_share: float, pieces: int, seed: int
) -> None:
    tables = [
        packets_of(rows + cut, seed=seed + piece, null_share=null_share).slice(cut)
        for piece in range(pieces)
    ]
    table = pa.concat_tables(tables)
    order = np.random.default_rng(seed).permutation(len(table))
    taken = rows_taken(table, order)
    taken.validate(full=True)
    assert taken.equals(table.combine_chunks().take(pa.array(order)))


def test_values_and_nulls_of_a_slice_are_its_own() -> None:
    array = pa.array([True, None, False, True, True, None, False, False, True, None, True]).slice(
        3, 7
    )
    assert values_of(array)[[0, 1, 3, 4, 5]].tolist() == [True, True, False, False, True]
    known = validity_of(array)
    assert known is not None
    assert known.tolist() == [True, True, False, True, True, True, False]
    assert validity_of(pa.array([1, 2])) is None
