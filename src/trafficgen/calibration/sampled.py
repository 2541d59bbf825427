"""The fit of a condensed session as that of the whole: its times, what was counted of all of it,
and the error.

The laws and processes are those of the stretches that were fitted. Times go back to the session's
clock; packets, length and rate are those of the whole session, which was counted as it passed by.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trafficgen.calibration.calibrate import FittedSession
from trafficgen.calibration.phases import Phases
from trafficgen.calibration.rebuffering import Stall
from trafficgen.flows import CondensedSession, SessionView, gaps_within_flows_s
from trafficgen.flows.sketch import MediaSketch, largest_distance
from trafficgen.models import Estimate, FittedProvenance, Model, Phase, Stream
from trafficgen.models.sampling import SampledLaw, SampledMean, Sampling, SamplingErrors
from trafficgen.units import (
    BoolArray,
    FloatArray,
    bps_from_kbps,
    kbps_from_bytes,
    ns_from_s,
    s_from_ns,
)

_WHOLE_METHOD = (
    "IP bytes / duration, all packets counted; interval of the stretches that were fitted"
)


def as_whole_session(
    fitted: FittedSession, condensed: CondensedSession, view: SessionView
) -> FittedSession:
    """Return the fit of a condensed session with the times, counts and rates of the whole one.

    Args:
        fitted: The fit.
        condensed: The session that was fitted.
        view: Its packets as they were given to the fit.
    """
    times = _Times(condensed, view.first_media_ns)
    whole = condensed.whole
    phases = _real_phases(fitted.session.phases, times, view, whole)
    sampling = sampling_of(condensed, view)
    model = _real_model(fitted.model, times, phases, sampling)
    session = replace(
        fitted.session, packets=whole.packets, duration_s=whole.duration_s, phases=phases
    )
    return replace(
        fitted, model=model, session=session, warnings=[sentence_of(sampling), *fitted.warnings]
    )


def sentence_of(sampling: Sampling) -> str:
    """Return what a reader of the fit must know."""
    rate, size, gap = sampling.error.rate_kbps, sampling.error.packet_bytes, sampling.error.gap_s
    return (
        f"fitted to {sampling.packets_used:,} of {sampling.packets_present:,} media packets, as"
        f" many as the memory holds: the first {sampling.beginning_s:.3g} s, the end, and"
        f" {sampling.stretches - 2} stretches between; beside the whole session, which was counted,"
        f" the rate is off by {_percent(rate)}, the mean packet by {_percent(size)}, the mean gap"
        f" by {_percent(gap)}; give more --memory to fit all"
    )


def _percent(mean: SampledMean) -> str:
    if not mean.whole:
        return "unknown"
    error = (
        ""
        if mean.standard_error is None
        else f" (standard error {mean.standard_error / mean.whole:.2%})"
    )
    return f"{mean.sample / mean.whole - 1:+.2%}{error}"


class _Times:
    """Times of a fit, s from the first media packet, by the clock of the whole session."""

    def __init__(self, condensed: CondensedSession, zero_ns: int) -> None:
        self._clock, self._zero_ns = condensed.clock, zero_ns
        self._real_zero_ns = condensed.clock.real(zero_ns)
        self.last_stretch = len(condensed.stretches) - 1

    def real_s(self, own_s: float) -> float:
        own_ns = self._zero_ns + ns_from_s(own_s)
        return s_from_ns(self._clock.real(own_ns) - self._real_zero_ns)

    def stretch(self, own_s: float) -> int:
        return self._clock.stretch(self._zero_ns + ns_from_s(own_s))


def _real_phases(phases: Phases, times: _Times, view: SessionView, whole: MediaSketch) -> Phases:
    def real(own_s: float | None) -> float | None:
        return None if own_s is None else times.real_s(own_s)

    return replace(
        phases,
        buffering_end_s=real(phases.buffering_end_s),
        low_s=real(phases.low_s),
        high_s=real(phases.high_s),
        end_s=times.real_s(phases.end_s),
        playout_kbps=_playout_kbps(phases, times, view, whole),
        stalls=tuple(_real_stall(stall, times) for stall in phases.stalls),
        playout_end_s=real(phases.playout_end_s),
    )


def _playout_kbps(phases: Phases, times: _Times, view: SessionView, whole: MediaSketch) -> float:
    """Return the playout's rate from the count of all bytes, where what is no playout lies in
    beginning and end.
    """
    end_s = phases.end_s if phases.playout_end_s is None else phases.playout_end_s
    if times.stretch(phases.playout_start_s) != 0 or times.stretch(end_s) != times.last_stretch:
        return phases.playout_kbps
    own_ns = view.media_time_ns - view.first_media_ns
    first = int(np.searchsorted(own_ns, ns_from_s(phases.playout_start_s), side=phases.side))
    after = int(np.searchsorted(own_ns, ns_from_s(end_s), side="right"))
    first = first if phases.buffering_end_s is not None else 0
    others = int(view.media_ip_bytes[:first].sum()) + int(view.media_ip_bytes[after:].sum())
    return kbps_from_bytes(
        whole.ip_bytes - others, times.real_s(end_s) - times.real_s(phases.playout_start_s)
    )


def _real_stall(stall: Stall, times: _Times) -> Stall:
    return replace(
        stall,
        start_s=times.real_s(stall.start_s),
        end_s=times.real_s(stall.end_s),
        refill_end_s=times.real_s(stall.refill_end_s),
    )


def _real_model(model: Model, times: _Times, phases: Phases, sampling: Sampling) -> Model:
    until_s = phases.end_s if phases.playout_end_s is None else phases.playout_end_s
    duration = model.playout.duration_s.model_copy(
        update={"value": until_s - phases.playout_start_s}
    )
    playout = model.playout.model_copy(
        update={
            "duration_s": duration,
            "rate_bps": _with_value(model.playout.rate_bps, phases.playout_kbps),
        }
    )
    assert isinstance(model.provenance, FittedProvenance)
    update: dict[str, object] = {
        "playout": playout,
        "streams": tuple(_real_stream(stream, times) for stream in model.streams),
        "provenance": model.provenance.model_copy(update={"sampling": sampling}),
    }
    if model.buffering is not None:
        buffering = model.buffering.duration_s.model_copy(
            update={"value": phases.buffering_end_s, "low": phases.low_s, "high": phases.high_s}
        )
        update["buffering"] = model.buffering.model_copy(
            update={
                "duration_s": buffering,
                "ratio": model.buffering.ratio.model_copy(update={"value": phases.ratio}),
            }
        )
    return model.model_copy(update=update)


def _with_value(estimate: Estimate, rate_kbps: float) -> Estimate:
    value = bps_from_kbps(rate_kbps)
    low = None if estimate.low is None else min(estimate.low, value)
    high = None if estimate.high is None else max(estimate.high, value)
    return estimate.model_copy(
        update={"value": value, "low": low, "high": high, "method": _WHOLE_METHOD}
    )


def _real_stream(stream: Stream, times: _Times) -> Stream:
    return stream.model_copy(
        update={"phases": tuple(_real_phase(phase, times) for phase in stream.phases)}
    )


def _real_phase(phase: Phase, times: _Times) -> Phase:
    start_s = times.real_s(phase.start_s)
    return phase.model_copy(
        update={"start_s": start_s, "duration_s": times.real_s(phase.end_s) - start_s}
    )


def sampling_of(condensed: CondensedSession, view: SessionView) -> Sampling:
    """Return what part of a session was taken, and how far its means and laws are from those of the
    whole.
    """
    sample, whole = _sketch(view), condensed.whole
    parts = _Parts(condensed, view)
    share = sample.packets / whole.packets
    beginning_ns = int(view.table.time_ns[condensed.bounds[1] - 1]) - view.first_media_ns
    return Sampling(
        packets_used=sample.packets,
        packets_present=whole.packets,
        used_s=sample.duration_s,
        present_s=whole.duration_s,
        stretches=len(condensed.stretches),
        beginning_s=max(0.0, s_from_ns(beginning_ns)),
        error=SamplingErrors(
            rate_kbps=SampledMean(
                whole=kbps_from_bytes(whole.ip_bytes, whole.duration_s),
                sample=kbps_from_bytes(sample.ip_bytes, sample.duration_s),
                standard_error=_scaled(
                    ratio_error(parts.ip_bytes, parts.time_s, share=share),
                    kbps_from_bytes(1.0, 1.0),
                ),
            ),
            packet_bytes=SampledLaw(
                whole=whole.ip_bytes / whole.packets,
                sample=sample.ip_bytes / sample.packets,
                standard_error=ratio_error(parts.ip_bytes, parts.packets, share=share),
                ks=largest_distance(sample.size_counts, whole.size_counts),
            ),
            gap_s=SampledLaw(
                whole=s_from_ns(whole.gap_sum_ns) / max(1, whole.gaps),
                sample=s_from_ns(sample.gap_sum_ns) / max(1, sample.gaps),
                standard_error=ratio_error(parts.gap_sum_s, parts.gaps, share=share),
                ks=largest_distance(sample.gap_counts, whole.gap_counts),
            ),
        ),
    )


def _sketch(view: SessionView) -> MediaSketch:
    sketch = MediaSketch()
    sketch.add(view.media_time_ns, view.table.flow[view.media], view.media_ip_bytes)
    return sketch


class _Parts:
    """Sums over the media packets of each stretch between beginning and end, shape (k,) each."""

    def __init__(self, condensed: CondensedSession, view: SessionView) -> None:
        table, bounds = view.table, condensed.bounds
        number = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
        inside: BoolArray = view.media
        self._count = bounds.size - 1
        self.packets = self._sums(number[inside], np.ones(int(inside.sum())))
        self.ip_bytes = self._sums(number[inside], view.media_ip_bytes.astype(np.float64))
        ends_ns = table.time_ns[bounds[1:] - 1]
        self.time_s = s_from_ns(np.diff(ends_ns, prepend=table.time_ns[0]))[1:-1]
        gap_s, rows = gaps_within_flows_s(table, inside)
        self.gaps = self._sums(number[rows], np.ones(rows.size))
        self.gap_sum_s = self._sums(number[rows], gap_s)

    def _sums(self, number: np.ndarray, values: FloatArray) -> FloatArray:
        return np.asarray(
            np.bincount(number, weights=values, minlength=self._count)[1:-1], dtype=np.float64
        )


def ratio_error(above: FloatArray, below: FloatArray, *, share: float) -> float | None:
    """Return the standard error of a ratio of sums over stretches of a session; None for fewer than
    two.

    Args:
        above: What is summed above the line, by stretch, shape (k,).
        below: What is summed below it, shape (k,).
        share: Share of the session that the stretches are: the more, the smaller the error.

    Source: Cochran, Sampling Techniques, 3rd ed. (1977), chapter 6: the variance of a ratio
    estimate from the residuals of its parts, with the finite population correction. Stretches at
    equal distances are taken for random ones, which makes the error rather too large than too small
    (chapter 8).
    """
    if above.size < 2 or not below.sum() > 0:
        return None
    residuals = above - above.sum() / below.sum() * below
    variance = (1 - share) * above.size / (above.size - 1) * float((residuals**2).sum())
    return float(np.sqrt(max(0.0, variance))) / float(below.sum())


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
