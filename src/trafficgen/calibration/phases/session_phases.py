"""Divide a session by its rate: silence, buffering, playout, stalls and end; mean rates of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trafficgen.calibration.phases.buffering_end import (
    begins_with_long_fetch,
    count_buffering_cycles,
    find_tail,
    find_visible_burst,
    measure_fast_start,
    two_rate_log_likelihood,
)
from trafficgen.calibration.phases.rebuffering import Pause, Stall, find_stalls
from trafficgen.distributions.fitting.uncertainty import mean_with_interval
from trafficgen.errors import CalibrationError
from trafficgen.flows import SessionView, gaps_s
from trafficgen.flows.cycles import Cycles, cut_into_cycles, is_paused
from trafficgen.formatting import format_duration, interval, number
from trafficgen.models import Estimate
from trafficgen.processes.semi_markov.rate_levels import Levels, find_levels
from trafficgen.randomness import random_stream
from trafficgen.units import (
    FloatArray,
    IntArray,
    bps_from_bytes,
    bps_from_kbps,
    kbps_from_bytes,
    ns_from_s,
    s_from_ns,
)

#: Resamples behind the interval of the end of buffering.
_REPLICATES = 400
#: Resampled blocks have this power of the number of cycles, so that neighbours stay together.
_BLOCK_POWER = 1 / 3
#: Pauses of a player with short segments, s: they separate ON periods where longer ones do not.
_SHORTER_PAUSES_S = (0.5, 0.25)
#: An interval of the end of buffering that is this much wider than buffering is long is doubtful.
_WIDEST_INTERVAL = 2.0


@dataclass(frozen=True)
class Phases:
    """Phases of a session; times in s from its first media packet.

    Attributes:
        silence_s: From the session's first packet to its first media packet.
        buffering_end_s: End of buffering; None if the start is not faster than the rest.
        low_s: Lower end of the 95% interval of that end.
        end_s: Last media packet.
        buffering_kbps: Mean IP rate while buffering.
        playout_kbps: Mean IP rate from then to ``playout_end_s`` (of all, without buffering).
        side: Whether the packet at the end of buffering starts playout (``"left"``, as for
            `numpy.searchsorted`) or still belongs to buffering as a pause follows (``"right"``).
        stalls: Pauses out of the source's rhythm with the refill after them, in order of time.
        playout_end_s: Last packet before the stream runs out or strays; None for ``end_s``.
        anchor: Event of a player log that placed the end of buffering, or the option that set it;
            None for the packets.
        burst_p_value: Probability of such a start where the rate only wanders, if the test cannot
            separate the two and the start stands out; None where buffering is beyond doubt.
        player_stalls: Stalls that a player log reports; None without a log.
        falls_s: First packets after falls of the rate within buffering, ascending: the path gave
            less from then on, or the player had enough to begin with.
    """

    silence_s: float
    buffering_end_s: float | None
    low_s: float | None
    high_s: float | None
    end_s: float
    buffering_kbps: float | None
    playout_kbps: float
    side: Literal["left", "right"] = "left"
    stalls: tuple[Stall, ...] = ()
    playout_end_s: float | None = None
    anchor: Literal["buffer_full", "playback_start", "option"] | None = None
    burst_p_value: float | None = None
    player_stalls: tuple[Pause, ...] | None = None
    falls_s: tuple[float, ...] = ()

    @property
    def playout_start_s(self) -> float:
        """Start of playout."""
        return self.buffering_end_s or 0.0

    @property
    def playout_stop_s(self) -> float:
        """End of playout: where the stream runs out, or the last media packet."""
        return self.end_s if self.playout_end_s is None else self.playout_end_s

    @property
    def ratio(self) -> float | None:
        """Buffering rate / playout rate."""
        if self.buffering_kbps is None or self.playout_kbps <= 0:
            return None
        return self.buffering_kbps / self.playout_kbps

    @property
    def buffering_bytes_share(self) -> float:
        """Share of the bytes of buffering and playout that buffering carries."""
        fast = (self.buffering_kbps or 0.0) * self.playout_start_s
        slow = self.playout_kbps * (self.playout_stop_s - self.playout_start_s)
        return fast / (fast + slow) if fast > 0 else 0.0

    @property
    def is_download(self) -> bool:
        """Whether so little follows buffering that the session is a download that has ended."""
        return self.buffering_bytes_share >= SHARE_OF_DOWNLOAD

    @property
    def has_uncertain_end(self) -> bool:
        """Whether the interval of the end of buffering is far wider than buffering is long."""
        if self.low_s is None or self.high_s is None:
            return False
        return self.high_s - self.low_s > _WIDEST_INTERVAL * self.playout_start_s

    def describe_burst_doubt(self) -> str | None:
        """Say why the start-up burst or its end is doubtful, and what to do; None if neither is."""
        remedy = "[--buffering-end TIME] sets where it ends, 0s removes it"
        if self.burst_p_value is not None:
            return (
                f"start-up burst: {self.buffering_bytes_share:.0%} of the bytes come in the first"
                f" {format_duration(self.buffering_end_s)}, {number(self.ratio, digits=2)} times"
                " the later rate, but a test cannot separate this from the rate's own variation"
                f" (p = {self.burst_p_value:.2g}); the model keeps it: {remedy}"
            )
        if self.has_uncertain_end:
            ends = interval(self.low_s, self.high_s, format_duration)
            return (
                f"start-up burst: its end at {format_duration(self.buffering_end_s)} is hardly"
                f" known (95%: {ends}), so that the model may play too little of it: {remedy}"
            )
        return None


#: A playout carries more than the rest: players buffer some of a session ahead, not all of it.
SHARE_OF_DOWNLOAD = 0.99
PHASES_METHOD = (
    "likeliest change of the mean rate (Poisson likelihood of two rates at packet starts), tested"
    " against a rate that wanders (variance-time); interval by block bootstrap of whole cycles"
)


def find_phases(
    view: SessionView,
    *,
    tick_s: float,
    generator: np.random.Generator,
    keep_visible: bool = False,
    buffering_end_s: float | None = None,
) -> Phases:
    """Divide a session into silence, buffering, playout with its stalls, and end.

    Late strays and a last part that runs out are cut off first; then the start is tested for being
    faster than the rest (:mod:`~trafficgen.calibration.phases.buffering_end`) on whole cycles, so
    that an ON period alone is not a phase; stalls are searched for in the playout. The media may
    begin anywhere in the file, and all media flows of the session count together.

    With ``keep_visible`` a start that stands out is buffering although the test cannot separate it
    from a rate that wanders, unless media go both ways: nothing of a call can be sent ahead. A
    known ``buffering_end_s`` counts from the first media packet; it is
    0 for a session without buffering.

    Raises:
        CalibrationError: If buffering would end before the second media packet or after the last.
    """
    time_ns, zero_ns = view.media_time_ns, view.first_media_ns
    kept, cycles = _cut_end(time_ns, view.media_ip_bytes, tick_s=tick_s)
    kept_ns, kept_bytes = time_ns[:kept], view.media_ip_bytes[:kept]
    keep_visible = keep_visible and not _goes_both_ways(view)
    playout_end_s = s_from_ns(int(kept_ns[-1]) - zero_ns)
    if buffering_end_s is None:
        found = _find_buffering(
            kept_ns, kept_bytes, cycles, generator, tick_s=tick_s, keep_visible=keep_visible
        )
    else:
        found = _set_buffering(kept_ns, kept_bytes, buffering_end_s)
    start, start_s = (found.packets, found.end_s) if found else (0, 0.0)
    playout_ns, playout_bytes = kept_ns[start:], kept_bytes[start:]
    span_s = playout_end_s - start_s
    return Phases(
        silence_s=s_from_ns(zero_ns - int(view.table.time_ns[0])),
        buffering_end_s=found.end_s if found else None,
        low_s=found.low_s if found else None,
        high_s=found.high_s if found else None,
        end_s=s_from_ns(int(time_ns[-1]) - zero_ns),
        buffering_kbps=found.rate_kbps if found else None,
        playout_kbps=kbps_from_bytes(float(playout_bytes.sum()), span_s) if span_s > 0 else 0.0,
        side=found.side if found else "left",
        stalls=find_stalls(view, playout_ns, playout_bytes, zero_ns=zero_ns, tick_s=tick_s),
        playout_end_s=playout_end_s if kept < time_ns.size else None,
        anchor=None if buffering_end_s is None else "option",
        burst_p_value=found.p_value if found else None,
        falls_s=_find_falls(kept_ns[:start], kept_bytes[:start], tick_s=tick_s) if found else (),
    )


#: A session whose client sends this share of what it gets is a call: acknowledgements of QUIC and
#: RTCP take a twentieth.
_TWO_WAY_SHARE = 0.25


def _goes_both_ways(view: SessionView) -> bool:
    """Return whether the client sends media too."""
    payload_bytes = view.table.values("payload_bytes").astype(np.int64)
    sent = int(payload_bytes[~view.table.to_client].sum())
    return sent >= _TWO_WAY_SHARE * int(payload_bytes[view.media].sum())


def _find_falls(time_ns: IntArray, size_bytes: IntArray, *, tick_s: float) -> tuple[float, ...]:
    """Return when the rate falls for good within buffering, s from its first packet, ascending."""
    cycles = cut_into_cycles(time_ns, size_bytes, tick_s=tick_s)
    falls_ns: list[int] = []
    while change := count_buffering_cycles(cycles):
        at_ns = int(cycles.edge_ns[change])
        if not cycles.paused:
            at_ns = _refine_end_ns(time_ns, size_bytes, cycles, change)
        falls_ns.append(at_ns)
        cycles = cycles.keep_first(change)
    return tuple(s_from_ns(end_ns - int(time_ns[0])) for end_ns in reversed(falls_ns))


def _cut_end(time_ns: IntArray, size_bytes: IntArray, *, tick_s: float) -> tuple[int, Cycles]:
    """Return how many packets come before strays and a tail that runs out, and their cycles."""
    kept = count_regular_packets(time_ns)
    cycles = cut_into_cycles(time_ns[:kept], size_bytes[:kept], tick_s=tick_s)
    left = int(np.searchsorted(time_ns[:kept], cycles.edge_ns[-1]))
    left_s = s_from_ns(int(time_ns[kept - 1] - cycles.edge_ns[-1]))
    tail = find_tail(cycles, left_bytes=float(size_bytes[left:kept].sum()), left_s=left_s)
    if tail is None:
        return kept, cycles
    kept = int(np.searchsorted(time_ns, cycles.active_end_ns[tail - 1], side="right"))
    return kept, cycles.keep_first(tail)


@dataclass(frozen=True)
class _Buffering:
    """The end of buffering with its interval, s from the first media packet; packets; rate."""

    end_s: float
    packets: int
    rate_kbps: float
    low_s: float | None = None
    high_s: float | None = None
    p_value: float | None = None
    side: Literal["left", "right"] = "right"


def _set_buffering(time_ns: IntArray, size_bytes: IntArray, end_s: float) -> _Buffering | None:
    """Return buffering that ends at a given time, s; None for 0."""
    if end_s == 0:
        return None
    media_s = float(s_from_ns(int(time_ns[-1] - time_ns[0])))
    end_ns = time_ns[0] + ns_from_s(min(end_s, media_s))
    packets = int(np.searchsorted(time_ns, end_ns, side="right"))
    if not 1 < packets < time_ns.size:
        raise CalibrationError(
            f"[--buffering-end|buffering_end_s] is {format_duration(end_s)}, but the media"
            f" last {format_duration(media_s)}: give a time with packets before and after it, or 0s"
            " for no buffering"
        )
    return _Buffering(end_s, packets, kbps_from_bytes(float(size_bytes[:packets].sum()), end_s))


def _find_buffering(
    time_ns: IntArray,
    size_bytes: IntArray,
    cycles: Cycles,
    generator: np.random.Generator,
    *,
    tick_s: float,
    keep_visible: bool,
) -> _Buffering | None:
    """Return where buffering ends; None if the start is not faster than the rest."""
    change, p_value, end_ns = count_buffering_cycles(cycles), None, None
    for pause_s in _SHORTER_PAUSES_S:
        if change is not None or not is_paused(time_ns, pause_s=pause_s):
            continue
        shorter = cut_into_cycles(time_ns, size_bytes, tick_s=tick_s, pause_s=pause_s)
        if begins_with_long_fetch(shorter):
            change, cycles, end_ns = 1, shorter, int(shorter.active_end_ns[0])
            break
    if change is None and keep_visible and (visible := find_visible_burst(cycles)):
        levels = find_levels(time_ns, size_bytes, tick_s=tick_s)
        if levels is None or not _climbs(levels, before_ns=int(cycles.edge_ns[visible[0]])):
            change, p_value = visible
    if change is None:
        return None
    if end_ns is None:
        end_ns = _refine_end_ns(time_ns, size_bytes, cycles, change)
    side: Literal["left", "right"] = "right" if cycles.paused else "left"
    start = measure_fast_start(time_ns, size_bytes, end_ns, side=side)
    if start is None:
        return None
    packets, end_s, rate_kbps = start
    low_s, high_s = _estimate_interval(cycles, change, end_s, generator=generator)
    return _Buffering(end_s, packets, rate_kbps, low_s, high_s, p_value, side)


def _climbs(levels: Levels, *, before_ns: int) -> bool:
    """Return whether a source climbs to a higher level in its start: then that is not a burst."""
    begun = levels.level[levels.edge_ns[:-1] < before_ns]
    return bool((np.diff(begun) > 0).any())


def _refine_end_ns(time_ns: IntArray, size_bytes: IntArray, cycles: Cycles, change: int) -> int:
    """Return the burst, ns, where two rates are likeliest, or the last packet before a pause."""
    last = min(len(cycles), 2 * change + 20)
    total = np.cumsum(
        size_bytes[: int(np.searchsorted(time_ns, cycles.edge_ns[last]))], dtype=np.float64
    )
    margin = (1, 0) if cycles.paused else (2, 2)
    around = cycles.edge_ns[[max(0, change - margin[0]), min(len(cycles), change + margin[1])]]
    first, end = np.searchsorted(cycles.burst_rows, np.searchsorted(time_ns, around))
    starts = cycles.burst_rows[max(1, first) : max(first + 1, end + cycles.paused)]
    end_ns = time_ns[starts - 1] if cycles.paused else time_ns[starts]
    elapsed = np.maximum(end_ns - time_ns[0], 1).astype(np.float64)
    whole = float(cycles.edge_ns[last] - time_ns[0])
    likelihood = two_rate_log_likelihood(total[starts - 1], total[-1], elapsed, whole)
    return int(end_ns[int(np.argmax(likelihood))])


def _estimate_interval(
    cycles: Cycles, change: int, end_s: float, *, generator: np.random.Generator
) -> tuple[float, float]:
    """Return the 95% interval of the end of buffering by resampling blocks of cycles by phase.

    The change is not known better than to a cycle, or to half a pause: that is added on either
    side.
    """
    n = min(len(cycles), 2 * change + 20)
    duration_s, size_bytes = cycles.duration_s[:n], cycles.size_bytes[:n]
    first = _resample_rows(change, generator=generator)
    rest = change + _resample_rows(n - change, generator=generator)
    rows = np.concatenate((first, rest), axis=1)
    ends_s = np.cumsum(duration_s[rows], axis=1)
    total = np.cumsum(size_bytes[rows], axis=1)
    likelihood = two_rate_log_likelihood(
        total[:, :-1], total[:, -1:], ends_s[:, :-1], ends_s[:, -1:]
    )
    best = np.argmax(likelihood, axis=1)
    error_s = np.take_along_axis(ends_s, best[:, None], axis=1)[:, 0] - ends_s[:, change - 1]
    pause_s = s_from_ns(int(cycles.edge_ns[change] - cycles.active_end_ns[change - 1]))
    margin_s = (
        pause_s / 2
        if cycles.paused
        else float(max(duration_s[change - 1], duration_s[min(change, n - 1)]))
    )
    below, above = (float(value) for value in np.quantile(error_s, [0.025, 0.975]))
    return max(0.0, end_s + min(below, 0.0) - margin_s), end_s + max(above, 0.0) + margin_s


def _resample_rows(count: int, *, generator: np.random.Generator) -> IntArray:
    """Return rows of a circular block bootstrap (Politis and Romano 1992), shape (r, count)."""
    block = max(1, round(count**_BLOCK_POWER))
    starts = generator.integers(0, count, (_REPLICATES, -(-count // block)))
    rows = (starts[:, :, None] + np.arange(block)) % count
    return np.asarray(rows.reshape(_REPLICATES, -1)[:, :count], dtype=np.int64)


class StrayLimits:
    """When packets after the last long pause are stray."""

    #: The pause is this long, s: shorter ones occur in playouts,
    shortest_pause_s: float = 10.0
    #: and this many times the next longest.
    pause_ratio: float = 3.0
    #: At most this share of the packets follows it,
    largest_share: float = 0.005
    #: or this many: a connection closes with a few.
    few_packets: int = 3


_LIMITS = StrayLimits()


def count_regular_packets(time_ns: IntArray) -> int:
    """Return how many packets come before a few that follow a pause far longer than any other.

    A connection kept alive or closed minutes after the media would otherwise stretch the playout.
    Times ascend, shape (n,).
    """
    kept = int(time_ns.size)
    while kept > _LIMITS.few_packets + 1:
        gap_s = gaps_s(time_ns[:kept])
        longest = int(np.argmax(gap_s))
        after = kept - longest - 1
        next_s = max(float(one.max(initial=0)) for one in (gap_s[:longest], gap_s[longest + 1 :]))
        least_s = max(_LIMITS.shortest_pause_s, _LIMITS.pause_ratio * next_s)
        most = max(_LIMITS.few_packets, _LIMITS.largest_share * kept)
        if gap_s[longest] < least_s or after > most:
            break
        kept = longest + 1
    return kept


class RateLimits:
    """Bins whose bytes are resampled for the interval of a mean rate."""

    #: More bins are so short that chance in their packets hides for how long the rate wanders, and
    #: blocks of them are too short: intervals of switching rates would be too narrow.
    most_bins: int = 120
    #: Fewer bins leave too few blocks for an interval.
    fewest_bins: int = 20
    #: Packets of a bin on average, so that few bins are empty.
    packets_per_bin: int = 5


_RATE_LIMITS = RateLimits()
RATE_METHOD = (
    "IP bytes / duration; interval by moving-block bootstrap of the bytes in successive bins"
)


def estimate_phase_rates(
    view: SessionView, phases: Phases, *, seed: int
) -> tuple[Estimate | None, Estimate]:
    """Return the mean rates of buffering, if any, and playout with 95% intervals, bit/s."""
    time_ns, change, change_ns = view.media_time_ns, 0, view.first_media_ns
    if phases.buffering_end_s is not None:
        change_ns += ns_from_s(phases.playout_start_s)
        change = int(np.searchsorted(time_ns, change_ns, side=phases.side))

    def estimate(name: str, rows: slice, start_ns: int, stop_ns: int, rate_kbps: float) -> Estimate:
        generator = random_stream(seed, session=view.session, purpose=f"fit/rate/{name}")
        value, size_bytes = bps_from_kbps(rate_kbps), view.media_ip_bytes[rows]
        ends = _find_interval_bps(time_ns[rows], size_bytes, start_ns, stop_ns, generator)
        if ends is None:
            return Estimate(value=value, method="IP bytes / duration")
        low, high = min(max(0.0, ends[0]), value), max(ends[1], value)
        return Estimate(value=value, low=low, high=high, method=RATE_METHOD)

    end_ns = int(time_ns[-1])
    playout = estimate("playout", slice(change, None), change_ns, end_ns, phases.playout_kbps)
    if phases.buffering_kbps is None:
        return None, playout
    start_ns, rate_kbps = int(time_ns[0]), phases.buffering_kbps
    return estimate("buffering", slice(0, change), start_ns, change_ns, rate_kbps), playout


def _find_interval_bps(
    time_ns: IntArray,
    size_bytes: IntArray,
    start_ns: int,
    stop_ns: int,
    generator: np.random.Generator,
) -> tuple[float, float] | None:
    """Return the interval of a mean rate from the bytes in bins; None for too few packets."""
    bins = min(_RATE_LIMITS.most_bins, time_ns.size // _RATE_LIMITS.packets_per_bin)
    if bins < _RATE_LIMITS.fewest_bins or stop_ns <= start_ns:
        return None
    place = np.clip((time_ns - start_ns) * (bins / (stop_ns - start_ns)), 0, bins - 1)
    per_bin: FloatArray = np.bincount(place.astype(np.int64), size_bytes, bins).astype(np.float64)
    bin_s = s_from_ns(stop_ns - start_ns) / bins
    found = mean_with_interval(per_bin, generator)
    if found.low is None or found.high is None:
        return None
    return bps_from_bytes(found.low, bin_s), bps_from_bytes(found.high, bin_s)
