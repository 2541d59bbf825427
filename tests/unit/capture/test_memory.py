"""Inputs that do not fit into the memory that a command may take."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import build_table

import trafficgen
from trafficgen.capture.memory import FIT_PACKET_BYTES, Budget, sessions_that_fit, weight_of
from trafficgen.capture.options import parse_memory
from trafficgen.flows import inspect_table, resegment, swap_ends
from trafficgen.models import FittedProvenance, dump_model
from trafficgen.packet_files.writing import write_packets
from trafficgen.units import parse_duration_s

EXAMPLE = (
    Path(__file__).resolve().parents[3] / "examples" / "captures" / "http_burst_then_paced.pcap.gz"
)
#: However little memory is allowed, 20,000 packets are taken.
TINY = 1

pytestmark = pytest.mark.filterwarnings("ignore::trafficgen.CaptureWarning")


@pytest.fixture(scope="module")
def long_capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some 50,000 packets of one session, most of them in the playout."""
    file = tmp_path_factory.mktemp("long") / "long.pcap"
    trafficgen.generate(
        trafficgen.fit(EXAMPLE).model, file, duration_s=400, seed=1, snaplen_bytes=80
    )
    return file


@pytest.fixture(scope="module")
def whole(long_capture: Path) -> trafficgen.Fit:
    return trafficgen.fit(long_capture)


def test_a_fit_with_enough_memory_does_not_depend_on_the_limit(
    long_capture: Path, whole: trafficgen.Fit
) -> None:
    unlimited = trafficgen.fit(long_capture, memory_bytes=None)
    assert json.dumps(unlimited.to_json()) == json.dumps(whole.to_json())
    assert dump_model(unlimited.model) == dump_model(whole.model)
    assert "from_s" not in dump_model(whole.model)


def test_a_session_beyond_the_memory_is_refused_with_what_helps(long_capture: Path) -> None:
    with pytest.raises(
        trafficgen.CaptureError,
        match=r"packets need some .* is allowed; give memory_bytes=.*, or take a window .*from_s=",
    ):
        trafficgen.fit(long_capture, memory_bytes=TINY)


def test_a_window_is_fitted_within_memory_that_the_session_exceeds(
    long_capture: Path, whole: trafficgen.Fit
) -> None:
    fitted = trafficgen.fit(long_capture, from_s=100, to_s=200, memory_bytes=TINY)
    view = fitted.calibration.views.captured
    session = whole.calibration.views.captured
    inside = (session.media_time_ns >= 100_000_000_000) & (session.media_time_ns < 200_000_000_000)
    np.testing.assert_array_equal(view.media_time_ns, session.media_time_ns[inside])
    origin = fitted.model.provenance
    assert isinstance(origin, FittedProvenance)
    assert (origin.from_s, origin.to_s) == (100, 200)
    assert fitted.model.description.endswith(", 100 s to 200 s.")
    rate_bps = whole.model.playout.rate_bps.value
    assert fitted.model.playout.rate_bps.value == pytest.approx(rate_bps, rel=0.1)


def test_a_window_beyond_the_memory_is_refused(long_capture: Path) -> None:
    with pytest.raises(trafficgen.CaptureError, match=r"more than .* packets need"):
        trafficgen.fit(long_capture, from_s=1, memory_bytes=TINY)


def test_a_window_of_a_packet_table_is_that_of_its_capture(
    long_capture: Path, tmp_path: Path
) -> None:
    of_capture = trafficgen.fit(long_capture, from_s=100, to_s=200)
    table = tmp_path / "long.parquet"
    trafficgen.convert(long_capture, table)
    for memory_bytes in (TINY, None):  # piece by piece, and in memory
        of_table = trafficgen.fit(table, from_s=100, to_s=200, memory_bytes=memory_bytes)
        assert of_table.model.streams == of_capture.model.streams
    turned = tmp_path / "turned.parquet"
    write_packets(swap_ends(trafficgen.read_packets(long_capture)), turned)
    of_upload = trafficgen.fit(turned, from_s=100, to_s=200, upload=True, memory_bytes=TINY)
    assert of_upload.model.streams == of_capture.model.streams


