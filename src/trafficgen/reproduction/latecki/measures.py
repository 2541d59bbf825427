"""Measures of one run of the two streams: delays, losses, rates, pauses and verdicts (LJM)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trafficgen._core import SimulationOutcome
from trafficgen.calibration.path.delay_trends import (
    DECREASING,
    INCREASING,
    classify,
    combine_scales,
    find_delay_trends,
)
from trafficgen.models.published import load_entry, parameters_for_engine
from trafficgen.reproduction.experiment import Measures
from trafficgen.units import BoolArray, FloatArray, ms_from_s, s_from_ns

#: Audio alone, then with video, then alone (LJM-E1), s from the first audio packet.
VIDEO_START_S, VIDEO_END_S = 40.0, 160.0
#: From here on losses count as those of the rate that was found (LJM-E8), s after the video's
#: start.
FOUND_AFTER_S = 25.0
#: Converged: from then on within so much of the last value (LJM-E6).
_CONVERGED_KBPS = 1.0
#: The queue's build-up in figure 1: looked at for so long, and then its stable part, s after the
#: video's start.
_TRANSITION_S, _STABLE_FROM_S, _STABLE_TO_S = 5.0, 10.0, 40.0
#: Rates that are the same but for rounding.
_SAME_KBPS = 0.01
_AUDIO_FLOW, _VIDEO_FLOW = 0, 2


@dataclass(frozen=True)
class AudioPackets:
    """The audio packets of a run in the order of their sending.

    Attributes:
        sent_s: When each was sent, s from the first, shape (n,).
        delay_s: One-way delays, s, NaN where it was lost, shape (n,).
    """

    sent_s: FloatArray
    delay_s: FloatArray

    def select_delays(self, start_s: float, end_s: float) -> FloatArray:
        """Return the delays of packets that were sent in an interval, s, NaN where lost."""
        return self.delay_s[(self.sent_s >= start_s) & (self.sent_s < end_s)]


@dataclass(frozen=True)
class RunLog:
    """Log of the source: moments as (time in s, kind, value)."""

    events: tuple[tuple[float, str, float], ...]
    frames_sent: int
    frames_dropped: int

    def select(self, *kinds: str) -> list[tuple[float, str, float]]:
        """Return the moments of some kinds in order."""
        return [event for event in self.events if event[1] in kinds]

    def last(self, kind: str) -> float:
        """Return the last value of a kind; NaN: none."""
        found = self.select(kind)
        return found[-1][2] if found else float("nan")


def audio_packets(outcome: SimulationOutcome) -> AudioPackets:
    """Return the audio packets of a run."""
    columns = outcome.columns()
    audio: BoolArray = columns["flow"] == _AUDIO_FLOW
    sent = np.asarray(columns["time_ns"][audio], dtype=np.int64)
    arrived = np.asarray(columns["arrival_ns"][audio], dtype=np.int64)
    delay_s = s_from_ns(arrived - sent)
    return AudioPackets(
        s_from_ns(sent - sent[0]), np.where(columns["arrived"][audio], delay_s, np.nan)
    )


def run_log(outcome: SimulationOutcome) -> RunLog:
    """Return the log of the two-stream session, the only agent of a run."""
    agent = outcome.agents()[0]
    events = tuple(
        (s_from_ns(time_ns), kind, float("nan") if value is None else float(value))
        for time_ns, (kind, value, _) in agent["events"]
    )
    return RunLog(events, int(agent["frames_sent"]), int(agent["frames_dropped_at_sender"]))


def audio_measures(audio: AudioPackets) -> Measures:
    """Measure delay (ms) and loss of the audio before and with video, and how it was sent."""
    alone = audio.select_delays(0.0, VIDEO_START_S)
    with_video = audio.select_delays(VIDEO_START_S, VIDEO_END_S)
    found = audio.select_delays(VIDEO_START_S + FOUND_AFTER_S, VIDEO_END_S)
    base_s = float(np.nanmean(alone))
    return {
        "audio_packets_before_video": float(alone.size),
        "base_delay_ms": ms_from_s(base_s),
        "delay_rise_ms": ms_from_s(float(np.nanmean(with_video) - base_s)),
        "audio_loss": float(np.mean(np.isnan(with_video))),
        "audio_lost_after_25_s": float(np.count_nonzero(np.isnan(found))),
        "audio_packets": float(audio.sent_s.size),
        "longest_audio_gap_ms": ms_from_s(float(np.diff(audio.sent_s).max())),
    }


def video_losses(outcome: SimulationOutcome) -> Measures:
    """Return how many video packets the path dropped once the rate had been found (LJM-E8)."""
    columns = outcome.columns()
    arrived = np.asarray(columns["arrived"], dtype=np.bool_)
    sent_s = s_from_ns(np.asarray(columns["time_ns"], dtype=np.int64))
    late = (
        (columns["flow"] == _VIDEO_FLOW)
        & columns["to_client"]
        & (sent_s >= VIDEO_START_S + FOUND_AFTER_S)
    )
    return {"video_lost_after_25_s": float(np.count_nonzero(late & ~arrived))}


def frame_measures(log: RunLog) -> Measures:
    """Return frame delays (ms) and the share of frames dropped at the sender."""
    frames = log.frames_sent + log.frames_dropped
    mean_s, least_s = (
        log.last("frame_delay_last_rate_mean_s"),
        log.last("frame_delay_last_rate_min_s"),
    )
    return {
        "frames": float(frames),
        "frame_delay_ms": ms_from_s(log.last("frame_delay_mean_s")),
        "frame_delay_above_least_ms": ms_from_s(mean_s - least_s),
        "frames_dropped": log.frames_dropped / frames,
    }


def search_measures(log: RunLog) -> Measures:
    """Return the rate that was found, when, and how it was searched (LJM-C1, LJM-E6)."""
    rates = [(time_s - VIDEO_START_S, value / 1e3) for time_s, _, value in log.select("encoding")]
    held = log.select("held_at_kbps")
    if not held:
        return dict.fromkeys(
            ("converged_s", "found_kbps", "halvings", "rates_tried", "held_share"), float("nan")
        )
    last_kbps = rates[-1][1]
    away = [
        number for number, (_, kbps) in enumerate(rates) if abs(kbps - last_kbps) > _CONVERGED_KBPS
    ]
    converged_s = rates[away[-1] + 1 if away else 0][0]
    changes_s = [
        held[0][0],
        *(time_s for time_s, _, _ in log.select("encoding") if time_s > held[0][0]),
        VIDEO_END_S,
    ]
    return {
        "converged_s": converged_s,
        "found_kbps": last_kbps,
        "halvings": _share_of_halvings(log),
        "rates_tried": float(sum(time_s + VIDEO_START_S <= held[0][0] for time_s, _ in rates)),
        "held_share": float(np.diff(changes_s).max() / (VIDEO_END_S - held[0][0])),
    }


def _share_of_halvings(log: RunLog) -> float:
    """Return the share of steps of the first search that go to the middle of its bounds."""
    first = log.select("encoding")[0][2] / 1e3
    low, high, rate = 0.0, 2.0 * first, first
    right: list[bool] = []
    for _, kind, value in log.select(
        "paused_at_kbps", "resumed_at_kbps", "raised_to_kbps", "held_at_kbps"
    ):
        if kind == "held_at_kbps":
            break
        if kind == "paused_at_kbps":
            high = rate
            continue
        low = rate if kind == "raised_to_kbps" else low
        rate = value
        right.append(min(abs(value - (low + high) / 2), abs(value - low)) < _SAME_KBPS)
    return float(np.mean(right)) if right else float("nan")


def pause_measures(log: RunLog, audio: AudioPackets) -> Measures:
    """Count pauses, and measure the queue when they end (LJM-C2, LJM-E5)."""
    paused_s = [time_s for time_s, _, _ in log.select("paused_at_kbps")]
    resumed_s = [time_s for time_s, _, _ in log.select("resumed_at_kbps")]
    held_s = [time_s for time_s, _, _ in log.select("held_at_kbps")]
    base_s = float(np.nanmean(audio.select_delays(0.0, VIDEO_START_S)))
    at_end = [audio.select_delays(time_s - 0.2, time_s) - base_s for time_s in resumed_s]
    later = sum(time_s > held_s[0] for time_s in paused_s) if held_s else len(paused_s)
    return {
        "pauses": float(len(paused_s)),
        "pauses_after_search": float(later),
        "queue_after_pause_ms": (
            ms_from_s(float(np.nanmean(np.concatenate(at_end)))) if at_end else float("nan")
        ),
    }


def congestion_measures(audio: AudioPackets) -> Measures:
    """Measure how audio delay climbs and stays while video overfills the link (LJM-E7)."""
    start_s = VIDEO_START_S
    base_s = float(np.nanmean(audio.select_delays(0.0, start_s)))
    climb = audio.select_delays(start_s, start_s + _TRANSITION_S)
    stable = audio.select_delays(start_s + _STABLE_FROM_S, start_s + _STABLE_TO_S)
    return {
        "rise_in_5_s_ms": ms_from_s(float(np.nanmax(climb) - base_s)),
        "stable_spread": float(np.nanstd(stable) / np.nanmean(stable)),
    }


def trend_measures(audio: AudioPackets) -> Measures:
    """Apply the trend tests to a run without control (LJM-D2 to LJM-D4)."""
    came = ~np.isnan(audio.delay_s)
    sent_s = audio.sent_s[came]
    trends = find_delay_trends(audio.delay_s[came])
    at_s = sent_s[trends.last_packet]
    short, _, long = classify(trends.pct, trends.pdt)
    with_video = (at_s >= VIDEO_START_S) & (at_s < VIDEO_END_S)
    congested = (at_s >= VIDEO_START_S + _STABLE_FROM_S) & (at_s < VIDEO_END_S)
    return {
        "seen_rising_s": _first(at_s[short == INCREASING], VIDEO_START_S),
        "seen_falling_s": _first(at_s[short == DECREASING], VIDEO_END_S),
        "rising_while_congested": float(np.mean(short[congested] == INCREASING)),
        "long_less_short": _share_of_trends(long[with_video]) - _share_of_trends(short[with_video]),
    }


def _share_of_trends(verdicts: FloatArray) -> float:
    """Return the share of positions that a scale calls increasing or decreasing; shape (k,)."""
    return float(np.mean(np.abs(verdicts) == INCREASING))


def _first(times_s: FloatArray, start_s: float) -> float:
    """Return the time from a moment to the first of some times after it, s; NaN: none."""
    later = times_s[times_s >= start_s]
    return float(later[0] - start_s) if later.size else float("nan")


def measure_run(outcome: SimulationOutcome) -> dict[str, Any]:
    """Return every measure of a run."""
    audio, log = audio_packets(outcome), run_log(outcome)
    return {
        **audio_measures(audio),
        **video_losses(outcome),
        **frame_measures(log),
        **search_measures(log),
        **pause_measures(log, audio),
        **congestion_measures(audio),
        **trend_measures(audio),
    }


ENTRY = "twostream_latecki2003"
#: After these the receiver starts a new history: the rate has changed, or the video has begun.
_RESTARTS = ("paused_at_kbps", "resumed_at_kbps", "raised_to_kbps", "lowered_to_kbps")


def share_of_verdicts_confirmed(outcome: SimulationOutcome) -> float:
    """Return the share of the sender's verdicts that the definitions give too; NaN: none."""
    audio, log = audio_packets(outcome), run_log(outcome)
    heard = np.array([value for _, _, value in log.select("verdict")])
    if not heard.size:
        return float("nan")
    expected = _verdicts(audio, log)
    return float(np.mean(expected[: heard.size] == heard)) if expected.size >= heard.size else 0.0


