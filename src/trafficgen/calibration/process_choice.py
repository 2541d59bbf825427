"""Choose the packet process of a stream's phase: the simplest that plays like the capture.

Each is played and compared with the packets that it was fitted to: a posterior predictive check
(Gelman, Meng and Stern 1996) with the statistics that users of synthetic traffic look at: gaps,
sizes, rates at three time scales, their autocorrelation, and bursts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from trafficgen import _core
from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.distributions.two_samples import ks_distance
from trafficgen.flows import rate_series, segment_bursts
from trafficgen.models import (
    ModulatedProcess,
    PacketProcess,
    ProcessChoice,
    RateShares,
    TriedProcess,
)
from trafficgen.process_memory import give_back_freed_memory
from trafficgen.processes import import_parts
from trafficgen.processes.autocorrelated_series import sample_autocorrelation
from trafficgen.processes.base import GeneratorOf, Span, playable
from trafficgen.processes.bursts.fit import fit_simple
from trafficgen.processes.fitting import FittedProcess, LawFitter, PhasePackets, Proposal
from trafficgen.processes.trains.fit import add_order, add_trains
from trafficgen.progress import report_each, report_step
from trafficgen.units import (
    BLOCK,
    FloatArray,
    IntArray,
    WholeArray,
    bps_from_bytes,
    ns_from_s,
    ns_in_place,
    s_from_ns,
)


class ChoiceLimits:
    """How a process is checked, what it takes for chance, and when another one replaces it."""

    #: Fewer packets say nothing about rates: the simplest process is taken unchecked.
    fewest_checked: int = 50
    #: Distances of a proven process may exceed chance by this factor and this much.
    tolerable: float = 1.5
    tolerable_slack: float = 0.02
    #: A process that fails replaces another that failed only if its score falls to this share.
    clearly_better: float = 0.85
    #: The order of packets in trains, which no statistic looks at, is kept unless a rate fails that
    #: passed and the score rises by more than this factor, or the distance of gaps by more than
    #: this.
    hardly_worse: float = 1.2
    hardly_farther: float = 0.01
    #: Sessions; of their 21 pairs the second most different one is about the 5% point of the
    #: largest of five statistics.
    runs: int = 7
    level: float = 0.95
    #: From this many packets on, this many sessions are as good: they differ little. Pairs are
    #: too few then to show what chance does, which must be known without them.
    many_packets: int = 200_000
    few_runs: int = 3
    #: Where played sessions differ by more than this, the check would pass anything.
    most: float = 0.4
    #: Differences below this are of no consequence: of distances, and of rates relative to their
    #: mean.
    slack: float = 0.02
    #: Rates are compared in bins of these widths, s, their autocorrelation in those of the first.
    bins_s: tuple[float, ...] = (0.5, 1.0, 10.0)
    lags: int = 20
    #: Fewer bins say nothing; with more, a clock jumped, and empty bins must not fill the memory.
    fewest_bins: int = 5
    most_bins: int = 2_000_000
    #: Larger samples are thinned to this many values at even ranks: the distances need no more.
    most_values: int = 20_000


_LIMITS = ChoiceLimits()
_DIGITS = 4
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
_Number = TypeVar("_Number", bound=np.generic)
#: Statistics of a session: name -> sample, ascending; ``rate_acf`` is an autocorrelation.
_Statistics = dict[str, FloatArray]


#: In the order in which they are tried: those with fewer assumptions and numbers first.
PROPOSALS: tuple[Proposal, ...] = tuple(
    sorted(
        (proposal for module in import_parts("fit") for proposal in module.PROPOSALS),
        key=lambda proposal: proposal.place,
    )
)


def fit_process(packets: PhasePackets, *, generator_of: GeneratorOf) -> FittedProcess:
    """Fit the simplest packet process that passes a self-check.

    First come bursts where a threshold was found in the stream's gaps, else independent gaps
    (renewal). A process passes when sessions that it plays differ from the packets, in rates at
    several scales and their autocorrelation, no more than from one another. Where it fails, the
    others are fitted in order of their complexity until one passes; where all fail, the one that
    comes closest is taken. Fractional noise is tried even after rate states passed: two states
    follow many a swinging rate, and the nearer of the two is taken. Frames of RTP timestamps, and
    bursts that look like frames, are tried in any case (:attr:`Proposal.refines`).
    """
    name, count = packets.name, packets.time_ns.size
    give_back_freed_memory(count)
    report_step(f"{name}: fitting independent gaps or bursts of {count:,} packets")
    fit = LawFitter(generator_of, packets.tick_s)
    simple = fit_simple(packets, fit)
    if count < _LIMITS.fewest_checked:
        return simple
    check_played = partial(
        check_process,
        packets=packets,
        generator_of=generator_of,
        measured=_measure_packets(packets),
    )
    fitted = [simple]
    checks = [check_played(simple.process, independent=True)]
    best, settled = 0, checks[0].passed
    for number, proposal in enumerate(PROPOSALS, start=1):
        if settled and not proposal.refines and not (best and proposal.follows_levels):
            continue
        report_step(f"{name}: trying {proposal.name} ({number} of {len(PROPOSALS)})")
        found = proposal.propose(packets, fit.start_anew())
        if found is None:
            continue
        same = [
            one for one, other in zip(checks, fitted, strict=True) if other.process == found.process
        ]
        check = same[0] if same else check_played(found.process, independent=not proposal.varies)
        fitted.append(found)
        checks.append(check)
        trusted = proposal.proven and (proposal.varies or _keeps_gaps(check, checks[0]))
        passed = check.passed or (trusted and _is_tolerable(check))
        if settled and proposal.refines and not passed:
            continue
        if _is_preferred(check, checks[best], passed=passed, refines=proposal.refines):
            best, settled = len(fitted) - 1, passed
    give_back_freed_memory(count)
    trained = add_trains(fitted[best].process, packets)
    for row, process in _propose_orders(fitted, best, trained, packets, fit):
        check = check_played(process, independent=True)
        looks_alike = process is trained or _keeps_rates(check, checks[best])
        if looks_alike and _keeps_laws(check, checks[best]):
            fitted[row], checks[row] = replace(fitted[row], process=process), check
            best = row
            break
    return replace(fitted[best], choice=_describe_choice(fitted, checks, best))


def _propose_orders(
    fitted: list[FittedProcess],
    best: int,
    trained: PacketProcess | None,
    packets: PhasePackets,
    fit: LawFitter,
) -> Iterator[tuple[int, PacketProcess]]:
    """Yield processes that keep an order, the most of it first, and the rows of those without.

    Rates that depend on one another may be those of bursts in their order: where these were tried
    first, and bins of a modulated rate took their place, which keep none, they are tried once more.
    """
    own = add_order(trained or fitted[best].process, packets, fit)
    if own is not None and own != fitted[best].process:
        yield best, own
    if trained is not None:
        yield best, trained
    elif isinstance(fitted[best].process, ModulatedProcess):
        simple = add_trains(fitted[0].process, packets)
        again = simple and add_order(simple, packets, fit)
        if again is not None:
            yield 0, again


def _keeps_rates(check: Check, before: Check) -> bool:
    """Return whether rates of which a user can see that they differ are no further than before."""
    return all(
        name in before.notable or check.distances[name] <= before.distances[name] + _LIMITS.slack
        for name in check.notable
    )


def _is_preferred(check: Check, before: Check, *, passed: bool, refines: bool) -> bool:
    """Return whether a process takes the place of the nearest one so far."""
    if check.score < (1.0 if passed else _LIMITS.clearly_better) * before.score:
        return True
    hardly_farther = (
        check.distances[name] <= before.distances[name] + _LIMITS.slack
        for name in check.distances
        if not name.startswith("rate") or name == f"rate.{_LIMITS.bins_s[0]:g}"
    )
    return passed and refines and all(hardly_farther)


def _keeps_laws(check: Check, before: Check) -> bool:
    """Return whether a process is hardly further from the packets, and its gaps are as near.

    Of a rate with a few bins chance moves the score by more than that. Gaps may be a little further
    where all distances together are smaller.
    """
    keeps_rates = set(check.failed) <= set(before.failed)
    hardly_worse = keeps_rates or check.score <= _LIMITS.hardly_worse * before.score
    farther = _LIMITS.slack if check.score < before.score else _LIMITS.hardly_farther
    return hardly_worse and _keeps_gaps(check, before, farther=farther)


def _keeps_gaps(check: Check, before: Check, *, farther: float = _LIMITS.hardly_farther) -> bool:
    return check.distances["gap_s"] <= before.distances["gap_s"] + farther


def _describe_choice(fitted: list[FittedProcess], checks: list[Check], best: int) -> ProcessChoice:
    tried = tuple(
        TriedProcess(
            kind=found.process.kind,
            passed=not check.notable,
            score=round(check.score, _DIGITS),
            distances={name: round(apart, _DIGITS) for name, apart in check.distances.items()},
            beyond_chance={name: round(check.chance[name], _DIGITS) for name in check.notable},
            differs_at=check.differs_at,
        )
        for found, check in zip(fitted, checks, strict=True)
    )
    return ProcessChoice(chosen=best, tried=tried)


def _is_tolerable(check: Check) -> bool:
    """Return whether rates and their autocorrelation are not far beyond chance."""
    return all(
        distance <= _LIMITS.tolerable * check.chance[name] + _LIMITS.tolerable_slack
        for name, distance in check.distances.items()
        if "rate" in name
    )


@dataclass(frozen=True)
class Check:
    """How a fitted process, as it is played, compares with the packets that it was fitted to."""

    #: Name of a statistic -> median distance of played sessions to the packets, 0 for equal, 1 at
    #: worst: Kolmogorov-Smirnov distances, and for ``rate_acf`` half the largest difference at lags
    #: 1 to 20.
    distances: dict[str, float]
    #: The same between played sessions: what chance alone makes.
    chance: dict[str, float]
    #: Those of ``failed`` of which a user can see something. The choice between processes takes the
    #: nearest one; a verdict asks for more.
    notable: tuple[str, ...] = ()
    #: Where the rates of ``notable`` differ most.
    differs_at: dict[str, RateShares] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether rates are as near to the packets as played sessions are to one another."""
        return not self.failed

    @property
    def failed(self) -> list[str]:
        """Names of the statistics of the rate that differ by more than chance."""
        return [
            name
            for name, distance in self.distances.items()
            if "rate" in name and distance > self.chance[name] + _LIMITS.slack
        ]

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
    measured: _Statistics | None = None,
) -> Check:
    """Play a process and measure how far it is from the packets that it was fitted to.

    Sessions are played over the span of the packets. Distances between two of them show what chance
    does; the process passes where the packets are no further from the sessions, in the median, than
    all but the most different sessions are from one another. With ``independent``, chance counts
    only as for rates that are independent from bin to bin, and of many packets fewer sessions are
    played. ``measured`` are the statistics of the packets, where they are known.
    """
    if measured is None:
        measured = _measure_packets(packets)
    few = independent and packets.time_ns.size >= _LIMITS.many_packets
    runs = _LIMITS.few_runs if few else _LIMITS.runs
    give_back_freed_memory(packets.time_ns.size)
    played, start_ns = playable(process), packets.span_ns[0]
    tick_ns = max(1, ns_from_s(packets.tick_s))
    step, sessions = f"{packets.name}: checking {process.kind}", []
    for run in report_each(range(runs), step, total=runs, unit="sessions"):

        def generator_of_run(
            quantity: str, place: str = f"check/{process.kind}/{run}"
        ) -> np.random.Generator:
            return generator_of(f"{place}/{quantity}")

        # From 0 on: a number of seconds since 1970 has no room for nanoseconds.
        drawn = played.play(Span(0.0, packets.span_s), generator_of_run)
        time_ns, ip_bytes = ns_in_place(drawn.time_s), drawn.ip_bytes
        del drawn
        for row in range(0, time_ns.size, BLOCK):  # as the clock of the capture would show them
            part = time_ns[row : row + BLOCK]
            part -= part % tick_ns - start_ns
        sessions.append(_measure(time_ns, ip_bytes, packets))
    apart = [_compare(measured, session) for session in sessions]
    pairs = () if few else itertools.combinations(sessions, 2)
    between = [_compare(one, other) for one, other in pairs]
    # A session of a few packets may lack a measure that others have.
    names = [name for name in apart[0] if all(name in one for one in (*apart, *between))]
    levels = {
        name: float(np.quantile([pair[name] for pair in between], _LIMITS.level))
        for name in (names if between else ())
    }
    chance = {name: min(_LIMITS.most, levels.get(name, _LIMITS.most)) for name in names}
    if independent:
        chance = {name: min(level, _chance(name, measured)) for name, level in chance.items()}
    distances = {name: float(np.median([run[name] for run in apart])) for name in names}
    check = Check(distances, chance)
    notable = tuple(name for name in check.failed if is_notable(check, name, measured, sessions))
    where = {name: shares_apart(name, measured, sessions) for name in notable if name != "rate_acf"}
    return replace(check, notable=notable, differs_at=where)


