"""Traffic at the edges of numbers: each command gives a sensible answer or a reason, never a crash,
a NaN or a hang.

One and two packets, packets at one time, sizes that never differ, hours of silence, clocks that
step back, rates beyond any link, and RTP and TCP numbers that wrap round.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.conftest import build_table

import trafficgen
from trafficgen.errors import TrafficgenError, TrafficgenWarning
from trafficgen.tables import PacketTable

#: Gaps between packets, s: none, the shortest that times can hold, that of 10 Gbps, of a stream, of
#: hours.
GAPS_S = st.sampled_from([0.0, 1e-9, 1e-6, 0.02, 0.02, 0.02, 1.0, 3 * 3600.0])
SIZES = st.sampled_from([28, 29, 576, 1500, 1500, 65_535])


@st.composite
def tables(draw: st.DrawFn) -> PacketTable:
    count = draw(st.sampled_from([1, 2, 3, 5, 30, 120]))
    gaps_s = draw(st.lists(GAPS_S, min_size=1, max_size=4))
    sizes = draw(st.lists(SIZES, min_size=1, max_size=3))
    time_s = np.concatenate([[0.0], np.cumsum(np.resize(gaps_s, count - 1))])[:count]
    columns: dict[str, Any] = {}
    if draw(st.booleans()):  # RTP whose numbers wrap round within the session
        numbers = np.arange(count) + 2**16 - count // 2
        columns = {
            "rtp_ssrc": 7,
            "rtp_sequence": (numbers % 2**16).tolist(),
            "rtp_timestamp": ((numbers * 3000 + 2**32 - 2**17) % 2**32).tolist(),
            "rtp_marker": True,
        }
    return build_table(time_s, ip_bytes=np.resize(sizes, count), **columns)


def _holds_no_nan(value: object, place: str = "") -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _holds_no_nan(inner, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            _holds_no_nan(inner, f"{place}[{number}]")
    elif isinstance(value, float):
        assert math.isfinite(value), place


ONE = build_table([0.0])
TWO_AT_ONCE = build_table([0.0, 0.0])
HOURS = build_table([0.0, 10_800.0, 21_600.0])
FASTER_THAN_ANY_LINK = build_table(np.arange(100) * 1e-9, ip_bytes=65_535)


@pytest.mark.long
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(table=tables(), seed=st.integers(0, 3))
@example(table=ONE, seed=0)
@example(table=TWO_AT_ONCE, seed=0)
@example(table=HOURS, seed=0)
@example(table=FASTER_THAN_ANY_LINK, seed=0)
def test_every_step_gives_an_answer_or_a_reason(
    tmp_path_factory: pytest.TempPathFactory, table: PacketTable, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("edge")
    capture = folder / "measured.pcap"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrafficgenWarning)  # doubts are an answer
        trafficgen.convert(_written(table, folder), capture)
        found = trafficgen.inspect(capture)
        assert found.packets == len(table)
        _holds_no_nan(found.to_json())
        try:
            fitted = trafficgen.fit(capture)
            _holds_no_nan(fitted.to_json())
            synthetic = trafficgen.generate(fitted.model, folder / "synthetic.pcap", seed=seed)
        except TrafficgenError as error:
            _tells_why(error)
            return
        assert len(synthetic)
        assert (np.diff(synthetic.time_ns) >= 0).all()
        try:
            _holds_no_nan(trafficgen.compare(capture, folder / "synthetic.pcap").to_json())
        except TrafficgenError as error:
            _tells_why(error)


def _tells_why(error: TrafficgenError) -> None:
    assert len(str(error)) > 20


def _written(table: PacketTable, folder: Path) -> Path:
    trafficgen.export(table, to="parquet", directory=folder / "table")
    (path,) = (folder / "table").glob("*.parquet")
    return path
