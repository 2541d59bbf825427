"""Reading a capture into packet and flow tables: ours and other readers, and growth with size."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import (
    ROOT,
    Contestant,
    race,
    role,
    run_once,
    scapy_role,
    sweep,
    warm,
    work_folder,
)
from benchmarks.results import Race, Sweep, powers_of_ten

_MEAN_RECORD_BYTES = 816
_TSHARK_FIELDS = ("frame.time_epoch", "frame.len", "ip.src", "ip.dst", "udp.dstport", "tcp.dstport")
#: Where a Python with nfstream is; `make .venv-peers/installed` makes one.
PEERS_PYTHON = Path(
    os.environ.get("TRAFFICGEN_PEERS_PYTHON", ROOT / ".venv-peers" / "bin" / "python")
)
_SMALLEST = 10_000
_TABLE_BYTES = 100  # what a packet takes in a table, generously
_FEWEST_FLOWS, _PACKETS_OF_A_FLOW = 1_000, 5


def results(*, packets: int, runs: int, folder: Path | None) -> Iterator[Race | Sweep]:
    """Give a race at one capture, and sweeps over packets and over flows."""
    with work_folder(2 * packets * _MEAN_RECORD_BYTES, folder) as work:
        capture, head, small = work / "capture.pcap", work / "head.pcap", work / "small.pcap"
        run_once(role("make", capture, packets))
        run_once(role("write_ours", small, packets // 100))
        for path in (capture, head, small):
            warm(path)
        size_bytes = capture.stat().st_size
        contestants = [
            Contestant(
                "trafficgen, packet and flow tables",
                role("read_ours", capture, packets),
                packets,
                size_bytes,
            ),
            Contestant(
                "trafficgen inspect", role("inspect_ours", capture, packets), packets, size_bytes
            ),
            Contestant(
                "cat > /dev/null", ["sh", "-c", f"cat '{capture}' > /dev/null"], packets, size_bytes
            ),
            Contestant(
                "dd bs=1M", ["dd", f"if={capture}", "of=/dev/null", "bs=1M"], packets, size_bytes
            ),
        ]
        absent: list[str] = []
        loop = _compiled_loop(work)
        if loop is None:
            absent.append("libpcap pcap_next_ex loop in C")
        else:
            contestants.append(
                Contestant(
                    "libpcap pcap_next_ex loop in C", [str(loop), str(capture)], packets, size_bytes
                )
            )
        for contestant, needs in _slow_readers(head, small, packets):
            if needs:
                contestants.append(contestant)
            else:
                absent.append(contestant.name)
        ours, *peers = race(contestants, runs=runs, touched_bytes=packets * _TABLE_BYTES)
        yield Race(
            f"Reading {packets:,} packets, {size_bytes / 1e6:.0f} MB, warm",
            ours,
            peers,
            absent,
            "ours have read a small capture before, which loads their libraries",
        )

        def of_size(size: int) -> Contestant:
            run_once(role("write_ours", capture, size))
            return Contestant(
                "trafficgen inspect",
                role("inspect_ours", capture, size),
                size,
                capture.stat().st_size,
            )

        def of_flows(count: int) -> Contestant:
            size = count * _PACKETS_OF_A_FLOW
            run_once(role("make_flows", capture, size))
            return Contestant(
                "trafficgen inspect",
                role("inspect_ours", capture, size),
                size,
                capture.stat().st_size,
            )

        yield sweep(
            "Inspecting captures of 512 flows",
            "packets",
            powers_of_ten(_SMALLEST, packets),
            of_size,
            runs=runs,
        )
        sizes = powers_of_ten(_FEWEST_FLOWS, packets // _PACKETS_OF_A_FLOW)
        yield sweep(f"Inspecting flows of {_PACKETS_OF_A_FLOW} packets", "flows", sizes, of_flows)


def _slow_readers(head: Path, small: Path, packets: int) -> Iterator[tuple[Contestant, bool]]:
    """Yield readers that get a tenth or a hundredth of the packets, and whether they can be run."""
    few, fewer = packets // 10, packets // 100
    few_bytes, fewer_bytes = head.stat().st_size, small.stat().st_size
    note, fewer_note = f"on {few} packets", f"on {fewer} packets"
    yield (
        Contestant(
            "dpkt Reader + Ethernet", role("read_dpkt", head, few), few, few_bytes, note=note
        ),
        True,
    )
    yield (
        Contestant(
            "scapy RawPcapReader + Ether",
            scapy_role("read", small, fewer),
            fewer,
            fewer_bytes,
            note=fewer_note,
        ),
        True,
    )
    counting = f"tcpdump -nn -tt -r '{head}' > /dev/null"
    yield (
        Contestant("tcpdump -nn -tt", ["sh", "-c", counting], few, few_bytes, note=note),
        shutil.which("tcpdump") is not None,
    )
    fields = " ".join(f"-e {field}" for field in _TSHARK_FIELDS)
    dissecting = f"tshark -n -r '{head}' -T fields {fields} > /dev/null"
    yield (
        Contestant("tshark -T fields, six", ["sh", "-c", dissecting], few, few_bytes, note=note),
        shutil.which("tshark") is not None,
    )
    script = str(ROOT / "benchmarks" / "nfstream_reader.py")
    yield (
        Contestant(
            "nfstream, flows alone",
            [str(PEERS_PYTHON), script, str(head)],
            few,
            few_bytes,
            note=note,
        ),
        PEERS_PYTHON.exists(),
    )


def _compiled_loop(work: Path) -> Path | None:
    """Compile the C loop; ``None`` without a compiler or libpcap's headers."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    program = work / "libpcap_loop"
    source = ROOT / "benchmarks" / "libpcap_loop.c"
    command = [compiler, "-O2", "-o", str(program), str(source), "-lpcap"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return None
    return program
