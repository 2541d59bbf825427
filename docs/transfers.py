"""Sessions fitted at one path and played over another, beside what happened there."""

from __future__ import annotations

import itertools
import json
import math
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import trafficgen

Errors = npt.NDArray[np.float64]
#: Recordings beside the repository.
_RECORDED = Path(__file__).resolve().parents[2] / "shared" / "captures" / "lab-chunks"
_RECORDED_PLAYERS = ("abr", "quic", "fixed")
_SECONDS = {"abr": 90.0, "quic": 80.0, "fixed": 90.0}
#: Paths by the names of the recordings, which shape bytes of Ethernet frames.
_RECORDED_PATHS = {
    "p1000_40": "rate=1Mbps,delay=40ms,queue=40kB,overhead=14B",
    "p3000_25": "rate=3Mbps,delay=25ms,queue=60kB,overhead=14B",
}
_PATHS = {
    "1 Mbit/s": "rate=1Mbps,delay=40ms,queue=40kB",
    "3 Mbit/s": "rate=3Mbps,delay=25ms,queue=60kB",
}
_RATES_KBPS = {"p1000_40": 1e3, "p3000_25": 3e3, "1 Mbit/s": 1e3, "3 Mbit/s": 3e3}
_SIMULATED_S, _SEGMENT_S, _SEED = 120.0, 2.0, 11
_LADDER_KBPS = [300, 600, 1200, 2000, 3000]
#: Simulated players, whose policy is known.
PLAYERS: dict[str, dict[str, Any]] = {
    "throughput": {
        **{"policy": "throughput", "throughput_average": "smoothed", "throughput_share": 0.8},
        "throughput_up_steps": 1,
    },
    "buffer": {"policy": "buffer"},
    "bola": {"policy": "bola"},
    "dynamic": {"policy": "dynamic", "bola_form": "dashjs"},
    "mpc": {"policy": "mpc"},
    "fixed": {"policy": "fixed", "fixed_kbps": 600},
}


@dataclass(frozen=True)
class Session:
    """A session at one path: its capture, and what a viewer had there."""

    source: str
    path_name: str
    path: str
    capture: Path
    duration_s: float
    rate_kbps: float
    rungs_kbps: Sequence[float]
    switches_per_min: float
    stalled_s: float


def transfer_rows() -> Iterator[dict[str, object]]:
    """Yield a row for each session that is fitted at one path and played over each other one."""
    with tempfile.TemporaryDirectory(prefix="trafficgen-transfers-") as folder:
        groups = [*_recorded_sessions(), *_simulated_sessions(Path(folder))]
        for sessions in groups:
            fits = [_fit(session.capture) for session in sessions]
            for (fitted, at), there in itertools.product(
                zip(fits, sessions, strict=True), sessions
            ):
                yield _row(fitted, at, there)


def _recorded_sessions() -> Iterator[list[Session]]:
    for player in _RECORDED_PLAYERS:
        for side in ("dst", "src"):
            sessions = []
            for name, path in _RECORDED_PATHS.items():
                log = json.loads((_RECORDED / f"{player}_{name}.json").read_text())
                rungs = [one["kbps"] for one in log["player_log"] if one["event"] == "segment"]
                received = _fit(_RECORDED / f"{player}_{name}-dst.pcap").rate.rate_kbps(1)
                sessions.append(
                    Session(
                        source=f"recorded {player}, {'receiver' if side == 'dst' else 'sender'}",
                        path_name=name,
                        path=path,
                        capture=_RECORDED / f"{player}_{name}-{side}.pcap",
                        duration_s=_SECONDS[player],
                        rate_kbps=float(received[0]),
                        rungs_kbps=rungs,
                        switches_per_min=60 * len(log["switches"]) / _SECONDS[player],
                        stalled_s=sum(one.get("duration_s", 0.0) for one in log["stalls"]),
                    )
                )
            yield sessions


