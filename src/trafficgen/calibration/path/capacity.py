"""Rate of the narrow link over time: steps between which it stays, and when it is not known.

At the receiver, packets that left the link back to back show its rate by their dispersion. At the
sender, acknowledgements come back at the pace of what they acknowledge (Keshav 1991, packet pair).
Where batches of packets are passed on together (interrupts, radio), pairs show nothing: then the
rates of trains of packets do (Dovrolis, Ramanathan, Moore 2001).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from trafficgen import _core
from trafficgen.calibration.path.control_messages import TCP_ACK, is_capture_at_server
from trafficgen.flows import SessionView, extend_sequence, gaps_s, select_rows
from trafficgen.models import CapacityStep, Estimate
from trafficgen.randomness import random_stream
from trafficgen.tables import PacketTable
from trafficgen.units import (
    BITS_PER_BYTE,
    BLOCK,
    BoolArray,
    FloatArray,
    IntArray,
    WholeArray,
    bps_from_bytes,
    kbps_from_bytes,
    ns_array_from_s,
    ns_from_s,
    s_from_ns,
)


class LinkLimits:
    """Which pairs of packets show the narrow link, and when their mode is its rate."""

    #: Packets further apart did not queue behind each other, s.
    longest_gap_s: float = 0.1
    #: Shorter gaps, in ticks of the clock, are mostly rounding.
    fewest_ticks: int = 10
    #: A mode of fewer pairs is chance; more than the second number cost time and change nothing.
    fewest_pairs: int = 30
    most_pairs: int = 20_000
    #: Half of the width of a mode, as a ratio: the jitter of a capture's clock.
    mode_ratio: float = 1.05
    #: A mode with a smaller share of the pairs does not stand out.
    smallest_mode_share: float = 0.2
    #: A mode below this multiple of the mean rate is not a link's: the pairs were spread before.
    least_of_mean: float = 0.95
    #: A mode below this multiple of the mean rate may be the source's own pace.
    clear_of_mean: float = 1.5
    #: Resamples behind the interval.
    resamples: int = 100
    #: Rates of shapers and clocks are this exact: intervals are no narrower (share to each side).
    shaper_error: float = 2e-3


_LIMITS = LinkLimits()


def dispersion_rates_bps(
    gap_s: FloatArray, second_bytes: WholeArray | FloatArray, *, tick_s: float = 1e-9
) -> FloatArray:
    """Return the rates of pairs of packets, the second one's bits over the gap, bit/s, shape (k,).

    Pairs whose gap is beyond 0.1 s or within ten ticks of the clock are left out, so k <= n.
    ``second_bytes`` is the size on the wire of the packet that ends each gap; both arrays have
    shape (n,).
    """
    use = choose_pairs(gap_s, second_bytes, tick_s=tick_s)
    rates: FloatArray = np.multiply(second_bytes[use], BITS_PER_BYTE, dtype=np.float64)
    rates /= gap_s[use]
    return rates


def choose_pairs(
    gap_s: FloatArray, second_bytes: WholeArray | FloatArray, *, tick_s: float
) -> BoolArray:
    """Return which pairs may have queued behind each other; arguments as above, shape (n,)."""
    return np.asarray(
        (gap_s > _LIMITS.fewest_ticks * tick_s)
        & (gap_s <= _LIMITS.longest_gap_s)
        & (second_bytes > 0)
    )


def find_near(rates_bps: FloatArray, rate_bps: float) -> BoolArray:
    """Return which rates of pairs, bit/s, are within a mode around a rate, shape (n,)."""
    near = np.empty(rates_bps.size, dtype=np.bool_)
    for row in range(0, near.size, BLOCK):
        apart = np.abs(np.log(rates_bps[row : row + BLOCK] / rate_bps))
        near[row : row + BLOCK] = apart <= 2 * np.log(_LIMITS.mode_ratio)
    return near


def may_be_of_source(mode_bps: float, mean_bps: float, *, has_loss: bool) -> bool:
    """Return whether a mode may be the source's pace: it is below or near the mean rate.

    With loss some queue was full, so that a mode near the mean rate is the link's.
    """
    least = _LIMITS.least_of_mean if has_loss else _LIMITS.clear_of_mean
    return mode_bps < least * mean_bps


def strongest_mode(
    rates_bps: FloatArray, *, fewest_pairs: int = _LIMITS.fewest_pairs
) -> tuple[float, float] | None:
    """Return the rate around which most dispersions lie, and their share; None if none stands out.

    The mode is the window of 10% width that holds most values, its estimate their median. It has to
    hold a fifth of them. The rates are those of packet pairs, shape (n,).
    """
    return strongest_modes(rates_bps, [0], [rates_bps.size], fewest_pairs=fewest_pairs)[0]


def strongest_modes(
    rates_bps: FloatArray, firsts: list[int], stops: list[int], *, fewest_pairs: int
) -> list[tuple[float, float] | None]:
    """Return :func:`strongest_mode` of each of many windows, which begin and end at such rows."""
    width = 2 * float(np.log(_LIMITS.mode_ratio))
    middle, held = _core.window_modes(np.log(rates_bps), firsts, stops, width)
    sizes = np.subtract(stops, firsts)
    shares = held / np.maximum(sizes, 1)
    stands_out = (sizes >= fewest_pairs) & (shares >= _LIMITS.smallest_mode_share)
    found = zip(stands_out.tolist(), np.exp(middle).tolist(), shares.tolist(), strict=True)
    return [(mode_bps, share) if is_one else None for is_one, mode_bps, share in found]


def estimate_link_rate(
    table: PacketTable, *, session: int, tick_s: float, seed: int, has_loss: bool
) -> tuple[Estimate | None, str]:
    """Estimate the rate of the narrow link, bit/s of frames on the wire; None with the reason.

    Packets that queue behind each other leave the narrow link as far apart as it takes to send the
    second one (Dovrolis, Ramanathan, Moore 2001, "What do packet dispersion techniques measure?"):
    at the receiver their dispersions have a mode at the link's rate. Cross traffic makes lower
    modes, bursts through a token bucket higher ones; the strongest is taken. At the sender a mode
    is that of its own link or pacing, so without loss a mode near the mean rate is not taken.
    Interval: 95% bootstrap of the pairs, 100 resamples, and 0.2% to each side, as thousands of
    pairs share the error of one shaper and one clock; at most 20,000 pairs are used. ``session``
    and ``seed`` choose the resampling; with ``has_loss`` packets were lost, so some queue was full.
    """
    time_ns, frame_bytes = _measure_arrivals(table)
    rates = dispersion_rates_bps(gaps_s(time_ns), frame_bytes[1:], tick_s=tick_s)
    generator = random_stream(seed, session=session, purpose="fit/conditions/link_rate")
    if rates.size > _LIMITS.most_pairs:
        rates = np.sort(generator.choice(rates, _LIMITS.most_pairs, replace=False))
    found = strongest_mode(rates)
    if found is None:
        return None, f"the dispersions of {rates.size} packet pairs have no mode"
    value, share = found
    duration_s = s_from_ns(int(time_ns[-1] - time_ns[0]))
    mean_bps = bps_from_bytes(float(frame_bytes.sum()), duration_s)
    mode = "the strongest mode of packet-pair dispersion is"
    if value < _LIMITS.least_of_mean * mean_bps:
        return None, f"{mode} below the mean rate: the pairs were spread before"
    if value < _LIMITS.clear_of_mean * mean_bps and not has_loss:
        return None, f"{mode} near the mean rate, which may be the source's own"
    near = rates[find_near(rates, value)]
    modes = np.median(generator.choice(near, (_LIMITS.resamples, near.size)), axis=1)
    low, high = np.quantile(modes, [0.025, 0.975]).tolist()
    error = _LIMITS.shaper_error
    method = (
        f"strongest mode of packet-pair dispersion, {share:.0%} of {rates.size} pairs; bootstrap of"
        f" the mode, and {error:.1%} to each side"
    )
    low, high = min(low, value) * (1 - error), max(high, value) * (1 + error)
    return Estimate(value=value, low=low, high=high, method=method), ""


#: Pairs are looked at in windows of this length, s; of fewer pairs there is no mode.
_WINDOW_S, _FEWEST_PAIRS = 1.0, 20
#: Modes of windows differ by less than this ratio while the rate stays: of pairs, and of trains.
_STEP_RATIO, _TRAIN_STEP_RATIO = 1.04, 1.12
#: Packets in a train, the shortest first; it is taken if this many windows have a mode (share).
_TRAINS, _ENOUGH_WINDOWS = (1, 32, 64), 0.6
#: Acknowledgements are delayed and joined, so that pairs of them show less.
_TRAINS_OF_ACKNOWLEDGEMENTS = (16, 32)
#: Without pauses a mode may be the source's pace, or that of its turns with competing flows. It is
#: the link's where packets were lost, it holds this share of the pairs, and no more came.
_FULL_SHARE, _FULL_OF_MODE = 0.85, 1.02
#: A mode above this multiple of the mean rate is of the link at the sender, and limits nothing.
_MOST_OF_MEAN = 1000
#: A window whose mode holds this share of its pairs is a step by itself; else two have to agree.
_SURE_SHARE = 0.5
#: The rate is not known where the source was idle for longer, s: before a new rate, and ever.
_LONGEST_BEFORE_STEP_S, _LONGEST_IDLE_S = 1.0, 5.0
#: Resamples behind an interval, of no more pairs than the second number.
_RESAMPLES, _MOST_PAIRS = 200, 5_000
#: :attr:`LinkLimits.shaper_error` of trains, in which the queue may have been empty for a moment.
_TRAIN_ERROR = 0.01
#: Trains are without longer gaps, s.
_LONGEST_GAP_S = 0.1
#: A server answers its clients in less than this part of the time in which they answer it.
_AT_SERVER = 0.5

#: Times of packets or acknowledgements, ns, and their sizes on the wire.
_Measured = tuple[IntArray, WholeArray | FloatArray]
#: Windows that are looked at together.
_WINDOWS_AT_ONCE = 1000


@dataclass(frozen=True)
class _Pairs:
    """Pairs or trains in order: when they ended (ns), how long they took (s), and rates (bit/s).

    Each array has shape (n,). Trains of ``packets`` overlap, a pair is one packet after another.
    """

    time_ns: IntArray
    gap_s: FloatArray
    rate_bps: FloatArray
    packets: int = 1
    zero_ns: int = 0  #: what seconds count from

    @property
    def time_s(self) -> FloatArray:
        return s_from_ns(self.time_ns - self.zero_ns)

    def rows_from(self, start_s: FloatArray) -> IntArray:
        """Return the first rows from some times on, shape (k,)."""
        return np.searchsorted(self.time_ns, ns_array_from_s(start_s) + self.zero_ns)

    def select(self, start_s: float, end_s: float) -> _Pairs:
        return self._take(slice(*self.rows_from(np.array([start_s, end_s])).tolist()))

    def select_near(self, rate_bps: float) -> _Pairs:
        return self._take(find_near(self.rate_bps, rate_bps))

    def _take(self, rows: slice | BoolArray) -> _Pairs:
        return replace(
            self, time_ns=self.time_ns[rows], gap_s=self.gap_s[rows], rate_bps=self.rate_bps[rows]
        )

    def part_trains(self) -> _Pairs:
        """Return trains that do not overlap."""
        return self._take(slice(None, None, self.packets))


_NO_PAIRS = _Pairs(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class _Stretch:
    """A time in which the rate stays."""

    start_s: float
    end_s: float
    rate_bps: float
    share: float = 1.0
    step_ratio: float = _STEP_RATIO

    def has_rate_of(self, other: _Stretch) -> bool:
        return bool(1 / self.step_ratio < self.rate_bps / other.rate_bps < self.step_ratio)


def estimate_capacity(
    view: SessionView, receiver: PacketTable | None, *, tick_s: float, seed: int, has_loss: bool
) -> tuple[tuple[CapacityStep, ...] | None, str]:
    """Find the rate of the narrow link over time, frames on the wire; None with the reason.

    Modes of windows of a second that differ by less than 4% (of trains 12%) are of one rate: the
    bytes over the gaps of the pairs or trains near it. A step is where those of the one rate end
    and those of the other begin; where neither were seen for more than a second before it, or for
    five seconds anywhere, the rate is not known. Interval: 95% bootstrap, 200 resamples, and 0.2%
    (of trains 1%) to each side.

    Args:
        view: The session. Times count from its first media packet.
        receiver: All packets at the receiver; None if the session's are those.
        tick_s: Tick of the clock, s; shorter gaps are mostly rounding.
        seed: Of the resampling.
        has_loss: Whether packets were lost, so that some queue was full.
    """
    table = view.table if receiver is None else receiver
    at_sender = receiver is None and _is_before_path(table)
    measure = _measure_acknowledgements if at_sender else _measure_arrivals
    time_ns, size_bytes = measure(table)
    what = "acknowledgements" if at_sender else "packets"
    why = f"no second of the capture has {what} at the pace of a narrow link"
    if time_ns.size < 2:
        return None, why
    zero_ns = view.first_media_ns + view.table.origin_ns - table.origin_ns
    windows, given_bytes = _fill_windows(time_ns[1:], size_bytes[1:], zero_ns)
    length_s = float(windows[-1] - windows[0] + 1) * _WINDOW_S
    most_bps = _MOST_OF_MEAN * bps_from_bytes(given_bytes.sum(), length_s)
    # Frames of RTP are as far apart as the source makes them.
    trains: tuple[int, ...] = _TRAINS_OF_ACKNOWLEDGEMENTS if at_sender else _TRAINS
    trains = trains[:1] if table.is_known("rtp_sequence").any() else trains
    for packets in trains:
        pairs = _make_trains(time_ns, size_bytes, zero_ns, packets=packets, tick_s=tick_s)
        modes, busy = _find_modes(pairs, windows, given_bytes, most_bps=most_bps, has_loss=has_loss)
        stretches = _join(modes, fewest=1 if packets == 1 else 2)
        if len(modes) >= _ENOUGH_WINDOWS * busy or packets == trains[-1]:
            break
        pairs = _NO_PAIRS  # the next ones are as many
    if not stretches:
        return None, why
    generator = random_stream(seed, session=view.session, purpose="fit/conditions/capacity")
    end_s = s_from_ns(int(time_ns[-1]) - zero_ns)
    return tuple(_list_steps(pairs, _sharpen(pairs, stretches), end_s, generator)), ""


def _fill_windows(
    time_ns: IntArray, size_bytes: WholeArray | FloatArray, zero_ns: int
) -> tuple[IntArray, FloatArray]:
    """Return the windows that have packets, by their number, and the bytes in each, shape (n,).

    Windows without packets are not listed: a source may be silent for years.
    """
    numbers, sums = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for row in range(0, time_ns.size, BLOCK):
        number = (time_ns[row : row + BLOCK] - zero_ns) // ns_from_s(_WINDOW_S)
        first = np.flatnonzero(np.diff(number, prepend=number[0] - 1))  # times ascend
        part = np.add.reduceat(size_bytes[row : row + BLOCK], first, dtype=np.float64)
        if row and numbers[-1][-1] == number[0]:
            sums[-1][-1] += part[0]
            first, part = first[1:], part[1:]
        if first.size:
            numbers.append(number[first])
            sums.append(part)
    return np.concatenate(numbers), np.concatenate(sums)


def _is_before_path(table: PacketTable) -> bool:
    """Return whether servers answer at once and their clients do not: the path comes after it."""
    if is_capture_at_server(table):
        return True
    waits_ns = []
    for flow in np.unique(table.flow):
        mine = table.flow == flow
        time_ns, to_client = table.time_ns[mine], table.to_client[mine]
        turns = np.flatnonzero(np.diff(to_client.astype(np.int8)))[:2]
        # A request, its answer, and what the client sends then: a datagram protocol's handshake.
        if turns.size == 2 and not to_client[0]:
            waits_ns.append(np.diff(time_ns[[turns[0], turns[0] + 1, turns[1] + 1]]))
    return bool(waits_ns) and all(answer < _AT_SERVER * back for answer, back in waits_ns)


def _measure_arrivals(table: PacketTable) -> _Measured:
    """Return when packets to the client came, and their sizes on the wire."""
    frame_bytes = table.values("frame_bytes").astype(np.uint32, copy=False)
    return select_rows(table.time_ns, table.to_client), select_rows(frame_bytes, table.to_client)


def _measure_acknowledgements(table: PacketTable) -> _Measured:
    """Return when TCP's acknowledgements came, and the bytes on the wire they are of."""
    back = ~table.to_client & table.is_known("tcp_acknowledgement")
    back &= (table.values("tcp_flags").astype(np.uint8) & TCP_ACK) > 0
    data = table.to_client & (table.payload_bytes > 0)
    framed = float(table.frame_bytes[data].sum()) / max(float(table.payload_bytes[data].sum()), 1)
    times_ns, sizes = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for flow in np.unique(table.flow[back]):
        rows = np.flatnonzero(back & (table.flow == flow))
        number = table.values("tcp_acknowledgement")[rows].astype(np.int64)
        more = np.diff(np.maximum.accumulate(extend_sequence(number, bits=32)))
        times_ns.append(table.time_ns[rows][1:][more > 0])
        sizes.append(framed * more[more > 0])
    time_ns = np.concatenate(times_ns)
    order = np.argsort(time_ns, kind="stable")
    return time_ns[order], np.concatenate(sizes)[order]


