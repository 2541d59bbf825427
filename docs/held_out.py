"""Fits judged by packets they have not seen: the later half, and a second capture of the source."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import trafficgen
from classified import FEWEST_PACKETS, KINDS, RECORDED, gaps_of, list_captures, sizes_of
from trafficgen.capture.options import TimeWindow
from trafficgen.capture.session import open_session
from trafficgen.flows import SessionView, clock_tick_ns, resegment
from trafficgen.models import Model
from trafficgen.units import s_from_ns
from trafficgen.validation.distances import sample_distances
from trafficgen.validation.measurement import burst_threshold_s
from trafficgen.validation.two_sample import run_tests

SEEDS = (1, 2, 3)
#: Captures whose media last shorter have halves too short for windows of the classifier, s.
_SHORTEST_S = 20.0
#: Recordings of one source, both ways round. Where the path differs, the sender is seen, and the
#: source does not answer to it.
_PAIRS: tuple[tuple[str, str, str], ...] = (
    ("UDP, 548 kbit/s", "lab/ref_725_80p_cubic_udp548-src", "lab/ref_1500_51200B_reno_udp548-src"),
    ("UDP, 340 kbit/s", "lab/ref_725_80p_reno_udp340-src", "lab/ref_250_10000B_cubic_udp340-src"),
    ("RTP of one film", "lab/rtsp_gst_clear-src", "lab/rtsp_gst_cubic-src"),
)
#: Lists of packets of several sessions with one service at one quality; and how many are taken.
_LISTS = {
    "Twitch, 480p": "uuu_twitch_480p_sessions.csv",
    "YouTube, 720p": "uuu_youtube_720p_sessions.csv",
}
_LISTED_SESSIONS = 5
#: Begins the line before each session of such a list.
_SESSION = "session,"

Figures = dict[str, float | None]


def held_out_rows(chosen: Container[str] | None = None) -> dict[str, object]:
    """Return a row a capture that is split in time, and a row a pair of captures of a source.

    Of chosen captures and sources, by their names, or of all of them.
    """
    return {
        "seeds": len(SEEDS),
        "split": list(_split_rows(chosen)),
        "second": list(_second_rows(chosen)),
    }


def _split_rows(chosen: Container[str] | None) -> Iterator[dict[str, object]]:
    for kind in KINDS:
        for path in list_captures(kind):
            if chosen is not None and path.name not in chosen:
                continue
            with warnings.catch_warnings(action="ignore"):
                try:
                    row = _split(kind, path)
                except (trafficgen.TrafficgenError, ValueError) as error:
                    print(f"left out: {path.name}: {error}", file=sys.stderr)
                    continue
            if row is not None:
                yield row


def _split(kind: str, path: Path) -> dict[str, object] | None:
    """Fit the first half of a capture's media; judge what is played on both halves."""
    whole = open_session(path)
    times_ns = whole.view.media_time_ns
    origin_ns = whole.view.table.origin_ns - whole.inspection.start_time_ns
    begins_s = s_from_ns(int(times_ns[0]) + origin_ns)
    length_s = s_from_ns(int(times_ns[-1] - times_ns[0]))
    middle_s = begins_s + length_s / 2
    halves = TimeWindow(0.0, middle_s), TimeWindow(middle_s)
    seen, later = (open_session(path, window=one).view for one in halves)
    if length_s < _SHORTEST_S or min(_count(seen), _count(later)) < FEWEST_PACKETS:
        return None
    model = trafficgen.fit(path, to_s=middle_s).model
    return {
        "kind": kind,
        "capture": path.name,
        "fitted": _judge(seen, _play(model, length_s, lambda one_s: TimeWindow(0.0, one_s))),
        "unseen": _judge(later, _play(model, length_s, TimeWindow)),
        "recorded": _judge(later, [seen]),
    }


