"""What the phases of a model play, and the closest law that a tool draws itself.

A tool knows a handful of families. Each is given the mean and the variance of what the model plays
(the method of moments), and the one with the smallest Kolmogorov-Smirnov distance is taken; so the
mean rate stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammaln

from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.distributions.two_samples import ks_distance
from trafficgen.errors import ExportError, GenerationError
from trafficgen.export.settings import Setting, Settings
from trafficgen.formatting import format_count
from trafficgen.models import Model, Phase, Stream
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.processes.base import PlayedPackets, Span, playable
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, IntArray

_PACKETS = 20_000
_FEWEST_PACKETS = 3


@dataclass(frozen=True)
class PlayedPhase:
    """A phase of a stream and a long sample of it.

    Attributes:
        name: Both names, for files: ``video-playout``.
        gap_s: Gaps between successive packets, s, shape (n - 1,).
        payload_bytes: Transport payloads, shape (n,).
        burst_packets: Packets of each whole burst, shape (b,); empty without any of
            several.
        pause_s: From the last packet of each of them to the next burst, s, shape (b,).
        within_s: Gaps within bursts, s.
    """

    stream: Stream
    phase: Phase
    name: str
    gap_s: FloatArray
    payload_bytes: IntArray
    burst_packets: IntArray
    pause_s: FloatArray
    within_s: FloatArray


def play_phases(model: Model, *, target: str) -> Iterator[PlayedPhase]:
    """Yield the phases of all streams, in order; raise ExportError if one plays too little."""
    taken: dict[str, int] = {}
    for stream in model.streams:
        for phase in stream.phases:
            name = f"{_for_files(stream.name)}-{phase.name}"
            taken[name] = taken.get(name, 0) + 1
            numbered = name if taken[name] == 1 else f"{name}-{taken[name]}"
            yield _played(stream, phase, numbered, target=target)


def play_phase(
    phase: Phase, place: str, *, packets: int, over_s: float, purpose: str, target: str
) -> PlayedPackets:
    """Play a phase for about so many packets.

    Args:
        phase: The phase.
        place: Its name in messages.
        packets: How many to play, about.
        over_s: Time in which its packets are counted to find how long they take, s.
        purpose: Of the random numbers.
        target: What is exported for, in messages.

    Raises:
        ExportError: If it cannot be played, or plays too little for a law.
    """
    try:
        process = playable(phase.process)
        expected = max(1.0, process.expected_packets(over_s, place=place))
        played = process.play(
            Span(0.0, over_s * packets / expected),
            lambda quantity: random_stream(0, session=0, purpose=f"{purpose}/{quantity}"),
        )
    except (GenerationError, ValueError) as error:
        raise ExportError(f"{target}: {place} cannot be played ({error})") from error
    if played.time_s.size < _FEWEST_PACKETS:
        raise ExportError(
            f"{target}: {place} plays {format_count(played.time_s.size, 'packet')}, too few for a"
            " law; export packets instead"
        )
    return played


def _played(stream: Stream, phase: Phase, name: str, *, target: str) -> PlayedPhase:
    played = play_phase(
        phase,
        name,
        packets=_PACKETS,
        over_s=phase.duration_s,
        purpose=f"export/{name}",
        target=target,
    )
    gap_s = np.diff(played.time_s)
    if not gap_s.any():
        raise ExportError(
            f"{target}: all packets of {name} come at once, which is not a law; export packets"
            " instead"
        )
    starts = played.burst_starts if played.burst_starts is not None else np.empty(0, dtype=np.int64)
    packets = np.diff(starts)
    is_within = np.ones(gap_s.size, dtype=np.bool_)
    is_within[starts[1:] - 1] = False
    return PlayedPhase(
        stream=stream,
        phase=phase,
        name=name,
        gap_s=gap_s,
        payload_bytes=np.maximum(
            played.ip_bytes.astype(np.int64) - stream.transport.header_bytes, 0
        ),
        burst_packets=(
            packets if packets.size and packets.max() > 1 else np.empty(0, dtype=np.int64)
        ),
        pause_s=gap_s[starts[1:] - 1],
        within_s=gap_s[is_within],
    )


def _for_files(name: str) -> str:
    return "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name)


DrawnFamily = Literal["constant", "uniform", "expon", "norm", "gamma", "weibull", "pareto"]
#: Values drawn to measure how far a law is.
_DRAWS = 100_000
#: Shapes of Weibull laws that are looked at; beyond, another family is as close.
_LEAST_SHAPE, _MOST_SHAPE = 0.1, 100.0
#: Below this coefficient of variation a sample is a constant.
_CONSTANT_VARIATION = 1e-9


@dataclass(frozen=True)
class DrawnLaw:
    """A law as tools take it.

    Attributes:
        params: value; low and high; mean; mean and standard deviation; or shape and scale. In the
            sample's unit.
    """

    family: DrawnFamily
    params: tuple[float, ...]

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        first, last = self.params[0], self.params[-1]
        match self.family:
            case "constant":
                draws = np.full(count, first)
            case "uniform":
                draws = generator.uniform(first, last, count)
            case "expon":
                draws = generator.exponential(first, count)
            case "norm":
                draws = generator.normal(first, last, count)
            case "gamma":
                draws = generator.gamma(first, last, count)
            case "weibull":
                draws = last * generator.weibull(first, count)
            case "pareto":
                draws = last * (1.0 + generator.pareto(first, count))
        return np.asarray(draws, dtype=np.float64)


@dataclass(frozen=True)
class Closest:
    """The law that comes closest, its KS distance as the tool draws it, and such draws."""

    law: DrawnLaw
    ks: float
    drawn: FloatArray


def closest_law(
    sample: FloatArray,
    families: Sequence[DrawnFamily],
    *,
    as_sent: Callable[[FloatArray], FloatArray],
) -> Closest:
    """Return the closest law to a sample of those with its mean and variance, the simplest first.

    The sample, shape (n,), n >= 1, is what the model plays; ``as_sent`` does to a draw what the
    tool does, such as cutting it to whole bytes.
    """
    found = []
    for law in _with_moments(sample, families):
        drawn = as_sent(
            law.sample(random_stream(0, session=0, purpose=f"export/{law.family}"), _DRAWS)
        )
        found.append(Closest(law, ks_distance(sample, drawn), drawn))
    noise = KOLMOGOROV_95 / math.sqrt(sample.size)
    limit = noise + min(one.ks for one in found)
    return next(one for one in found if one.ks <= limit)


def _with_moments(sample: FloatArray, families: Sequence[DrawnFamily]) -> list[DrawnLaw]:
    mean, deviation = float(sample.mean()), float(sample.std())
    values, counts = np.unique(sample, return_counts=True)
    laws = [DrawnLaw("constant", (mean,)), DrawnLaw("constant", (float(values[counts.argmax()]),))]
    if mean <= 0 or deviation <= _CONSTANT_VARIATION * mean:
        return laws
    variation = deviation / mean
    half = math.sqrt(3.0) * deviation
    if half < mean:
        laws.append(DrawnLaw("uniform", (mean - half, mean + half)))
    laws.append(DrawnLaw("expon", (mean,)))
    laws.append(DrawnLaw("norm", (mean, deviation)))
    laws.append(DrawnLaw("gamma", (1 / variation**2, mean * variation**2)))
    if (shape := weibull_shape(variation**2)) is not None:
        laws.append(DrawnLaw("weibull", (shape, mean / math.exp(float(gammaln(1 + 1 / shape))))))
    shape = 1 + math.sqrt(1 + 1 / variation**2)
    laws.append(DrawnLaw("pareto", (shape, mean * (shape - 1) / shape)))
    return [law for law in laws if law.family in families]


def weibull_shape(spread: float) -> float | None:
    """Return the shape of a Weibull law by its variance / squared mean; None if out of reach."""

    def excess(shape: float) -> float:
        return float(gammaln(1 + 2 / shape) - 2 * gammaln(1 + 1 / shape)) - math.log1p(spread)

    if excess(_LEAST_SHAPE) * excess(_MOST_SHAPE) > 0:
        return None
    from scipy import optimize  # noqa: PLC0415 - 0.3 s, which writers of files do without

    return float(optimize.brentq(excess, _LEAST_SHAPE, _MOST_SHAPE))


LAW_SETTINGS = (
    Setting("largest_ks", 0.2, "Of a model: distance above which a law is refused.", low=0, high=1),
    Setting("approximate", False, "Of a model: hand over laws that are farther, too."),
)


def refuse_far(distances: Mapping[str, float], settings: Settings, *, target: str) -> None:
    """Refuse laws farther from the model's than ``largest_ks``, unless ``approximate`` is on.

    Raises:
        ExportError: If there is one; the message names the farthest.
    """
    name, farthest = max(distances.items(), key=lambda item: item[1])
    limit = settings.number("largest_ks")
    if farthest > limit and not settings.flag("approximate"):
        raise ExportError(
            f"{target} cannot draw {name.removesuffix('.ks')}: the closest of its laws is"
            f" {farthest:g} away (KS), more than {limit:g}; generate packets and export those, or"
            " [--set approximate=on]"
        )


def model_report(
    target: str, files: Sequence[str], cannot_express: Sequence[str], distances: Mapping[str, float]
) -> ProjectionReport:
    """Report an export of a law, which has no packets and no times of its own."""
    return ProjectionReport(
        target=target,
        files=tuple(files),
        timing_error_s=None,
        cannot_express=tuple(cannot_express),
        kind="model",
        distances=distances,
    )
