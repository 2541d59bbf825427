"""Sessions fitted at one path, or two, and played over another, beside what happened there.

``python docs/transfers.py FOLDER`` writes what players did that the lab recorded there by
``lab_sessions.toml``.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
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
#: What the same players did on further paths: of these no capture is fitted.
_FURTHER = Path(__file__).with_name("lab_sessions.json")
_RECORDED_PLAYERS = ("abr", "quic", "fixed")
_SECONDS = {"abr": 90.0, "quic": 80.0, "fixed": 90.0}
#: Paths by the names of the recordings, which shape bytes of Ethernet frames.
_RECORDED_PATHS = {
    "p1000_40": "rate=1Mbps,delay=40ms,queue=40kB,overhead=14B",
    "p3000_25": "rate=3Mbps,delay=25ms,queue=60kB,overhead=14B",
}
_FURTHER_PATHS = {
    "p2000_30": "rate=2Mbps,delay=30ms,queue=50kB,overhead=14B",
    "p5000_15": "rate=5Mbps,delay=15ms,queue=80kB,overhead=14B",
}
_PATHS = {
    "1 Mbit/s": "rate=1Mbps,delay=40ms,queue=40kB",
    "3 Mbit/s": "rate=3Mbps,delay=25ms,queue=60kB",
    "2 Mbit/s": "rate=2Mbps,delay=30ms,queue=50kB",
    "5 Mbit/s": "rate=5Mbps,delay=15ms,queue=80kB",
}
#: The first paths are fitted, by themselves and together.
_FITTED = 2
_RATES_KBPS = {
    **{"p1000_40": 1e3, "p3000_25": 3e3, "p2000_30": 2e3, "p5000_15": 5e3},
    **{"1 Mbit/s": 1e3, "3 Mbit/s": 3e3, "2 Mbit/s": 2e3, "5 Mbit/s": 5e3},
}
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
    """Yield a row for each path that sessions fitted at one are played over, or at two together."""
    with tempfile.TemporaryDirectory(prefix="trafficgen-transfers-") as folder:
        groups = [*_recorded_sessions(), *_simulated_sessions(Path(folder))]
        for sessions in groups:
            fitted, further = sessions[:_FITTED], sessions[_FITTED:]
            fits = [_fit(session.capture) for session in fitted]
            rates_kbps = [float(fit.rate.rate_kbps(1)[0]) for fit in fits]
            for place, there in itertools.product(range(_FITTED), fitted):
                at = fitted[place]
                yield {
                    "fitted_at": at.path_name,
                    "captures": 1,
                    **_row(fits[place].model, rates_kbps[place], there),
                }
            pooled = _fit_together([session.capture for session in fitted])
            names = " and ".join(session.path_name for session in fitted)
            for there in further:
                yield {
                    "fitted_at": names,
                    "captures": _FITTED,
                    **_row(pooled, max(rates_kbps), there),
                }


def _recorded_sessions() -> Iterator[list[Session]]:
    for player in _RECORDED_PLAYERS:
        for side in ("dst", "src"):
            sessions = []
            for name, path in _RECORDED_PATHS.items():
                log = json.loads((_RECORDED / f"{player}_{name}.json").read_text())
                received = _fit(_RECORDED / f"{player}_{name}-dst.pcap").rate.rate_kbps(1)
                sessions.append(
                    Session(
                        source=f"recorded {player}, {'receiver' if side == 'dst' else 'sender'}",
                        path_name=name,
                        path=path,
                        capture=_RECORDED / f"{player}_{name}-{side}.pcap",
                        duration_s=_SECONDS[player],
                        rate_kbps=float(received[0]),
                        **_measure_log(log, _SECONDS[player]),
                    )
                )
            source = sessions[0].source
            further = json.loads(_FURTHER.read_text())[player]
            yield sessions + [
                Session(source, name, path, Path(), _SECONDS[player], **further[name])
                for name, path in _FURTHER_PATHS.items()
            ]


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


def _row(model: trafficgen.Model, own_kbps: float, there: Session) -> dict[str, object]:
    played = _simulate(model, path=there.path, duration_s=there.duration_s)
    packets = _simulate(
        model.model_copy(update={"application": None}), path=there.path, duration_s=there.duration_s
    )
    found = _measure(played)
    return {
        "source": there.source,
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


def _fit_together(captures: Sequence[Path]) -> trafficgen.Model:
    with warnings.catch_warnings(action="ignore", category=trafficgen.CaptureWarning):
        return trafficgen.fit_same_source([*map(str, captures)]).model


def _measure_recorded(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what recorded players did, by their names and paths."""
    found: dict[str, dict[str, Any]] = {}
    for player, name in itertools.product(_RECORDED_PLAYERS, _FURTHER_PATHS):
        log = json.loads((folder / f"{player}_{name}.json").read_text())
        received = _fit(folder / f"{player}_{name}-dst.pcap").rate.rate_kbps(1)
        found.setdefault(player, {})[name] = {
            "rate_kbps": round(float(received[0]), 1),
            **_measure_log(log, _SECONDS[player]),
        }
    return found


def _measure_log(log: Mapping[str, Any], duration_s: float) -> dict[str, Any]:
    return {
        "rungs_kbps": [one["kbps"] for one in log["player_log"] if one["event"] == "segment"],
        "switches_per_min": 60 * len(log["switches"]) / duration_s,
        "stalled_s": sum(one.get("duration_s", 0.0) for one in log["stalls"]),
    }


def errors_of(rows: Sequence[Mapping[str, Any]], key: str) -> Errors:
    """Return the relative errors of a rate of rows, shape (n,)."""
    return np.array([row[key] / row["rate_kbps"] - 1 for row in rows])


if __name__ == "__main__":
    _FURTHER.write_text(json.dumps(_measure_recorded(Path(sys.argv[1]))) + "\n")
