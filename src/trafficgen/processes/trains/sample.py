"""Put gaps and sizes in the order of packet trains of the capture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from trafficgen import _core
from trafficgen.processes.base import DrawnPart, UintArray, plays, to_playable
from trafficgen.processes.trains.model import RANK_DIGITS, TrainClock, Trains
from trafficgen.units import BLOCK, BoolArray, FloatArray, IntArray

#: Shortest mean length of a stretch where packets come without bursts: long against the correlation
#: of neighbours.
MEAN_PACKETS = 100
#: A played sequence as long as the stored one changes its place in stored time this often, on
#: average.
_STRETCHES = 8
#: So many sets of stretches are drawn, of which that with about the pauses of the session is taken.
_SETS = 16
#: A burst is put in the order of a stored burst of its length; where these are fewer than twice
#: this, of one that is so near in the order of lengths, up or down.
_NEAR = 4
#: Stretches of whole bursts have at least so many on average; bursts are of about a length where
#: they are at most this part of all apart in the order of lengths.
_FEWEST_IN_ORDER, _OF_ABOUT = 16, 16
#: A clock is kept by one of so many gaps; sums are measured where the gaps are at least so many
#: times those of a sum.
_RUN = 64
#: Packets are made up for that are so many times the distance of the quartiles of gaps late.
_STEP = 4.0
_FEWEST_SUMS = 4
_BASE = len(RANK_DIGITS)
_PLACE = np.zeros(128, dtype=np.int64)
_PLACE[np.frombuffer(RANK_DIGITS.encode(), dtype=np.uint8)] = np.arange(_BASE)
#: Coarse steps of ranks are even in the normal score: where each ends, and its middle.
_STEPS = np.linspace(-3.0, 3.0, 2 * _BASE + 1)
_ENDS, _MIDDLES = (
    np.array([NormalDist().cdf(one) for one in part]) for part in (_STEPS[2:-1:2], _STEPS[1::2])
)
#: A number that decides between equal ranks is multiplied by this: all less than a step.
_SPREAD = 1 / _BASE**2


@plays(TrainClock)
@dataclass(frozen=True, kw_only=True)
class ClockOfTrains(DrawnPart):
    """A :class:`~trafficgen.models.TrainClock`; meanings as there."""

    mean_gap_s: float
    packets: int
    deviation: float

    def keep(self, gaps_s: FloatArray) -> FloatArray:
        """Return gaps with the mean of the clock, whose sums vary no more than it says; shape (n,).

        Where that makes packets too late or early, by more than most gaps vary, one of a few dozen
        gaps makes up for it, the longest or the shortest: others are a clock's own.
        """
        count, runs = min(self.packets, gaps_s.size // _FEWEST_SUMS), gaps_s.size // _RUN
        if count == 0 or runs == 0:
            return gaps_s
        played_s = deviation_of_sums(gaps_s, count)
        kept_s = self.deviation * self.packets * self.mean_gap_s
        kept = gaps_s.copy()
        own = kept[: runs * _RUN].reshape(runs, _RUN)
        sums_s = own.sum(axis=1)
        varied_s = sums_s - sums_s.mean()
        if played_s > kept_s:
            varied_s *= kept_s / played_s
        late_s = sums_s - varied_s - _RUN * self.mean_gap_s
        step_s = _STEP * float(np.subtract(*np.quantile(gaps_s, (0.75, 0.25))))
        if step_s > 0:
            late_s = np.diff(np.rint(np.cumsum(late_s) / step_s) * step_s, prepend=0.0)
        chosen = np.where(late_s > 0, own.argmax(axis=1), own.argmin(axis=1))
        own[np.arange(runs), chosen] -= late_s
        return np.maximum(kept, 0.0)


@plays(Trains)
@dataclass(frozen=True, kw_only=True)
class TrainOrder(DrawnPart):
    """Stretches of a :class:`~trafficgen.models.Trains`, the shortest first.

    Attributes:
        packets: Packets of each stretch, ascending, shape (k,).
        first: Row of the first packet of each stretch, shape (k,).
        gap_rank: Rank of the gap before each packet, from 0 to 1, shape (n,); of its size likewise,
            that of a burst's last packet among those, shape (0,) where sizes have an order of
            their own.
        session_packets: Packets of the phase among which the stretches are spread.
    """

    packets: IntArray
    first: IntArray
    gap_rank: FloatArray
    size_rank: FloatArray
    session_packets: int
    clock: ClockOfTrains | None = None

    @classmethod
    def from_model(cls, part: Trains, **given: Any) -> TrainOrder:
        """Convert the trains of a model."""
        packets = np.array(part.packets)
        first = np.cumsum(packets) - packets
        order = np.argsort(packets, kind="stable")
        return cls(
            packets=packets[order],
            first=first[order],
            gap_rank=decode_ranks(part.gap_ranks, int(packets.sum())),
            size_rank=decode_ranks(part.size_ranks, int(packets.sum())),
            session_packets=part.session_packets or int(packets.sum()),
            clock=to_playable(part.clock),
        )

    @cached_property
    def _begins(self) -> BoolArray:
        """Whether each packet is the first of a stretch, shape (n,)."""
        begins = np.zeros(self.gap_rank.size, dtype=np.bool_)
        begins[self.first] = True
        return begins

    def arrange(
        self,
        gaps_s: FloatArray,
        sizes: UintArray,
        generator: np.random.Generator,
        *,
        counts: IntArray | None = None,
        last_sizes: UintArray | None = None,
        places: FloatArray | None = None,
        begins: bool = False,
    ) -> tuple[FloatArray, UintArray]:
        """Order gaps and sizes as in trains; both have a value a packet and come in any order.

        Gaps are ordered in their own memory.
        ``counts`` are the packets of bursts: each follows a stored burst of about its length, near
        in time to what the burst before follows, or that at its place in stored time, from 0 to 1,
        where there are ``places``; the gap before its first packet is any.
        ``last_sizes`` are those of their last packets, in any order. Without ``counts`` stretches
        of random lengths follow one another (Politis and Romano 1994), from the stored start on
        for a session that ``begins``.
        """
        gaps_s.sort()
        if counts is None:
            rows = self._join_stretches(gaps_s, generator, begins=begins)
            starts = np.flatnonzero(self._begins[rows])
        else:
            if places is None:
                places = self._draw_places(counts.size, generator)
                rows = _core.follow_bursts((self.packets, self.first), counts, places, _NEAR)
            else:
                rows = self._follow(self._find_at(places, counts), counts)
            ends = np.cumsum(counts)
            starts = ends - counts
            self._align_ends(rows, counts, starts)
        any_rank = generator.random(starts.size)
        noise = generator.random(rows.size)
        scores = _core.rank_scores(self.gap_rank, rows, noise, _SPREAD)
        scores[starts] = any_rank + noise[starts] * _SPREAD
        del noise  # as long as the session, as the next ones are
        gaps_s[:] = _core.order_by_scores(scores, gaps_s)
        if self.size_rank.size:
            del scores
            noise = generator.random(rows.size)
            scores = _core.rank_scores(self.size_rank, rows, noise, _SPREAD)
            if counts is not None:
                of_last, scores[ends - 1] = scores[ends - 1], noise[ends - 1]
            del noise, rows
            sizes = _core.order_sizes_by_scores(scores, sizes)
            if last_sizes is not None:
                last_sizes = _core.order_sizes_by_scores(of_last, last_sizes)
        if last_sizes is not None:
            sizes[ends - 1] = last_sizes
        return gaps_s, sizes

    def _find_at(self, places: FloatArray, counts: IntArray) -> IntArray:
        """Return the stored burst at each place in stored time, or near it of about the length.

        Those near it count where not all are stored: the one at the place itself is another.
        """
        in_time = np.argsort(self.first)
        found = in_time[(places * in_time.size).astype(np.int64)]
        if self.session_packets == self.gap_rank.size:
            return found
        for apart in range(1, _NEAR + 1):
            for step in (-apart, apart):
                place = (places * in_time.size).astype(np.int64) + step
                other = in_time[np.clip(place, 0, in_time.size - 1)]
                nearer = abs(self.packets[other] - counts) < abs(self.packets[found] - counts)
                found = np.where(nearer, other, found)
        return found

    def _follow(self, bursts: IntArray, counts: IntArray) -> UintArray:
        """Return the stored packet that each packet follows, of the stored burst of each burst.

        A longer burst goes on as the stored one does after its first packet.
        """
        starts = np.cumsum(counts) - counts
        place = np.arange(counts.sum()) - np.repeat(starts, counts)
        stored = np.repeat(self.packets[bursts], counts)
        again = np.minimum(1 + (place - 1) % np.maximum(stored - 1, 1), stored - 1)
        rows = np.repeat(self.first[bursts], counts) + np.where(place < stored, place, again)
        return np.asarray(rows, dtype=np.uint32)

    def _align_ends(self, rows: UintArray, counts: IntArray, starts: IntArray) -> None:
        """Let each burst end as the one that it follows, from half of the shorter one on."""
        stored_ends = np.sort(self.first + self.packets - 1)
        for burst in range(0, counts.size, BLOCK):
            start, count = starts[burst : burst + BLOCK], counts[burst : burst + BLOCK]
            last = stored_ends[np.searchsorted(stored_ends, rows[start])]
            aligned = np.maximum(np.minimum(count, last - rows[start] + 1) // 2, 1)
            left = np.arange(aligned.sum()) - np.repeat(np.cumsum(aligned) - aligned, aligned)
            rows[np.repeat(start + count - 1, aligned) - left] = np.repeat(last, aligned) - left

    def arrange_bursts(
        self,
        packets: FloatArray,
        apart_s: FloatArray,
        generator: np.random.Generator,
        *,
        begins: bool,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Order whole bursts and the time from each to the next; both come in any order.

        They follow stored bursts in stretches. The next stretch goes on after a burst of about the
        length of the last one (nearest neighbours: Lall and Sharma 1996), so that sound and video
        still alternate. A session that ``begins`` begins as the stored one: what begins it is not
        what goes on.

        Returns:
            Packets and times, s, in their order, and the places in stored time, from 0 to 1, of
            what each follows, all of shape (m,).
        """
        rows = self._follow_in_stretches(packets.size, generator, begins=begins)
        found = [
            _core.order_by_scores(
                _core.rank_scores(ranks, rows, generator.random(rows.size), _SPREAD), values
            )
            for ranks, values in ((self.size_rank, packets), (self.gap_rank, apart_s))
        ]
        return found[0], found[1], (rows + 0.5) / self.gap_rank.size

    def _follow_in_stretches(
        self, count: int, generator: np.random.Generator, *, begins: bool
    ) -> UintArray:
        """Return the stored burst that each of so many follows; what ended goes on as others do."""
        stored = self.size_rank.size
        mean, reach = max(_FEWEST_IN_ORDER, stored // _STRETCHES), stored // _OF_ABOUT
        # Those that another follows, the shortest first, and the place of each among them.
        by_length = np.argsort(self.size_rank[:-1], kind="stable")
        place = np.empty(stored, dtype=np.int64)
        place[by_length] = np.arange(stored - 1)
        place[-1] = np.searchsorted(self.size_rank[by_length], self.size_rank[-1])
        stretches: list[UintArray] = []
        first, left = 0 if begins else int(generator.integers(stored)), count
        while left > 0:
            drawn = int(generator.geometric(1 / mean))
            length = min(left, stored - first, drawn if stretches else max(mean, drawn))
            stretches.append(np.arange(first, first + length, dtype=np.uint32))
            left -= length
            alike = place[first + length - 1] + generator.integers(-reach, reach, endpoint=True)
            first = int(by_length[np.clip(alike, 0, stored - 2)]) + 1 if stored > 1 else 0
        return np.concatenate(stretches) if stretches else np.zeros(0, dtype=np.uint32)

    def arrange_series(self, values: FloatArray, generator: np.random.Generator) -> FloatArray:
        """Order values, which come in any order, by ranks in stretches; shape (n,)."""
        # Not of one time for long: of a few hundred frames some would be played many times.
        lengths = _draw_lengths(values.size, MEAN_PACKETS, generator)
        stored = self.gap_rank.size
        first = generator.integers(stored, size=lengths.size)
        rows = _core.join_stretches(first, lengths, values.size, stored)
        noise = generator.random(rows.size)
        return _core.order_by_scores(_core.rank_scores(self.gap_rank, rows, noise, _SPREAD), values)

    def _draw_places(self, count: int, generator: np.random.Generator) -> FloatArray:
        """Draw the place in stored time, from 0 to 1, of what each burst follows, shape (count,).

        Bursts follow those of one stretch of time, then of another: what changes slowly stays.
        """
        # Of the bursts of the phase some are stored: those that are played pass as many.
        passed = float(self.packets.sum()) / (self.packets.size * self.session_packets)
        begins = generator.random(count) < _STRETCHES * passed
        begins[:1] = True
        burst = np.arange(count)
        begun = np.maximum.accumulate(np.where(begins, burst, 0))
        return (generator.random(count)[begun] + (burst - begun) * passed) % 1.0

    def _join_stretches(
        self, ascending_s: FloatArray, generator: np.random.Generator, *, begins: bool
    ) -> UintArray:
        """Return the stored packet that each packet follows, in stretches of random lengths.

        Where stretches have more long gaps than are to be played, or fewer, others get their place,
        and their order is lost: of some sets of stretches the nearest one is taken.
        """
        count, stored = ascending_s.size, self.gap_rank.size
        if count == 0:  # a session that ended before
            return np.zeros(0, dtype=np.uint32)
        stored_s = ascending_s[(self.gap_rank * count).astype(np.int64)]
        before_s = np.concatenate(([0.0], np.cumsum(stored_s)))
        sets = [self._draw_stretches(count, generator, begins=begins) for _ in range(_SETS)]

        def _miss_s(stretches: tuple[IntArray, IntArray]) -> float:
            first, lengths = stretches
            again, end = np.divmod(first + lengths, stored)
            sums_s = again * before_s[-1] + before_s[end] - before_s[first]
            return abs(float(sums_s.sum()) - float(ascending_s.sum()))

        first, lengths = min(sets, key=_miss_s)
        return _core.join_stretches(first, lengths, count, stored)

    def _draw_stretches(
        self, count: int, generator: np.random.Generator, *, begins: bool
    ) -> tuple[IntArray, IntArray]:
        """Draw the first stored packet and the packets of each stretch, of so many packets in all.

        Stretches are those of one time of the capture, then of another: what changes slowly, as the
        rate, stays (local block bootstrap: Paparoditis and Politis 2002).
        """
        phase = self.session_packets
        # One time lasts for as long as the capture's did; where not all packets are stored,
        # stretches are shorter than the stored ones, and several come from about there.
        lasting = phase / _STRETCHES
        mean = max(MEAN_PACKETS, min(lasting, float(self.packets.max()) / 2))
        lengths = _draw_lengths(count, mean, generator)
        if begins:
            lengths[0] = max(lengths[0], int(mean))
        lengths = np.diff(np.minimum(np.cumsum(lengths), count), prepend=0)
        anew = generator.random(lengths.size) < mean / lasting
        anew[0] = True
        begun = np.maximum.accumulate(np.where(anew, np.arange(anew.size), 0))
        passed = (np.cumsum(lengths) - lengths) / phase
        near = np.where(anew, 0.0, generator.random(anew.size) - 0.5) / self.packets.size
        chosen = generator.random(anew.size)
        chosen[0] *= not begins
        places = chosen[begun] + passed - passed[begun] + near
        return (places % 1.0 * self.gap_rank.size).astype(np.int64), lengths


def _draw_lengths(count: int, mean: float, generator: np.random.Generator) -> IntArray:
    """Draw random lengths of stretches that have so many packets together, or more."""
    pieces = 2 * int(count / mean) + 8
    lengths = generator.geometric(1 / mean, pieces)
    while lengths.sum() < count:
        lengths = np.concatenate((lengths, generator.geometric(1 / mean, pieces)))
    return lengths


def deviation_of_sums(values: FloatArray, count: int) -> float:
    """Return the standard deviation of sums of so many successive values, shape (n,)."""
    ends = np.cumsum(values)
    ends -= np.arange(1, values.size + 1) * (ends[-1] / values.size)
    return float(np.std(ends[count:] - ends[:-count]))


def encode_ranks(ranks: FloatArray) -> str:
    """Write ranks, numbers from 0 to 1, in two characters each."""
    codes = np.minimum((ranks * _BASE**2).astype(np.int64), _BASE**2 - 1)
    return "".join(RANK_DIGITS[code // _BASE] + RANK_DIGITS[code % _BASE] for code in codes)


def coarsen_trains(trains: Trains) -> Trains:
    """Return trains whose ranks have one character each."""
    count = sum(trains.packets)
    if len(trains.gap_ranks) == count:
        return trains
    fine = (
        decode_ranks(text, count) + _SPREAD / 2 for text in (trains.gap_ranks, trains.size_ranks)
    )
    gaps, sizes = (
        "".join(RANK_DIGITS[step] for step in np.searchsorted(_ENDS, ranks, side="right"))
        for ranks in fine
    )
    return trains.model_copy(update={"gap_ranks": gaps, "size_ranks": sizes})


def decode_ranks(text: str, count: int) -> FloatArray:
    """Read so many ranks, shape (count,): numbers from 0 on below 1; shape (0,) without text."""
    places = _PLACE[np.frombuffer(text.encode(), dtype=np.uint8)]
    if places.size > count:
        return np.asarray(places.reshape(-1, 2) @ (1 / _BASE, 1 / _BASE**2), dtype=np.float64)
    return _MIDDLES[places]
