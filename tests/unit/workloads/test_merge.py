"""Parts merged in order of time: what a sort of everything at once would give, in bounded
memory.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trafficgen
from trafficgen.generation.columns import superpose
from trafficgen.workloads import merge
from trafficgen.workloads.merge import (
    MemoryPart,
    StoredPart,
    merge_at_once,
    merge_parts,
    write_batches,
)
from trafficgen.workloads.storage import Folder

FLOWS_EACH = 3


def sessions_of(
    generator: np.random.Generator, *, count: int, rows: int, span_ns: int, spread_ns: int
) -> list[pa.Table]:
    """Return packets of several sessions, each in order, with numbers of flows that begin at 0."""
    tables = []
    for session in range(count):
        time_ns = generator.integers(0, span_ns + 1, rows) + session * spread_ns
        flow = generator.integers(0, FLOWS_EACH, rows).astype(np.uint32)
        order = np.lexsort((flow, time_ns))
        place = np.arange(rows) + session * rows
        tables.append(pa.table({"time_ns": time_ns[order], "flow": flow[order], "place": place}))
    return tables


def written_part(
    table: pa.Table, folder: Path, place: int, *, first_ns: int, first_flow: int = 0
) -> StoredPart:
    storage, name = Folder(folder), f"{place}.arrow"
    storage.write(name, lambda file: write_batches([table], file))
    return StoredPart(
        name, table.num_rows, table.nbytes, first_ns, storage, folder, first_flow=first_flow
    )


def merged(tables: list[pa.Table], folder: Path, *, memory_bytes: int = 1 << 30) -> pa.Table:
    written = []
    for place, table in enumerate(tables):
        first_ns = table.column("time_ns")[0].as_py() if table.num_rows else 0
        written.append(
            written_part(table, folder, place, first_ns=first_ns, first_flow=FLOWS_EACH * place)
        )
    pieces = list(merge_parts(written, memory_bytes=memory_bytes, folder=folder))
    return pa.concat_tables(pieces) if pieces else tables[0].slice(0, 0)


def at_once(tables: list[pa.Table]) -> pa.Table:
    shifted = [
        table.set_column(
            1, "flow", pa.array(table.column("flow").to_numpy() + np.uint32(FLOWS_EACH * place))
        )
        for place, table in enumerate(tables)
    ]
    return superpose(shifted)


@pytest.mark.long
@settings(deadline=None)  # files are written
@given(
    count=st.integers(1, 12),
    rows=st.integers(0, 60),
    span_ns=st.integers(0, 40),
    spread_ns=st.integers(0, 30),
    batch_rows=st.integers(1, 9),
    seed=st.integers(0, 2**32),
)
def test_a_merge_is_the_sort_of_everything_at_once(
    *, count: int, rows: int, span_ns: int, spread_ns: int, batch_rows: int, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    tables = sessions_of(generator, count=count, rows=rows, span_ns=span_ns, spread_ns=spread_ns)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge, "BATCH_ROWS", batch_rows)
        patch.setattr("trafficgen.workloads.merge.BATCH_ROWS", batch_rows)
        assert merged(tables, Path(folder)).equals(at_once(tables).combine_chunks())


def test_parts_in_memory_are_merged_as_those_in_files() -> None:
    rows = 2 * merge.BATCH_ROWS + 5
    tables = sessions_of(
        np.random.default_rng(4), count=5, rows=rows, span_ns=40_000, spread_ns=7_000
    )
    held = [MemoryPart(table, FLOWS_EACH * place) for place, table in enumerate(tables)]
    assert pa.concat_tables(list(merge_at_once(held))).equals(at_once(tables).combine_chunks())


def test_many_packets_at_one_time_are_merged_and_not_waited_for(tmp_path: Path) -> None:
    rows = 3 * merge.BATCH_ROWS
    tables = sessions_of(np.random.default_rng(0), count=3, rows=rows, span_ns=0, spread_ns=0)
    assert merged(tables, tmp_path).equals(at_once(tables).combine_chunks())


def test_little_memory_merges_in_several_passes_and_leaves_the_same(tmp_path: Path) -> None:
    tables = sessions_of(
        np.random.default_rng(1), count=40, rows=2000, span_ns=10_000, spread_ns=10
    )
    assert merged(tables, tmp_path, memory_bytes=1).equals(at_once(tables).combine_chunks())
    assert list(tmp_path.glob("merged-*"))


def test_parts_of_a_later_time_are_not_opened_before_it_has_come(tmp_path: Path) -> None:
    tables = sessions_of(np.random.default_rng(2), count=20, rows=100, span_ns=10, spread_ns=1000)
    parts = []
    for place, table in enumerate(tables):
        parts.append(
            written_part(table, tmp_path, place, first_ns=table.column("time_ns")[0].as_py())
        )
    first, *_ = merge_parts(parts, memory_bytes=1 << 30, folder=tmp_path)
    assert 0 < first.num_rows <= 100
    assert max(first.column("place").to_pylist()) < 100


def test_parts_that_know_different_columns_are_merged_into_one_file(tmp_path: Path) -> None:
    table = trafficgen.generate("cbr", duration_s=2.0)
    packets = table.packets.select(
        [name for name in table.packets.column_names if table.is_known(name).any()]
    )
    place = packets.schema.get_field_index("time_ns")
    later_ns = pa.array(table.time_ns + 10_000_000_000)
    later = packets.set_column(place, packets.schema.field(place), later_ns)
    parts = [MemoryPart(packets, 0), MemoryPart(later.drop_columns("phase"), 1)]
    merged = merge._merge_group(parts, "merged.arrow", tmp_path)  # type: ignore[arg-type]
    assert merged.rows == 2 * len(table)
    read = pa.ipc.open_file(tmp_path / "merged.arrow").read_all()
    assert read.column("phase").null_count == len(table)
    assert read.column("flow").to_pylist() == [0] * len(table) + [1] * len(table)
