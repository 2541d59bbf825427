"""Whatever stands in a file, readers of traces return a table or one clear error; what is written
reads back.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trafficgen.capture.traces.formats import FORMATS
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.reading import read_trace
from trafficgen.errors import TrafficgenError
from trafficgen.simulation.traces import load_trace

T = TypeVar("T")

_WORDS = st.sampled_from(
    [
        *(
            "time_s",
            "time",
            "ip_bytes",
            "size",
            "Length",
            "source",
            "destination",
            "direction",
            "flow",
            "src_port",
        ),
        *(
            "SEND",
            "RECV",
            "proto>UDP",
            "flow>1",
            "seq>0",
            "srcPort>1",
            "src>::1/5",
            "dst>127.0.0.1/5811",
            "size>256",
        ),
        *(
            "sent>10:00:00.5",
            "17:18:56.78",
            "Flow>1",
            "Seq> 1",
            "txTime>1:2:3.4",
            "rxTime>1:2:3.5",
            "Size> 9",
        ),
        *(
            "I",
            "P",
            "B",
            "0",
            "1",
            "12",
            "0.04",
            "1e999",
            "-5",
            "99999999999",
            "9" * 30,
            "1e18",
            "nan",
            "::1",
            "10.0.0.1",
        ),
        *(
            "#",
            "%",
            '"',
            "'",
            "\x00",
            "\ufeff",
            "\u2028",
            "é",
            "[",
            "]",
            "{",
            "}",
            ":",
            '"duration_ms"',
            "down",
        ),
    ]
)
_SEPARATORS = st.sampled_from([" ", ",", ";", "\t", "\n", "\n", "\r\n", "|", ""])
_TEXTS = st.lists(st.tuples(_WORDS | st.text(max_size=6), _SEPARATORS), max_size=60).map(
    lambda parts: "".join(word + separator for word, separator in parts)
)


def _in_file(text: str | bytes, folder: str) -> str:
    path = Path(folder) / "trace.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode(errors="replace"))
    return str(path)


def _unless_refused(read: Callable[[], T]) -> T | None:
    """Return what is read, None where it is refused; any other error fails the test."""
    try:
        return read()
    except TrafficgenError:
        return None


@given(text=_TEXTS, name=st.none() | st.sampled_from(sorted(FORMATS)))
@settings(max_examples=400, deadline=None)
def test_any_text_is_a_table_or_one_clear_error(text: str, name: str | None) -> None:
    takes = FORMATS[name].takes if name else ()
    options = TraceOptions(frame_rate_fps=25 if "frame_rate_fps" in takes else None)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = _in_file(text, folder)
        read = _unless_refused(lambda: read_trace(file, format_name=name, options=options))
    if read is not None:
        assert bool(np.all(np.diff(read.table.time_ns) >= 0))
        assert set(read.table.flow.tolist()) <= set(range(read.table.flows.num_rows))


@given(content=st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_a_table_or_one_clear_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = _in_file(content, folder)
        read = _unless_refused(lambda: read_trace(file))
    assert read is None or read.records > 0


@given(
    text=_TEXTS
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "duration_ms",
                        "duration",
                        "bandwidth_kbps",
                        "capacity",
                        "uplink",
                        "trace_pattern",
                        "times_s",
                        "rates_kbps",
                        "loss",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ).map(json.dumps)
)
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_capacity_or_one_clear_error(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = _in_file(text, folder)
        trace = _unless_refused(lambda: load_trace(file))
    assert trace is None or (trace.mean_bps or 0) > 0


_PACKETS = st.lists(
    st.tuples(st.integers(0, 10**15), st.integers(28, 65_535), st.booleans(), st.integers(0, 3)),
    min_size=1,
    max_size=20,
).map(lambda rows: sorted(rows, key=lambda row: row[0]))


@given(rows=_PACKETS, digits=st.sampled_from([9, 6, 3, 0]), delimiter=st.sampled_from(",;\t"))
@settings(max_examples=100, deadline=None)
def test_a_written_list_reads_back_in_every_unit(
    rows: list[tuple[int, int, bool, int]], digits: int, delimiter: str
) -> None:
    unit = {9: "s", 6: "ms", 3: "us", 0: "ns"}[digits]
    lines = [delimiter.join((f"time_{unit}", "ip_bytes", "direction", "flow"))]
    for time_ns, size_bytes, down, flow in rows:
        whole, part = divmod(time_ns, 10**digits)
        time = f"{whole}.{part:0{digits}d}" if digits else f"{whole}"
        lines.append(delimiter.join((time, str(size_bytes), "down" if down else "up", f"f{flow}")))
    with tempfile.TemporaryDirectory() as folder:
        table = read_trace(_in_file("\n".join(lines), folder)).table
    assert table.time_ns.tolist() == [row[0] for row in rows]
    assert table.ip_bytes.tolist() == [row[1] for row in rows]
    assert table.to_client.tolist() == [row[2] for row in rows]
    names = [row[3] for row in rows]
    assert [names.index(name) for name in names] == [
        table.flow.tolist().index(flow) for flow in table.flow.tolist()
    ]


@given(
    frames=st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 50_000)), min_size=1, max_size=20
    ).map(sorted),
    payload_bytes=st.integers(1, 2000),
)
@settings(max_examples=100, deadline=None)
def test_packets_of_frames_add_up_to_the_frames(
    frames: list[tuple[int, int]], payload_bytes: int
) -> None:
    text = "".join(
        f"{number} P {time_ms} {size}\n" for number, (time_ms, size) in enumerate(frames, start=1)
    )
    with tempfile.TemporaryDirectory() as folder:
        table = read_trace(
            _in_file(text, folder), options=TraceOptions(payload_bytes=payload_bytes)
        ).table
    assert int(table.payload_bytes.sum()) == sum(size for _, size in frames)
    assert int(table.payload_bytes.max(initial=0)) <= payload_bytes
    assert len(table) == sum(-(-size // payload_bytes) for _, size in frames)
    first_ms = frames[0][0]
    for time_ms in {time_ms for time_ms, _ in frames}:
        expected = sum(size for time, size in frames if time == time_ms)
        at_time = table.time_ns == (time_ms - first_ms) * 1_000_000
        assert int(table.payload_bytes[at_time].sum()) == expected


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_is_described_and_names_known_options(name: str) -> None:
    its = FORMATS[name]
    assert its.name == name
    assert its.description.endswith(".")
    assert set(its.takes) <= set(TraceOptions.__dataclass_fields__)


_CELLS = {
    "float": (st.floats(), pa.float64()),
    "integer": (st.integers(-(2**63), 2**63 - 1), pa.int64()),
    "text": (st.text(max_size=5), pa.string()),
    "truth": (st.booleans(), pa.bool_()),
    "date": (st.integers(-(2**62), 2**62), pa.timestamp("us")),
    "span": (st.integers(-(2**62), 2**62), pa.duration("ms")),
    "none": (st.none(), pa.null()),
    "list": (st.lists(st.integers(0, 3), max_size=2), pa.list_(pa.int64())),
}
_NAMES = [
    *(
        "time_s",
        "timestamp",
        "ip_bytes",
        "size",
        "src",
        "dst",
        "src_port",
        "protocol",
        "direction",
        "flow",
    ),
    *("rtp.seq", "rtp.timestamp", "rtp.ssrc", "arrival_s"),
]


@given(data=st.data(), names=st.lists(st.sampled_from(_NAMES), min_size=1, max_size=6, unique=True))
@settings(max_examples=150, deadline=None)
def test_any_parquet_is_a_table_or_one_clear_error(data: st.DataObject, names: list[str]) -> None:
    count = data.draw(st.integers(0, 4))
    columns = {}
    for name in names:
        cells, kind = _CELLS[data.draw(st.sampled_from(sorted(_CELLS)))]
        columns[name] = pa.array(
            data.draw(st.lists(st.none() | cells, min_size=count, max_size=count)), type=kind
        )
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = str(Path(folder) / "list.parquet")
        pq.write_table(pa.table(columns), file)
        read = _unless_refused(lambda: read_trace(file))
    assert read is None or 0 < len(read.table) <= read.records
