"""Times of packets in bursts: bursts start one spacing apart, packets follow at the gaps within."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from trafficgen import _core
from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError
from trafficgen.processes.autocorrelated_series import draw_correlated_scores, normal_scores
from trafficgen.processes.base import (
    BLOCK,
    DrawnPart,
    GeneratorOf,
    PlayableProcess,
    PlayedPackets,
    Span,
    UintArray,
    draw_sizes,
    plays,
)
from trafficgen.processes.bursts.model import BurstDependence, BurstProcess
from trafficgen.processes.renewal.sample import (
    draw_spread,
    is_spread,
    nonnegative,
    positive_mean_s,
    renewal_times,
)
from trafficgen.processes.trains.sample import TrainOrder
from trafficgen.units import FloatArray, IntArray

#: A pause is longer than the threshold by at least the resolution of the packet table.
_SHORTEST_EXCESS_S = 1e-9
#: Bursts in a given order wait for one another where that lengthens the phase by up to this share.
_WAITING_SHARE = 0.01
#: Phases of up to this many bursts have whole ones only, unless their spacings add up to less than
#: this share of the phase, or to as much more.
_FEW_BURSTS, _LEAST_SHARE = 64, 0.75
#: An expected number of bursts is whole when it is off by less.
_WHOLE = 1e-3
#: Bursts that wait for one another are drawn for a phase that is longer by this share, and cut.
_MORE = 0.05
#: Share of its spacing that a squeezed burst may fill where that is hardly above the threshold.
_FILLED_SHARE = 0.5


@plays(BurstDependence)
@dataclass(frozen=True, kw_only=True)
class DependenceOfBursts(DrawnPart):
    """Laws of a :class:`~trafficgen.models.BurstDependence`; meanings and units as there."""

    packets_autocorrelation: tuple[float, ...]
    spacing_autocorrelation: tuple[float, ...]
    packets_to_spacing: float
    gap_correlation: float
    packets_to_gap: float

    def arrange(
        self, packets: FloatArray, spacing_s: FloatArray, generator_of: GeneratorOf
    ) -> tuple[FloatArray, FloatArray]:
        """Order packets and spacings so that they depend on one another.

        Ranks follow a Gaussian copula: normal scores with the autocorrelations and correlations of
        the model (Iman and Conover 1982), so that every quantity keeps its own law. Both have the
        shape (b,) and come in any order.
        """
        scores, own = (
            draw_correlated_scores(
                np.array(correlation), packets.size, generator_of(f"order of {name}")
            )
            for name, correlation in (
                ("burst_packets", self.packets_autocorrelation),
                ("spacing_s", self.spacing_autocorrelation),
            )
        )
        spacing_scores = _correlate(scores, self.packets_to_spacing, own)
        return _core.order_by_scores(scores, packets), _core.order_by_scores(
            spacing_scores, spacing_s
        )

    def arrange_gaps(
        self, gaps_s: FloatArray, counts: IntArray, generator: np.random.Generator
    ) -> FloatArray:
        """Order gaps so that those of one burst resemble one another.

        There is a gap for each packet, in any order; ``counts`` are the packets of the bursts.
        """
        if self.gap_correlation == 0.0:
            return gaps_s
        sizes = rank_scores(counts.astype(np.float64))
        of_burst = _correlate(sizes, self.packets_to_gap, generator.standard_normal(counts.size))
        own = generator.standard_normal(gaps_s.size)
        share = math.sqrt(_pearson(self.gap_correlation))
        scores = share * np.repeat(of_burst, counts) + math.sqrt(1 - share**2) * own
        return _core.order_by_scores(scores, gaps_s)


@plays(BurstProcess)
@dataclass(frozen=True, kw_only=True)
class BurstLaws(PlayableProcess):
    """Laws of a :class:`~trafficgen.models.BurstProcess`; meanings and units as there."""

    threshold_s: float
    spacing_s: MixedLaw
    burst_packets: MixedLaw
    gap_within_s: MixedLaw | None
    packet_bytes: MixedLaw
    last_packet_bytes: MixedLaw
    pause_s: MixedLaw | None = None
    largest_first: bool = False
    dependence: DependenceOfBursts | None = None
    order: TrainOrder | None = None
    trains: TrainOrder | None = None

    def play(self, span: Span, generator_of: GeneratorOf) -> PlayedPackets:
        """Return the packets in a span."""
        time_s, first_rows, sizes = draw_packets(self, span, generator_of)
        # A burst that crosses the end of the phase is cut.
        within = int(np.searchsorted(time_s, span.end_s))
        return PlayedPackets(time_s[:within], sizes[:within], first_rows[first_rows < within])

    def expected_packets(self, span_s: float, *, place: str) -> float:
        """Return about how many packets a span has."""
        bursts = span_s / positive_mean_s(self.spacing_s, "spacing_s", place=place) + 1
        mean = self.burst_packets.mean
        if not math.isfinite(mean):
            raise GenerationError(
                f"burst_packets in {place} has no finite mean; give the law a maximum"
            )
        return bursts * max(1.0, mean)

    def size_laws(self) -> dict[str, MixedLaw]:
        """Return the laws of packet sizes by name of the field."""
        return {"packet_bytes": self.packet_bytes, "last_packet_bytes": self.last_packet_bytes}

    @property
    def mean_need_s(self) -> float:
        """Mean length of a burst and the shortest pause after it, s."""
        gap_s = 0.0 if self.gap_within_s is None else self.gap_within_s.mean
        return (self.burst_packets.mean - 1) * gap_s + self.threshold_s


def draw_packets(
    laws: BurstLaws, span: Span, generator_of: GeneratorOf
) -> tuple[FloatArray, IntArray, UintArray]:
    """Draw times, s, and sizes of the packets of a phase; the last burst may pass its end.

    Spacings, packets and gaps are drawn apart, each from its own law. A burst needs a spacing
    longer than itself: where chance would have one reach into the next, spacings are dealt anew to
    all bursts, at random among those that are long enough. So the three laws, and with them the
    rate, stay as the model has them; only where no spacing is long enough, the next burst waits.
    Laws that leave no room even on average cannot all be kept: then bursts are squeezed, and
    spacing, packets and rate stay. Where the model has a law of pauses, a burst begins a pause
    after the one before instead.

    The rate of a phase is a fact of the session that was fitted, and a few heavy bursts decide it:
    so spacings and packets are spread evenly over their laws where a phase has few bursts, and the
    rate hardly varies with the seed.

    Returns:
        Times, s, ascending, shape (n,), the index of the first packet of each burst, shape (m,),
        and sizes, bytes, shape (n,).
    """
    largest_first = laws.largest_first and not span.continues
    points_s = _few_points_s(laws.spacing_s, span, generator_of("spacing_s"))
    few = points_s is not None
    if points_s is None:
        # Where bursts wait for one another, their number is not known beforehand.
        more_s = 0.0 if laws.pause_s is None else _MORE * span.length_s
        drawn = replace(span, end_s=span.end_s + more_s)
        points_s = renewal_times(
            laws.spacing_s, drawn, generator_of("spacing_s"), spread=True, whole=largest_first
        )
    spacing_s, start_s = np.diff(points_s), float(points_s[0])
    law, generator = laws.burst_packets, generator_of("burst_packets")
    if is_spread(law, spacing_s.size):
        draws = {} if few or largest_first else {"draws": 1}
        packets = draw_spread(law, spacing_s.size, generator, **draws)
    else:
        packets = law.sample(generator, spacing_s.size)
    apart_s, places = _draw_pauses(laws.pause_s, spacing_s, generator_of), None
    if laws.order is not None:
        packets, apart_s, places = laws.order.arrange_bursts(
            packets, apart_s, generator_of("order of bursts"), begins=not span.continues
        )
    elif laws.dependence is not None:
        packets, apart_s = laws.dependence.arrange(packets, apart_s, generator_of)
    counts = np.maximum(np.rint(packets), 1).astype(np.int64)
    first_rows = np.cumsum(counts) - counts
    sizes = draw_sizes(laws.packet_bytes, int(counts.sum()), generator_of("packet_bytes"))
    offsets_s, sizes = _draw_offsets(laws, counts, first_rows, sizes, generator_of, places=places)
    needed_s = offsets_s[first_rows + counts - 1] + laws.threshold_s
    if laws.pause_s is not None:
        spacing_s = needed_s + np.maximum(apart_s - laws.threshold_s, _SHORTEST_EXCESS_S)
        squeezed = None
    else:
        spacing_s, squeezed = _keep_apart(laws, apart_s, needed_s, generator_of)
    if squeezed is not None:
        offsets_s *= np.repeat(squeezed, counts)
    turn = int(counts.argmax()) if largest_first and counts.size else 0
    if turn:
        packet = int(first_rows[turn])
        offsets_s, sizes = np.roll(offsets_s, -packet), np.roll(sizes, -packet)
        counts, spacing_s = np.roll(counts, -turn), np.roll(spacing_s, -turn)
        first_rows = np.cumsum(counts) - counts
    times_s = _add_to_bursts(offsets_s, start_s + np.cumsum(spacing_s) - spacing_s, counts)
    if few and times_s.size:
        # The last burst is whole, as far as there is time before the first one.
        beyond_s = max(0.0, float(times_s[-1]) + _SHORTEST_EXCESS_S - span.end_s)
        times_s -= min(beyond_s, max(0.0, float(times_s[0]) - span.start_s))
    return times_s, first_rows, sizes


def has_few_bursts(law: MixedLaw, length_s: float) -> bool:
    """Return whether a phase has so few spacings of a law that they are made to fill it."""
    expected = length_s / law.mean if law.mean > 0 else math.inf
    if not 1 < expected <= _FEW_BURSTS or law.support[0] < 0:
        return False
    return is_spread(law, math.floor(expected + _WHOLE))


def _few_points_s(law: MixedLaw, span: Span, generator: np.random.Generator) -> FloatArray | None:
    """Draw the starts of a few bursts that fill a phase; None where they are many, or too few.

    A phase of few bursts ends as it did in the capture, after a whole one: their spacings are
    spread over the law and add up to the phase. Cut anywhere, the last burst would take up to its
    packets from every session. After another phase it begins anywhere in a spacing.

    Returns:
        Starts, s, ascending, shape (m + 1,), the last of them the end of the last spacing.
    """
    if not has_few_bursts(law, span.length_s):
        return None
    expected = span.length_s / law.mean
    count = round(expected)
    if abs(expected - count) > _WHOLE:
        count = math.floor(expected + generator.random())
    spacing_s = draw_spread(law, count, generator)
    total_s = float(spacing_s.sum())
    if not _LEAST_SHARE * span.length_s < total_s < span.length_s / _LEAST_SHARE:
        return None
    spacing_s *= span.length_s / total_s
    lead_s = 0.0 if span.first_at_start else generator.random() * float(spacing_s[-1])
    return np.concatenate(([0.0], np.cumsum(spacing_s))) + span.start_s + lead_s


def _draw_pauses(
    law: MixedLaw | None, spacing_s: FloatArray, generator_of: GeneratorOf
) -> FloatArray:
    """Draw a pause after each burst, shape (m,); spacings are returned without a law of pauses."""
    if law is None:
        return spacing_s
    generator, count = generator_of("pause_s"), spacing_s.size
    return (
        draw_spread(law, count, generator)
        if is_spread(law, count)
        else law.sample(generator, count)
    )


def _keep_apart(
    laws: BurstLaws, spacing_s: FloatArray, needed_s: FloatArray, generator_of: GeneratorOf
) -> tuple[FloatArray, FloatArray | None]:
    """Return spacings in which no burst reaches the next, and how bursts are squeezed without room.

    ``needed_s`` is the spacing that each burst needs; the second result is the factor of its gaps,
    None where bursts keep theirs.
    """
    if not np.any(needed_s >= spacing_s):
        return spacing_s, None
    short_s = float(np.maximum(needed_s - spacing_s, 0.0).sum())
    ordered = laws.dependence is not None or laws.order is not None
    waits = ordered and short_s <= _WAITING_SHARE * float(spacing_s.sum())
    if not waits:
        numbers = generator_of("dealt spacing_s").random(spacing_s.size)
        spacing_s = _core.deal_spacings(spacing_s, needed_s, numbers)
    if waits or laws.mean_need_s < laws.spacing_s.mean:
        return np.maximum(spacing_s, needed_s + _SHORTEST_EXCESS_S), None
    length_s = needed_s - laws.threshold_s
    available_s = np.maximum(spacing_s - laws.threshold_s, _FILLED_SHARE * spacing_s)
    return spacing_s, np.minimum(1.0, available_s / np.maximum(length_s, available_s))


def _draw_offsets(
    laws: BurstLaws,
    counts: IntArray,
    first_rows: IntArray,
    sizes: UintArray,
    generator_of: GeneratorOf,
    *,
    places: FloatArray | None,
) -> tuple[FloatArray, UintArray]:
    """Draw the time of each packet after the start of its burst, s, and order the sizes.

    ``places`` in stored time, from 0 to 1, are those of the bursts, None where they are any.
    """
    total, last = sizes.size, first_rows + counts - 1
    last_sizes = draw_sizes(laws.last_packet_bytes, last.size, generator_of("last_packet_bytes"))
    if laws.trains is None or laws.gap_within_s is None:
        sizes[last] = last_sizes
    if laws.gap_within_s is None:
        return np.zeros(total), sizes
    law, generator = laws.gap_within_s, generator_of("gap_within_s")
    gaps_s = np.empty(total)
    for row in range(0, total, BLOCK):
        gaps_s[row : row + BLOCK] = nonnegative(law.sample(generator, min(BLOCK, total - row)), law)
    if laws.trains is not None:
        gaps_s, sizes = laws.trains.arrange(
            gaps_s,
            sizes,
            generator_of("order of trains"),
            counts=counts,
            last_sizes=last_sizes,
            places=places,
        )
    elif laws.dependence is not None:
        gaps_s = laws.dependence.arrange_gaps(gaps_s, counts, generator_of("order of gap_within_s"))
    gaps_s[first_rows] = 0.0
    offsets_s = np.cumsum(gaps_s, out=gaps_s)
    return _add_to_bursts(offsets_s, -offsets_s[first_rows], counts), sizes


def _add_to_bursts(values: FloatArray, of_burst: FloatArray, counts: IntArray) -> FloatArray:
    """Add a number of each burst, shape (m,), to its packets' values, shape (n,), in place."""
    rows = np.concatenate(([0], np.cumsum(counts)))
    for burst in range(0, counts.size, BLOCK):
        some = slice(burst, burst + BLOCK)
        stop = min(burst + BLOCK, counts.size)
        values[rows[burst] : rows[stop]] += np.repeat(of_burst[some], counts[some])
    return values


def _correlate(scores: FloatArray, rank_correlation: float, own: FloatArray) -> FloatArray:
    """Return normal scores whose ranks have a given correlation with those of others."""
    correlation = _pearson(rank_correlation)
    return correlation * scores + math.sqrt(max(0.0, 1 - correlation**2)) * own


def _pearson(rank_correlation: float) -> float:
    """Return the correlation of normal scores with this rank correlation (Pearson 1907)."""
    return 2 * math.sin(math.pi * rank_correlation / 6)


def rank_scores(values: FloatArray) -> FloatArray:
    """Return the normal scores of the ranks of a sample, shape (n,); ties keep their order."""
    return _core.order_by_scores(values, normal_scores(values.size))
