"""Building and writing a pcap: ours, dpkt and scapy the same frames, ``dd`` the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Contestant, race, role, run_once, scapy_role, sweep, work_folder
from benchmarks.results import Race, Sweep, powers_of_ten

_MEAN_RECORD_BYTES = 816
#: The slow ones get every so many of the packets.
_DPKT_SHARE, _SCAPY_SHARE = 50, 500
_SMALLEST = 10_000


def results(*, packets: int, runs: int, folder: Path | None) -> Iterator[Race | Sweep]:
    """Give a race at one capture and a sweep over sizes."""
    with work_folder(3 * packets * _MEAN_RECORD_BYTES, folder) as work:
        kept, copy, zeros, ng = (
            work / name for name in ("kept.pcap", "copy.pcap", "zeros", "ours.pcapng")
        )
        run_once(role("write_ours", kept, packets))
        size_bytes = kept.stat().st_size
        blocks = str(max(1, size_bytes >> 20))
        copying = ["dd", f"if={kept}", f"of={copy}", "bs=1M"]
        filling = ["dd", "if=/dev/zero", f"of={zeros}", "bs=1M", f"count={blocks}"]
        few, fewer = max(1, packets // _DPKT_SHARE), max(1, packets // _SCAPY_SHARE)
        # Memory that a virtual machine has not used before comes slowly, once: let nobody in the
        # race be the first.
        run_once(filling)
        zeros.unlink()
        ours, *peers = race(
            [
                Contestant(
                    "trafficgen pcap", role("write_ours", copy, packets), packets, size_bytes, copy
                ),
                Contestant("dd bs=1M, copy of the file", copying, packets, size_bytes, copy),
                Contestant("dd bs=1M, as many zeros", filling, packets, int(blocks) << 20, zeros),
                Contestant(
                    "trafficgen pcapng", role("write_ours", ng, packets), packets, size_bytes, ng
                ),
                Contestant(
                    "dpkt build + write",
                    role("write_dpkt", copy, few),
                    few,
                    size_bytes * few // packets,
                    copy,
                    f"on {few} packets",
                ),
                Contestant(
                    "scapy build + write",
                    scapy_role("write", copy, fewer),
                    fewer,
                    size_bytes * fewer // packets,
                    copy,
                    f"on {fewer} packets",
                ),
            ],
            runs=runs,
            touched_bytes=size_bytes,
        )
        yield Race(
            f"Building and writing {packets:,} packets, {size_bytes / 1e6:.0f} MB",
            ours,
            peers,
            remark=(
                "peak of ours holds the packet table; ours and dd write to memory that was touched"
                " before"
            ),
        )
        kept.unlink()
        yield sweep(
            "Building and writing a pcap",
            "packets",
            powers_of_ten(_SMALLEST, packets),
            lambda size: Contestant(
                "trafficgen pcap",
                role("write_ours", copy, size),
                size,
                size * _MEAN_RECORD_BYTES,
                copy,
            ),
            remark="the packet table is held in memory",
        )
