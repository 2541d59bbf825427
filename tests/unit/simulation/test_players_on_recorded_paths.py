"""Players over recorded mobile paths, against a player written again without packets: a path of
bits that flow as the trace says, and the formulas of the policies. And players of the lab, whose
policy is known, over their own paths, against their logs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import CaptureFinder

import trafficgen

LADDER_KBPS = [230, 331, 477, 688, 991, 1427, 2056, 2962, 5027, 6000]  # of Sabre's clip
SEGMENT_S, CAPACITY_S, CLIP_S = 3.0, 25.0, 150.0
#: Payload in an IP packet of 1500 bytes with TCP timestamps.
PAYLOAD = 1448 / 1500

Rule = Callable[[float, float | None], int]


def bola(buffer_s: float, _estimate_kbps: float | None) -> int:
    """Return the rung of the highest score, with gp = 5."""
    utilities = [math.log(kbps / LADDER_KBPS[0]) for kbps in LADDER_KBPS]
    v = (CAPACITY_S - SEGMENT_S) / (utilities[-1] + 5)
    scores = [
        (v * (utility + 5) - buffer_s) / kbps
        for utility, kbps in zip(utilities, LADDER_KBPS, strict=True)
    ]
    return scores.index(max(scores))


def throughput(_buffer_s: float, estimate_kbps: float | None) -> int:
    """Return the highest rung within 0.9 of the estimate."""
    fitting = [kbps for kbps in LADDER_KBPS if kbps <= 0.9 * (estimate_kbps or 0)]
    return max(0, len(fitting) - 1)


def _download_s(trace: list[dict[str, float]], start_s: float, bits: float) -> float:
    """Return how long bits take from a time on, where the trace is repeated."""
    period_s = sum(one["duration_ms"] for one in trace) / 1e3
    time_s, place = start_s % period_s, 0
    while time_s >= trace[place]["duration_ms"] / 1e3:
        time_s -= trace[place]["duration_ms"] / 1e3
        place += 1
    taken_s, left_s = 0.0, trace[place]["duration_ms"] / 1e3 - time_s
    while True:
        rate = 1e3 * PAYLOAD * trace[place]["bandwidth_kbps"]
        if bits <= rate * left_s:
            return taken_s + bits / rate
        bits -= rate * left_s
        taken_s += left_s
        place = (place + 1) % len(trace)
        left_s = trace[place]["duration_ms"] / 1e3


def _play(trace: list[dict[str, float]], rule: Rule, round_trip_s: float) -> tuple[float, float]:
    """Return the mean rung, kbps, and all stalls, s."""
    time_s = 3 * round_trip_s  # two connections and the manifest
    buffer_s, stalled_s, rungs = 0.0, 0.0, list[int]()
    faded, weight_s = [0.0, 0.0], 0.0
    for _ in range(round(CLIP_S / SEGMENT_S)):
        wait_s = max(0.0, buffer_s + SEGMENT_S - CAPACITY_S)
        time_s, buffer_s = time_s + wait_s, buffer_s - wait_s
        fades = [1 - 0.5 ** (weight_s / half_s) for half_s in (3, 8)]
        estimate = min(a / b for a, b in zip(faded, fades, strict=True)) if weight_s else None
        rung = rule(buffer_s, estimate)
        bits = 1e3 * LADDER_KBPS[rung] * SEGMENT_S
        took_s = round_trip_s + _download_s(trace, time_s + round_trip_s, bits)
        for number, half_s in enumerate((3, 8)):
            kept = 0.5 ** (took_s / half_s)
            faded[number] = kept * faded[number] + (1 - kept) * bits / took_s / 1e3
        weight_s += took_s
        stalled_s += max(0.0, took_s - buffer_s) if rungs else 0.0
        time_s, buffer_s = time_s + took_s, max(0.0, buffer_s - took_s) + SEGMENT_S
        rungs.append(rung)
    return sum(LADDER_KBPS[rung] for rung in rungs) / len(rungs), stalled_s


@pytest.mark.parametrize("rule", [bola, throughput])
@pytest.mark.parametrize("name", ["3Glogs_report.2010-09-13_1003CEST", "4Glogs_report_foot_0001"])
def test_a_player_does_what_its_formulas_do(
    shared_capture: CaptureFinder, tmp_path: Path, name: str, rule: Rule
) -> None:
    trace = json.loads(shared_capture(f"traces/sabre_{name}.json").read_text(encoding="utf-8"))
    plain = [{key: one[key] for key in ("duration_ms", "bandwidth_kbps")} for one in trace]
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(plain), encoding="utf-8")
    settings: dict[str, Any] = {
        **{"policy": rule.__name__, "ladder_kbps": LADDER_KBPS, "segment_s": SEGMENT_S},
        **{"buffer_s": CAPACITY_S, "duration_s": CLIP_S, "size_sigma": 0.0},
        **{"start_s": SEGMENT_S, "resume_s": SEGMENT_S},
    }
    # A deep queue: what TCP loses to a shallow one is not the policy's.
    path = f"trace={file},delay=50ms,queue=500p"
    result = trafficgen.simulate("chunked", path=path, settings=settings, seed=1)
    seen = result.events.playback(result.end_s)
    assert seen is not None
    mean_kbps, stalled_s = _play(trace, rule, 0.1)
    assert seen.mean_rung_kbps == pytest.approx(mean_kbps, rel=0.05)
    assert seen.stalled_s == pytest.approx(stalled_s, abs=2)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("abr_p1000_40", "rate=1Mbps,delay=40ms,queue=40kB,overhead=14B"),
        ("abr_p3000_25", "rate=3Mbps,delay=25ms,queue=60kB,overhead=14B"),
    ],
)
def test_a_player_of_the_lab_does_what_its_log_says(
    shared_capture: CaptureFinder, name: str, path: str
) -> None:
    log = json.loads(shared_capture(f"lab-chunks/{name}.json").read_text(encoding="utf-8"))
    segments = [one for one in log["player_log"] if one["event"] == "segment"]
    settings: dict[str, Any] = {
        # 0.8 of an average in which the newest segment counts 0.3, up one rung at a time.
        **{"policy": "throughput", "throughput_average": "smoothed", "throughput_share": 0.8},
        **{"throughput_newest_share": 0.3, "throughput_up_steps": 1},
        **{"ladder_kbps": [300, 600, 1200, 2000, 3000], "segment_s": 2, "buffer_s": 16},
        **{"start_s": 4, "resume_s": 4, "duration_s": 2 * len(segments)},
        "content_factors": [one["bytes"] / (250 * one["kbps"]) for one in segments],
    }
    result = trafficgen.simulate("chunked", path=path, settings=settings, seed=1)
    rungs_kbps = [kbps for _, kbps in result.events.facts["rung_kbps"]]
    equal = [kbps == one["kbps"] for kbps, one in zip(rungs_kbps, segments, strict=True)]
    assert sum(equal) >= 0.9 * len(segments)
    seen = result.events.playback(result.end_s)
    assert seen is not None
    mean_kbps = sum(one["kbps"] for one in segments) / len(segments)
    assert seen.mean_rung_kbps == pytest.approx(mean_kbps, rel=0.05)
    assert seen.stalls == len(log["stalls"])
    requested_s = [time_s for time_s, _ in result.events.facts["rung_kbps"]]
    spans_s = requested_s[-1] - requested_s[0], segments[-1]["requested"] - segments[0]["requested"]
    assert spans_s[0] == pytest.approx(spans_s[1], rel=0.05)