def _verdicts(audio: AudioPackets, log: RunLog) -> FloatArray:
    """Return the verdicts on all delays, cut where the receiver hears of a new rate, shape (k,)."""
    came = ~np.isnan(audio.delay_s)
    sent_s, delay_s = audio.sent_s[came], audio.delay_s[came]
    first_rate_s = [log.select("encoding")[0][0]]
    restarts_s = sorted([*first_rate_s, *(time_s for time_s, _, _ in log.select(*_RESTARTS))])
    parts = np.split(delay_s, np.searchsorted(sent_s, restarts_s, side="right"))
    return np.concatenate(
        [_verdicts_of_one_rate(part, epsilon_s=log.last("epsilon_s")) for part in parts]
    )


def _verdicts_of_one_rate(delay_s: FloatArray, *, epsilon_s: float) -> FloatArray:
    """Return the verdicts on delays at one rate, one each step of packets, shape (k,)."""
    parameters = parameters_for_engine(load_entry(ENTRY))
    step, scales = parameters["verdict_every_packets"], parameters["scales_packets"]
    assert isinstance(step, int)
    assert isinstance(scales, list)
    windows = [int(str(scale)) for scale in scales]
    first = max(step, windows[0])
    last = np.arange(first - 1, delay_s.size, step)
    verdicts, leaning = np.full((len(windows), last.size), np.nan), np.zeros(last.size)
    for scale, window in enumerate(windows):
        trends = find_delay_trends(
            delay_s, groups=round(window**0.5), epsilon_s=epsilon_s, scales_packets=(window,)
        )
        long_enough = last >= window - 1
        at = last[long_enough] - (window - 1)
        pct, pdt = trends.pct[0, at], trends.pdt[0, at]
        verdicts[scale, long_enough] = classify(pct, pdt)
        leaning[long_enough] += pct + pdt
    return combine_scales(verdicts, leaning=leaning)
