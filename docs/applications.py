"""What a fit says of a source and of its path, point by point, beside what is known to be true."""

from __future__ import annotations

import csv
import json
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any, get_args

import numpy as np
from scipy.optimize import linear_sum_assignment

import trafficgen
from classified import RECORDED
from trafficgen.flows import Exchanges
from trafficgen.models import Application, CapacityStep
from trafficgen.packet_files.formats import View
from trafficgen.packet_files.writing import write_packets
from trafficgen.units import NS_PER_S
from transfers import PLAYERS

#: Seeds of the simulated players; none was looked at while estimators were made.
_SEEDS = (901, 902, 903)
_SIMULATED_S = 120.0
_PATHS = {
    "1 Mbit/s": ("rate=1Mbps,delay=40ms,queue=40kB", [(0.0, 1000.0)]),
    "3 Mbit/s": ("rate=3Mbps,delay=25ms,queue=60kB", [(0.0, 3000.0)]),
    "steps": (
        "steps=0s:3Mbps/30s:500kbps/60s:2Mbps,delay=30ms,queue=60kB",
        [(0.0, 3000.0), (30.0, 500.0), (60.0, 2000.0)],
    ),
}
#: Errors that count as right: of bytes and rates (shares), of times (s).
_BYTES, _RATE, _TIME_S = 0.02, 0.03, 1.0
#: A stall is as long as another up to this, s, or up to this share.
_STALL_S, _STALL_SHARE = 1.0, 0.2
#: Header of a response, which a log does not count, bytes; a log's clock may be off by this, s.
_MOST_HEADER_BYTES, _LOG_S = 400, 1.5
#: Segments of a ladder in a server's log, and the rate below which they are audio, kbit/s.
_SEGMENT, _LEAST_KBPS = re.compile(r"(.*[-_])\d+\.(?:m4s|ts)$"), 100.0
#: Sessions whose fits are not about segments hold none of this.
_SEGMENT_S = {"abr": 2.0, "fixed": 4.0, "quic": 2.0, "dash": 2.0, "hls": 2.0}
#: Qualities in the logs of YouTube's player, which has a new one so long after its request, s.
_QUALITIES, _QUALITY_S = ("tiny", "small", "medium", "large", "hd720", "hd1080"), 0.2
_YOUTUBE = ("requet_A_baseline_Mar22_exp_41", "requet_A_movement_Apr20_exp_135")


@dataclass(frozen=True)
class _Truth:
    """What a session did; times in s on a clock whose zero is ``zero_ns`` since 1970, or None.

    Without it times are from the first media packet. Responses are times of requests and bytes,
    segments rungs in kbit/s with bytes, switches times with 1 (up) or -1, stalls times with
    durations, and the capacity times with rates in kbit/s.
    """

    zero_ns: int | None
    segment_s: float | None
    responses: Sequence[tuple[float, float]]
    segments: Sequence[tuple[float, float]]
    switches: Sequence[tuple[float, int]]
    stalls: Sequence[tuple[float, float]] | None
    capacity: Sequence[tuple[float, float]]


def application_rows() -> dict[str, object]:
    """Return a row a capture with what was found of what there was, and of chunks of YouTube."""
    return {
        "seeds": list(_SEEDS),
        "sessions": [*_recorded_rows(), *_simulated_rows()],
        "youtube": list(_youtube_rows()),
    }


def _recorded_rows() -> Iterator[dict[str, object]]:
    for log in sorted([*RECORDED.glob("lab/*.json"), *RECORDED.glob("lab-chunks/*.json")]):
        truth = _read_log(json.loads(log.read_text(encoding="utf-8")))
        for side, name in (("receiver", "dst"), ("sender", "src")):
            capture = log.with_name(f"{log.stem}-{name}.pcap")
            yield {"session": log.stem, "side": side, "seed": None} | _judge(capture, truth)


