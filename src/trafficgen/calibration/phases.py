"""Silence, buffering and playout, parted by change points of the rate, with an interval for the change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import ruptures

from trafficgen.calibration.cycles import Cycles, cut_into_cycles
from trafficgen.flows import SessionView
from trafficgen.units import FloatArray, IntArray, kbps_from_bytes, s_from_ns

#: Fewer cycles than this show no change of rate.
_FEWEST_CYCLES = 6
#: Buffering is at least this much faster than playout.
SMALLEST_RATIO = 1.2
#: Steps of the series in which change points are sought, and their penalty in units of variance x log(steps).
_STEPS = 2000
_STEPS_PER_CYCLE = 2
#: Segments are at least this many cycles, so that one odd cycle is none; an ON/OFF period may be a segment by itself.
_FEWEST_CYCLES_OF_SEGMENT = 4
_PENALTY = 3.0
_REPLICATES = 400
#: Median of the chi-squared law with one degree of freedom.
_CHI_SQUARED_MEDIAN = 0.4549
#: A later, slower segment still belongs to buffering when it is no longer than this many times what precedes it.
_LONGEST_CONTINUATION = 1.0
#: A source that takes longer than this to become fast does not start fast.
_LONGEST_LEAD_S = 5.0
#: Buffering ends before this share of the session: what follows has to show what playout is.
_LARGEST_SHARE = 0.8


@dataclass(frozen=True)
class Phases:
    """Phases of a session; times in s from its first media packet.

    Attributes:
        silence_s: From the session's first packet to its first media packet. buffering_end_s: End of buffering, or
        None where the start is not faster than the rest. low_s: Lower end of the 95% interval of that end. high_s:
        Upper end. end_s: Last media packet. buffering_kbps: Mean IP rate while buffering. playout_kbps: Mean IP rate
        afterwards (of all, without buffering). side: Whether the packet at the very end of buffering starts playout
        (``"left"``, as for `numpy.searchsorted`), or
            still belongs to buffering because a pause follows it (``"right"``).
    """

    silence_s: float
    buffering_end_s: float | None
    low_s: float | None
    high_s: float | None
    end_s: float
    buffering_kbps: float | None
    playout_kbps: float
    side: Literal["left", "right"] = "left"

    @property
    def playout_start_s(self) -> float:
        """Start of playout."""
        return self.buffering_end_s or 0.0

    @property
    def ratio(self) -> float | None:
        """Buffering rate / playout rate."""
        if self.buffering_kbps is None or self.playout_kbps <= 0:
            return None
        return self.buffering_kbps / self.playout_kbps


PHASES_METHOD = (
    "change point of the mean rate (penalised least squares, then Poisson likelihood at packet starts);"
    " interval by bootstrap of whole cycles"
)


def find_phases(view: SessionView, *, tick_s: float, generator: np.random.Generator) -> Phases:
    """Part a session into silence, buffering and playout.

    Change points of the rate are found by penalised least squares (PELT: Killick, Fearnhead and Eckley 2012, with the
    kernel of Celisse et al. 2018 as `ruptures` implements it) on the rate of whole cycles, so that an ON period alone
    is no phase. Buffering is the initial run of segments before the rate first drops to that of the rest; where its
    interval reaches back to the start, there is none.

    Args:
        view: The session.
        tick_s: Granularity of the clock, s.
        generator: Source of the bootstrap's draws.
    """
    time_ns, size_bytes = view.media_time_ns, view.media_ip_bytes
    silence_s = s_from_ns(view.first_media_ns - int(view.table.time_ns[0]))
    end_s = s_from_ns(int(time_ns[-1] - time_ns[0]))
    cycles = cut_into_cycles(time_ns, size_bytes, tick_s=tick_s)
    change = _buffering_cycles(cycles)
    whole_kbps = kbps_from_bytes(float(size_bytes.sum()), end_s) if end_s > 0 else 0.0
    none = Phases(silence_s, None, None, None, end_s, None, whole_kbps)
    if change is None:
        return none
    end_ns = _refined_end(time_ns, size_bytes, cycles, change)
    side: Literal["left", "right"] = "right" if cycles.paused else "left"
    inside = int(np.searchsorted(time_ns, end_ns, side=side))
    duration_s = s_from_ns(end_ns - int(time_ns[0]))
    if not 0 < duration_s < end_s:
        return none
    low_s, high_s = _interval(cycles, change, duration_s, generator=generator)
    buffering_kbps = kbps_from_bytes(float(size_bytes[:inside].sum()), duration_s)
    playout_kbps = kbps_from_bytes(float(size_bytes[inside:].sum()), end_s - duration_s)
    if low_s <= 0 or duration_s > _LARGEST_SHARE * end_s or buffering_kbps < SMALLEST_RATIO * playout_kbps:
        return none
    return Phases(silence_s, duration_s, low_s, high_s, end_s, buffering_kbps, playout_kbps, side)


def _buffering_cycles(cycles: Cycles) -> int | None:
    """Return how many cycles belong to buffering, or None."""
    if len(cycles) < _FEWEST_CYCLES:
        return None
    edges = _change_points(cycles)
    total_bytes = np.concatenate(([0.0], np.cumsum(cycles.size_bytes)))[edges]
    start_s = s_from_ns(cycles.edge_ns[edges] - cycles.edge_ns[0])
    rates = np.diff(total_bytes) / np.diff(start_s)
    lead = rates < SMALLEST_RATIO * total_bytes[-1] / start_s[-1]
    if lead[0] and (lead.all() or start_s[int(np.argmin(lead))] > _LONGEST_LEAD_S):
        return None
    for segment in range(1, rates.size):
        before = total_bytes[segment] / start_s[segment]
        after = (total_bytes[-1] - total_bytes[segment]) / (start_s[-1] - start_s[segment])
        falls = rates[segment] < rates[segment - 1]
        if falls and before >= SMALLEST_RATIO * after and not _continues(rates, start_s, segment, before=before):
            return int(edges[segment])
    return None


def _continues(rates: FloatArray, start_s: FloatArray, segment: int, *, before: float) -> bool:
    """Return whether a segment still belongs to buffering: nearer to the rate so far than to the rest, and short."""
    if segment + 1 >= rates.size or start_s[segment + 1] - start_s[segment] > _LONGEST_CONTINUATION * start_s[segment]:
        return False
    durations = np.diff(start_s)[segment + 1 :]
    rest = float(np.dot(rates[segment + 1 :], durations) / durations.sum())
    here = rates[segment]
    if here <= 0 or rest <= 0:
        return bool(here > 0)
    return bool(abs(np.log(before / here)) < np.log(here / rest))


def _change_points(cycles: Cycles) -> IntArray:
    """Return the cycles at which the rate changes, with 0 and the number of cycles at the ends."""
    duration_s = cycles.duration_s
    rate = cycles.size_bytes / duration_s
    ends_s = np.cumsum(duration_s)
    steps = int(min(_STEPS, np.ceil(_STEPS_PER_CYCLE * ends_s[-1] / float(duration_s.min()))))
    step_s = float(ends_s[-1]) / steps
    series = rate[np.minimum(np.searchsorted(ends_s, (np.arange(steps) + 0.5) * step_s), rate.size - 1)]
    variance = _rate_variance(rate) * float(np.average(duration_s, weights=duration_s)) / step_s
    variance = max(variance, 1e-6 * float(np.mean(series)) ** 2)
    shortest = _STEPS_PER_CYCLE if cycles.paused else _STEPS_PER_CYCLE * _FEWEST_CYCLES_OF_SEGMENT
    if len(cycles) < 2 or steps < 2 * shortest:
        return np.array([0, len(cycles)], dtype=np.int64)
    found = ruptures.KernelCPD(kernel="linear", min_size=shortest).fit(series[:, None] / np.sqrt(variance))
    changes_s = np.asarray(found.predict(pen=_PENALTY * np.log(len(cycles)))[:-1], dtype=np.float64) * step_s
    nearest = np.searchsorted((ends_s[:-1] + ends_s[1:]) / 2, changes_s) + 1
    return np.unique(np.concatenate(([0], nearest, [len(cycles)]))).astype(np.int64)


def _rate_variance(rate: FloatArray) -> float:
    """Return the variance of the rate of a cycle about its level, shape (c,) -> number.

    Half the squared difference of successive cycles has that mean whatever the levels, apart from the few places where
    they shift: the largest 2% are left out. The median, scaled for a normal law, guards against leaving out too much.
    """
    margin_squares = np.sort(np.diff(rate) ** 2 / 2)
    kept = margin_squares[: margin_squares.size - max(1, margin_squares.size // 50)]
    return max(float(np.median(margin_squares)) / _CHI_SQUARED_MEDIAN, float(kept.mean()))


def _refined_end(time_ns: IntArray, size_bytes: IntArray, cycles: Cycles, change: int) -> int:
    """Return the time of the change, ns: the burst where two rates are likeliest, or the last packet before a pause."""
    last = min(len(cycles), 2 * change + 20)
    total = np.cumsum(size_bytes[: int(np.searchsorted(time_ns, cycles.edge_ns[last]))], dtype=np.float64)
    margin = (1, 0) if cycles.paused else (2, 2)
    around = cycles.edge_ns[[max(0, change - margin[0]), min(len(cycles), change + margin[1])]]
    first, end = np.searchsorted(cycles.burst_rows, np.searchsorted(time_ns, around))
    starts = cycles.burst_rows[max(1, first) : max(first + 1, end + cycles.paused)]
    end_ns = time_ns[starts - 1] if cycles.paused else time_ns[starts]
    elapsed = np.maximum(end_ns - time_ns[0], 1).astype(np.float64)
    whole = float(cycles.edge_ns[last] - time_ns[0])
    likelihood = two_rate_log_likelihood(total[starts - 1], total[-1], elapsed, whole)
    return int(end_ns[int(np.argmax(likelihood))])


def two_rate_log_likelihood(
    before: FloatArray, total: FloatArray | float, elapsed: FloatArray, whole: FloatArray | float
) -> FloatArray:
    """Return the Poisson log-likelihood of a change from one rate to another, up to a constant, for each candidate.

    Args:
        before: Bytes before the change.
        total: Bytes in all.
        elapsed: Time before the change, > 0.
        whole: Time in all, > ``elapsed``.
    """
    after, remaining = total - before, np.maximum(whole - elapsed, 1e-12)
    tiny = 1e-300
    likelihood: FloatArray = before * np.log(np.maximum(before, tiny) / np.maximum(elapsed, 1e-12)) + after * np.log(
        np.maximum(after, tiny) / remaining
    )
    return likelihood


def _interval(cycles: Cycles, change: int, end_s: float, *, generator: np.random.Generator) -> tuple[float, float]:
    """Return the 95% interval of the end of buffering by resampling whole cycles within each phase.

    The change can't be known better than to a cycle, or to the middle of a pause: so much is added on either side.
    """
    n = min(len(cycles), 2 * change + 20)
    duration_s, size_bytes = cycles.duration_s[:n], cycles.size_bytes[:n]
    rows = np.concatenate(
        (
            generator.integers(0, change, (_REPLICATES, change)),
            generator.integers(change, n, (_REPLICATES, n - change)),
        ),
        axis=1,
    )
    ends_s = np.cumsum(duration_s[rows], axis=1)
    total = np.cumsum(size_bytes[rows], axis=1)
    likelihood = two_rate_log_likelihood(total[:, :-1], total[:, -1:], ends_s[:, :-1], ends_s[:, -1:])
    best = np.argmax(likelihood, axis=1)
    error_s = np.take_along_axis(ends_s, best[:, None], axis=1)[:, 0] - ends_s[:, change - 1]
    pause_s = s_from_ns(int(cycles.edge_ns[change] - cycles.active_end_ns[change - 1]))
    margin_s = pause_s / 2 if cycles.paused else float(min(duration_s[change - 1], duration_s[min(change, n - 1)]))
    below, above = np.quantile(error_s, [0.025, 0.975])
    return max(0.0, end_s - max(float(above), 0.0) - margin_s), end_s - min(float(below), 0.0) + margin_s
