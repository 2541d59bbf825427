"""iperf 2: runs an epoch with its last datagram left to the tool, and frames on a clock with
log-normal sizes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.export.schedules import steady, table_of
from tests.unit.generation.conftest import model_with, renewal, stream

import trafficgen
from trafficgen.errors import ExportError
from trafficgen.export.frame_projection import project_frames
from trafficgen.models import (
    Atom,
    Estimate,
    FrameProcess,
    FrameType,
    Law,
    Model,
    PacketProcess,
    Phase,
    RtpFormat,
)

_RUN = re.compile(r"^epoch (\d+) (\d+) (.*)$", re.MULTILINE)
_FRAMES = re.compile(
    r"-l (\d+) -t ([\d.]+) --isochronous=([\d.]+):(\d+),(\d+)(?: --ipg ([\d.]+))?$"
)


def test_the_last_datagram_of_a_udp_run_is_left_to_iperf(tmp_path: Path) -> None:
    trafficgen.export(steady(), to="iperf2", directory=tmp_path, settings={"guard_s": 0})
    runs = _RUN.findall((tmp_path / "flow0.sh").read_text())
    # 99 gaps of 864 bytes in a second; iperf adds the hundredth datagram
    assert runs[0] == ("0", "0", "-u --no-udp-fin -p 5001 -n 85536 -l 864 -b 684288")
    assert [start for _, start, _ in runs] == [str(second * 1_000_000) for second in range(12)]


def test_a_single_packet_is_sent_as_two_halves(tmp_path: Path) -> None:
    table = table_of(np.array([0]), np.array([1000]))
    report = trafficgen.export(table, to="iperf2", directory=tmp_path, settings={"guard_s": 0})
    assert (
        _RUN.findall((tmp_path / "flow0.sh").read_text())[0][2]
        == "-u --no-udp-fin -p 5001 -n 500 -l 500 -b 8000"
    )
    assert report.packets == 2
    assert (report.bytes_before, report.bytes_after) == (1028, 1056)


def test_tcp_runs_have_all_their_writes(tmp_path: Path) -> None:
    table = table_of(np.array([0, 500_000_000]), np.array([1000, 1400]), protocol="tcp")
    trafficgen.export(table, to="iperf2", directory=tmp_path, settings={"guard_s": 0})
    assert (
        _RUN.findall((tmp_path / "flow0.sh").read_text())[0][2]
        == "-C -N -p 5001 -n 2400 -l 1200 -b 19200"
    )
    assert "iperf -s -p 5001" in (tmp_path / "sink.sh").read_text()


def test_an_ipv6_destination_is_sent_to_by_ipv6(tmp_path: Path) -> None:
    trafficgen.export(
        steady(), to="iperf2", directory=tmp_path, settings={"destination": "2001:db8::7"}
    )
    assert "iperf -V -c " in (tmp_path / "flow0.sh").read_text()
    assert "iperf -V -s -u -p 5001" in (tmp_path / "sink.sh").read_text()


def _frames(
    sizes: np.ndarray[tuple[int], np.dtype[np.int64]], *, stamped: bool
) -> trafficgen.PacketTable:
    """Frames 40 ms apart, in packets of 1000 bytes and a rest, 1 ms apart."""
    counts = -(-sizes // 1000)
    row = np.repeat(np.arange(sizes.size), counts)
    place = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
    payload = np.minimum(1000, sizes[row] - 1000 * place)
    columns = {"rtp_timestamp": pa.array(row * 3600, type=pa.uint32())} if stamped else {}
    return table_of(row * 40_000_000 + place * 1_000_000, payload, **columns)


@pytest.mark.parametrize("stamped", [True, False])
def test_isochronous_mode_takes_rate_mean_and_deviation_from_the_frames(
    tmp_path: Path, stamped: bool
) -> None:
    sizes = np.tile(np.array([2400, 3600]), 50)
    settings: dict[str, str] = {"mode": "isochronous"}
    report = trafficgen.export(
        _frames(sizes, stamped=stamped), to="iperf2", directory=tmp_path, settings=settings
    )
    [(_, start, run)] = _RUN.findall((tmp_path / "flow0.sh").read_text())
    found = _FRAMES.search(run)
    assert found is not None
    # 25 frames a second of 3000 bytes: 600 kbit/s; 600 bytes of standard deviation: 120 kbit/s
    assert found.groups() == ("1000", "3.98", "25", "600000", "120000", "1.000")
    assert start == "0"
    assert report.kind == "model"
    assert report.packets is None
    # half of the frames have 2400 bytes, a log-normal one of that mean and deviation is below 2400
    # in 15 of 100 cases
    assert report.distances["frame_bytes.ks"] == pytest.approx(0.35, abs=0.03)


def test_a_given_frame_rate_cuts_time_into_its_ticks() -> None:
    time_ns = np.arange(100) * 10_000_000
    projection = project_frames(
        time_ns,
        np.full(100, 500),
        stamps=None,
        frame_rate_hz=20.0,
        least_packet_bytes=108,
        keep_gaps=False,
        what="flow 0",
    )
    assert projection.frames == 20
    assert projection.mean_bps == 20 * 2500 * 8
    assert projection.sd_bps == 0
    assert projection.packet_gap_s == 0


def test_packets_below_the_header_of_isochronous_mode_never_become_its_length(
    tmp_path: Path,
) -> None:
    table = table_of(np.arange(200) * 20_000_000, np.full(200, 40))
    trafficgen.export(table, to="iperf2", directory=tmp_path, settings={"mode": "isochronous"})
    [(_, _, run)] = _RUN.findall((tmp_path / "flow0.sh").read_text())
    assert " -l 108 " in run


def test_isochronous_mode_refuses_tcp_and_too_few_frames(tmp_path: Path) -> None:
    settings = {"mode": "isochronous"}
    tcp = table_of(np.arange(100) * 10_000_000, np.full(100, 1000), protocol="tcp")
    with pytest.raises(ExportError, match="isochronous mode sends UDP"):
        trafficgen.export(tcp, to="iperf2", directory=tmp_path / "a", settings=settings)
    with pytest.raises(ExportError, match="2 frames are too few"):
        trafficgen.export(
            table_of(np.array([0, 10_000_000]), np.array([10, 10])),
            to="iperf2",
            directory=tmp_path / "a",
            settings=settings,
        )
    assert list(tmp_path.iterdir()) == []


def _frame_model(process: PacketProcess | None = None) -> Model:
    """20 s of 25 log-normal frames a second in packets of 1000 bytes of payload, half a millisecond
    apart.
    """
    known = Estimate(value=25.0, method="by hand")
    sizes = Law(
        unit="bytes",
        family="lognorm",
        params={"s": 0.5, "loc": 0.0, "scale": 5000.0},
        integer=True,
        observations=1,
    )
    frames = FrameProcess(
        frame_rate_hz=known,
        clock_ratio=Estimate(value=1.0, method="by hand"),
        spacing_s=_only(0.04, "s"),
        types=(FrameType(name="frame", frame_bytes=sizes),),
        packetisation="filled",
        packet_bytes=_only(1028.0, "bytes"),
        gap_within_s=_only(0.0005, "s"),
    )
    rtp = RtpFormat(payload_type=96, clock_hz=90_000, timestamp_step=known, frame_per_burst=True)
    phase = Phase(
        name="playout", start_s=0.0, duration_s=20.0, rate_bps=0.0, process=process or frames
    )
    return model_with(stream(phases=(phase,), rtp=rtp))


def _only(value: float, unit: Literal["s", "bytes"]) -> Law:
    return Law(unit=unit, family="atoms", atoms=(Atom(value=value, p=1.0),), observations=1)


def test_a_model_of_log_normal_frames_is_what_isochronous_mode_draws(tmp_path: Path) -> None:
    report = trafficgen.export(_frame_model(), to="iperf2", directory=tmp_path)
    [(_, _, run)] = _RUN.findall((tmp_path / "flow0.sh").read_text())
    found = _FRAMES.search(run)
    assert found is not None
    full_bytes, run_s, rate_hz, _, _, gap_ms = found.groups()
    assert (full_bytes, rate_hz, gap_ms) == ("1000", "25", "0.500")
    assert float(run_s) == pytest.approx(20, abs=0.1)
    # 500 frames: 1.63 / sqrt(500) is exceeded by one fit of the right law in a hundred
    assert report.distances["frame_bytes.ks"] < 1.63 / np.sqrt(500)
    assert report.distances["gap_s.ks"] < 1.63 / np.sqrt(500)


def test_a_model_without_a_frame_clock_is_refused_unless_it_is_allowed(tmp_path: Path) -> None:
    model = _frame_model(renewal(mean_s=0.01))
    with pytest.raises(ExportError, match=r"'renewal'.*approximate=on"):
        trafficgen.export(model, to="iperf2", directory=tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
    report = trafficgen.export(
        model, to="iperf2", directory=tmp_path / "a", settings={"approximate": True}
    )
    # gamma gaps of shape 0.7 are nothing like a clock
    assert report.distances["gap_s.ks"] > 0.3


def test_a_model_of_tcp_alone_is_refused(tmp_path: Path) -> None:
    phase = Phase(
        name="playout", start_s=0.0, duration_s=20.0, rate_bps=0.0, process=renewal(mean_s=0.01)
    )
    with pytest.raises(ExportError, match="streams are TCP"):
        trafficgen.export(
            model_with(stream(phases=(phase,), protocol="tcp")),
            to="iperf2",
            directory=tmp_path / "a",
        )