def _make_trains(
    time_ns: IntArray,
    size_bytes: WholeArray | FloatArray,
    zero_ns: int,
    *,
    packets: int,
    tick_s: float,
) -> _Pairs:
    """Return trains of this many packets after a first one, those that may have queued."""
    gap_s = gaps_s(time_ns)
    if packets == 1:
        use = choose_pairs(gap_s, size_bytes[1:], tick_s=tick_s)
        bits = np.multiply(size_bytes[1:][use], BITS_PER_BYTE, dtype=np.float64)
    else:
        # One number a packet after another: a session may have tens of millions.
        idle = np.cumsum(gap_s > _LONGEST_GAP_S, dtype=np.int32)
        use = idle[packets:] == idle[:-packets]
        del idle
        use &= time_ns[packets + 1 :] > time_ns[1:-packets]
        total = np.cumsum(size_bytes[1:], dtype=np.float64)
        bits = (total[packets:] - total[:-packets])[use] * BITS_PER_BYTE
        del total
    if packets > 1:
        gap_s = s_from_ns(time_ns[packets + 1 :] - time_ns[1:-packets])
    gap_s = gap_s[use]
    bits /= gap_s
    return _Pairs(time_ns[packets + (packets > 1) :][use], gap_s, bits, packets, zero_ns)


