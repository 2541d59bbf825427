"""Building and writing a pcap: ours, dpkt building and writing the same frames, and ``dd`` of the same bytes."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import Contestant, print_outcomes, race, role, run_once, work_folder

_MEAN_RECORD_BYTES = 816
_DPKT_SHARE = 50  # dpkt gets every 50th of the packets


def run(*, packets: int, runs: int, folder: Path | None) -> None:
    """Print the table."""
    with work_folder(2 * packets * _MEAN_RECORD_BYTES, folder) as work:
        kept, copy, zeros = work / "kept.pcap", work / "copy.pcap", work / "zeros"
        run_once(role("write_ours", kept, packets))
        size_bytes = kept.stat().st_size
        few = max(1, packets // _DPKT_SHARE)
        blocks = str(max(1, size_bytes >> 20))
        copying = ["dd", f"if={kept}", f"of={copy}", "bs=1M"]
        filling = ["dd", "if=/dev/zero", f"of={zeros}", "bs=1M", f"count={blocks}"]
        ng = work / "ours.pcapng"
        # Memory that a virtual machine has not used before comes slowly, once: let nobody in the race be the first.
        run_once(filling)
        zeros.unlink()
        outcomes = race(
            [
                Contestant("trafficgen pcap", role("write_ours", copy, packets), packets, size_bytes, copy),
                Contestant("dd bs=1M, copy of the file", copying, packets, size_bytes, copy),
                Contestant("dd bs=1M, as many zeros", filling, packets, int(blocks) << 20, zeros),
                Contestant("trafficgen pcapng", role("write_ours", ng, packets), packets, size_bytes, ng),
                Contestant(
                    "dpkt build + write",
                    role("write_dpkt", copy, few),
                    few,
                    size_bytes * few // packets,
                    copy,
                    f"on {few} packets",
                ),
            ],
            runs=runs,
        )
        title = f"Writing {packets} packets, {size_bytes / 1e6:.0f} MB, to {work.parent} (peak of ours holds the table)"
        print_outcomes(title, outcomes[0], outcomes[1:], absent=[])