def _read_log(log: dict[str, Any]) -> _Truth:
    segment_s = _SEGMENT_S.get(log["name"].split("_")[0])
    served = [one for one in log["server_log"] if one["status"] in (200, 206)]
    fetched = [one for one in log["player_log"] if one["event"] == "segment" and "bytes" in one]
    groups: dict[str, list[float]] = {}
    for one in served:
        if found := _SEGMENT.match(one["uri"]):
            groups.setdefault(found[1], []).append(one["bytes"])
    asked = [one for one in log["switches"] if one["event"] == "switch_requested"]
    steps = [(one["t_s"], one["rate_kbps"]) for one in log["path"]["rate_steps"]]
    return _Truth(
        zero_ns=round(log["t0_unix_s"] * NS_PER_S),
        segment_s=segment_s,
        responses=sorted(
            [(one["t"] - one["seconds"], one["bytes"]) for one in served]
            or [(one["requested"], one["bytes"]) for one in fetched]
        ),
        segments=[
            (float(np.mean(sizes)), size)
            for sizes in groups.values()
            for size in sizes
            if np.mean(sizes) * 8e-3 >= _LEAST_KBPS * (segment_s or np.inf)
        ]
        or [(one["kbps"], one["bytes"]) for one in fetched],
        switches=[
            (one["t_s"], 1 if one["to_kbps"] > one["from_kbps"] else -1)
            for one in asked
            if one["from_kbps"] is not None
        ],
        stalls=[(one["start_s"], one["duration_s"]) for one in log["stalls"]]
        if segment_s
        else None,
        capacity=[(0.0, log["path"]["rate_kbps"]), *steps],
    )


def _simulated_rows() -> Iterator[dict[str, object]]:
    with tempfile.TemporaryDirectory(prefix="trafficgen-applications-") as folder:
        capture = Path(folder) / "capture.pcap"
        for seed, player, name in product(_SEEDS, PLAYERS, _PATHS):
            content, (path, capacity) = _draw_content(seed), _PATHS[name]
            settings = content | PLAYERS[player]
            if player == "fixed":
                settings["fixed_kbps"] = content["ladder_kbps"][2]
            with warnings.catch_warnings(action="ignore", category=trafficgen.SimulationWarning):
                result = trafficgen.simulate(
                    "chunked",
                    path=f"{path},overhead=14B",
                    settings=settings,
                    duration_s=_SIMULATED_S,
                    seed=seed,
                )
            truth = _read_result(result, content, capacity)
            for side in get_args(View):
                write_packets(result.packets(), capture, at=side)
                row = {"session": f"{player}, {name}", "side": side, "seed": seed}
                yield row | _judge(capture, truth)


def _draw_content(seed: int) -> dict[str, Any]:
    """Return the title and the buffer of the players of a seed."""
    generator = np.random.default_rng(seed)
    segment_s = float(generator.choice([2.0, 4.0, 5.0]))
    step = generator.uniform(1.5, 2.0)
    ladder = generator.uniform(200, 400) * step ** np.arange(5)
    segments = int(2 * _SIMULATED_S / segment_s)
    spread = generator.uniform(0.03, 0.15)
    return {
        **{"ladder_kbps": np.round(ladder).tolist(), "segment_s": segment_s},
        **{"buffer_target_s": float(generator.integers(12, 30))},
        **{"start_s": segment_s, "resume_s": segment_s, "duration_s": segments * segment_s},
        "content_factors": np.exp(generator.normal(0, spread, segments)).tolist(),
    }


def _read_result(
    result: trafficgen.SimulationResult,
    content: dict[str, Any],
    capacity: Sequence[tuple[float, float]],
) -> _Truth:
    events, end_s = result.events, result.end_s
    rungs = events.facts["rung_kbps"]
    segments = [
        (kbps, kbps / 8e-3 * content["segment_s"] * factor)
        for (_, kbps), factor in zip(rungs, content["content_factors"], strict=False)
    ]
    # The last one may not have come whole.
    requests = [time_s for time_s, _ in rungs]
    return _Truth(
        zero_ns=None,
        segment_s=content["segment_s"],
        responses=[(at, size) for at, (_, size) in zip(requests, segments, strict=True)][:-1],
        segments=segments[:-1],
        switches=[
            (one.time_s, 1 if one.to_kbps > one.from_kbps else -1) for one in events.level_changes()
        ],
        stalls=[
            (one.start_s, one.duration_s)
            for one in events.stalls
            if one.start_s + one.duration_s < end_s - 1e-6
        ],
        capacity=[one for one in capacity if one[0] < end_s],
    )


