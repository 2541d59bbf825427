"""Find what follows what in packet trains, and keep stretches of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from trafficgen.distributions.fitting.ticks import Sample
from trafficgen.distributions.two_samples import mean_ranks
from trafficgen.flows import burst_starts, segment_bursts
from trafficgen.processes.bursts.fit import fit_pauses, fit_simple
from trafficgen.processes.bursts.model import BurstProcess
from trafficgen.processes.fitting import FittedProcess, LawFitter, PhasePackets, Proposal
from trafficgen.processes.kinds import PacketProcess
from trafficgen.processes.renewal.model import RenewalProcess
from trafficgen.processes.trains.model import TrainClock, Trains
from trafficgen.processes.trains.sample import MEAN_PACKETS, deviation_of_sums, encode_ranks
from trafficgen.units import BLOCK, BoolArray, FloatArray, IntArray, WholeArray, s_from_ns


class Evidence(NamedTuple):
    """From how many pairs and standard errors on a correlation counts."""

    pairs: int
    standard_errors: float


class TrainLimits:
    """When packets follow on one another, and how much of them is kept."""

    #: Fewer packets say nothing of their order.
    fewest: int = 100
    #: A rank correlation counts from so many pairs, and from this many standard errors on, of
    #: packets and of whole bursts: five to seven are looked at.
    of_packets: Evidence = Evidence(100, 4.0)
    of_bursts: Evidence = Evidence(16, 3.0)
    #: Packets that are kept of a process, in stretches of at most so many.
    most_packets: int = 16_384
    longest: int = 2048
    #: A clock shows in sums of at most so many gaps, of which there are at least so many. They vary
    #: less than those of the stretches in which trains are played by at least this factor.
    most_in_sum: int = 1024
    fewest_sums: int = 16
    steadier: float = 0.7


_LIMITS = TrainLimits()
#: A size that does not count, in 16 bits; sizes from it on are ranked as numbers.
_NO_SIZE = 65_535
#: Multiples of it, less their whole numbers, are spread evenly (Weyl 1916).
_GOLDEN_RATIO = 0.6180339887498949


def propose_trains(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Fit independent gaps, or bursts, in the order of trains; None where they look independent."""
    found = fit_simple(packets, fit)
    process = add_trains(found.process, packets)
    return None if process is None else replace(found, process=process)


def add_trains(process: PacketProcess, packets: PhasePackets) -> PacketProcess | None:
    """Return a process that has the order of its packets too; None where they look independent."""
    if isinstance(process, RenewalProcess):
        trains = find_trains(gaps_before(packets), packets.ip_bytes)
        if trains is not None:
            trains = trains.model_copy(update={"clock": find_clock(packets.gap_s)})
        return _with_trains(process, trains)
    if isinstance(process, BurstProcess):
        first = burst_starts(packets.time_ns, threshold_s=process.threshold_s)
        trains = find_trains(gaps_before(packets), packets.ip_bytes, first=first)
        return _with_trains(process, trains)
    return None


def gaps_before(packets: PhasePackets) -> FloatArray:
    """Return the gap before each packet, s, NaN before the first one, shape (n,)."""
    before_s = np.empty(packets.time_ns.size)
    before_s[0] = math.nan
    before_s[1:] = packets.gap_s
    return before_s


def add_order(process: PacketProcess, packets: PhasePackets, fit: LawFitter) -> BurstProcess | None:
    """Return bursts that have an order too; None where these look independent, or are not bursts.

    Bursts whose packets follow one another have one: a segment begins and ends with packets of
    other sizes than those between, and has several bursts, so that only their order keeps it whole.
    The order says more than correlations do, and pauses follow their bursts where they vary less
    than spacings: those would not be long enough for each burst.
    """
    if not isinstance(process, BurstProcess):
        return None
    bursts = segment_bursts(packets.time_ns, packets.ip_bytes, threshold_s=process.threshold_s)
    pause_s = process.pause_s or fit_pauses(bursts, fit, independent=False)
    after_ns = bursts.start_ns[:-1] if pause_s is None else bursts.end_ns[:-1]
    apart_s = np.append(s_from_ns(bursts.start_ns[1:] - after_ns), math.nan)
    ranks = _rank(apart_s), _rank(bursts.packets.astype(np.float64))
    evidence = _LIMITS.of_bursts
    # Sound and video alternate: every other burst is alike.
    alternate = _is_correlated(ranks[1], ranks[1], 2, ranks[1].size, evidence)
    # A few, as of a player that fills its buffer, begin with what does not come again.
    few = bursts.packets.size < evidence.pairs
    known = few or alternate or process.trains is not None
    if not known and not _is_dependent(*ranks, evidence):
        return None
    within = process.dependence and process.dependence.of_gaps
    changed = {"order": _keep_ranks(*ranks), "pause_s": pause_s, "dependence": within}
    if process.trains is None:
        changed["trains"] = find_trains(
            gaps_before(packets), packets.ip_bytes, first=bursts.first, known=True
        )
    return process.model_copy(update=changed)


def _with_trains(process: PacketProcess, trains: Trains | None) -> PacketProcess | None:
    return None if trains is None else process.model_copy(update={"trains": trains})


