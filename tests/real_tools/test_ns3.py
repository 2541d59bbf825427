"""ns-3 sends what the export says: its own capture beside the schedule, in both generations of its
attributes.
"""

from __future__ import annotations

import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.conftest import build_table
from tests.real_tools.ns3_runs import Ran, compiled, run
from tests.unit.generation.conftest import bursts, model_with, phase, renewal, stream

import trafficgen
from trafficgen.models import BurstProcess, Law, RenewalProcess
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray, s_from_ns

GENERATIONS = ("debian", "wheel")
SOURCES = ("wmedia9_nichols2004", "realplayer8_chung2002")
#: The scenario's time of the schedule's first packet.
ORIGIN_NS = 1_000_000_000
#: Largest error of a time: half a millisecond where times are whole ones.
ERRORS_NS = {"trace": 500_000, "exact": 0}
#: What packets sent at one time take on the sender's link, which has 1000 Gbit/s.
QUEUEING_NS = 2_000


@pytest.fixture(scope="module")
def schedules() -> dict[str, PacketTable]:
    """12 s of two streams whose times are nearly whole milliseconds apart, and of one whose times
    are not.
    """
    return {name: trafficgen.generate(name, duration_s=12.0, seed=1) for name in SOURCES}


@pytest.fixture(scope="module")
def fed(
    schedules: dict[str, PacketTable], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[PacketTable, Path]]:
    """The schedules, each with its export."""
    pairs = {}
    for name, schedule in schedules.items():
        folder = tmp_path_factory.mktemp("ns3") / "export"
        trafficgen.export(schedule, to="ns3", directory=folder)
        pairs[name] = (schedule, folder)
    return pairs


def sent_and_wanted(schedule: PacketTable, ran: Ran) -> list[tuple[PacketTable, PacketTable]]:
    """Return the packets of each flow in ns-3's capture, and those of the schedule, from the first
    of all flows.
    """
    found = trafficgen.read_packets(ran.folder / "sent.pcap")
    media = schedule.select(
        schedule.to_client
        & np.isin(schedule.flow, _udp_flows(schedule))
        & (schedule.payload_bytes > 0)
    )
    numbers = np.unique(media.flow).tolist()
    ports = found.flows.column("client_port").to_pylist()
    return [
        (found.select(found.flow == ports.index(5000 + place)), media.select(media.flow == number))
        for place, number in enumerate(numbers)
    ]


def _udp_flows(schedule: PacketTable) -> list[int]:
    return [row["flow"] for row in schedule.flows.to_pylist() if row["protocol"] == "udp"]


def check_sent(schedule: PacketTable, ran: Ran, *, error_ns: int) -> None:
    """Check that all packets were sent, with their sizes, at their times."""
    assert ran.code == 0, ran.stderr
    pairs = sent_and_wanted(schedule, ran)
    assert len(pairs) == len(ran.rows) > 0
    first_ns = min(int((wanted.time_ns + wanted.origin_ns).min()) for _, wanted in pairs)
    for found, wanted in pairs:
        np.testing.assert_array_equal(found.payload_bytes, wanted.payload_bytes)
        found_ns = found.time_ns + found.origin_ns - ORIGIN_NS
        late_ns = found_ns - (wanted.time_ns + wanted.origin_ns - first_ns)
        assert late_ns.min() >= -error_ns
        assert late_ns.max() <= error_ns + QUEUEING_NS
    for row in ran.rows.values():
        assert row["sent_packets"] == row["received_packets"] == row["scheduled_packets"]


