"""Captures and what is played from their fits: how well a classifier distinguishes them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import trafficgen
from trafficgen.capture.session import open_session
from trafficgen.flows import SessionView, clock_tick_ns, resegment
from trafficgen.validation.compare import compare_sessions
from trafficgen.validation.distances import sample_distances
from trafficgen.validation.measurement import BASELINES, burst_threshold_s, generate_baseline
from trafficgen.validation.two_sample import LabelledRows, distinguish, run_tests
from trafficgen.validation.windows import Described, describe_windows, split_sessions

#: Recordings beside the repository.
RECORDED = Path(__file__).resolve().parents[2] / "shared" / "captures"
#: Kind of traffic -> captures, none of them twice: a classifier that judges one must not have seen
#: a copy of it. Of recordings at both ends of a path, UDP is taken at the sender, whose packets a
#: model describes, the others at the client.
KINDS: dict[str, tuple[str, ...]] = {
    "RTP": (
        *("streaming/trex_rtsp*", "streaming/sipp_rtp*", "streaming/zj_rtsp*"),
        "lab/rt*-src.pcap",
    ),
    "conferencing": ("conferencing/*", "streaming/urjc_webrtc*"),
    "UDP next to TCP": ("lab/ref_*-src.pcap",),
    "QUIC": ("streaming/requet*", "lab-chunks/quic*-dst.pcap"),
    "DASH/HLS": (
        *("lab-chunks/abr*-dst.pcap", "lab-chunks/fixed*-dst.pcap", "lab/dash*-dst.pcap"),
        *("lab/hls*-dst.pcap", "lab/http_throttled-dst.pcap", "streaming/ndpi42_netflix*"),
    ),
    "bulk": ("bulk/*", "lab/http_unthrottled-dst.pcap", "streaming/twinx*"),
}
SEEDS = (1, 2, 3)
#: Captures with fewer media packets to the client are left out: uploads, mostly.
FEWEST_PACKETS = 300
#: Windows across captures, and how many of one capture are taken at most, so that none dominates.
_WINDOW_S, _MOST_WINDOWS = 5.0, 12
PLAYED = "played"
#: The start of a session, s: how much faster its rate is than that of all that follows.
_START_S = 10.0


@dataclass(frozen=True)
class _Capture:
    """A capture, its fit's sessions by seed, and baselines of one run."""

    kind: str
    name: str
    reference: SessionView
    sessions: tuple[SessionView, ...]
    processes: str
    model: trafficgen.Model
    ip_bytes_interval: tuple[float, float] | None

    @property
    def sides(self) -> dict[str, tuple[SessionView, ...]]:
        """What takes the place of the capture: played sessions, and a run of each baseline."""
        return {PLAYED: self.sessions} | {
            name: (generate_baseline(self.reference, name=name, seed=0, run=0),)
            for name in BASELINES
        }


def classified_rows(*, wins: bool = True) -> dict[str, object]:
    """Return a row a capture (``within``), and a row a kind and all of them (``across``)."""
    captures = list(_captures())
    return {
        "within": [_row(capture, wins=wins) for capture in captures],
        "across": list(_across(captures)),
    }


def list_captures(kind: str) -> list[Path]:
    """Return the captures of a kind of traffic, in order."""
    return sorted(path for one in KINDS[kind] for path in RECORDED.glob(one))


def _captures() -> Iterator[_Capture]:
    for kind in KINDS:
        for path in list_captures(kind):
            with warnings.catch_warnings(action="ignore"):
                try:
                    reference = open_session(path).view
                    if reference.media_time_ns.size >= FEWEST_PACKETS:
                        yield _play(kind, path, reference)
                except trafficgen.TrafficgenError as error:
                    print(f"left out: {path.name}: {error}", file=sys.stderr)


def _play(kind: str, path: Path, reference: SessionView) -> _Capture:
    model = trafficgen.fit(path).model
    reference = replace(reference, table=resegment(reference.table)[0])
    tick_ns = clock_tick_ns(reference.media_time_ns)
    sessions = [open_session(trafficgen.generate(model, seed=seed)).view for seed in SEEDS]
    if tick_ns > 1:
        sessions = [replace(one, table=one.table.round_to_clock(tick_ns)) for one in sessions]
    phases = [phase for stream in model.streams for phase in stream.phases]
    kinds = ", ".join(dict.fromkeys(phase.process.kind for phase in phases))
    interval = trafficgen.estimate_workload(model, "session.parquet").ip_bytes_interval
    return _Capture(kind, path.name, reference, tuple(sessions), kinds, model, interval)


def _row(capture: _Capture, *, wins: bool) -> dict[str, object]:
    reference = capture.reference
    threshold_s = burst_threshold_s(reference)
    tests = [
        run_tests(reference, one, threshold_s=threshold_s, seed=0).found.get("windows")
        for one in capture.sessions
    ]
    known = [test for test in tests if test is not None]
    row: dict[str, object] = {
        "kind": capture.kind,
        "capture": capture.name,
        "processes": capture.processes,
        "auc": float(np.mean([test.auc for test in known])) if known else None,
        "auc_by_chance": float(np.mean([test.null_high for test in known])) if known else None,
        "features": ", ".join(one.name for one in known[0].features[:3]) if known else "",
        "gap_ks": _mean_ks(capture, gaps_of),
        "size_ks": _mean_ks(capture, sizes_of),
        "volume_errors": [
            float(one.media_ip_bytes.sum() / reference.media_ip_bytes.sum() - 1)
            for one in capture.sessions
        ],
        "volume_covered": _covers_volume(capture),
        "buffering": capture.model.buffering is not None,
        "start_ratio_by_phases": _start_ratio_by_phases(capture.model),
        "start_ratio": _start_ratio(reference),
        "start_ratios": [_start_ratio(one) for one in capture.sessions],
    }
    if wins:
        found = compare_sessions(reference, capture.sessions[0])
        lost = sum(map(len, found.losses().values()))
        won, tied = (sum(map(len, part.values())) for part in (found.wins, found.ties))
        row |= {"won": won, "tied": tied, "lost": lost}
    return row


