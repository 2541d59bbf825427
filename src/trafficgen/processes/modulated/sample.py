"""Play renewal gaps under a slowly varying rate: bins with a law and an autocorrelation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trafficgen import _core
from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError
from trafficgen.processes.autocorrelated_series import draw_correlated_order
from trafficgen.processes.base import (
    LARGEST_IP_BYTES,
    DrawnPart,
    GeneratorOf,
    PlayableProcess,
    PlayedPackets,
    Span,
    UintArray,
    plays,
)
from trafficgen.processes.modulated.model import ModulatedProcess, RateClass
from trafficgen.processes.renewal.sample import nonnegative
from trafficgen.processes.trains.sample import TrainOrder
from trafficgen.units import BoolArray, FloatArray, IntArray

#: Packets may be this share of a bin from where they belong before gaps are changed, and no more
#: than this times the coefficient of variation of the bins.
_TOLERATED_SHARE = 0.1
_TOLERATED_VARIATION = 0.25

#: Gap before each packet, its size, whether the gap may be cut, and if none says so, the length
#: from which on it may.
Filling = tuple[FloatArray, UintArray, BoolArray | None, float]


@plays(RateClass)
@dataclass(frozen=True, kw_only=True)
class ClassLaws(DrawnPart):
    """Laws of a :class:`~trafficgen.models.RateClass`; meanings and units as there."""

    up_to_bytes: float | None
    gap_s: MixedLaw
    packet_bytes: MixedLaw
    idle_s: MixedLaw | None = None
    burst_packets: MixedLaw | None = None
    trains: TrainOrder | None = None
    pauses_in_trains: bool = False

    def fill(
        self, bins: FloatArray, generator_of: GeneratorOf, *, number: int
    ) -> tuple[IntArray, Filling]:
        """Draw the packets of bins of this class from their bytes; return how many each has too."""
        generator = generator_of(f"{number}/packet_bytes")
        sizes = _draw_sizes(self.packet_bytes, float(bins.sum()), generator)
        counts = _core.share_packets(sizes, bins)
        sizes = sizes[: int(counts.sum())]
        draws = self.gap_s.spread_sample(generator_of(f"{number}/gap_s"), max(1, sizes.size))
        gaps_s = nonnegative(draws, self.gap_s)[: sizes.size]
        shortest_s = math.inf
        if self.pauses_in_trains:
            pauses = self._add_pauses(gaps_s, generator_of, number=number)
            shortest_s = gaps_s[pauses].min(initial=math.inf)
        if self.trains is not None:
            gaps_s, sizes = self.trains.arrange(gaps_s, sizes, generator_of(f"{number}/trains"))
            counts = _core.share_packets(sizes, bins)
            gaps_s, sizes = gaps_s[: int(counts.sum())], sizes[: int(counts.sum())]
        if self.pauses_in_trains:
            # The trains have moved them.
            long: BoolArray | None = gaps_s >= shortest_s
        else:
            long = self._add_pauses(gaps_s, generator_of, number=number)
        return counts, (gaps_s, sizes, long, self.gap_s.mean)

    def _add_pauses(
        self, gaps_s: FloatArray, generator_of: GeneratorOf, *, number: int
    ) -> BoolArray | None:
        """Put gaps between bursts among the gaps; return which they are, None without bursts."""
        if self.idle_s is None or self.burst_packets is None:
            return None
        long = self._starts_burst(gaps_s.size, generator_of(f"{number}/burst_packets"))
        count = int(long.sum())
        idle = self.idle_s.spread_sample(generator_of(f"{number}/idle_s"), max(1, count))
        gaps_s[long] = nonnegative(idle, self.idle_s)[:count]
        return long

    def _starts_burst(self, count: int, generator: np.random.Generator) -> BoolArray:
        """Return which of a number of packets are the first of a burst."""
        starts = np.zeros(count, dtype=np.bool_)
        row = 0
        while self.burst_packets is not None and row < count:
            missing = math.ceil((count - row) / max(1.0, self.burst_packets.mean))
            packets = np.maximum(np.rint(self.burst_packets.spread_sample(generator, missing)), 1)
            at = row + np.concatenate(([0], np.cumsum(packets))).astype(np.int64)
            starts[at[at < count]] = True
            row = int(at[-1])
        return starts


@plays(ModulatedProcess)
@dataclass(frozen=True, kw_only=True)
class ModulatedLaws(PlayableProcess):
    """Laws of a :class:`~trafficgen.models.ModulatedProcess`; meanings and units as there."""

    bin_s: float
    bin_bytes: MixedLaw
    autocorrelation: tuple[float, ...]
    classes: tuple[ClassLaws, ...]

    def play(self, span: Span, generator_of: GeneratorOf) -> PlayedPackets:
        """Return the packets in a span.

        A bin takes packets until its bytes are reached; what is short or over is carried to the
        next bin of its class. Its gaps are drawn from the laws of its class and adjusted to fill
        it.
        """
        bins = self._draw_bins(span, generator_of("bin_bytes"))
        bounds = [one.up_to_bytes for one in self.classes]
        upper = np.array([math.inf if bound is None else bound for bound in bounds])
        class_of = np.where(bins > 0, np.searchsorted(upper, bins, side="left"), -1)
        counts = np.zeros(bins.size, dtype=np.int64)
        fillings: list[Filling] = []
        for number, part in enumerate(self.classes):
            mine = class_of == number
            counts[mine], filling = part.fill(bins[mine], generator_of, number=number)
            fillings.append(filling)
        time_s, sizes = _core.place_in_bins(
            fillings,
            class_of,
            counts,
            generator_of("offset").random(bins.size),
            width_s=self.bin_s,
            tolerated_s=self._tolerated_s,
        )
        if time_s.size == 0:
            return PlayedPackets(time_s, sizes)
        time_s += span.start_s
        if span.first_at_start:
            time_s[0] = span.start_s
        within = int(np.searchsorted(time_s, span.end_s))
        return PlayedPackets(time_s[:within], sizes[:within])

    def expected_packets(self, span_s: float, *, place: str) -> float:
        """Return about how many packets a span has."""
        mean_bytes = self.bin_bytes.mean
        smallest = min(part.packet_bytes.mean for part in self.classes)
        if not (math.isfinite(mean_bytes) and mean_bytes > 0 and smallest > 0):
            raise GenerationError(
                f"bin_bytes and packet_bytes in {place} need finite means above 0; correct the laws"
            )
        return (span_s / self.bin_s + 1) * mean_bytes / smallest

    def size_laws(self) -> dict[str, MixedLaw]:
        """Return the laws of packet sizes by name of the field."""
        return {
            f"packet_bytes of class {number}": part.packet_bytes
            for number, part in enumerate(self.classes)
        }

    @property
    def _tolerated_s(self) -> float:
        """How far packets may be from where they belong, s: little where the rate hardly varies."""
        mean = self.bin_bytes.mean
        variation = math.sqrt(self.bin_bytes.variance) / mean if mean > 0 else 0.0
        return self.bin_s * min(_TOLERATED_SHARE, _TOLERATED_VARIATION * variation)

    def _draw_bins(self, span: Span, generator: np.random.Generator) -> FloatArray:
        """Draw the bytes of each bin, the first not idle where a packet has to be at the start."""
        count = max(1, math.ceil(span.length_s / self.bin_s - 1e-9))
        ascending = np.maximum(self.bin_bytes.ascending_sample(generator, count), 0.0)
        bins = draw_correlated_order(ascending, np.array(self.autocorrelation), generator)
        if span.first_at_start and bins[0] <= 0 and np.any(bins > 0):
            bins = np.roll(bins, -int(np.argmax(bins > 0)))
        return bins


def _draw_sizes(law: MixedLaw, total: float, generator: np.random.Generator) -> UintArray:
    """Draw sizes that add up to at least this many bytes."""
    sizes = np.zeros(0, dtype=np.uint32)
    while float(sizes.sum(dtype=np.float64)) < total:
        missing = total - float(sizes.sum(dtype=np.float64))
        draws = law.spread_sample(generator, max(1, math.ceil(missing / max(law.mean, 1.0))))
        whole = np.clip(np.rint(draws), 1.0, LARGEST_IP_BYTES).astype(np.uint32)
        sizes = np.concatenate((sizes, whole))
    return sizes
