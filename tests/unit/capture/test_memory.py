"""Inputs that do not fit into the memory that a command may take."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trafficgen
from trafficgen.capture.memory import FIT_PACKET_BYTES, Budget, sessions_that_fit
from trafficgen.export import write_parquet
from trafficgen.flows import turned_round
from trafficgen.models import FittedProvenance, dump_model
from trafficgen.models.sampling import Sampling

EXAMPLE = (
    Path(__file__).resolve().parents[3] / "examples" / "captures" / "http_burst_then_paced.pcap.gz"
)
#: Below this a fit is not worth while: 20,000 packets are always taken.
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


@pytest.fixture(scope="module")
def sampled(long_capture: Path) -> trafficgen.Fit:
    return trafficgen.fit(long_capture, memory_bytes=TINY)


def sampling_of(fitted: trafficgen.Fit) -> Sampling:
    provenance = fitted.model.provenance
    assert isinstance(provenance, FittedProvenance)
    assert provenance.sampling is not None
    return provenance.sampling


def test_a_fit_with_enough_memory_says_nothing_of_samples(
    long_capture: Path, whole: trafficgen.Fit
) -> None:
    unlimited = trafficgen.fit(long_capture, memory_bytes=None)
    assert json.dumps(unlimited.to_json()) == json.dumps(whole.to_json())
    assert dump_model(unlimited.model) == dump_model(whole.model)
    assert "sampling" not in dump_model(whole.model)
    assert "sampling" not in whole.to_json()


def test_what_is_counted_of_the_whole_session_is_that_of_the_whole_fit(
    whole: trafficgen.Fit, sampled: trafficgen.Fit
) -> None:
    one, other = whole.calibration.session, sampled.calibration.session
    assert (other.packets, other.duration_s) == (one.packets, one.duration_s)
    assert other.phases.playout_kbps == pytest.approx(one.phases.playout_kbps, rel=1e-9)
    assert other.phases.buffering_end_s == pytest.approx(one.phases.buffering_end_s)
    assert other.phases.end_s == pytest.approx(one.phases.end_s)
    last, its = (fitted.model.streams[0].phases[-1] for fitted in (whole, sampled))
    assert (its.name, its.process.kind) == (last.name, last.process.kind)
    assert its.end_s == pytest.approx(last.end_s)
    assert sampled.rate.size_bytes.sum() == whole.rate.size_bytes.sum()


def test_a_sampled_fit_is_within_its_stated_error(
    whole: trafficgen.Fit, sampled: trafficgen.Fit
) -> None:
    sampling = sampling_of(sampled)
    assert 10_000 < sampling.packets_used < 20_000 < sampling.packets_present
    session = whole.calibration.session
    exact = {
        "rate_kbps": sampling.error.rate_kbps.whole,
        "packet_bytes": float(np.mean(session_sizes(whole))),
    }
    assert sampling.error.packet_bytes.whole == pytest.approx(exact["packet_bytes"])
    for mean in (sampling.error.rate_kbps, sampling.error.packet_bytes, sampling.error.gap_s):
        assert mean.standard_error is not None
        assert abs(mean.sample - mean.whole) < 4 * mean.standard_error
    assert sampling.error.packet_bytes.ks < 1.63 / np.sqrt(sampling.packets_used)
    bursts = [fitted.calibration.session.bursts_by_phase for fitted in (whole, sampled)]
    assert bursts[0] is not None
    assert bursts[1] is not None
    spacing = [found["playout"].spacing_s for found in bursts if found is not None]
    error_s = spacing[1].std() / np.sqrt(spacing[1].size)
    assert abs(spacing[1].mean() - spacing[0].mean()) < 4 * error_s
    assert session.packets == sampling.packets_present


def session_sizes(fitted: trafficgen.Fit) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    view = fitted.calibration.views.captured
    return view.media_ip_bytes


def test_the_model_of_a_sample_is_saved_loaded_and_played(
    sampled: trafficgen.Fit, tmp_path: Path
) -> None:
    file = tmp_path / "model.json"
    trafficgen.save_model(sampled.model, file)
    assert trafficgen.load_model(file) == sampled.model
    assert len(trafficgen.generate(file, duration_s=20)) > 1000
    assert any("stretches between" in text for text in sampled.warnings)


def test_the_same_seed_gives_the_same_model(long_capture: Path, sampled: trafficgen.Fit) -> None:
    again = trafficgen.fit(long_capture, memory_bytes=TINY)
    assert dump_model(again.model) == dump_model(sampled.model)


def test_a_packet_table_is_sampled_as_its_capture(
    long_capture: Path, sampled: trafficgen.Fit, tmp_path: Path
) -> None:
    table = tmp_path / "long.parquet"
    trafficgen.convert(long_capture, table)
    found = trafficgen.fit(table, memory_bytes=TINY)
    assert sampling_of(found) == sampling_of(sampled)
    assert found.model.streams == sampled.model.streams


def test_an_upload_is_sampled_too(
    long_capture: Path, sampled: trafficgen.Fit, tmp_path: Path
) -> None:
    turned = tmp_path / "turned.parquet"
    table = trafficgen.read_packets(long_capture)
    write_parquet(turned_round(table), turned)
    found = trafficgen.fit(turned, memory_bytes=TINY, upload=True)
    assert sampling_of(found) == sampling_of(sampled)
    assert found.calibration.session.phases == sampled.calibration.session.phases


def test_parts_of_a_session_are_not_matched_with_a_second_capture(long_capture: Path) -> None:
    with pytest.raises(
        trafficgen.CalibrationError,
        match="cannot be matched with a second capture; give more --memory",
    ):
        trafficgen.fit(long_capture, receiver=long_capture, memory_bytes=TINY)


def test_compare_and_export_say_what_they_need(long_capture: Path, tmp_path: Path) -> None:
    with pytest.raises(
        trafficgen.CaptureError,
        match=r"packets need some .* of memory, .* is allowed; give --memory",
    ):
        trafficgen.compare(long_capture, long_capture, memory_bytes=TINY)
    with pytest.raises(trafficgen.CaptureError, match=r"more than .* packets need some"):
        trafficgen.export(
            str(long_capture), to="mgen", directory=tmp_path / "mgen", memory_bytes=TINY
        )
    assert not (tmp_path / "mgen").exists()
    table = tmp_path / "long.parquet"
    trafficgen.convert(long_capture, table)
    with pytest.raises(trafficgen.PacketTableError, match="packets need some"):
        trafficgen.export(str(table), to="mgen", directory=tmp_path / "mgen", memory_bytes=TINY)


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
def test_memory_of_a_fit_stays_within_what_is_allowed_however_long_the_session(
    tmp_path: Path,
) -> None:
    model = trafficgen.fit(EXAMPLE).model
    peaks = []
    for duration_s in (9_000, 27_000):
        file = tmp_path / f"{duration_s}.pcap"
        trafficgen.generate(model, file, duration_s=duration_s, seed=1, snaplen_bytes=80)
        peaks.append(_peak_bytes(file, 500_000_000))
        file.unlink()
    assert max(peaks) < 500_000_000
    assert peaks[1] < 1.1 * peaks[0]


def _peak_bytes(file: Path, memory_bytes: int) -> int:
    """Return the most memory that a fit of a capture had, in a process of its own."""
    work = (
        "import sys, pathlib, trafficgen\n"
        "trafficgen.fit(sys.argv[1], memory_bytes=int(sys.argv[2]))\n"
        "status = dict(line.split(':', 1) for line in"
        " pathlib.Path('/proc/self/status').read_text().splitlines())\n"
        "print(status['VmHWM'].split()[0])"
    )
    command = [sys.executable, "-c", work, str(file), str(memory_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024