def _play(
    model: Model, length_s: float, half: Callable[[float], TimeWindow]
) -> Iterator[SessionView]:
    """Play a model for as long as the whole capture, and yield one half of each session."""
    for seed in SEEDS:
        table = trafficgen.generate(model, seed=seed, duration_s=length_s)
        played = open_session(table)
        begins_ns = int(played.view.media_time_ns[0])
        yield open_session(table, window=half(s_from_ns(begins_ns) + length_s / 2)).view


def _second_rows(chosen: Container[str] | None) -> Iterator[dict[str, object]]:
    for source, sessions in _sources():
        if chosen is not None and source not in chosen:
            continue
        for fitted, other in sessions:
            with warnings.catch_warnings(action="ignore"):
                model = trafficgen.fit(fitted[1]).model
                tables = [trafficgen.generate(model, seed=seed) for seed in SEEDS]
                views = [open_session(table).view for table in tables]
                seen, second = (open_session(one).view for _, one in (fitted, other))
                row: dict[str, object] = {"source": source, "capture": fitted[0]}
                row |= {"second": other[0], "fitted": _judge(seen, views)}
                yield row | {"unseen": _judge(second, views), "recorded": _judge(second, [seen])}


_Capture = tuple[str, "Path | trafficgen.PacketTable"]


def _sources() -> Iterator[tuple[str, list[tuple[_Capture, _Capture]]]]:
    """Yield sources with pairs of a capture that is fitted, and a second one."""
    for source, *names in _PAIRS:
        paths = [RECORDED / f"{name}.pcap" for name in names]
        if all(path.exists() for path in paths):
            first, second = ((path.name, path) for path in paths)
            yield source, [(first, second), (second, first)]
    for source, name in _LISTS.items():
        path = RECORDED / "traces" / name
        if path.exists():
            listed = _read_sessions(path)[:_LISTED_SESSIONS]
            yield source, list(zip(listed, listed[1:] + listed[:1], strict=True))


def _read_sessions(path: Path) -> list[_Capture]:
    """Return the packets to the client of each session of a list; their sizes are negative."""
    found: list[_Capture] = []
    for part in path.read_text(encoding="utf-8").split(_SESSION)[1:]:
        name, _, *lines = part.strip().splitlines()
        rows = np.array([line.split(",") for line in lines], dtype=np.int64)
        rows = rows[rows[:, 1] < 0]
        frame = pd.DataFrame({"time_us": rows[:, 0], "frame_bytes": -rows[:, 1]})
        with warnings.catch_warnings(action="ignore"):
            found.append((f"session {name}", trafficgen.read_packets(frame)))
    return found


def _judge(reference: SessionView, played: Iterator[SessionView] | list[SessionView]) -> Figures:
    """Return how far played sessions are from packets: means over the sessions."""
    reference = replace(reference, table=resegment(reference.table)[0])
    tick_ns = clock_tick_ns(reference.media_time_ns)
    threshold_s = burst_threshold_s(reference)
    found = []
    for one in played:
        view = replace(one, table=one.table.round_to_clock(tick_ns)) if tick_ns > 1 else one
        test = run_tests(reference, view, threshold_s=threshold_s, seed=0).found.get("windows")
        found.append(
            {
                "rate_error": _rate(view) / _rate(reference) - 1,
                "gap_ks": _ks(gaps_of(reference), gaps_of(view)),
                "size_ks": _ks(sizes_of(reference), sizes_of(view)),
                "auc": math.nan if test is None else test.auc,
                "auc_by_chance": math.nan if test is None else test.null_high,
            }
        )
    return {key: float(np.mean([one[key] for one in found])) for key in found[0]}


def _count(view: SessionView) -> int:
    return int(view.media_time_ns.size)


def _rate(view: SessionView) -> float:
    """Return the mean rate of the media from the first packet to the last, bytes/s."""
    times_ns = view.media_time_ns
    return float(view.media_ip_bytes.sum() / s_from_ns(int(times_ns[-1] - times_ns[0])))


def _ks(one: np.ndarray, other: np.ndarray) -> float:
    return float(sample_distances(one.astype(np.float64), other.astype(np.float64)).ks)