def _judge(capture: Path, truth: _Truth) -> dict[str, object]:
    """Return, of each point, what was found and how many there were."""
    fit, exchanges = _fit(capture)
    view, application = fit.calibration.views.captured, fit.model.application
    first_ns = view.table.origin_ns + view.first_media_ns
    # From times of the model to those of the truth.
    shift_s = 0.0 if truth.zero_ns is None else (first_ns - truth.zero_ns) / NS_PER_S
    conditions = fit.model.provenance.conditions  # type: ignore[union-attr]
    row: dict[str, object] = {"kind": None if application is None else application.kind}
    if truth.responses:
        zero_ns = first_ns if truth.zero_ns is None else truth.zero_ns
        row["responses"] = [_count_responses(exchanges, zero_ns, truth), len(truth.responses)]
    if truth.segment_s is not None:
        row |= _judge_segments(application, shift_s, truth)
    end_s = float(view.media_time_ns[-1] - view.first_media_ns) / NS_PER_S
    steps = (conditions and conditions.capacity) or ()
    row["capacity"] = _judge_capacity(steps, shift_s, end_s, truth)
    names = ("application", "segment_s", "stalls")
    absent = {name: fit.model.absent.get(f"application.{name}") for name in names[1:]}
    absent["application"] = fit.model.absent.get("application")
    return row | {"absent": {name: why for name, why in absent.items() if why}}


def _count_responses(exchanges: Exchanges, zero_ns: int, truth: _Truth) -> int:
    free = [
        ((one["request_ns"] - zero_ns) / NS_PER_S, one["response_bytes"])
        for one in exchanges.table.to_pylist()
        if one["kind"] != "control" and one["request_ns"] is not None
    ]
    found = 0
    for start_s, size in truth.responses:

        def off(one: tuple[float, float], size: float = size) -> float:
            return abs(size - min(max(size, one[1] - _MOST_HEADER_BYTES), one[1]))

        near = [one for one in free if abs(one[0] - start_s) < _LOG_S]
        best = min(near, key=lambda one: (off(one), one[0]), default=None)
        if best is not None and off(best) <= _BYTES * size:
            free.remove(best)
            found += 1
    return found


def _judge_segments(
    application: Application | None, shift_s: float, truth: _Truth
) -> dict[str, object]:
    sizes: dict[float, list[float]] = {}
    for rung, size in truth.segments:
        sizes.setdefault(rung, []).append(size)
    length_s = truth.segment_s or 0.0
    true = [(float(np.mean(one)) * 8e-3 / length_s, len(one)) for one in sizes.values()]
    clock = None if application is None else application.segment_s
    rungs = () if application is None else application.rungs
    found = [one.rate_kbps.value for one in rungs]
    missed = [count for kbps, count in true if not any(abs(x / kbps - 1) <= _RATE for x in found)]
    switches = () if application is None else application.switches
    turns = [(one.time_s + shift_s, 1 if one.to_kbps > one.from_kbps else -1) for one in switches]
    stalls = None if application is None else application.stalls
    halts = [(one.start_s + shift_s, one.duration_s) for one in stalls or ()]
    return {
        "clock_off": None if clock is None else clock.value / length_s - 1,
        "rungs": [len(true) - len(missed), len(true), len(found)],
        "segments_of_missed_rungs": missed,
        "switches": [
            _match(
                truth.switches, turns, lambda a, b: abs(a[0] - b[0]) <= length_s and a[1] == b[1]
            ),
            len(truth.switches),
            len(turns),
        ],
        "stalls": [
            _match(truth.stalls or (), halts, _is_stall),
            len(truth.stalls or ()),
            None if stalls is None else len(halts),
        ],
    }


def _is_stall(true: tuple[float, float], found: tuple[float, float]) -> bool:
    longest_s = max(_STALL_S, _STALL_SHARE * true[1])
    return abs(true[0] - found[0]) <= _TIME_S and abs(true[1] - found[1]) <= longest_s