def is_notable(
    check: Check, name: str, measured: _Statistics, sessions: Sequence[_Statistics]
) -> bool:
    """Return whether a user can see something of a statistic that differs by more than chance.

    A few bins differ by more than the largest chance that counts, and a rate that hardly varies has
    a large distance from one that varies by a percent.
    """
    if name == "rate_acf":
        return True
    sample, level = measured[name], _chance(name, measured)
    if check.distances[name] <= level and level > _LIMITS.most:
        return False
    apart = [float(np.abs(sample - session[name]).mean()) for session in sessions]
    return float(np.median(apart)) > _LIMITS.slack * float(sample.mean())


def shares_apart(name: str, measured: _Statistics, sessions: Sequence[_Statistics]) -> RateShares:
    """Find where the distributions of a rate, measured and played, are farthest apart."""
    sample = measured[name]
    played = np.sort(np.concatenate([session[name] for session in sessions]))
    values = np.union1d(sample, played)
    one, other = (
        np.searchsorted(each, values, side="right") / each.size for each in (sample, played)
    )
    place = int(np.abs(one - other).argmax())
    return RateShares(
        rate_bps=bps_from_bytes(float(values[place]), float(name.partition(".")[2])),
        measured=round(float(one[place]), _DIGITS),
        played=round(float(other[place]), _DIGITS),
    )


