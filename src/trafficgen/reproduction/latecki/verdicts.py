"""Compute the verdicts of the receiver again from the delays of the audio (LJM-D1 to LJM-D3)."""

from __future__ import annotations

import numpy as np

from trafficgen._core import SimulationOutcome
from trafficgen.calibration.path.delay_trends import classify, combine_scales, find_delay_trends
from trafficgen.models.published import load_entry, parameters_for_engine
from trafficgen.reproduction.latecki.measures import AudioPackets, RunLog, audio_packets, run_log
from trafficgen.units import FloatArray

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
