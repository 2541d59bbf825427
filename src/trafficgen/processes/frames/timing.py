"""When frames are sent: the media clock, its ratio to real time, lateness, and their spectra."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trafficgen import _core
from trafficgen.critical_values import NORMAL_95
from trafficgen.distributions.law import Law
from trafficgen.distributions.two_samples import ks_distance, mean_ranks
from trafficgen.flows import Bursts, segment_bursts
from trafficgen.imports import special
from trafficgen.model_parts.estimate import Estimate
from trafficgen.processes.autocorrelated_series import fast_length_below
from trafficgen.processes.base import to_playable
from trafficgen.processes.fitting import LawFitter, PhasePackets
from trafficgen.processes.frames.sample import order_by_spectrum, order_lateness, schedule_frames
from trafficgen.processes.process import ScoreSpectrum, SpectralLine
from trafficgen.processes.trains.fit import keep_order
from trafficgen.processes.trains.model import Trains
from trafficgen.units import BoolArray, FloatArray, IntArray, s_from_ns


class TimingLimits:
    """When timestamps are the clock of frames, and how their times are described."""

    #: Fewer frames do not show a clock.
    fewest_frames: int = 16
    #: Frames among which slopes are taken.
    slope_points: int = 400
    #: A clock outside of these ratios to real time is not a clock of this stream.
    smallest_ratio: float = 0.05
    largest_ratio: float = 20.0
    #: Lateness is known of this share of frames at least, and spreads over no more than this many
    #: spacings.
    known_share: float = 0.2
    most_spacings: float = 20.0
    #: A frame within this many gaps of the one before may have waited for it.
    waiting_gaps: float = 1.5
    #: Frames that a decoder puts in order (H.264: 16).
    most_reordered: int = 16
    #: Lateness is preferred unless its spacings are off by more than this, and by more than those
    #: drawn directly. Groups of pictures bear more: key frames then stay where the clock has them,
    #: and with them the rate.
    good_ks: float = 0.05
    grouped_ks: float = 0.25
    #: Numbers of successive spacings whose sums are compared too: they show the order.
    sums: tuple[int, ...] = (1, 2, 4)
    #: The order of lateness is kept where that brings spacings nearer by more than this.
    nearer_ks: float = 0.01


class SpectrumLimits:
    """How a spectrum is summarised."""

    #: Shorter series have no spectrum to speak of.
    fewest_values: int = 16
    #: Bands to an octave of frequency, from the lowest Fourier frequency on.
    bands_per_octave: int = 3
    #: A line has this many times the median power of its neighbours, this number on either side,
    #: and this share of the variance; this number of lines is kept at most.
    line_excess: float = 15.0
    line_share: float = 0.02
    neighbours: int = 8
    most_lines: int = 8
    #: From this length on a series is cut to one whose transform is fast.
    long_series: int = 200_000


class ClockLimits:
    """When bursts without timestamps are frames of a clock."""

    #: Fewer bursts may stay near a grid by chance.
    fewest_frames: int = 100
    #: Spacings that spread less, in ticks of the capture's clock or in periods, have no jitter.
    fewest_ticks: float = 3.0
    regular: float = 1e-3
    #: This share of the spacings at least is one period: few frames are missing.
    whole_share: float = 0.9
    #: Starts are off the grid by no more standard deviations of the spacings: half-way between
    #: independent jitter (0.71) and a walk over the fewest frames (2.6) is far from both.
    off_grid: float = 1.0
    #: Timestamps are those of a regular clock if they are off it within so many ticks: one, and
    #: what a fitted line is off.
    rounded_ticks: float = 1.1
    #: Frames are cut into packets where this share of all but the last ones is full, and of the
    #: last ones is not; this is the longest time between frames of media, s.
    cut_share: float = 0.95
    longest_s: float = 0.2


_LIMITS = TimingLimits()
_CLOCKS = ClockLimits()
_SPECTRA = SpectrumLimits()


@dataclass(frozen=True)
class Frames:
    """Frames in order of sending; arrays have the shape (k,)."""

    first: IntArray  #: index of the first packet of each
    counts: IntArray  #: packets of each
    frame_bytes: IntArray  #: IP bytes of each
    start_s: FloatArray  #: its first packet after the phase's first one, s
    end_s: FloatArray  #: its last packet after the phase's first one, s
    clock_s: FloatArray  #: instants by the media clock in ascending order, from 0, s
    reordered: int = 0  #: places by which timestamps come early, at most


def frames_of(packets: PhasePackets) -> Frames | None:
    """Find the frames of a phase; None where it has no RTP clock or fewer than 16 frames."""
    timestamp, clock_hz = packets.rtp_timestamp, packets.clock_hz
    if timestamp is None or clock_hz is None:
        return None
    first = np.flatnonzero(np.concatenate(([True], np.diff(timestamp) != 0)))
    ticks = np.sort(timestamp[first])
    if first.size < _LIMITS.fewest_frames or ticks[0] == ticks[-1]:
        return None
    counts = np.diff(np.append(first, timestamp.size))
    time_s = s_from_ns(packets.time_ns - packets.time_ns[0])
    return Frames(
        first=first,
        counts=counts,
        frame_bytes=np.add.reduceat(packets.ip_bytes, first),
        start_s=time_s[first],
        end_s=time_s[first + counts - 1],
        clock_s=_undo_rounding(ticks - ticks[0]) / clock_hz,
        reordered=_places_early(timestamp[first], ticks),
    )


def _undo_rounding(ticks: IntArray) -> FloatArray:
    """Return the instants of a regular clock, in ticks, of which timestamps are rounded ones.

    Steps that rounding makes to differ come in a strict order: sums of steps in a random one wander
    where those of the clock do not. Other timestamps are returned as they are.
    """
    steps = np.diff(ticks)
    number = np.concatenate(([0.0], np.cumsum(np.rint(steps / max(1.0, float(np.median(steps)))))))
    slope, first = np.polyfit(number, ticks, 1)
    off = ticks - first - slope * number
    return np.asarray(slope * number if np.ptp(off) <= _CLOCKS.rounded_ticks else ticks, np.float64)


def _places_early(timestamps: IntArray, ascending: IntArray) -> int:
    """Return by how many places timestamps come early, as those of frames predicted from do."""
    early = np.searchsorted(ascending, timestamps) - np.arange(timestamps.size)
    return min(max(0, int(early.max())), _LIMITS.most_reordered)


def frames_of_bursts(packets: PhasePackets) -> Frames | None:
    """Find frames without timestamps: bursts that keep a clock, or that are cut into packets.

    Bursts keep a clock where each has a jitter of its own, and are cut where all packets have one
    size but most of the last ones. Where no clock is seen, the instants are those of sending.
    """
    if packets.rtp_timestamp is not None or packets.threshold_s is None:
        return None
    bursts = segment_bursts(packets.time_ns, packets.ip_bytes, threshold_s=packets.threshold_s)
    if bursts.packets.size < _CLOCKS.fewest_frames:
        return None
    start_s = s_from_ns(bursts.start_ns - packets.time_ns[0])
    clock_s = _clock_of(start_s, bursts.spacing_s, packets.tick_s)
    if clock_s is None:
        if not _are_cut(bursts, packets.ip_bytes):
            return None
        clock_s = start_s
    first = np.cumsum(bursts.packets) - bursts.packets
    return Frames(
        first=first,
        counts=bursts.packets,
        frame_bytes=np.add.reduceat(packets.ip_bytes, first),
        start_s=start_s,
        end_s=s_from_ns(bursts.end_ns - packets.time_ns[0]),
        clock_s=clock_s,
    )


def _clock_of(start_s: FloatArray, spacing_s: FloatArray, tick_s: float) -> FloatArray | None:
    """Return the grid that starts with independent jitter lie on, s.

    None where spacings have no jitter, or where each starts from the burst before: then starts walk
    away from the best grid. Those with jitter stay within 0.71 standard deviations of the spacings.
    """
    period_s = float(np.median(spacing_s))
    if period_s <= 0:
        return None
    steps = np.rint(spacing_s / period_s)
    spread_s = float(spacing_s[steps == 1].std())
    regular = spread_s <= max(_CLOCKS.fewest_ticks * tick_s, _CLOCKS.regular * period_s)
    if regular or steps.min() < 1 or float((steps == 1).mean()) < _CLOCKS.whole_share:
        return None
    number = np.concatenate(([0.0], np.cumsum(steps)))
    period_s, first_s = np.polyfit(number, start_s, 1)
    off_s = start_s - first_s - period_s * number
    return number * period_s if float(off_s.std()) <= _CLOCKS.off_grid * spread_s else None


def _are_cut(bursts: Bursts, ip_bytes: IntArray) -> bool:
    """Return whether bursts are frames of media that fill packets, but for the last one of each."""
    last = np.zeros(ip_bytes.size, dtype=np.bool_)
    last[bursts.last] = True
    if last.all() or float(np.median(bursts.spacing_s)) > _CLOCKS.longest_s:
        return False
    full = ip_bytes == ip_bytes.max()
    filled, short = float(full[~last].mean()), float((~full[last]).mean())
    return min(filled, short) >= _CLOCKS.cut_share


@dataclass(frozen=True)
class FrameTiming:
    """The times of frames, as parts of a :class:`~trafficgen.models.FrameProcess`."""

    frame_rate_hz: Estimate
    clock_ratio: Estimate
    spacing_s: Law
    spacing_spectrum: ScoreSpectrum | None
    lateness_s: Law | None
    lateness_spectrum: ScoreSpectrum | None
    lateness_trains: Trains | None = None
    first_lateness_s: float = 0.0


def fit_timing(
    frames: Frames, *, gap_s: FloatArray, paced: bool, grouped: bool, fit: LawFitter
) -> FrameTiming | None:
    """Fit the times of frames; None where the timestamps are not a clock of them.

    Two descriptions are fitted: instants of the clock with lateness after them, and spacings as
    sent. The first keeps bounds on drift and lets frames queue; it is taken unless spacings played
    from it are further from those measured. ``gap_s`` are the gaps within frames, s. Frames that a
    sender spreads over time (``paced``) do not wait for one another; ``grouped`` ones form groups
    of pictures.
    """
    start_s, end_s = frames.start_s, frames.end_s
    ratio = _clock_ratio(frames.clock_s, start_s)
    if not _LIMITS.smallest_ratio < ratio.value < _LIMITS.largest_ratio:
        return None
    # At the end timestamps are not in order yet: those that belong before were not sent.
    whole = start_s.size - frames.reordered
    steps_s, sent_s = np.diff(frames.clock_s[:whole]), np.diff(start_s)
    rate = _frame_rate(steps_s)
    as_sent = fit.law("spacing_s", sent_s, "s")
    direct = FrameTiming(rate, ratio, as_sent, score_spectrum(sent_s), None, None)
    lateness_s = start_s - ratio.value * frames.clock_s
    if not np.ptp(frames.clock_s - start_s):  # no clock but the times themselves
        return direct
    known = np.ones(start_s.size, dtype=np.bool_)
    if not paced:
        known = _is_not_delayed(start_s, end_s, gap_s)
    known[whole:] = False
    # What was due before the first frame was sent waited for it, which has a lateness of its own.
    due_s = lateness_s[0] - lateness_s.min(where=known, initial=lateness_s[0])
    known[ratio.value * frames.clock_s <= due_s] = False
    spread = float(np.ptp(np.quantile(lateness_s[known], [0.02, 0.98]))) if known.any() else np.inf
    wide = spread > _LIMITS.most_spacings * float(sent_s.mean())
    if float(known.mean()) < _LIMITS.known_share or wide:
        return direct
    lateness_s = _fill_unknown(lateness_s - float(lateness_s[known].min()), known)
    clocked = FrameTiming(
        rate,
        ratio,
        fit.law("clock spacing_s", ratio.value * steps_s, "s"),
        score_spectrum(steps_s),
        fit.law("lateness_s", lateness_s[known], "s"),
        score_spectrum(normal_scores_of(lateness_s)),
        first_lateness_s=float(lateness_s[0]),
    )
    busy_s = np.zeros(start_s.size)
    if not paced:
        busy_s = end_s - start_s + (float(np.median(gap_s)) if gap_s.size else 0.0)
    generator = fit.generator_of("frame timing")
    off = _distance(_draw_spacings(clocked, busy_s, generator), sent_s)
    ordered = replace(clocked, lateness_trains=keep_order(lateness_s))
    off_ordered = _distance(_draw_spacings(ordered, busy_s, generator), sent_s)
    if off_ordered < off - _LIMITS.nearer_ks:
        clocked, off = ordered, off_ordered
    plain = _distance(_draw_spacings(direct, 0 * busy_s, generator), sent_s)
    tolerable = _LIMITS.grouped_ks if grouped else _LIMITS.good_ks
    return clocked if off <= max(tolerable, plain) else direct


def _distance(played_s: FloatArray, sent_s: FloatArray) -> float:
    """Return the largest KS distance of spacings, and of sums of a few of them."""
    return max(ks_distance(_sums(played_s, count), _sums(sent_s, count)) for count in _LIMITS.sums)


def _sums(spacing_s: FloatArray, count: int) -> FloatArray:
    """Return the sums of ``count`` successive spacings, ascending, s."""
    total_s = np.concatenate(([0.0], np.cumsum(spacing_s)))
    return _core.sort_values(total_s[count:] - total_s[:-count])


def _clock_ratio(clock_s: FloatArray, start_s: FloatArray) -> Estimate:
    """Return real time over clock time: the median of slopes (Theil 1950, Sen 1968)."""
    points = min(clock_s.size, _LIMITS.slope_points)
    rows = np.unique(np.linspace(0, clock_s.size - 1, points).astype(np.int64))
    low, value, high = _theil_slopes(clock_s[rows], start_s[rows])
    method = (
        f"Theil-Sen slope of {rows.size} frames; the interval takes their errors as independent"
    )
    return Estimate(value=value, low=min(low, value), high=max(high, value), method=method)


def _theil_slopes(x: FloatArray, y: FloatArray) -> tuple[float, float, float]:
    """Return the median slope between its 95% limits (Sen 1968, eq. 2.6).

    It is ``scipy.stats.theilslopes``, whose loading takes longer than the rest of a fit.
    """
    run, rise = x[:, None] - x, y[:, None] - y
    slopes = np.sort(rise[run > 0] / run[run > 0])
    n = x.size
    ties = [np.unique(values, return_counts=True)[1] for values in (x, y)]
    tied = sum(int((k * (k - 1) * (2 * k + 5)).sum()) for k in ties)
    half = NORMAL_95 * np.sqrt((n * (n - 1) * (2 * n + 5) - tied) / 18)
    first = max(round((slopes.size - half) / 2) - 1, 0)
    last = min(round((slopes.size + half) / 2), slopes.size - 1)
    return float(slopes[first]), float(np.median(slopes)), float(slopes[last])


def _frame_rate(steps_s: FloatArray) -> Estimate:
    forward = np.round(steps_s[steps_s > 0], 6)
    values, times = np.unique(forward, return_counts=True)
    share = float(times.max()) / max(1, forward.size)
    if share < 0.2:  # no step is frequent: the clock follows capture times
        return Estimate(
            value=1 / float(np.median(forward)), method="1 / median step of the timestamps"
        )
    return Estimate(
        value=1 / float(values[times.argmax()]),
        method=f"1 / mode of the timestamp steps, {share:.0%}",
    )


def _is_not_delayed(start_s: FloatArray, end_s: FloatArray, gap_s: FloatArray) -> BoolArray:
    """Return where the packets of the frame before did not hold a frame up."""
    if gap_s.size == 0:
        return np.ones(start_s.size, dtype=np.bool_)
    usual_s = float(np.quantile(gap_s, 0.9))
    return np.concatenate(([True], start_s[1:] - end_s[:-1] > _LIMITS.waiting_gaps * usual_s))


def _fill_unknown(lateness_s: FloatArray, known: BoolArray) -> FloatArray:
    """Return the lateness, with that of the last frame before where it is unknown."""
    last = np.maximum.accumulate(np.where(known, np.arange(known.size), 0))
    return np.maximum(lateness_s[last], 0.0)


def _draw_spacings(
    timing: FrameTiming, busy_s: FloatArray, generator: np.random.Generator
) -> FloatArray:
    """Draw spacings as frames would be sent by a timing."""
    count = busy_s.size
    spacing_s = timing.spacing_s.distribution().ascending_sample(generator, count)
    ready_s = np.cumsum(
        order_by_spectrum(spacing_s, to_playable(timing.spacing_spectrum), generator)
    )
    if timing.lateness_s is not None:
        ready_s += order_lateness(
            timing.lateness_s.distribution().ascending_sample(generator, count),
            spectrum=to_playable(timing.lateness_spectrum),
            trains=to_playable(timing.lateness_trains),
            generator=generator,
        )
    return np.diff(schedule_frames(ready_s, busy_s))


def normal_scores_of(series: FloatArray) -> FloatArray:
    """Compute the normal scores of a series, ties sharing their mean rank, shape (n,)."""
    return np.asarray(special.ndtri((mean_ranks(series) - 0.5) / series.size), dtype=np.float64)


def scores_within_types(series: FloatArray, types: IntArray) -> FloatArray:
    """Compute normal scores of each value among those of its type, shape (n,)."""
    scores = np.zeros(series.size)
    for kind in np.unique(types):
        scores[types == kind] = normal_scores_of(series[types == kind])
    return scores


def score_spectrum(scores: FloatArray) -> ScoreSpectrum | None:
    """Estimate the spectrum of scores in order of time; None where they are few or constant.

    The periodogram is averaged in bands, three to an octave and of one frequency at the low end, so
    that slow changes keep their power. Frequencies that stand out are lines. Scores are normal, or
    the values themselves where sums of them matter. Of 200,000 scores or more a few of the last are
    left out: transforms of most lengths take several times the memory of one without large prime
    factors.
    """
    count = scores.size
    if count >= _SPECTRA.long_series:
        count = fast_length_below(count)
        scores = scores[:count]
    if count < _SPECTRA.fewest_values or float(np.ptp(scores)) == 0:
        return None
    power = np.abs(np.fft.rfft(scores - scores.mean())) ** 2
    power[1:] *= 2
    if count % 2 == 0:
        power[-1] /= 2
    power[0] = 0.0
    power /= power.sum()
    rows = _find_lines(power)
    background = power.copy()
    for row in rows:
        background[row] = _surroundings(power, row)
    edges = _band_edges(power.size, count)
    band = np.searchsorted(edges, np.arange(power.size) / count - 1e-9)
    share = np.bincount(band[1:], weights=background[1:], minlength=edges.size)
    lines = [(f"{row / count:.6g}", f"{power[row] - background[row]:.4g}") for row in rows]
    return ScoreSpectrum(
        upper_frequency=tuple(float(f"{edge:.6g}") for edge in edges),
        share=tuple(float(f"{part:.4g}") for part in share),
        lines=tuple(SpectralLine(frequency=float(f), share=float(part)) for f, part in lines),
    )


def _band_edges(size: int, count: int) -> FloatArray:
    """Return the upper ends of the bands, half-way between Fourier frequencies; the last is 0.5."""
    octaves = np.arange(0, np.log2(max(size - 1, 1)) + 1e-9, 1 / _SPECTRA.bands_per_octave)
    last = np.unique(np.floor(2**octaves).astype(np.int64))
    edges = (last[last < size - 1] + 0.5) / count
    return np.append(edges[edges < 0.5], 0.5)


def _find_lines(power: FloatArray) -> list[int]:
    """Return the Fourier frequencies that stand out, strongest first."""
    strongest = [int(row) for row in np.argsort(-power)[: 2 * _SPECTRA.most_lines]]
    found = [
        row
        for row in strongest
        if row > 2
        and power[row] > _SPECTRA.line_share
        and power[row] > _SPECTRA.line_excess * _surroundings(power, row)
    ]
    return found[: _SPECTRA.most_lines]


def _surroundings(power: FloatArray, row: int) -> float:
    low, high = max(1, row - _SPECTRA.neighbours), min(power.size, row + _SPECTRA.neighbours + 1)
    return float(np.median(np.delete(power[low:high], row - low)))