_Moment = tuple[float, float]


def _match(
    true: Sequence[_Moment], found: Sequence[_Moment], fits: Callable[[_Moment, _Moment], bool]
) -> int:
    """Return how many true moments are found, each by another one: the nearest in time."""
    free, count = list(found), 0
    for one in true:
        near = min(
            (other for other in free if fits(one, other)),
            key=lambda other: abs(other[0] - one[0]),
            default=None,
        )
        if near is not None:
            free.remove(near)
            count += 1
    return count


def _judge_capacity(
    steps: Sequence[CapacityStep], shift_s: float, end_s: float, truth: _Truth
) -> list[int]:
    """Return true rates that are found, all, rates listed, and those whose interval holds the true.

    A rate is found from its step on if one is listed within 1 s of it; the first at any time.
    """
    told = [
        (start, end, step.kbps)
        for (start, end), step in zip(
            pairwise([*(one.start_s + shift_s for one in steps), end_s + shift_s]),
            steps,
            strict=True,
        )
        if step.kbps is not None
    ]
    found = sum(
        any(
            (number == 0 or abs(start - at) <= _TIME_S) and abs(rate.value / kbps - 1) <= _RATE
            for start, _, rate in told
        )
        for number, (at, kbps) in enumerate(truth.capacity)
    )
    starts = np.array([at for at, _ in truth.capacity])
    covered = 0
    for start, end, rate in told:
        place = max(int(np.searchsorted(starts, (start + end) / 2)) - 1, 0)
        covered += rate.low <= truth.capacity[place][1] <= rate.high  # type: ignore[operator]
    return [found, len(truth.capacity), len(told), covered]


def _youtube_rows() -> Iterator[dict[str, object]]:
    """Yield how many chunks of a session are at a rung that stands for their quality.

    The player logs the quality that it requests, not the one that it shows: all changes in these
    logs follow a request by less than 0.2 s, also those while nothing was left to show. A rung
    stands for one quality, and a quality for one rung, so that most chunks are right.
    """
    for name in _YOUTUBE:
        fit, exchanges = _fit(RECORDED / "streaming" / f"{name}.pcap")
        application, view = fit.model.application, fit.calibration.views.captured
        first_s = (view.table.origin_ns + view.first_media_ns) / NS_PER_S
        requests_s = exchanges.column("request_ns")[exchanges.column("kind") == "media"] / NS_PER_S
        place = RECORDED / "traces" / f"{name}_playback.csv"
        with place.open(encoding="utf-8", newline="") as file:
            # A row of two qualities is about the time before and after a change.
            log = [one for one in csv.DictReader(file) if one["quality"] in _QUALITIES]
        times_s = np.array([float(one["epoch_ms"]) for one in log]) / 1e3
        logged = np.minimum(np.searchsorted(times_s, requests_s + _QUALITY_S), len(log) - 1)
        rungs = [_find_rung(application, at_s - first_s) for at_s in requests_s]
        qualities = [log[row]["quality"] for row in logged]
        places = [np.unique(one, return_inverse=True)[1] for one in (rungs, qualities)]
        counts = np.zeros([one.max() + 1 for one in places])
        np.add.at(counts, tuple(places), 1)
        right = int(counts[linear_sum_assignment(-counts)].sum())
        yield {
            "session": name,
            "chunks": len(requests_s),
            "qualities": len(set(qualities)),
            "commonest": int(counts.sum(axis=0).max()),
            "right": 0 if application is None or not application.rungs else right,
            "why": fit.model.absent.get("application"),
        }


def _find_rung(application: Application | None, time_s: float) -> float:
    """Return the rung at a time, kbit/s: that of the last switch before it."""
    switches = () if application is None else application.switches
    rungs = [switches[0].from_kbps] if switches else [0.0]
    return [*rungs, *(one.to_kbps for one in switches if one.time_s <= time_s)][-1]


def _fit(capture: Path) -> tuple[trafficgen.Fit, Exchanges]:
    with warnings.catch_warnings(action="ignore", category=trafficgen.CaptureWarning):
        return trafficgen.fit(capture), trafficgen.measure_exchanges(str(capture))
