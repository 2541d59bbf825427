"""Capacity traces: delivery opportunities of mahimahi, and rates over time."""

from __future__ import annotations

from pathlib import Path

import pytest

from trafficgen.errors import InputFileError
from trafficgen.simulation.traces import load_trace


def _file(folder: Path, text: str) -> str:
    (folder / "trace").write_text(text)
    return str(folder / "trace")


def test_a_packet_a_millisecond_is_twelve_megabits(tmp_path: Path) -> None:
    trace = load_trace(_file(tmp_path, "1\n"))
    assert trace.mean_bps == pytest.approx(1504 * 8 * 1000)
    assert trace.overhead_bytes == 4


@pytest.mark.parametrize(
    ("text", "rates_bps"),
    [
        ("time_s,rate\n0,1Mbps\n2,500kbps\n", [1e6, 5e5]),
        ("time_s,rate_kbps\n0,1000\n2,500\n", [1e6, 5e5]),
        ("rate_Mbps,time_s\n1,0\n0.5,2\n", [1e6, 5e5]),
    ],
)
def test_rates_over_time_say_their_unit(tmp_path: Path, text: str, rates_bps: list[float]) -> None:
    trace = load_trace(_file(tmp_path, text), period_s=4)
    assert trace.capacity == {"steps": {"times_s": [0.0, 2.0], "rates_bps": rates_bps, "period_s": 4}}
    assert trace.mean_bps == pytest.approx(7.5e5)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is empty"),
        ("0\n", "all opportunities"),
        ("5\n3\n", "line 2"),
        ("5\nx\n", "line 2"),
        ("a,b\n1,2\n", "line 1"),
        ("time_s,rate\n0,1000\n", "line 2"),
        ("time_s,rate_bps\n0,1000\n0,2000\n", "line 3"),
        ("time_s,rate_bps\n0,1000,3\n", "line 2"),
        ("time_s,rate_bps\n0,0\n", "no rate"),
        ("time_s,rate_bps\n0,5\n3,0\n", "stays"),
    ],
)
def test_other_files_are_refused_with_the_line(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(InputFileError, match=part):
        load_trace(_file(tmp_path, text))
