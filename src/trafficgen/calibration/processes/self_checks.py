"""Playing a fitted process and measuring how far it is from the packets that it was fitted to.

A posterior predictive check (Gelman, Meng and Stern 1996) with the statistics that users of
synthetic traffic look at: gaps, sizes, rates at three time scales, their autocorrelation, and
bursts.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.processes.phase_packets import GeneratorOf, PhasePackets
from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.distributions.two_samples import ks_distance
from trafficgen.flows import rate_series, segment_bursts
from trafficgen.models import PacketProcess
from trafficgen.processes import playable
from trafficgen.processes.autocorrelated_series import sample_autocorrelation
from trafficgen.progress import report_each
from trafficgen.units import FloatArray, IntArray, ns_array_from_s, s_from_ns

_RUNS = 7
#: Of the 21 pairs of sessions the second most different one: about the 5% point of the largest of
#: five statistics.
_LEVEL = 0.95
#: Where played sessions differ by more than this from one another, the check would pass anything.
_MOST = 0.4
#: Differences below this are of no consequence.
_SLACK = 0.02
#: Gaps and sizes count for more than one rate: there are several rates. ``rate_acf`` is halved
#: above.
_WEIGHTS = {
    "gap_s": 3.0,
    "packet_bytes": 3.0,
    "rate_acf": 2.0,
    "burst_packets": 0.3,
    "burst_spacing_s": 0.3,
}
#: Rates are compared in bins of these widths, s, their autocorrelation in those of the first.
_BINS_S = (0.5, 1.0, 10.0)
#: A span of more bins than this is no session: a clock jumped, and empty bins must not fill the
#: memory.
_MOST_BINS = 2_000_000
_LAGS = 20
_ACF_SAMPLE = "rate.0.5"
#: 95% point of the Kolmogorov distribution, and of the largest of 20 two-sided normal deviations
#: (Bonferroni).
_NORMAL_LARGEST_OF_20 = 3.02
#: Fewer bins than this say nothing.
_FEWEST_BINS = 5
#: Larger samples are thinned to this many values at even ranks: far more than the distances need.
_MOST_VALUES = 20_000


@dataclass(frozen=True)
class Facts:
    """What a check compares.

    Attributes:
        samples: Name -> sample, ascending; compared by the Kolmogorov-Smirnov distance.
        autocorrelation: Of the rate in bins of 0.5 s, shape (k,); empty where there are too few
            bins.
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
            distance <= self.chance[name] + _SLACK
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
    all but the most different sessions are from one another.

    Args:
        process: The fitted process.
        packets: The packets of the phase.
        generator_of: Gives the random streams.
        independent: Whether chance counts for no more than for rates that are independent from bin
            to bin.
    """
    measured = _facts(packets.time_ns, packets.ip_bytes, packets)
    played = playable(process)
    # From 0 on: a number of seconds since 1970 has no room for nanoseconds.
    start_ns, end_ns = packets.span_ns
    sessions = []
    for run in report_each(
        range(_RUNS), f"{packets.name}: checking {process.kind}", total=_RUNS, unit="sessions"
    ):

        def generator_of_run(
            quantity: str, place: str = f"check/{process.kind}/{run}"
        ) -> np.random.Generator:
            return generator_of(f"{place}/{quantity}")

        drawn = played.play(
            start_s=0.0,
            end_s=s_from_ns(end_ns - start_ns),
            first_at_start=True,
            generator_of=generator_of_run,
        )
        sessions.append(
            _facts(
                start_ns + ns_array_from_s(drawn.time_s), drawn.ip_bytes.astype(np.int64), packets
            )
        )
    apart = [_distances(measured, session) for session in sessions]
    between = [_distances(one, other) for one, other in itertools.combinations(sessions, 2)]
    chance = {
        name: min(_MOST, float(np.quantile([pair[name] for pair in between], _LEVEL)))
        for name in apart[0]
    }
    if independent:
        chance = {name: min(level, _chance(name, measured)) for name, level in chance.items()}
    return Check(
        distances={name: float(np.median([run[name] for run in apart])) for name in apart[0]},
        chance=chance,
    )


def _chance(name: str, measured: Facts) -> float:
    """Return the distance that independent samples of one law exceed once in 20 times."""
    if name == "rate_acf":
        return _NORMAL_LARGEST_OF_20 * math.sqrt(2 / measured.samples[_ACF_SAMPLE].size) / 2
    return KOLMOGOROV_95 * math.sqrt(2 / max(1, measured.samples[name].size))


def _facts(time_ns: IntArray, ip_bytes: IntArray, packets: PhasePackets) -> Facts:
    span_ns, threshold_s = packets.span_ns, packets.threshold_s
    samples = {
        "packet_bytes": _thinned(ip_bytes.astype(np.float64)),
        "gap_s": _thinned(s_from_ns(np.diff(time_ns))),
    }
    acf = np.zeros(0)
    for width_s in _BINS_S:
        if packets.span_s > _MOST_BINS * width_s:
            continue
        bins = rate_series(
            time_ns, ip_bytes, bin_s=width_s, start_ns=span_ns[0], end_ns=span_ns[1]
        ).size_bytes
        if bins.size >= _FEWEST_BINS:
            samples[f"rate.{width_s:g}"] = np.sort(bins)
        if width_s == _BINS_S[0] and bins.size > _LAGS:
            acf = sample_autocorrelation(bins, _LAGS)
    if threshold_s is not None and time_ns.size:
        bursts = segment_bursts(time_ns, ip_bytes, threshold_s=threshold_s)
        samples["burst_packets"] = np.sort(bursts.packets.astype(np.float64))
        samples["burst_spacing_s"] = np.sort(bursts.spacing_s)
    return Facts(samples, acf)


def _thinned(sample: FloatArray) -> FloatArray:
    ordered = np.sort(sample)
    if ordered.size <= _MOST_VALUES:
        return ordered
    return ordered[np.linspace(0, ordered.size - 1, _MOST_VALUES).astype(np.int64)]


def _distances(measured: Facts, played: Facts) -> dict[str, float]:
    found = {name: _ks(sample, played.samples[name]) for name, sample in measured.samples.items()}
    if measured.autocorrelation.size:
        same = played.autocorrelation.size == measured.autocorrelation.size
        apart = (
            np.abs(measured.autocorrelation - played.autocorrelation) if same else np.full(1, 2.0)
        )
        found["rate_acf"] = float(apart.max()) / 2
    return found


def _ks(one: FloatArray, other: FloatArray) -> float:
    """Return the Kolmogorov-Smirnov distance of two samples, 1 where just one is empty."""
    if one.size == 0 or other.size == 0:
        return float(one.size != other.size)
    return ks_distance(one, other)