def _covers_volume(capture: _Capture) -> bool | None:
    """Return whether the interval of the model's bytes, media packets apart, holds the capture's.

    The interval is of all packets: it is scaled by the share of the media in played sessions.
    """
    if capture.ip_bytes_interval is None:
        return None
    played = [
        (float(one.media_ip_bytes.sum()), float(one.table.ip_bytes.sum(dtype=np.int64)))
        for one in capture.sessions
    ]
    share = sum(media for media, _ in played) / sum(total for _, total in played)
    low, high = capture.ip_bytes_interval
    return low * share <= float(capture.reference.media_ip_bytes.sum()) <= high * share


def _start_ratio(view: SessionView) -> float | None:
    """Return the rate of a session's first 10 s over that of the rest; None below 20 s."""
    time_s = (view.media_time_ns - view.media_time_ns[0]) / 1e9
    if time_s[-1] < 2 * _START_S:
        return None
    starts = time_s < _START_S
    started, rest = view.media_ip_bytes[starts].sum(), view.media_ip_bytes[~starts].sum()
    return float(started / _START_S * (time_s[-1] - _START_S) / rest)


def _start_ratio_by_phases(model: trafficgen.Model) -> float | None:
    """Return :func:`_start_ratio` of a session that sends at the rates of its streams' phases."""
    phases = [phase for stream in model.streams for phase in stream.phases]
    end_s = max(phase.end_s for phase in phases)
    if end_s < 2 * _START_S:
        return None
    started = sum(one.rate_bps * max(0.0, min(one.end_s, _START_S) - one.start_s) for one in phases)
    rest = sum(one.rate_bps * one.duration_s for one in phases) - started
    return started / _START_S * (end_s - _START_S) / rest


def gaps_of(view: SessionView) -> np.ndarray:
    """Return the gaps between successive media packets of each flow, ns, ascending."""
    flow, time_ns = view.table.flow[view.media], view.media_time_ns
    return np.sort(np.concatenate([np.diff(time_ns[flow == one]) for one in view.media_flows]))


def sizes_of(view: SessionView) -> np.ndarray:
    """Return the IP sizes of the media packets, bytes, ascending."""
    return np.sort(view.media_ip_bytes)


def _mean_ks(capture: _Capture, sample_of: object) -> float:
    assert callable(sample_of)
    one = sample_of(capture.reference).astype(np.float64)
    others = [sample_of(session).astype(np.float64) for session in capture.sessions]
    return float(np.mean([sample_distances(one, other).ks for other in others]))


def _across(captures: list[_Capture]) -> Iterator[dict[str, object]]:
    """Yield the AUC where captures are held out: of each kind, and of all."""
    windows = [(capture, _windows_of(capture)) for capture in captures]
    for kind in (*KINDS, "all"):
        own = [found for capture, found in windows if kind in (capture.kind, "all")]
        own = [found for found in own if found["capture"].session.size > 1]
        row: dict[str, object] = {"kind": kind, "captures": len(own)}
        for side in (PLAYED, *BASELINES):
            if len(own) > 1:
                test = distinguish(_label(own, side), of="windows", window_s=_WINDOW_S, seed=0)
                row[side] = test.auc
                row[f"{side}_by_chance"] = test.null_high
        yield row


def _windows_of(capture: _Capture) -> dict[str, Described]:
    threshold_s = burst_threshold_s(capture.reference)

    def describe(views: tuple[SessionView, ...]) -> Described:
        sessions = [rows for view in views for rows in split_sessions(view)]
        found = describe_windows(sessions, window_s=_WINDOW_S, threshold_s=threshold_s)
        count = found.session.size
        kept = np.linspace(0, count - 1, min(count, _MOST_WINDOWS)).astype(np.int64)
        return Described(found.values[kept], found.names, found.session[kept])

    sides = {"capture": (capture.reference,)} | capture.sides
    return {name: describe(views) for name, views in sides.items()}


def _label(captures: list[dict[str, Described]], side: str) -> LabelledRows:
    """Label windows of captures and of what takes their place; a capture is a fold."""
    parts = [
        (place, found[name], name == side)
        for place, found in enumerate(captures)
        for name in ("capture", side)
    ]
    sizes = [part.session.size for _, part, _ in parts]
    return LabelledRows(
        values=np.concatenate([part.values for _, part, _ in parts]),
        names=parts[0][1].names,
        is_candidate=np.repeat([played for _, _, played in parts], sizes),
        fold=np.repeat([place for place, _, _ in parts], sizes),
        block=np.repeat(np.arange(len(parts)), sizes),
    )
