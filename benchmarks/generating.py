"""Generation: packets of a model a second, whole workloads to files, and how time and memory grow with their size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import OURS, ROOT, Contestant, Outcome, print_outcomes, race, role, run_once, work_folder

_CAPTURES = ROOT / "examples" / "captures"
_RTSP, _HTTP = _CAPTURES / "rtsp_rtp_two_streams.pcap.gz", _CAPTURES / "http_burst_then_paced.pcap.gz"
_TABLE_PACKETS = 5_000_000
_FULL_FRAME_BYTES = 1_100
_BYTES_PER_PACKET = 150  # a part, a Parquet file and a capture cut to its headers
_SNAPLEN_BYTES = 64
#: Sessions of the renewal model have this many packets on average.
_LONG_SESSION_PACKETS = 72_600
_SMALLEST_SIZE = 100_000


def run(*, packets: int, runs: int, folder: Path | None) -> None:
    """Print packets a second into tables, workloads to files beside ``cp``, and a sweep of sizes up to ``packets``."""
    few = max(_SMALLEST_SIZE, packets // 5)
    with work_folder(2 * few * _FULL_FRAME_BYTES + packets * _BYTES_PER_PACKET, folder) as work:
        models = {name: work / f"{name}.json" for name in ("renewal", "frames", "tcp")}
        run_once(role("make_renewal_model", models["renewal"], 0))
        for name, capture in (("frames", _RTSP), ("tcp", _HTTP)):
            run_once([str(OURS), "fit", str(capture), "-o", str(models[name])])
        _tables(models, packets=min(packets, _TABLE_PACKETS), runs=runs)
        _captures(models["tcp"], work, packets=few, runs=runs)
        for kind, ending in (("Parquet, 2 workers", "parquet"), (f"pcap of {_SNAPLEN_BYTES} bytes a frame", "pcap")):
            _sweep(models["tcp"], work / f"sweep.{ending}", title=kind, packets=packets)


def _tables(models: dict[str, Path], *, packets: int, runs: int) -> None:
    contestants = [
        Contestant("trafficgen, long sessions", role("tables_long", models["renewal"], packets), packets, 0),
        Contestant("numpy, two laws sampled, no table", role("numpy_samples", "-", packets), packets, 0),
        Contestant("trafficgen, TCP, 6,300 packets each", role("tables", models["tcp"], packets), packets, 0),
        Contestant("trafficgen, frames, 2,000 packets each", role("tables", models["frames"], packets), packets, 0),
    ]
    ours, *others = race(contestants, runs=runs)
    print_outcomes(
        f"Generating {packets} packets into packet tables, block by block, CPU time", ours, others, absent=[]
    )


def _captures(model: Path, work: Path, *, packets: int, runs: int) -> None:
    whole, copy = work / "whole.pcap", work / "copy.pcap"
    run_once(role("workload_1", model, packets, whole))
    size_bytes = whole.stat().st_size
    outcomes = race(
        [
            Contestant("merge of parts to pcap", role("merge", model, packets, copy), packets, size_bytes, copy),
            Contestant("cp of that pcap", ["cp", str(whole), str(copy)], packets, size_bytes, copy),
            Contestant(
                "all of it: generate, merge, write", role("workload_1", model, packets, copy), packets, size_bytes, copy
            ),
            Contestant("tcpdump -r -w", ["tcpdump", "-r", str(whole), "-w", str(copy)], packets, size_bytes, copy),
        ],
        runs=runs,
    )
    whole.unlink()
    print_outcomes(f"A workload of {packets} packets as pcap, whole frames", outcomes[0], outcomes[1:], absent=[])


def _sweep(model: Path, out: Path, *, title: str, packets: int) -> None:
    """Print time and memory of workloads of growing size, and the exponents of their growth on logarithmic scales."""
    sizes = [_SMALLEST_SIZE * 10**power for power in range(round(math.log10(packets / _SMALLEST_SIZE)) + 1)]
    outcomes = []
    for size in sizes:
        elapsed_s, peak_bytes, text = run_once(role("workload_2", model, size, out))
        note = next((line[5:] for line in text.splitlines() if line.startswith("note=")), "")
        outcomes.append(Outcome(f"{size}", size, out.stat().st_size, elapsed_s, peak_bytes, note))
        out.unlink()
    print(f"\nWorkloads to {title}; peak is that of one process")
    for outcome in outcomes:
        figures = (
            f"{outcome.time_s:9.2f} s{outcome.packets_per_s / 1e6:9.2f} Mpackets/s{outcome.peak_bytes / 1e6:8.0f} MB"
        )
        print(f"  {outcome.packets:>12} packets{figures}  {outcome.note}")
    if len(sizes) > 1:
        time = exponent(sizes[-2:], [outcome.time_s for outcome in outcomes[-2:]])
        memory = exponent(sizes[-2:], [outcome.peak_bytes for outcome in outcomes[-2:]])
        print(
            f"  from {sizes[-2]} to {sizes[-1]} packets time grows with exponent {time:.2f}, memory with {memory:.2f}"
        )


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of values over sizes on logarithmic scales, by least squares."""
    x, y = [math.log(size) for size in sizes], [math.log(value) for value in values]
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True))
    return products / sum((a - x_mean) ** 2 for a in x)