def find_trains(
    gap_s: FloatArray,
    sizes: Sample,
    *,
    first: IntArray | None = None,
    sized: bool = True,
    known: bool = False,
) -> Trains | None:
    """Keep stretches of the ranks of gaps and sizes; None where these look independent.

    ``gap_s`` is the gap before each packet, NaN where it has none, shape (n,); sizes likewise.
    ``first`` are the first packets of bursts, whose gaps before do not count; the last ones' sizes
    have a law of their own, and ranks among themselves. Without ``sized`` sizes are not kept;
    packets that are ``known`` to depend on one another need not look so.
    """
    gap_s = gap_s.copy()  # the caller's may be freed then
    last = np.zeros(gap_s.size, dtype=np.bool_)
    if first is not None:
        gap_s[first] = math.nan
        last[np.append(first[1:], gap_s.size) - 1] = True
    count = gap_s.size
    gap_rank = _rank(gap_s)
    del gap_s  # as long as the session, as all that is freed here
    size_rank = _rank_sizes(sizes, ~last)
    starts = np.array([0]) if first is None else first
    packets = np.diff(np.append(starts, count))
    dependent = known or _is_dependent(gap_rank, size_rank, _LIMITS.of_packets)
    if first is not None and not dependent:
        dependent = _follows_place(gap_rank, starts, packets)
    if count < _LIMITS.fewest or not dependent:
        return None
    lengths, (starts, packets) = packets, _choose_stretches(starts, packets)
    ends = np.cumsum(packets)
    row = np.repeat(starts - (ends - packets), packets) + np.arange(packets.sum())
    if first is not None:
        # A burst that is cut has its last packet.
        row[ends - 1] = (first + lengths - 1)[np.searchsorted(first, starts)]
    size_ranks = size_rank[row]
    size_ranks[last[row]] = _rank_sizes(sizes, last)[row[last[row]]]
    return Trains(
        packets=tuple(packets.tolist()),
        gap_ranks=encode_ranks(_fill(gap_rank[row])),
        size_ranks=encode_ranks(_fill(size_ranks)) if sized else "",
        session_packets=count if row.size < count else None,
    )