def _simulated_sessions(folder: Path) -> Iterator[list[Session]]:
    segments = round(2 * _SIMULATED_S / _SEGMENT_S)
    sizes = np.random.default_rng(_SEED).normal(0, 0.06, segments)
    content = {
        **{"ladder_kbps": _LADDER_KBPS, "segment_s": _SEGMENT_S, "buffer_target_s": 14},
        **{"start_s": 4, "resume_s": 4, "duration_s": segments * _SEGMENT_S},
        "content_factors": np.exp(sizes).tolist(),
    }
    for player, settings in PLAYERS.items():
        sessions = []
        for number, (name, path) in enumerate(_PATHS.items()):
            capture = folder / f"{player}-{number}.pcap"
            result = _simulate(
                "chunked",
                path=path,
                settings=content | settings,
                duration_s=_SIMULATED_S,
                out=capture,
                at="receiver",
            )
            sessions.append(
                Session(
                    source=f"simulated {player}",
                    path_name=name,
                    path=path,
                    capture=capture,
                    duration_s=_SIMULATED_S,
                    **_measure(result),
                )
            )
        yield sessions


def _row(fitted: trafficgen.Fit, at: Session, there: Session) -> dict[str, object]:
    model = fitted.model
    played = _simulate(model, path=there.path, duration_s=there.duration_s)
    packets = _simulate(
        model.model_copy(update={"application": None}), path=there.path, duration_s=there.duration_s
    )
    found = _measure(played)
    own_kbps = float(fitted.rate.rate_kbps(1)[0])
    return {
        "source": at.source,
        "fitted_at": at.path_name,
        "played_at": there.path_name,
        "plays": "player" if "plays" in played.notes else "packets",
        "rate_kbps": there.rate_kbps,
        "model_kbps": found["rate_kbps"],
        "packets_kbps": _measure(packets)["rate_kbps"],
        "least_kbps": min(own_kbps, _RATES_KBPS[there.path_name]),
        "rung_kbps": float(np.mean(there.rungs_kbps)),
        "model_rung_kbps": float(np.mean(found["rungs_kbps"])) if found["rungs_kbps"] else None,
        "rung_shares_off": _compare_shares(there.rungs_kbps, found["rungs_kbps"]),
        "switches_per_min": there.switches_per_min,
        "model_switches_per_min": found["switches_per_min"],
        "stalled_s": there.stalled_s,
        "model_stalled_s": found["stalled_s"],
    }


def _compare_shares(true_kbps: Sequence[float], found_kbps: Sequence[float]) -> float | None:
    """Return the largest difference of a true rung's share; others count for the nearest one."""
    if not found_kbps:
        return None
    rungs = np.unique(true_kbps)
    shares = [
        np.bincount(
            [int(np.abs(np.log(rungs / one)).argmin()) for one in kbps], minlength=len(rungs)
        )
        / len(kbps)
        for kbps in (true_kbps, found_kbps)
    ]
    return float(np.abs(shares[0] - shares[1]).max())


def _measure(result: trafficgen.SimulationResult) -> dict[str, Any]:
    seen = result.events.playback(result.end_s)
    return {
        "rate_kbps": result.flows[0].measure.rate_kbps,
        "rungs_kbps": [kbps for _, kbps in result.events.facts.get("rung_kbps", [])],
        "switches_per_min": math.nan if seen is None else seen.switches_per_min,
        "stalled_s": math.nan if seen is None else seen.stalled_s,
    }


def _simulate(model: Any, **options: Any) -> trafficgen.SimulationResult:
    with warnings.catch_warnings(action="ignore", category=trafficgen.SimulationWarning):
        return trafficgen.simulate(model, seed=_SEED, **options)


def _fit(capture: Path) -> trafficgen.Fit:
    with warnings.catch_warnings(action="ignore", category=trafficgen.CaptureWarning):
        return trafficgen.fit(capture)


def errors_of(rows: Sequence[Mapping[str, Any]], key: str) -> Errors:
    """Return the relative errors of a rate of rows, shape (n,)."""
    return np.array([row[key] / row["rate_kbps"] - 1 for row in rows])