@pytest.mark.parametrize(
    ("generation", "source"),
    [*product(GENERATIONS, SOURCES), pytest.param("python", SOURCES[1], marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("mode", ERRORS_NS)
def test_ns3_sends_the_schedule(
    fed: dict[str, tuple[PacketTable, Path]],
    tmp_path: Path,
    generation: str,
    source: str,
    mode: str,
) -> None:
    schedule, export = fed[source]
    ran = run(generation, export, f"--mode={mode}", folder=tmp_path / "run")
    check_sent(schedule, ran, error_ns=ERRORS_NS[mode])


@pytest.mark.parametrize("generation", [*GENERATIONS, "python"])
def test_the_scenario_names_a_trace_that_is_missing_and_sends_nothing_else(
    fed: dict[str, tuple[PacketTable, Path]], tmp_path: Path, generation: str
) -> None:
    folder = tmp_path / "export"
    shutil.copytree(fed[SOURCES[0]][1], folder)
    (folder / "flow2.trace").unlink()
    ran = run(generation, folder, "--mode=trace", folder=tmp_path / "run")
    assert ran.code == 2
    assert ran.stderr.splitlines()[-1].endswith(
        f"{folder}/flow2.trace: cannot be read; it is one of the files of the export"
    )


@pytest.mark.parametrize("generation", GENERATIONS)
def test_ns3_carries_all_bytes_that_tcp_flows_write(tmp_path: Path, generation: str) -> None:
    chunks = trafficgen.generate("chunked", duration_s=10.8, seed=1)
    report = trafficgen.export(
        chunks, to="ns3", directory=tmp_path / "export", settings={"mode": "exact"}
    )
    assert report.bytes_after == report.bytes_before
    ran = run(generation, tmp_path / "export", "--mode=exact", folder=tmp_path / "run")
    assert ran.code == 0, ran.stderr
    assert ran.rows
    for row in ran.rows.values():
        _, *lines = (tmp_path / "export" / f"flow{row['flow']}.csv").read_text().splitlines()
        written = sum(int(line.split(",")[1]) for line in lines)
        assert int(row["sent_payload_bytes"]) >= int(row["received_payload_bytes"]) == written


@pytest.mark.parametrize("generation", GENERATIONS)
def test_ns3_reads_bursts_at_the_nanosecond_of_each_packet(
    schedules: dict[str, PacketTable], tmp_path: Path, generation: str
) -> None:
    schedule = schedules[SOURCES[1]]
    trafficgen.export(schedule, to="ns3", directory=tmp_path, settings={"mode": "bursts"})
    program = compiled(Path(__file__).with_name("read_bursts.cc"), generation)
    done = subprocess.run(
        [str(program), str(tmp_path / "flow0.bursts.csv")],
        check=True,
        capture_output=True,
        text=True,
    )
    time_ns, size_bytes = np.loadtxt(done.stdout.splitlines(), dtype=np.int64).T
    wanted = schedule.select(
        (schedule.flow == 0) & schedule.to_client & (schedule.payload_bytes > 0)
    )
    np.testing.assert_array_equal(time_ns, wanted.time_ns - wanted.time_ns[0])
    np.testing.assert_array_equal(size_bytes, wanted.payload_bytes)


def gaps_of_on_off(
    process: RenewalProcess | BurstProcess, tmp_path: Path, generation: str
) -> FloatArray:
    """Return the gaps that ns-3's OnOffApplication draws for a process over 1000 s, s."""
    model = model_with(stream(phases=(phase("playout", 0.0, 1000.0, process),)))
    trafficgen.export(model, to="ns3", directory=tmp_path / "export")
    ran = run(generation, tmp_path / "export", "--mode=onoff", folder=tmp_path / "run")
    assert ran.code == 0, ran.stderr
    return np.diff(s_from_ns(trafficgen.read_packets(tmp_path / "run" / "sent.pcap").time_ns))


@pytest.mark.parametrize("generation", GENERATIONS)
def test_on_off_draws_the_gaps_of_a_renewal_process(tmp_path: Path, generation: str) -> None:
    shape, mean_s = 0.7, 0.05
    gaps_s = gaps_of_on_off(renewal(mean_s=mean_s, shape=shape), tmp_path, generation)
    deviation = 1 / np.sqrt(shape)  # of a gap, in means
    assert gaps_s.mean() == pytest.approx(mean_s, rel=4 * deviation / np.sqrt(gaps_s.size))
    assert stats.kstest(gaps_s, stats.gamma(shape, scale=mean_s / shape).cdf).pvalue > 1e-4


@pytest.mark.parametrize("generation", GENERATIONS)
def test_on_off_draws_the_packets_and_spacings_of_bursts(tmp_path: Path, generation: str) -> None:
    process = bursts(spacing_s=0.5)
    gaps_s = gaps_of_on_off(process, tmp_path, generation)
    starts = np.concatenate(([0], np.flatnonzero(gaps_s > process.threshold_s) + 1))
    packets = np.diff(starts)
    spacing_s = np.diff(np.concatenate(([0.0], np.cumsum(gaps_s)))[starts])
    count = packets.size
    assert count == pytest.approx(2000, abs=40)
    law: Law = process.burst_packets
    values = np.arange(1, 50)
    found = np.searchsorted(np.sort(packets), values, side="right") / count
    # 1.63 / sqrt(n): exceeded once in a hundred by a sample of the law itself (Kolmogorov).
    assert np.max(np.abs(found - law.distribution().cdf(values))) < 1.63 / np.sqrt(count)
    assert spacing_s.mean() == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize(
    "time_s", [[0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]], ids=["one", "at once", "twice two"]
)
def test_short_traces_are_sent_once(tmp_path: Path, generation: str, time_s: list[float]) -> None:
    trafficgen.export(build_table(time_s), to="ns3", directory=tmp_path / "export")
    ran = run(generation, tmp_path / "export", "--mode=trace", folder=tmp_path / "run")
    assert ran.code == 0, ran.stderr
    (row,) = ran.rows.values()
    assert int(row["sent_packets"]) == int(row["received_packets"]) == len(time_s)
    assert int(row["sent_payload_bytes"]) == 972 * len(time_s)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_mode_that_is_not_one_is_refused(
    fed: dict[str, tuple[PacketTable, Path]], tmp_path: Path, generation: str
) -> None:
    ran = run(generation, fed[SOURCES[0]][1], "--mode=exat", folder=tmp_path / "run")
    assert ran.code == 2
    assert "--mode=exat: there is no such mode; use trace, exact or onoff" in ran.stderr