def find_clock(gap_s: FloatArray) -> TrainClock | None:
    """Measure how evenly packets come in the long run; None where trains alone keep that.

    Where packets keep a clock, sums of many gaps vary less than independent sums of a few (index of
    dispersion for intervals: Cox and Lewis 1966). ``gap_s`` is in order of time, shape (n,).
    """
    count = min(_LIMITS.most_in_sum, gap_s.size // _LIMITS.fewest_sums)
    if count <= MEAN_PACKETS:
        return None
    deviation_s = deviation_of_sums(gap_s, count)
    of_stretches_s = math.sqrt(count / MEAN_PACKETS) * deviation_of_sums(gap_s, MEAN_PACKETS)
    if not deviation_s < _LIMITS.steadier * of_stretches_s:
        return None
    mean_s = float(gap_s.mean())
    return TrainClock(mean_gap_s=mean_s, packets=count, deviation=deviation_s / (count * mean_s))


def keep_order(values: FloatArray) -> Trains:
    """Keep stretches of the ranks of values in order of time, shape (n,)."""
    return _keep_ranks(_rank(values))


def _keep_ranks(gap_rank: FloatArray, size_rank: FloatArray | None = None) -> Trains:
    """Keep stretches of ranks in order of time, of gaps and, if given, of sizes; shape (n,)."""
    starts, packets = _choose_stretches(np.array([0]), np.array([gap_rank.size]))
    row = np.concatenate([np.arange(at, at + n) for at, n in zip(starts, packets, strict=True)])
    return Trains(
        packets=tuple(packets.tolist()),
        gap_ranks=encode_ranks(_fill(gap_rank)[row]),
        size_ranks="" if size_rank is None else encode_ranks(_fill(size_rank)[row]),
        session_packets=gap_rank.size if row.size < gap_rank.size else None,
    )


def _rank(values: FloatArray) -> FloatArray:
    """Return mean ranks from 0 to 1; NaN stays."""
    # Ours: scipy.stats takes as long to load as the rest of a short fit.
    found = mean_ranks(values)
    found -= 0.5
    found /= max(1, found.size - int(np.count_nonzero(np.isnan(found))))
    return found


@dataclass(frozen=True)
class _Ranks:
    """Mean ranks from 0 to 1 of a series that takes few values, NaN where they do not count.

    They are looked up where they are needed: few of the series of a long session fit into memory.
    """

    of: FloatArray  #: rank of each value
    value: WholeArray  #: values of the series, shape (n,)

    def __getitem__(self, rows: slice | IntArray) -> FloatArray:
        return self.of[self.value[rows]]


def _rank_counts(counts: WholeArray) -> _Ranks:
    """Rank whole numbers from 0 on by counting, shape (n,)."""
    times = np.bincount(counts)
    return _Ranks((np.cumsum(times) - 0.5 * times) / max(1, counts.size), counts)


def _rank_sizes(sizes: Sample, counted: BoolArray) -> _Ranks | FloatArray:
    """Rank the sizes that count, and give others none."""
    if sizes.dtype.kind == "f" or not sizes.size or sizes.max() >= _NO_SIZE:
        return _rank(np.where(counted, sizes, math.nan))
    small = sizes.astype(np.uint16)
    small[~counted] = _NO_SIZE
    times = np.bincount(small, minlength=_NO_SIZE + 1)
    times[_NO_SIZE] = 0
    ranks = (np.cumsum(times) - 0.5 * times) / max(1, int(times.sum()))
    ranks[_NO_SIZE] = math.nan
    return _Ranks(ranks, small)


def _fill(rank: FloatArray) -> FloatArray:
    """Return ranks; those that do not count are spread evenly over all ranks.

    They are drawn over when played, and must not take values of one kind with them.
    """
    spread = np.arange(rank.size) * _GOLDEN_RATIO % 1.0
    return np.where(np.isnan(rank), spread, rank)


def _is_dependent(gap_rank: FloatArray, size_rank: FloatArray | _Ranks, evidence: Evidence) -> bool:
    """Return whether neighbours are correlated: gaps at lags 1 and 2, sizes, and both together."""
    pairs = (
        (gap_rank, gap_rank, 1),
        (gap_rank, gap_rank, 2),
        (size_rank, size_rank, 1),
        (gap_rank, size_rank, 0),
        (size_rank, gap_rank, 1),
    )
    count = gap_rank.size
    return any(_is_correlated(one, other, lag, count, evidence) for one, other, lag in pairs)


def _follows_place(gap_rank: FloatArray, starts: IntArray, packets: IntArray) -> bool:
    """Return whether gaps depend on how many packets a burst has, or on their place: also last."""
    count, evidence = gap_rank.size, _LIMITS.of_packets
    place = np.arange(count, dtype=np.uint32)
    place -= np.repeat(starts.astype(np.uint32), packets)
    if _is_correlated(gap_rank, _rank_counts(place), 0, count, evidence):
        return True
    del place
    of_burst = np.repeat(packets.astype(np.uint32), packets)
    if _is_correlated(gap_rank, _rank_counts(of_burst), 0, count, evidence):
        return True
    del of_burst
    is_last = np.zeros(count, dtype=np.uint8)
    is_last[starts + packets - 1] = 1
    return _is_correlated(gap_rank, _rank_counts(is_last), 0, count, evidence)


def _is_correlated(
    one: FloatArray | _Ranks, other: FloatArray | _Ranks, lag: int, count: int, evidence: Evidence
) -> bool:
    """Return whether ranks are correlated with other ones so many packets later.

    Pearson's correlation of the pairs of which both count, of series with ``count`` values.
    """
    sums, lowest, highest = np.zeros(3), np.full(2, math.inf), np.full(2, -math.inf)
    for pair in _pairs_of(one, other, lag, count):
        sums += (*pair.sum(axis=1), pair.shape[1])
        lowest = np.minimum(lowest, pair.min(axis=1, initial=math.inf))
        highest = np.maximum(highest, pair.max(axis=1, initial=-math.inf))
    if sums[2] < evidence.pairs or np.any(lowest == highest):
        return False
    mean = sums[:2, None] / sums[2]
    products = np.zeros((2, 2))
    for pair in _pairs_of(one, other, lag, count):
        centred = pair - mean
        products += centred @ centred.T
    found = float(products[0, 1]) / math.sqrt(float(products[0, 0]) * float(products[1, 1]))
    return abs(found) * math.sqrt(sums[2]) > evidence.standard_errors


def _pairs_of(
    one: FloatArray | _Ranks, other: FloatArray | _Ranks, lag: int, count: int
) -> Iterator[FloatArray]:
    """Yield pairs of ranks that count, block by block, shape (2, m)."""
    for row in range(0, count - lag, BLOCK):
        end = min(row + BLOCK, count - lag)
        pair = np.stack((one[row:end], other[row + lag : end + lag]))
        yield pair[:, ~np.isnan(pair).any(axis=0)]


def _choose_stretches(starts: IntArray, packets: IntArray) -> tuple[IntArray, IntArray]:
    """Return stretches that fit: of bursts those at even ranks of their lengths, cut where long."""
    most = _LIMITS.most_packets
    if packets.size == 1 and packets[0] > most:
        count = most // _LIMITS.longest
        starts = np.linspace(0, packets[0] - _LIMITS.longest, count).astype(np.int64)
        return starts, np.full(count, _LIMITS.longest)
    if packets.size > 1:
        packets = np.minimum(packets, _LIMITS.longest)
    order, count = np.argsort(packets, kind="stable"), packets.size
    while packets[(kept := order[_even_places(packets.size, count)])].sum() > most:
        count = min(count - 1, int(count * most / packets[kept].sum()) + 1)
    kept = np.sort(kept)
    return starts[kept], packets[kept]


def _even_places(size: int, count: int) -> IntArray:
    return ((np.arange(count) + 0.5) * size / count).astype(np.int64)


#: What `fit` tries.
PROPOSALS = (Proposal("packet trains", 8, propose_trains),)