def _find_modes(
    pairs: _Pairs, windows: IntArray, given_bytes: FloatArray, *, most_bps: float, has_loss: bool
) -> tuple[list[_Stretch], int]:
    """Return windows whose mode is the link's, and how many windows have pairs for one.

    Args:
        pairs: Pairs or trains in order of time.
        windows: Numbers of the windows that have packets, shape (n,).
        given_bytes: Bytes in each of them, shape (n,).
        most_bps: A mode above this limits nothing.
        has_loss: Whether some queue was full.
    """
    found: list[_Stretch] = []
    unsure: list[_Stretch] = []
    step_ratio = _STEP_RATIO if pairs.packets == 1 else _TRAIN_STEP_RATIO
    windows_s: FloatArray = windows.astype(np.float64) * _WINDOW_S
    firsts, stops = pairs.rows_from(windows_s), pairs.rows_from(windows_s + np.float64(_WINDOW_S))
    busy = int(np.count_nonzero(stops - firsts >= _FEWEST_PAIRS))
    modes = []
    for place in range(0, windows.size, _WINDOWS_AT_ONCE):
        some = slice(place, place + _WINDOWS_AT_ONCE)
        first, stop = int(firsts[place]), int(stops[some][-1])
        ends = (firsts[some] - first).tolist(), (stops[some] - first).tolist()
        modes += strongest_modes(pairs.rate_bps[first:stop], *ends, fewest_pairs=_FEWEST_PAIRS)
    for start_s, size_bytes, mode in zip(
        windows_s.tolist(), given_bytes.tolist(), modes, strict=True
    ):
        end_s = start_s + _WINDOW_S
        if mode is None or mode[0] > most_bps:
            continue
        mean_bps = bps_from_bytes(size_bytes, _WINDOW_S)
        is_full = has_loss and mode[1] >= _FULL_SHARE and mean_bps < _FULL_OF_MODE * mode[0]
        is_link = is_full or not may_be_of_source(mode[0], mean_bps, has_loss=False)
        (found if is_link else unsure).append(_Stretch(start_s, end_s, *mode, step_ratio))
    # At the rate that other windows show, the source was as fast as the link.
    known = sorted(found, key=_rate_bps)
    found += [one for one in unsure if _is_of_known_rate(one, known)]
    return sorted(found, key=lambda one: one.start_s), busy


