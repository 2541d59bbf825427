"""Generation: packets a second, and how time and memory of workloads grow with their size."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Contestant, race, role, sweep, work_folder
from benchmarks.models import models_in, models_of_sessions
from benchmarks.results import Race, Sweep, powers_of_ten
from benchmarks.sending_rates import SENDERS

_TABLE_PACKETS = 5_000_000
_BYTES_PER_PACKET = 150  # a part, a Parquet file and a capture cut to its headers
_SMALLEST, _LONGEST_SESSION_PACKETS = 100_000, 10_000_000
_FEWEST_SESSIONS, _PACKETS_OF_A_SESSION = 100, 2_000


def results(*, packets: int, runs: int, folder: Path | None) -> Iterator[Race | Sweep]:
    """Give a race into packet tables, and sweeps over packets and sessions up to ``packets``."""
    with work_folder(2 * packets * _BYTES_PER_PACKET, folder) as work:
        models = models_in(work)
        yield _tables(models, packets=min(packets, _TABLE_PACKETS), runs=runs)
        sessions = models_of_sessions(work)
        yield from _real_sessions(sessions, packets=min(packets, _TABLE_PACKETS), runs=runs)
        yield from _long_sessions(sessions, work / "long.pcap", packets=packets)
        yield _made_and_sent(
            models["renewal"],
            work / "headers.pcap",
            packets=min(packets, _TABLE_PACKETS),
            runs=runs,
        )
        sizes = powers_of_ten(_SMALLEST, packets)
        for made_by, ending, title in (
            ("workload_2", "parquet", "Parquet"),
            ("workload_2_headers", "pcap", "a pcap of 64 bytes a frame"),
        ):
            out = work / f"sweep.{ending}"
            yield sweep(
                f"A workload of TCP sessions to {title}, two workers",
                "packets",
                sizes,
                lambda size, made_by=made_by, out=out: Contestant(  # type: ignore[misc]
                    "trafficgen", role(made_by, models["tcp"], size, out), size, 0, out
                ),
                remark="peak is that of one process; the note has that of all together",
            )
        out = work / "sessions.parquet"
        yield sweep(
            f"RTP sessions of some {_PACKETS_OF_A_SESSION:,} packets to Parquet, two workers",
            "sessions",
            powers_of_ten(_FEWEST_SESSIONS, packets // _PACKETS_OF_A_SESSION),
            lambda count: Contestant(
                "trafficgen", role("sessions_2", models["frames"], count, out), 0, 0, out
            ),
        )


def _made_and_sent(model: Path, out: Path, *, packets: int, runs: int) -> Race:
    """Return packets written to a capture, and those that other tools send in the same time."""
    sent = [
        Contestant(
            f"{name} sends",
            [sys.executable, "-m", "benchmarks.sending_rates", name, str(packets)],
            packets,
            0,
        )
        for name, sender in SENDERS.items()
        if shutil.which(sender.program)
    ]
    made = Contestant(
        "trafficgen, one process", role("workload_1_headers", model, packets, out), packets, 0, out
    )
    ours, *peers = race([made, *sent], runs=runs)
    return Race(
        f"{packets:,} packets into a pcap of 64 bytes a frame, beside load generators on the"
        " loopback",
        ours,
        peers,
        [name for name, sender in SENDERS.items() if not shutil.which(sender.program)],
        "the generators send for three seconds as fast as they go, which their rows show for as"
        " many packets",
    )


def _tables(models: dict[str, Path], *, packets: int, runs: int) -> Race:
    ours, *others = race(
        [
            Contestant(
                "trafficgen, long sessions",
                role("tables_long", models["renewal"], packets),
                packets,
                0,
            ),
            Contestant(
                "numpy, two laws sampled, no table", role("numpy_samples", "-", packets), packets, 0
            ),
            Contestant("trafficgen, TCP", role("tables", models["tcp"], packets), packets, 0),
            Contestant("trafficgen, frames", role("tables", models["frames"], packets), packets, 0),
        ],
        runs=runs,
    )
    return Race(
        f"Generating {packets:,} packets into packet tables, block by block, one core",
        ours,
        others,
        remark="processor time; ratios are against the first",
    )


def _long_sessions(models: dict[str, Path | None], out: Path, *, packets: int) -> Iterator[Sweep]:
    """Give how time and memory grow with the length of a session, for each model of a real one."""
    sizes = powers_of_ten(_SMALLEST, min(packets, _LONGEST_SESSION_PACKETS))
    for name, model in models.items():
        if model is not None:
            yield sweep(
                f"One session to a pcap of 64 bytes a frame: {name}",
                "packets",
                sizes,
                lambda size, model=model: Contestant(  # type: ignore[misc]
                    "trafficgen", role("long_session", model, size, out), size, 0, out
                ),
                remark="processor time",
            )


def _real_sessions(models: dict[str, Path | None], *, packets: int, runs: int) -> Iterator[Race]:
    """Give a race of models fitted to real sessions, where there are captures of such."""
    outcomes = race(
        [
            Contestant(name, role("tables_sessions", model, packets), packets, 0)
            for name, model in models.items()
            if model is not None
        ],
        runs=runs,
    )
    if outcomes:
        yield Race(
            f"Playing {packets:,} packets of models fitted to real sessions, one core",
            outcomes[0],
            outcomes[1:],
            [name for name, model in models.items() if model is None],
            "processor time, into packet tables, sessions of ten minutes",
        )