def _chance(name: str, measured: _Statistics) -> float:
    """Return the distance that independent samples of one law exceed once in 20 times."""
    if name == "rate_acf":
        bins = measured[f"rate.{_LIMITS.bins_s[0]:g}"].size
        return _NORMAL_LARGEST_OF_20 * math.sqrt(2 / bins) / 2
    return KOLMOGOROV_95 * math.sqrt(2 / max(1, measured[name].size))


def _measure_packets(packets: PhasePackets) -> _Statistics:
    """Return the statistics of packets; a rate that hardly varies has no autocorrelation to judge.

    It would be one of mere rounding, which nothing that is played has.
    """
    found = _measure(packets.time_ns, packets.ip_bytes, packets)
    rates = found.get(f"rate.{_LIMITS.bins_s[0]:g}", np.zeros(0))
    if rates.size and rates.std() <= _LIMITS.slack * rates.mean():
        found.pop("rate_acf", None)
    return found


def _measure(time_ns: IntArray, ip_bytes: WholeArray, packets: PhasePackets) -> _Statistics:
    (start_ns, end_ns), threshold_s = packets.span_ns, packets.threshold_s
    gap_ns = np.diff(time_ns)
    gap_ns.sort()
    found = {
        "packet_bytes": _thin(_sort_sizes(ip_bytes)).astype(np.float64),
        "gap_s": s_from_ns(_thin(gap_ns)),
    }
    del gap_ns
    acf = np.zeros(0)
    for width_s in _LIMITS.bins_s:
        if packets.span_s > _LIMITS.most_bins * width_s:
            continue
        series = rate_series(time_ns, ip_bytes, bin_s=width_s, start_ns=start_ns, end_ns=end_ns)
        bins = series.size_bytes
        if bins.size >= _LIMITS.fewest_bins:
            found[f"rate.{width_s:g}"] = np.sort(bins)
        if width_s == _LIMITS.bins_s[0] and bins.size > _LIMITS.lags:
            acf = sample_autocorrelation(bins, _LIMITS.lags)
    if threshold_s is not None and time_ns.size:
        bursts = segment_bursts(time_ns, ip_bytes, threshold_s=threshold_s)
        found["burst_packets"] = _core.sort_values(bursts.packets.astype(np.float64))
        found["burst_spacing_s"] = _core.sort_values(bursts.spacing_s)
    return found | ({"rate_acf": acf} if acf.size else {})


def _sort_sizes(ip_bytes: WholeArray) -> WholeArray:
    """Sort sizes, those of IP packets of up to 64 kB in a tenth of the time: by their digits."""
    if ip_bytes.size and ip_bytes.max() <= np.iinfo(np.uint16).max:
        return np.sort(ip_bytes.astype(np.uint16), kind="stable")
    return np.sort(ip_bytes)


def _thin(ordered: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    if ordered.size <= _LIMITS.most_values:
        return ordered
    return ordered[np.linspace(0, ordered.size - 1, _LIMITS.most_values).astype(np.int64)]


def _compare(measured: _Statistics, played: _Statistics) -> dict[str, float]:
    found = {}
    for name, one in measured.items():
        other = played.get(name, np.zeros(0))
        if name == "rate_acf":
            found[name] = float(np.abs(one - other).max()) / 2 if one.size == other.size else 1.0
        elif one.size == 0 or other.size == 0:
            found[name] = float(one.size != other.size)
        else:
            found[name] = ks_distance(one, other)
    return found
