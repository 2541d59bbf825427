"""Sizes of columns in Parquet footers, read by ours and by pyarrow."""

from __future__ import annotations

import io
import random
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trafficgen.capture.table_limits import text_columns


def _written(**how: Any) -> io.BytesIO:
    table = pa.table(
        {
            "numbers": list(range(100)),
            "texts": ["x" * number for number in range(100)],
            "words": pa.array(["u", "v"] * 50).dictionary_encode(),
            "parts": [{"inner": "z"}] * 100,
            "lists": [["a", "b"]] * 100,
            "truths": [True] * 100,
        }
    )
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"key": "value" * 9}), file, **how)
    return file


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"version": "1.0", "use_dictionary": False},
        {"compression": "none", "row_group_size": 3},
        {"write_page_index": True, "write_statistics": False},
    ],
)
def test_sizes_are_those_that_pyarrow_reads(how: dict[str, Any]) -> None:
    file = _written(**how)
    metadata = pq.read_metadata(file)
    chunks = [
        metadata.row_group(group).column(place)
        for group in range(metadata.num_row_groups)
        for place in range(metadata.num_columns)
    ]
    wanted = [
        (chunk.path_in_schema, chunk.total_uncompressed_size)
        for chunk in chunks
        if chunk.physical_type == "BYTE_ARRAY"
    ]
    assert list(text_columns(file)) == wanted


def test_damaged_footers_are_read_or_refused() -> None:
    data, dice = _written().getvalue(), random.Random(1)
    length = int.from_bytes(data[-8:-4], "little")
    refused = 0
    for _ in range(3000):
        damaged = bytearray(data)
        for _ in range(dice.randint(1, 4)):
            damaged[dice.randrange(len(data) - 8 - length, len(data))] = dice.randrange(256)
        try:
            list(text_columns(io.BytesIO(damaged)))
        except ValueError:
            refused += 1
    assert refused > 300
    for count in (0, 4, 8, len(data) // 2):
        with suppress(ValueError):
            assert list(text_columns(io.BytesIO(data[:count]))) == []
