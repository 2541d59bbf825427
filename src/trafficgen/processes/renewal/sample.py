"""Renewal processes: independent gaps between packets, or between bursts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError
from trafficgen.processes.base import (
    BLOCK,
    GeneratorOf,
    PlayableProcess,
    PlayedPackets,
    Span,
    draw_sizes,
    plays,
    refuse_lost_steps,
)
from trafficgen.processes.renewal.model import RenewalProcess
from trafficgen.processes.trains.sample import TrainOrder
from trafficgen.units import FloatArray

_RESIDUAL_DRAWS = 512
#: Draws are spread evenly over a law where chance would move their sum by more than this share, and
#: they are not more.
_MOVED_SHARE = 0.01
_LARGEST_SPREAD = 1 << 20
#: Draws of which the best is taken where one value may be much of the sum.
_DRAWS = 8
#: Gaps with this coefficient of variation are spread in any process.
_HEAVY_VARIATION = 2.0
#: A clock may be faster than the gaps that are drawn: this share more of them is drawn.
_MORE = 0.02


@plays(RenewalProcess)
@dataclass(frozen=True, kw_only=True)
class RenewalLaws(PlayableProcess):
    """Laws of a :class:`~trafficgen.models.RenewalProcess`; meanings and units as there."""

    gap_s: MixedLaw
    packet_bytes: MixedLaw
    trains: TrainOrder | None = None

    def play(self, span: Span, generator_of: GeneratorOf) -> PlayedPackets:
        """Return the packets in a span."""
        clock = None if self.trains is None else self.trains.clock
        drawn = span if clock is None else replace(span, end_s=span.end_s + _MORE * span.length_s)
        time_s = renewal_times(self.gap_s, drawn, generator_of("gap_s"))[:-1]
        sizes = draw_sizes(self.packet_bytes, time_s.size, generator_of("packet_bytes"))
        if self.trains is not None and time_s.size > 1:
            # The first gap is that before the second packet: the first one's is any.
            first_s = time_s[0]
            gaps_s = np.diff(time_s, prepend=first_s)
            del time_s  # as long as the session
            gaps_s[1:], sizes[1:] = self.trains.arrange(
                gaps_s[1:],
                sizes[1:],
                generator_of("order of trains"),
                begins=span.first_at_start and not span.continues,
            )
            if clock is not None:
                gaps_s[1:] = clock.keep(gaps_s[1:])
            time_s = np.cumsum(gaps_s, out=gaps_s)
            time_s += first_s
            if clock is not None:
                within = int(np.searchsorted(time_s, span.end_s))
                time_s, sizes = time_s[:within], sizes[:within]
        return PlayedPackets(time_s, sizes)

    def expected_packets(self, span_s: float, *, place: str) -> float:
        """Return about how many packets a span has."""
        return span_s / positive_mean_s(self.gap_s, "gap_s", place=place) + 1


def positive_mean_s(law: MixedLaw, name: str, *, place: str) -> float:
    """Return the mean of a law of time; raise GenerationError if it is not positive."""
    mean_s = law.mean
    if not mean_s > 0:
        raise GenerationError(
            f"{name} in {place} is {mean_s:g} s on average; correct {name} to be above 0"
        )
    return mean_s


def renewal_times(
    law: MixedLaw,
    span: Span,
    generator: np.random.Generator,
    *,
    spread: bool = False,
    whole: bool = False,
) -> FloatArray:
    """Draw the points of a renewal process in a span, and the first point beyond.

    A process that begins in the middle of a session is in equilibrium: its first point comes after
    a residual of a gap that is met with probability in proportion to its length (Cox, "Renewal
    Theory", 1962, chapter 5), so the mean number of points is the length over the mean gap,
    whatever the law. With a point at the start as well, gaps more variable than exponential are
    continued in equilibrium, else in ordinary renewal, which keeps the mean number within one of
    the length over the mean gap and does not break a regular rhythm. With ``spread`` gaps are
    spread evenly over their law where :func:`is_spread`, so that their number hardly varies. Gaps
    far more variable than exponential ones always are: a few pauses decide over the rate. With
    ``whole`` the process begins with a whole gap, as the session did that was fitted.

    Returns:
        Times, s, ascending, shape (n + 1,): n points before the end and one at or after it.

    Raises:
        GenerationError: If the gaps are not positive on average, or too short for times so late.
    """
    mean_s, end_s = law.mean, span.end_s
    if not mean_s > 0:
        raise GenerationError(
            f"gaps of {mean_s:g} s on average do not move on; correct gap_s or spacing_s of the"
            " model to be above 0"
        )
    refuse_lost_steps(mean_s, end_s, "gaps")
    clustered = law.variance > mean_s * mean_s and not whole
    now_s = span.start_s
    if clustered or not span.first_at_start:
        now_s = span.start_s + _draw_residual(law, generator)
    first_s = [span.start_s, now_s] if span.first_at_start and clustered else [now_s]
    blocks = [np.array(first_s)]
    expected = round((end_s - now_s) / mean_s)
    heavy = law.variance > _HEAVY_VARIATION**2 * mean_s * mean_s
    if (spread or heavy) and law.support[0] >= 0 and is_spread(law, expected):
        draws_s = draw_spread(law, expected, generator, draws=_DRAWS if whole else 1)
        blocks.append(now_s + np.cumsum(draws_s))
        now_s = float(blocks[-1][-1])
    while now_s < end_s:
        times = nonnegative(law.sample(generator, _block_size(law, end_s - now_s)), law)
        times[0] += now_s
        np.cumsum(times, out=times)
        now_s = float(times[-1])
        blocks.append(times)
    times = np.concatenate(blocks)
    return times[: int(np.searchsorted(times, end_s)) + 1]


def is_spread(law: MixedLaw, count: int) -> bool:
    """Return whether this many draws are spread over the law, as chance would move their sum."""
    smallest = _MOVED_SHARE * law.mean
    moved = not law.variance <= smallest * smallest * count
    return moved and 1 < count <= _LARGEST_SPREAD


def draw_spread(
    law: MixedLaw, count: int, generator: np.random.Generator, *, draws: int = _DRAWS
) -> FloatArray:
    """Draw values spread over a law, shape (count,), of several draws those nearest to its mean.

    A single value may be much of a small sum.
    """
    found = [law.spread_sample(generator, count) for _ in range(draws)]
    return min(found, key=lambda values: abs(float(values.sum()) - count * law.mean))


def _block_size(law: MixedLaw, span_s: float) -> int:
    """Return how many gaps probably cover a span: the mean number and four standard deviations."""
    count = span_s / law.mean
    deviation = math.sqrt(law.variance) / law.mean if math.isfinite(law.variance) else 1.0
    return int(min(BLOCK, count + 4 * deviation * math.sqrt(count) + 16))


def _draw_residual(law: MixedLaw, generator: np.random.Generator) -> float:
    """Draw the time from a random moment to the next point."""
    ends_s = np.cumsum(nonnegative(law.sample(generator, _RESIDUAL_DRAWS), law))
    moment_s = generator.random() * ends_s[-1]
    return float(ends_s[np.searchsorted(ends_s, moment_s)] - moment_s)


def nonnegative(gaps_s: FloatArray, law: MixedLaw) -> FloatArray:
    """Return gaps without negative ones, which a law with a negative ``loc`` can give."""
    return gaps_s if law.support[0] >= 0 else np.maximum(gaps_s, 0.0)
