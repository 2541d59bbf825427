"""Populations judged by whole sessions that were not fitted: can a classifier distinguish them?"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import trafficgen
from classified import FEWEST_PACKETS
from trafficgen.calibration.population.pooled_model import pool_sessions
from trafficgen.calibration.population.session_estimates import SessionEstimates
from trafficgen.capture.options import SessionChoice
from trafficgen.capture.session import OpenedSession, open_session
from trafficgen.flows import clock_tick_ns
from trafficgen.units import s_from_ns
from trafficgen.validation.measurement import burst_threshold_s
from trafficgen.validation.two_sample import TwoSampleTest, distinguish, label_sides
from trafficgen.validation.windows import SessionRows, describe_sessions, split_sessions

#: Checkouts of public recordings: variable -> project.
CHECKOUTS = {
    "TRAFFICGEN_REQUET": "github.com/Wimnet/RequetDataSet",
    "TRAFFICGEN_VIDEO_TRAFFIC": "github.com/UUuUUuUUo/Video-traffic-dataset",
}
#: Divisions of a corpus into sessions that are fitted and others; and sessions at most.
SPLITS, _MOST_SESSIONS = 4, 32
#: Recordings that are smaller hold no session, bytes.
_SMALLEST_BYTES = 300_000
#: Bins of the rate by which copies of a fitted session would show, s.
_BIN_S = 0.1
#: Times that differ by less are equal, s.
_SAME_TIME_S = 1e-6


@dataclass(frozen=True)
class Corpus:
    """Recordings of one service: captures of a session each, or lists of packets of many."""

    name: str
    variable: str
    pattern: str


#: Populations were changed on other corpora. That sizes lost their order showed on B1 first.
CORPORA = (
    Corpus("YouTube over QUIC, B1", "TRAFFICGEN_REQUET", "B1/PCAP_FILES/baseline_*.pcap"),
    Corpus("YouTube over QUIC, C", "TRAFFICGEN_REQUET", "C/PCAP_FILES/baseline_*.pcap"),
    Corpus("Twitch, 480p", "TRAFFICGEN_VIDEO_TRAFFIC", "Dataset/Twitch/480/480_merged_001.csv"),
    Corpus("YouTube, 480p", "TRAFFICGEN_VIDEO_TRAFFIC", "Dataset/Youtube/480/480_merged_001.csv"),
)


@dataclass(frozen=True)
class _Recorded:
    """A recorded session.

    Attributes:
        rows: Its media packets.
        seen_s: From its first media packet to the end of its capture, s; infinite where the
            capture ends with the session, and does not show how long it would have gone on.
        tick_ns: Tick of its capture's clock, ns.
        threshold_s: Largest gap within its bursts, s; None where it has none.
    """

    estimates: SessionEstimates
    rows: SessionRows
    seen_s: float
    tick_ns: int
    threshold_s: float | None


def population_rows(chosen: Container[str] | None = None) -> dict[str, object]:
    """Return a row a corpus; of chosen ones, by their names, or of all."""
    rows = [_judge_corpus(one) for one in CORPORA if chosen is None or one.name in chosen]
    return {"splits": SPLITS, "corpora": rows}


def _judge_corpus(corpus: Corpus) -> dict[str, object]:
    """Fit halves of a corpus; judge what is generated, and the other half, by each other."""
    with warnings.catch_warnings(action="ignore"), TemporaryDirectory() as folder:
        recorded = _read_corpus(corpus, Path(folder))
        known = [one.threshold_s for one in recorded if one.threshold_s is not None]
        threshold_s = float(np.median(known)) if known else None
        found: dict[str, list[TwoSampleTest]] = {"held_out": [], "recorded": [], "fitted": []}
        alike: dict[str, list[float]] = {"played_alike": [], "recorded_alike": []}
        for split in range(SPLITS):
            order = np.random.default_rng(split).permutation(len(recorded)).tolist()
            fitted, others = (
                [recorded[row] for row in rows]
                for rows in (order[: len(order) // 2], order[len(order) // 2 :])
            )
            played = _play(fitted, others, seed=split)
            seen, unseen = ([one.rows for one in side] for side in (fitted, others))
            alike["played_alike"] += _correlate_with_nearest(played, seen)
            alike["recorded_alike"] += _correlate_with_nearest(unseen, seen)
            for name, sides in (
                ("held_out", (unseen, played)),
                ("recorded", (unseen, seen)),
                ("fitted", (seen, played)),
            ):
                described = [describe_sessions(side, threshold_s=threshold_s) for side in sides]
                rows = label_sides(*described)
                found[name].append(distinguish(rows, of="sessions", window_s=None, seed=split))
    row: dict[str, object] = {"corpus": corpus.name, "sessions": len(recorded)}
    row |= {name: float(np.mean([one.auc for one in tests])) for name, tests in found.items()}
    row |= {name: float(np.nanmedian(values)) for name, values in alike.items()}
    return row | {"features": _rank_features(found["held_out"])}


def _correlate_with_nearest(sessions: list[SessionRows], fitted: list[SessionRows]) -> list[float]:
    """Return for each session how alike the rate of the likest fitted one is: 1 for a copy of it.

    Correlations are of rates in bins of :data:`_BIN_S`, over the time that both sessions last: at
    least half of the session.
    """
    rates = [
        [np.bincount((one.time_s / _BIN_S).astype(np.int64), one.ip_bytes) for one in side]
        for side in (sessions, fitted)
    ]
    nearest = []
    for own in rates[0]:
        found = []
        for other in rates[1]:
            shared = min(own.size, other.size)
            if 2 * shared >= own.size:
                found.append(float(np.corrcoef(own[:shared], other[:shared])[0, 1]))
        nearest.append(max(found, default=math.nan))
    return nearest


def _rank_features(tests: list[TwoSampleTest]) -> str:
    """Return the features that distinguish most, means over divisions, the best first."""
    aucs: dict[str, list[float]] = {}
    for feature in (one for test in tests for one in test.features):
        aucs.setdefault(feature.name, []).append(feature.auc)
    best = sorted(aucs, key=lambda name: -float(np.mean(aucs[name])))[:3]
    return ", ".join(f"{name} {np.mean(aucs[name]):.2f}" for name in best)


def _play(fitted: list[_Recorded], others: list[_Recorded], *, seed: int) -> list[SessionRows]:
    """Generate as many sessions as there are others, each seen for as long as one of them."""
    sessions = [one.estimates for one in fitted]
    model = pool_sessions(sessions, captures=len(sessions), seed=seed)
    table = trafficgen.generate(model, sessions=len(others), seed=seed)
    played = split_sessions(open_session(table, SessionChoice(every=True)).view)
    return [_see(rows, other) for rows, other in zip(played, others, strict=True)]


def _see(rows: SessionRows, other: _Recorded) -> SessionRows:
    """Return what a capture like that of a recorded session would have of a played one."""
    kept = rows.time_s <= other.seen_s
    tick_s = s_from_ns(other.tick_ns)
    time_s = rows.time_s[kept]
    return SessionRows(
        time_s=np.floor(time_s / tick_s) * tick_s if other.tick_ns > 1 else time_s,
        ip_bytes=rows.ip_bytes[kept],
        flow=rows.flow[kept],
        to_server_s=rows.to_server_s[rows.to_server_s <= other.seen_s],
    )


def _read_corpus(corpus: Corpus, folder: Path) -> list[_Recorded]:
    """Fit each session of a corpus by itself and keep its packets."""
    paths = list(_list_recordings(corpus, folder))
    kept = np.linspace(0, len(paths) - 1, min(len(paths), _MOST_SESSIONS)).astype(np.int64)
    fitted = trafficgen.fit_population([str(paths[row]) for row in kept], workers=1)
    by_name = {one.name: one for one in fitted.sessions}
    found = []
    for path in (paths[row] for row in kept):
        opened = open_session(path)
        estimates = by_name.get(f"{path.name}, session {opened.view.session}")
        if estimates is not None:
            found.append(_record(opened, estimates))
    return found


def _record(opened: OpenedSession, estimates: SessionEstimates) -> _Recorded:
    view, inspection = opened.view, opened.inspection
    begins_s = s_from_ns(inspection.origin_ns + view.first_media_ns - inspection.start_time_ns)
    rows, seen_s = split_sessions(view)[0], inspection.duration_s - begins_s
    return _Recorded(
        estimates=estimates,
        rows=rows,
        seen_s=seen_s if seen_s > rows.length_s + _SAME_TIME_S else math.inf,
        tick_ns=clock_tick_ns(view.media_time_ns),
        threshold_s=burst_threshold_s(view),
    )


def _list_recordings(corpus: Corpus, folder: Path) -> Iterator[Path]:
    """Yield the captures of a corpus; each session of a list is written to the folder."""
    for path in sorted(Path(os.environ[corpus.variable]).glob(corpus.pattern)):
        if path.suffix == ".csv":
            yield from _write_sessions(path, folder)
        elif path.stat().st_size >= _SMALLEST_BYTES:
            yield path


def _write_sessions(path: Path, folder: Path) -> Iterator[Path]:
    """Write the packets to the client of each session of a list, whose sizes are negative."""
    for part in path.read_text(encoding="utf-8").split("session,")[1:]:
        name, _, *lines = part.strip().splitlines()
        rows = [line.split(",-") for line in lines if ",-" in line]
        if len(rows) < FEWEST_PACKETS:
            continue
        session = folder / f"{name}.csv"
        text = "".join(f"{time_us},{size}\n" for time_us, size in rows)
        session.write_text(f"time_us,frame_bytes\n{text}", encoding="utf-8")
        yield session
