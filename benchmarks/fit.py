"""Fitting one flow: ours with everything on, beside scipy's own estimators on the same gaps."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Contestant, race, role, run_once, sweep, work_folder
from benchmarks.results import Race, Sweep, powers_of_ten

_BYTES_PER_PACKET = 1100
_SIZES = (100_000, 1_000_000)
_SMALLEST, _LARGEST = 1_000, 1_000_000


def results(*, packets: int, runs: int, folder: Path | None) -> Iterator[Race | Sweep]:
    """Give races for 100,000 and a million packets of three kinds, and a sweep to ``packets``."""
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})  # one core
    with work_folder(2 * _LARGEST * _BYTES_PER_PACKET, folder) as work:
        for count in (size for size in _SIZES if size <= packets):
            for kind in ("renewal", "bursts", "swelling"):
                capture = work / f"{kind}.pcap"
                run_once(role(f"make_{kind}", capture, count))
                size_bytes = capture.stat().st_size
                ours, *peers = race(
                    [
                        Contestant(
                            "trafficgen fit", role("fit_ours", capture, count), count, size_bytes
                        ),
                        Contestant(
                            "scipy, law of the gaps alone",
                            role("fit_scipy", capture, count),
                            count,
                            size_bytes,
                        ),
                    ],
                    runs=runs,
                )
                yield Race(f"Fitting {count:,} packets, {kind}, on one core", ours, peers)
                capture.unlink()

        def of_size(size: int) -> Contestant:
            capture = work / f"{size}.pcap"
            run_once(role("make_bursts", capture, size))
            return Contestant(
                "trafficgen fit", role("fit_ours", capture, size), size, capture.stat().st_size
            )

        sizes = powers_of_ten(_SMALLEST, min(packets, _LARGEST))
        yield sweep(
            "Fitting a capture of bursts, on one core", "packets", sizes, of_size, runs=runs
        )
