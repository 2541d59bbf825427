"""Playing a fitted process and measuring how far it is from the packets that it was fitted to.

A posterior predictive check (Gelman, Meng and Stern 1996) with the statistics that users of
synthetic traffic look at: gaps, sizes, rates at three time scales, their autocorrelation, and
bursts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from trafficgen.calibration.processes.phase_packets import GeneratorOf, PhasePackets
from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.distributions.two_samples import ks_distance
from trafficgen.flows import rate_series, segment_bursts
from trafficgen.models import PacketProcess
from trafficgen.processes import Span, playable
from trafficgen.processes.autocorrelated_series import sample_autocorrelation
from trafficgen.progress import report_each
from trafficgen.units import FloatArray, IntArray, ns_array_from_s, s_from_ns


@dataclass(frozen=True)
class CheckLimits:
    """How many sessions a self-check plays, and what it takes for chance."""

    #: Sessions; of their 21 pairs the second most different one is about the 5% point of the
    #: largest of five statistics.
    runs: int = 7
    level: float = 0.95
    #: Where played sessions differ by more than this, the check would pass anything.
    most: float = 0.4
    #: Differences below this are of no consequence.
    slack: float = 0.02
    #: Rates are compared in bins of these widths, s, their autocorrelation in those of the first.
    bins_s: tuple[float, ...] = (0.5, 1.0, 10.0)
    lags: int = 20
    #: Fewer bins say nothing; with more, a clock jumped, and empty bins must not fill the memory.
    fewest_bins: int = 5
    most_bins: int = 2_000_000
    #: Larger samples are thinned to this many values at even ranks: the distances need no more.
    most_values: int = 20_000


_LIMITS = CheckLimits()
#: Gaps and sizes count for more than one rate: there are several rates. ``rate_acf`` is halved.
_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "gap_s": 3.0,
        "packet_bytes": 3.0,
        "rate_acf": 2.0,
        "burst_packets": 0.3,
        "burst_spacing_s": 0.3,
    }
)
#: 95% point of the largest of 20 two-sided normal deviations (Bonferroni).
_NORMAL_LARGEST_OF_20 = 3.02


@dataclass(frozen=True)
class Statistics:
    """What a check compares.

    Attributes:
        samples: Name -> sample, ascending; compared by the Kolmogorov-Smirnov distance.
        autocorrelation: Of the rate in bins of 0.5 s, shape (k,); empty with too few bins.
    """

    samples: dict[str, FloatArray]
    autocorrelation: FloatArray


@dataclass(frozen=True)
class Check:
    """How a fitted process, as it is played, compares with the packets that it was fitted to.

    Attributes:
        distances: Name of a statistic -> median distance of played sessions to the packets, 0 for
            equal, 1 at worst: Kolmogorov-Smirnov distances, and for ``rate_acf`` half the largest
            difference at lags 1 to 20.
        chance: The same between played sessions: what chance alone makes.
    """

    distances: dict[str, float]
    chance: dict[str, float]

    @property
    def passed(self) -> bool:
        """Whether rates are as near to the packets as played sessions are to one another."""
        return all(
            distance <= self.chance[name] + _LIMITS.slack
            for name, distance in self.distances.items()
            if "rate" in name
        )

    @property
    def score(self) -> float:
        """Weighted sum of the distances; smaller is better."""
        return sum(_WEIGHTS.get(name, 1.0) * distance for name, distance in self.distances.items())


def check_process(
    process: PacketProcess,
    packets: PhasePackets,
    *,
    generator_of: GeneratorOf,
    independent: bool = False,
) -> Check:
    """Play a process and measure how far it is from the packets that it was fitted to.

    Sessions are played over the span of the packets. Distances between two of them show what chance
    does; the process passes where the packets are no further from the sessions, in the median, than
    all but the most different sessions are from one another. With ``independent``, chance counts
    only as for rates that are independent from bin to bin.
    """
    measured = _measure(packets.time_ns, packets.ip_bytes, packets)
    played, start_ns = playable(process), packets.span_ns[0]
    step, sessions = f"{packets.name}: checking {process.kind}", []
    for run in report_each(range(_LIMITS.runs), step, total=_LIMITS.runs, unit="sessions"):

        def generator_of_run(
            quantity: str, place: str = f"check/{process.kind}/{run}"
        ) -> np.random.Generator:
            return generator_of(f"{place}/{quantity}")

        # From 0 on: a number of seconds since 1970 has no room for nanoseconds.
        drawn = played.play(Span(0.0, packets.span_s), generator_of_run)
        time_ns = start_ns + ns_array_from_s(drawn.time_s)
        sessions.append(_measure(time_ns, drawn.ip_bytes.astype(np.int64), packets))
    apart = [_compare(measured, session) for session in sessions]
    between = [_compare(one, other) for one, other in itertools.combinations(sessions, 2)]
    chance = {
        name: min(_LIMITS.most, float(np.quantile([pair[name] for pair in between], _LIMITS.level)))
        for name in apart[0]
    }
    if independent:
        chance = {name: min(level, _chance(name, measured)) for name, level in chance.items()}
    distances = {name: float(np.median([run[name] for run in apart])) for name in apart[0]}
    return Check(distances, chance)


def _chance(name: str, measured: Statistics) -> float:
    """Return the distance that independent samples of one law exceed once in 20 times."""
    if name == "rate_acf":
        bins = measured.samples[f"rate.{_LIMITS.bins_s[0]:g}"].size
        return _NORMAL_LARGEST_OF_20 * math.sqrt(2 / bins) / 2
    return KOLMOGOROV_95 * math.sqrt(2 / max(1, measured.samples[name].size))


def _measure(time_ns: IntArray, ip_bytes: IntArray, packets: PhasePackets) -> Statistics:
    (start_ns, end_ns), threshold_s = packets.span_ns, packets.threshold_s
    samples = {
        "packet_bytes": _thin(ip_bytes.astype(np.float64)),
        "gap_s": _thin(s_from_ns(np.diff(time_ns))),
    }
    acf = np.zeros(0)
    for width_s in _LIMITS.bins_s:
        if packets.span_s > _LIMITS.most_bins * width_s:
            continue
        series = rate_series(time_ns, ip_bytes, bin_s=width_s, start_ns=start_ns, end_ns=end_ns)
        bins = series.size_bytes
        if bins.size >= _LIMITS.fewest_bins:
            samples[f"rate.{width_s:g}"] = np.sort(bins)
        if width_s == _LIMITS.bins_s[0] and bins.size > _LIMITS.lags:
            acf = sample_autocorrelation(bins, _LIMITS.lags)
    if threshold_s is not None and time_ns.size:
        bursts = segment_bursts(time_ns, ip_bytes, threshold_s=threshold_s)
        samples["burst_packets"] = np.sort(bursts.packets.astype(np.float64))
        samples["burst_spacing_s"] = np.sort(bursts.spacing_s)
    return Statistics(samples, acf)


def _thin(sample: FloatArray) -> FloatArray:
    ordered = np.sort(sample)
    if ordered.size <= _LIMITS.most_values:
        return ordered
    return ordered[np.linspace(0, ordered.size - 1, _LIMITS.most_values).astype(np.int64)]


def _compare(measured: Statistics, played: Statistics) -> dict[str, float]:
    found = {}
    for name, one in measured.samples.items():
        other = played.samples[name]
        empty = one.size == 0 or other.size == 0
        found[name] = float(one.size != other.size) if empty else ks_distance(one, other)
    ours, theirs = measured.autocorrelation, played.autocorrelation
    if ours.size:
        apart = float(np.abs(ours - theirs).max()) if ours.size == theirs.size else 2.0
        found["rate_acf"] = apart / 2
    return found
