"""Fitting one flow beside scipy's own estimators on the same gaps; real sessions; populations."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import OURS, Contestant, race, role, run_once, sweep, work_folder
from benchmarks.models import captures_of_sessions
from benchmarks.results import Race, Sweep, powers_of_ten

_BYTES_PER_PACKET = 80  # of headers alone
_SIZES = (100_000, 1_000_000)
_SMALLEST, _LARGEST = 100_000, 10_000_000
#: Captures of a population, played from a model of a real session.
_POPULATION, _PLAYED = 100, "YouTube over QUIC"


def results(*, packets: int, runs: int, folder: Path | None) -> Iterator[Race | Sweep]:
    """Give races of real sessions, for 100,000 and a million packets of four kinds; a sweep."""
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})  # one core
    yield from _real_sessions(runs)
    yield from _population(_POPULATION if packets >= _SIZES[-1] else _POPULATION // 10, folder)
    with work_folder(2 * packets * _BYTES_PER_PACKET, folder) as work:
        for count in (size for size in _SIZES if size <= packets):
            for kind in ("renewal", "bursts", "swelling", "frames"):
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
                        Contestant(
                            "trafficgen, law of the gaps alone",
                            role("fit_gaps_ours", capture, count),
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


def _real_sessions(runs: int) -> Iterator[Race]:
    """Give a race of the whole command on real sessions, where there are captures of such."""
    captures = captures_of_sessions()
    outcomes = race(
        [
            Contestant(name, role("fit_command", path, 0), 0, path.stat().st_size)
            for name, path in captures.items()
            if path.exists()
        ],
        runs=runs,
    )
    if outcomes:
        yield Race(
            "Fitting real sessions by the command, start-up included",
            outcomes[0],
            outcomes[1:],
            [name for name, path in captures.items() if not path.exists()],
            "processor time of all threads; ratios are against the first",
        )


def _population(count: int, folder: Path | None) -> Iterator[Race]:
    """Give the time of a population of captures played from a model of a real session."""
    original = captures_of_sessions()[_PLAYED]
    if not original.exists():
        return
    with work_folder(count * 20 * original.stat().st_size, folder) as work:
        model = work / "model.json"
        run_once([str(OURS), "fit", str(original), "-o", str(model)])
        run_once(role("make_population", model, count))
        captures = sorted(str(path) for path in work.glob("*.pcap"))
        command = [str(OURS), "fit", *captures, "--population", "-o", str(work / "all.json")]
        ours = Contestant(f"trafficgen fit --population, {_PLAYED}", [*command, "--force"], 0, 0)
        yield Race(f"Fitting a population of {count} captures", race([ours], runs=1)[0])
