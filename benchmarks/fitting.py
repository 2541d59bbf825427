"""Fitting one flow: ours with everything on, beside scipy's own estimators on the same gaps."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.measure import Contestant, print_outcomes, race, role, run_once, work_folder

_BYTES_PER_PACKET = 1100
_SIZES = (100_000, 1_000_000)


def run(*, packets: int, runs: int, folder: Path | None) -> None:
    """Print a table for 100,000 packets and one for a million; ``packets`` only bounds them."""
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})  # one core
    with work_folder(_SIZES[-1] * _BYTES_PER_PACKET, folder) as work:
        for count in (size for size in _SIZES if size <= packets):
            for kind in ("renewal", "bursts", "swelling"):
                capture = work / f"{kind}-{count}.pcap"
                run_once(role(f"make_{kind}", capture, count))
                size_bytes = capture.stat().st_size
                outcomes = race(
                    [
                        Contestant(
                            "trafficgen fit, everything on", role("fit_ours", capture, count), count, size_bytes
                        ),
                        Contestant(
                            "scipy, law of the gaps alone", role("fit_scipy", capture, count), count, size_bytes
                        ),
                    ],
                    runs=runs,
                )
                print_outcomes(f"Fitting {count} packets, {kind}, on one core", outcomes[0], outcomes[1:], absent=[])
                capture.unlink()