def test_a_window_without_packets_says_when_the_session_is(long_capture: Path) -> None:
    expected = r"from 9000 s to the end; it lasts from 0 s to "
    with pytest.raises(trafficgen.SelectionError, match=expected):
        trafficgen.fit(long_capture, from_s=9000)


@pytest.mark.parametrize("memory_bytes", [TINY, None])
@pytest.mark.parametrize("ending", [".pcap", ".parquet"])
def test_a_window_that_ends_after_the_input_is_told(
    long_capture: Path, tmp_path: Path, ending: str, memory_bytes: int | None
) -> None:
    # The last two seconds: piece by piece they fit into little memory.
    from_s = trafficgen.inspect(long_capture).duration_s - 2
    path = tmp_path / f"long{ending}"
    trafficgen.convert(long_capture, path)
    told = r"long.*: the window .* s to 9000 s ends after the input; the input lasts"
    with pytest.warns(trafficgen.CaptureWarning, match=told):
        trafficgen.fit(path, memory_bytes=memory_bytes, from_s=from_s, to_s=9000)
    with pytest.warns(trafficgen.CaptureWarning, match=told):
        trafficgen.compare(path, path, memory_bytes=memory_bytes, from_s=from_s, to_s=9000)


@pytest.mark.parametrize("window", [(5.0, 5.0), (-1.0, 5.0), (float("nan"), 5.0)])
def test_a_window_that_is_none_is_refused(long_capture: Path, window: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"Invalid (window|time)|nothing is in the window"):
        trafficgen.fit(long_capture, from_s=window[0], to_s=window[1])


def test_a_window_is_not_matched_with_a_second_capture(long_capture: Path) -> None:
    with pytest.raises(ValueError, match="cannot be matched with a second capture"):
        trafficgen.fit(long_capture, receiver=long_capture, to_s=100)


def test_compare_and_export_say_what_they_need(long_capture: Path, tmp_path: Path) -> None:
    with pytest.raises(
        trafficgen.CaptureError,
        match=r"packets need some .* of memory, .* is allowed; give memory_bytes=",
    ):
        trafficgen.compare(long_capture, long_capture, memory_bytes=TINY)
    with pytest.raises(trafficgen.CaptureError, match=r"more than .* packets need some"):
        trafficgen.export(
            str(long_capture), to="ns3", directory=tmp_path / "ns3", memory_bytes=TINY
        )
    assert not (tmp_path / "ns3").exists()
    table = tmp_path / "long.parquet"
    trafficgen.convert(long_capture, table)
    with pytest.raises(trafficgen.PacketTableError, match="packets need some"):
        trafficgen.export(str(table), to="ns3", directory=tmp_path / "ns3", memory_bytes=TINY)


@pytest.mark.parametrize("ending", ["parquet", "csv", "pcap", "pcapng"])
def test_what_goes_from_file_to_file_is_the_same_as_through_memory(
    long_capture: Path, ending: str, tmp_path: Path
) -> None:
    outs = [tmp_path / f"{name}.{ending}" for name in ("through", "past")]
    through = trafficgen.convert(long_capture, outs[0], memory_bytes=None)
    past = trafficgen.convert(long_capture, outs[1], memory_bytes=TINY)
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert len(through.table) == past.packets
    assert len(past.table) == 0
    one, other = (
        json.dumps(done.to_json()).replace("through.", "past.") for done in (through, past)
    )
    assert one == other