def _rate_bps(one: _Stretch) -> float:
    return one.rate_bps


def _is_of_known_rate(one: _Stretch, known: list[_Stretch]) -> bool:
    """Return whether the next slower or faster of the known ones, by rate, has the rate."""
    place = bisect_left(known, one.rate_bps, key=_rate_bps)
    return any(map(one.has_rate_of, known[max(0, place - 1) : place + 1]))


def _join(windows: list[_Stretch], *, fewest: int) -> list[_Stretch]:
    """Join windows in a row that are of one rate; a stray one is left out, where some agree."""
    rows: list[list[_Stretch]] = []
    rates_bps: list[float] = []  # of the last row, ascending
    for window in windows:
        if rows and window.has_rate_of(replace(window, rate_bps=_median(rates_bps))):
            rows[-1].append(window)
        else:
            rows.append([window])
            rates_bps = []
        insort(rates_bps, window.rate_bps)
    kept: list[list[_Stretch]] = []
    for row in rows:
        if len(row) > 1 or (fewest == 1 and row[0].share >= _SURE_SHARE):
            if kept and _merge(row).has_rate_of(_merge(kept[-1])):
                kept[-1] += row
            else:
                kept.append(row)
    return [_merge(row) for row in kept]


def _merge(row: list[_Stretch]) -> _Stretch:
    rates_bps = sorted(map(_rate_bps, row))
    return replace(row[0], end_s=row[-1].end_s, rate_bps=_median(rates_bps))


