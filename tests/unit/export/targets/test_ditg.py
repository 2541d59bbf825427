from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.export.targets.test_mgen import sending

import trafficgen
from trafficgen.errors import ExportError
from trafficgen.export.targets.ditg.schedule import check_line
from trafficgen.tables import PacketTable


def test_a_flow_has_files_of_gaps_and_sizes_and_a_script_of_one_line(
    table: PacketTable, tmp_path: Path
) -> None:
    packets = sending(table, [0, 1_000_600, 1_000_700, 3_500_000], [100, 200, 300, 400])
    report = trafficgen.export(packets, to="ditg", directory=tmp_path)
    assert (
        tmp_path / "flow0.script"
    ).read_bytes() == b"-a 127.0.0.1 -rp 10001 -p 0 -poll -z 4 -Fs flow0.ps -Ft flow0.idt\n"
    assert (tmp_path / "flow0.ps").read_bytes() == b"100\n200\n300\n400\n"
    assert (tmp_path / "flow0.idt").read_bytes() == b"1000.000\n1.001\n0.001\n2.498\n"
    assert report.timing_error_s is not None
    assert report.timing_error_s.max == pytest.approx(1.3e-6)


def test_gaps_add_up_to_the_absolute_times(table: PacketTable, tmp_path: Path) -> None:
    time_ns = np.cumsum(np.full(10_000, 1_333_333)).tolist()
    trafficgen.export(sending(table, time_ns, [100] * 10_000), to="ditg", directory=tmp_path)
    gap_ms = np.loadtxt(tmp_path / "flow0.idt")
    assert gap_ms.min() > 0
    sent_ms = np.cumsum(gap_ms) - 1000
    np.testing.assert_allclose(sent_ms, (np.array(time_ns) - time_ns[0]) / 1e6, atol=0.0006)


def test_a_later_flow_starts_at_its_whole_millisecond_and_makes_up_for_the_rest(
    table: PacketTable, tmp_path: Path
) -> None:
    report = trafficgen.export(table, to="ditg", directory=tmp_path)
    assert report.files[0] == "all.script"
    lines = (tmp_path / "all.script").read_text().splitlines()
    assert lines[0].startswith("-a 127.0.0.1 -rp 10001 -p 0 ")
    assert lines[1].startswith("-a 127.0.0.1 -rp 10002 -T TCP -D -p 0 ")
    assert (tmp_path / "flow1.idt").read_text() == "1000.000\n"
    assert report.timing_error_s is not None
    assert report.timing_error_s.max == pytest.approx(5e-6)


def test_gaps_are_made_shorter_by_what_a_machine_is_late(
    table: PacketTable, tmp_path: Path
) -> None:
    packets = sending(table, [0, 1_000_000, 1_020_000], [100, 100, 100])
    settings = {"late_us": 30, "poll": False}
    trafficgen.export(packets, to="ditg", directory=tmp_path, settings=settings)
    assert (tmp_path / "flow0.idt").read_text() == "1000.000\n0.970\n0.001\n"
    assert "-poll" not in (tmp_path / "flow0.script").read_text()


@pytest.mark.parametrize(("metadata", "low"), [("standard", 16), ("short", 8), ("none", 4)])
def test_small_payloads_are_raised_to_what_the_metadata_need(
    table: PacketTable, tmp_path: Path, metadata: str, low: int
) -> None:
    report = trafficgen.export(
        sending(table, [0, 10_000], [low - 1, low]),
        to="ditg",
        directory=tmp_path,
        settings={"metadata": metadata},
    )
    assert (tmp_path / "flow0.ps").read_text() == f"{low}\n{low}\n"
    assert (
        f"flow 0: sizes below {low} bytes were raised to {low} (1 packet)" in report.cannot_express
    )


def test_both_ends_are_told_of_another_signal_port(table: PacketTable, tmp_path: Path) -> None:
    packets = sending(table, [0], [100])
    trafficgen.export(packets, to="ditg", directory=tmp_path, settings={"signal_port": 9123})
    assert (tmp_path / "flow0.script").read_text().startswith("-a 127.0.0.1 -Sdp 9123 -rp 10001 ")
    assert "ITGRecv -Sp 9123\n" in (tmp_path / "README.md").read_text()


def test_large_payloads_are_refused_or_cut(table: PacketTable, tmp_path: Path) -> None:
    packets = sending(table, [0], [64_001])
    with pytest.raises(ExportError, match="ditg sends at most 64000 payload bytes"):
        trafficgen.export(packets, to="ditg", directory=tmp_path / "a")
    trafficgen.export(packets, to="ditg", directory=tmp_path / "b", settings={"oversize": "split"})
    assert (tmp_path / "b" / "flow0.ps").read_text() == "32001\n32000\n"


def test_many_flows_are_shared_among_several_of_both_ends(tmp_path: Path) -> None:
    packets = trafficgen.generate("cbr", sessions=23, duration_s=1, seed=1)
    report = trafficgen.export(
        packets, to="ditg", directory=tmp_path, settings={"signal_port": 9003}
    )
    assert report.files[:5] == ("part0.script", "part1.script", "part2.script", "run.sh", "sink.sh")
    parts = [(tmp_path / name).read_text().splitlines() for name in report.files[:3]]
    assert [len(lines) for lines in parts] == [10, 10, 3]
    assert [line.split()[5] for lines in parts for line in lines] == [
        str(10_001 + flow) for flow in range(23)
    ]
    for part, lines in enumerate(parts):
        assert all(f" -Sdp {9003 + part} " in line for line in lines)
        assert f"ITGRecv -Sp {9003 + part} " in (tmp_path / "sink.sh").read_text()
    assert (tmp_path / "flow13.script").read_text().splitlines() == [parts[1][3]]


def test_lines_longer_than_itgsend_reads_are_refused() -> None:
    assert check_line("x" * 399) == "x" * 399
    with pytest.raises(ExportError, match="at most 399 characters"):
        check_line("x" * 400)