def test_sessions_are_drawn_until_the_next_does_not_fit(tmp_path: Path) -> None:
    file = tmp_path / "many.pcap"
    trafficgen.generate(
        "cbr", file, sessions=40, duration_s=30, settings={"rate_kbps": 800}, snaplen_bytes=80
    )
    flows = trafficgen.inspect(file).flows
    sessions = flows.column("session").to_pylist()
    budget = Budget(TINY, FIT_PACKET_BYTES)
    drawn = [sessions_that_fit(flows, sessions, budget, seed) for seed in range(30)]
    each = flows.column("packets_to_client")[0].as_py()
    assert {len(some) for some in drawn} == {budget.most_packets // each}
    assert len(set(map(tuple, drawn))) == 30
    assert sorted({number for some in drawn for number in some}) == sorted(sessions)
    fitted = trafficgen.fit_population(file, memory_bytes=TINY, workers=1)
    assert fitted.population.sessions == budget.most_packets // each
    assert any("drawn at random" in text for text in fitted.session_warnings)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_memory_of_a_fitted_window_does_not_grow_with_the_session(tmp_path: Path) -> None:
    model = trafficgen.fit(EXAMPLE).model
    peaks = []
    for duration_s in (9_000, 27_000):
        file = tmp_path / f"{duration_s}.pcap"
        trafficgen.generate(model, file, duration_s=duration_s, seed=1, snaplen_bytes=80)
        peaks.append(_peak_bytes(file, 500_000_000))
        file.unlink()
    assert max(peaks) < 500_000_000
    assert peaks[1] < 1.1 * peaks[0]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_frames_that_fill_the_memory_of_a_fit_stay_within_it(tmp_path: Path) -> None:
    model = trafficgen.fit(EXAMPLE.with_name("rtsp_rtp_two_streams.pcap.gz")).model
    most = Budget(500_000_000, FIT_PACKET_BYTES).most_packets
    played = trafficgen.generate(model)
    assert most is not None
    duration_s = 0.95 * most * float(np.ptp(played.time_s)) / len(played)
    file = tmp_path / "frames.pcap"
    trafficgen.generate(model, file, duration_s=duration_s, seed=1, snaplen_bytes=80)
    peak_bytes = _peak_bytes(file, 500_000_000, to_s=1e6)
    assert peak_bytes < 500_000_000, peak_bytes


def _peak_bytes(file: Path, memory_bytes: int, *, to_s: float = 5400) -> int:
    """Return the most memory that a fit of a window had, in a process of its own."""
    work = (
        "import sys, pathlib, trafficgen\n"
        "trafficgen.fit(sys.argv[1], memory_bytes=int(sys.argv[2]), to_s=float(sys.argv[3]))\n"
        "status = dict(line.split(':', 1) for line in"
        " pathlib.Path('/proc/self/status').read_text().splitlines())\n"
        "print(status['VmHWM'].split()[0])"
    )
    command = [sys.executable, "-c", work, str(file), str(memory_bytes), str(to_s)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024


@pytest.mark.parametrize(
    ("text", "size_bytes"), [("1G", 10**9), ("1GiB", 1 << 30), ("500MB", 500 * 10**6)]
)
def test_memory_is_taken_as_other_programs_write_it(text: str, size_bytes: int) -> None:
    assert parse_memory(text) == size_bytes


@pytest.mark.parametrize(("text", "time_s"), [("90sec", 90.0), ("5m", 300.0), ("5ms", 0.005)])
def test_times_are_taken_as_other_programs_write_them(text: str, time_s: float) -> None:
    assert parse_duration_s(text) == time_s


@pytest.mark.parametrize(
    ("claimed_bytes", "most"), [(1500, 20), (65_535, 1_000), (524_280, 7_500), (2**31 - 1, 7_500)]
)
def test_packets_count_as_the_pieces_that_they_are_cut_into(claimed_bytes: int, most: int) -> None:
    table = build_table(np.arange(20), ip_bytes=claimed_bytes, header_bytes=28)
    table = replace(table, flows=inspect_table(table, files=("-",))[0].flows)
    assert len(resegment(table)[0]) <= 1.05 * weight_of(table.flows, [0])
    assert weight_of(table.flows, [0]) <= most
