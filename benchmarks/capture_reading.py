"""Reading a capture into packet and flow tables: ours, and what others take for less."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from benchmarks.measure import ROOT, Contestant, print_outcomes, race, role, run_once, warm, work_folder

_MEAN_RECORD_BYTES = 816
_TSHARK_FIELDS = ("frame.time_epoch", "frame.len", "ip.src", "ip.dst", "udp.dstport", "tcp.dstport")


def run(*, packets: int, runs: int, folder: Path | None) -> None:
    """Print the table."""
    with work_folder(2 * packets * _MEAN_RECORD_BYTES, folder) as work:
        capture, head = work / "capture.pcap", work / "head.pcap"
        run_once(role("make", capture, packets))
        for path in (capture, head):
            warm(path)
        size_bytes = capture.stat().st_size
        contestants = [
            Contestant("trafficgen", role("read_ours", capture, packets), packets, size_bytes),
            Contestant("cat > /dev/null", ["sh", "-c", f"cat '{capture}' > /dev/null"], packets, size_bytes),
            Contestant("dd bs=1M", ["dd", f"if={capture}", "of=/dev/null", "bs=1M"], packets, size_bytes),
        ]
        absent: list[str] = []
        loop = _compiled_loop(work)
        if loop is None:
            absent.append("libpcap pcap_next_ex loop in C")
        else:
            contestants.append(
                Contestant("libpcap pcap_next_ex loop in C", [str(loop), str(capture)], packets, size_bytes)
            )
        few, few_bytes, note = packets // 10, head.stat().st_size, f"on {packets // 10} packets"
        contestants.append(
            Contestant("dpkt Reader + Ethernet", role("read_dpkt", head, few), few, few_bytes, note=note)
        )
        if shutil.which("tshark"):
            fields = " ".join(f"-e {field}" for field in _TSHARK_FIELDS)
            command = ["sh", "-c", f"tshark -n -r '{head}' -T fields {fields} > /dev/null"]
            contestants.append(Contestant("tshark -T fields, six", command, few, few_bytes, note=note))
        else:
            absent.append("tshark")
        ours, *peers = race(contestants, runs=runs)
        title = f"Reading {packets} packets, {size_bytes / 1e6:.0f} MB, warm, from {work.parent}"
        print_outcomes(title, ours, peers, absent=absent)


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