def _median(ascending: list[float]) -> float:
    half = len(ascending) // 2
    return (ascending[half] + ascending[~half]) / 2


def _sharpen(pairs: _Pairs, stretches: list[_Stretch]) -> list[_Stretch]:
    """End and begin stretches with the pairs that are of their rates."""
    ends_s = [(one.start_s, one.end_s) for one in stretches]
    for place, (one, after) in enumerate(pairwise(stretches)):
        between = pairs.select(max(one.end_s - _WINDOW_S, one.start_s), after.start_s + _WINDOW_S)
        is_one, is_after = (find_near(between.rate_bps, x.rate_bps) for x in (one, after))
        # Where most pairs before are of the one rate, and most of those after it of the other.
        fits = np.cumsum(is_one) + np.cumsum(is_after[::-1])[::-1]
        split_s = float(between.time_s[int(fits.argmax())])
        ends_s[place] = ends_s[place][0], split_s
        ends_s[place + 1] = split_s, ends_s[place + 1][1]
    return [
        replace(one, start_s=start_s, end_s=end_s)
        for one, (start_s, end_s) in zip(stretches, ends_s, strict=True)
    ]


def _list_steps(
    pairs: _Pairs, stretches: list[_Stretch], end_s: float, generator: np.random.Generator
) -> Iterator[CapacityStep]:
    """Yield the rate of each stretch, and where between and within them it is not known."""
    seen_s, longest_s = 0.0, _LONGEST_BEFORE_STEP_S
    for stretch in stretches:
        near = pairs.select(stretch.start_s, stretch.end_s).select_near(stretch.rate_bps)
        if near.time_s.size < _FEWEST_PAIRS:
            continue
        rate = _estimate_rate(near, generator)
        # Idle times between pairs part the stretch; the rate before a step is seen up to it.
        breaks = np.flatnonzero(np.diff(near.time_s) > _LONGEST_IDLE_S) + 1
        for part_s in np.split(near.time_s, breaks):
            start_s = float(part_s[0])
            if start_s - seen_s > longest_s:
                yield CapacityStep(start_s=seen_s, kbps=None)
            elif seen_s == 0.0:
                start_s = 0.0
            yield CapacityStep(start_s=start_s, kbps=rate)
            seen_s, longest_s = float(part_s[-1]), _LONGEST_BEFORE_STEP_S
    if end_s - seen_s > _LONGEST_IDLE_S:
        yield CapacityStep(start_s=seen_s, kbps=None)


def _estimate_rate(pairs: _Pairs, generator: np.random.Generator) -> Estimate:
    """Return the bytes of pairs over their gaps, kbit/s, with the interval of resampled pairs."""
    pairs = pairs.part_trains()
    gap_s, size_bytes = pairs.gap_s, pairs.gap_s * pairs.rate_bps / BITS_PER_BYTE
    drawn = generator.integers(0, gap_s.size, (_RESAMPLES, min(gap_s.size, _MOST_PAIRS)))
    value = kbps_from_bytes(float(size_bytes.sum()), float(gap_s.sum()))
    ends = kbps_from_bytes(size_bytes[drawn].sum(axis=1), gap_s[drawn].sum(axis=1))
    low, high = np.quantile(np.append(ends, value), [0.025, 0.975]).tolist()
    what = "packet pairs" if pairs.packets == 1 else f"trains of {pairs.packets} packets"
    error = _LIMITS.shaper_error if pairs.packets == 1 else _TRAIN_ERROR
    low, high = low * (1 - error), high * (1 + error)
    return Estimate(
        value=value,
        low=low,
        high=high,
        method=(
            f"bytes over time of {gap_s.size} {what} near their mode; bootstrap, and"
            f" {error:.1%} to each side"
        ),
    )
