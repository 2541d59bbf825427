"""Play fractional Gaussian noise: exact series by circulant embedding, bins filled with packets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError
from trafficgen.imports import special
from trafficgen.processes.base import (
    GeneratorOf,
    PlayableProcess,
    PlayedPackets,
    Span,
    UintArray,
    draw_sizes,
    plays,
)
from trafficgen.processes.fractional_noise.model import FractionalNoiseProcess
from trafficgen.units import FloatArray, IntArray

#: Packets are drawn for this share more bytes than needed, at least.
_SPARE = 0.05
_SPARE_PACKETS = 16


@plays(FractionalNoiseProcess)
@dataclass(frozen=True, kw_only=True)
class FractionalNoiseLaws(PlayableProcess):
    """Laws of a :class:`~trafficgen.models.FractionalNoiseProcess`; meanings and units as there."""

    bin_s: float
    hurst: float
    bin_bytes: MixedLaw
    packet_bytes: MixedLaw
    placement: Literal["even", "poisson"]

    def play(self, span: Span, generator_of: GeneratorOf) -> PlayedPackets:
        """Return the packets in a span."""
        count = max(1, math.ceil(span.length_s / self.bin_s - 1e-9))
        noise = fractional_noise(self.hurst, count, generator_of("fgn"))
        uniform = np.clip(special.ndtr(noise), 1e-9, 1 - 1e-9)
        ascending = self.bin_bytes.ascending_sample(generator_of("bin_bytes"), max(count, 4096))
        places = (np.arange(ascending.size) + 0.5) / ascending.size
        bins = np.maximum(np.interp(uniform, places, ascending), 0.0)
        if self.placement == "poisson":
            counts = generator_of("counts").poisson(bins / max(1.0, self.packet_bytes.mean))
            row = np.repeat(np.arange(count), counts)
            sizes = draw_sizes(self.packet_bytes, row.size, generator_of("packet_bytes"))
            offset = generator_of("placement").random(row.size)
        else:
            row, offset, sizes = self._evenly(bins, generator_of)
        time_s = np.sort(span.start_s + (row + offset) * self.bin_s)
        if span.first_at_start and time_s.size:
            time_s[0] = span.start_s
        within = int(np.searchsorted(time_s, span.end_s))
        return PlayedPackets(time_s[:within], sizes[:within])

    def _evenly(
        self, bins: FloatArray, generator_of: GeneratorOf
    ) -> tuple[IntArray, FloatArray, UintArray]:
        """Place packets where half of each is due; return bin, place within it and size."""
        reached = np.cumsum(bins)
        sizes = self._sizes(float(reached[-1]), generator_of)
        middle = np.cumsum(sizes, dtype=np.float64) - 0.5 * sizes
        middle = middle[: int(np.searchsorted(middle, reached[-1]))]
        row = np.searchsorted(reached, middle, side="right")
        return row, (middle - (reached - bins)[row]) / bins[row], sizes[: row.size]

    def _sizes(self, total_bytes: float, generator_of: GeneratorOf) -> UintArray:
        """Draw packet sizes that add up to a number of bytes at least."""
        mean = max(1.0, self.packet_bytes.mean)
        generator, reached = generator_of("packet_bytes"), 0.0
        parts: list[UintArray] = []
        while reached < total_bytes or not parts:
            count = int((total_bytes - reached) / mean * (1 + _SPARE)) + _SPARE_PACKETS
            parts.append(np.maximum(draw_sizes(self.packet_bytes, count, generator), np.uint32(1)))
            reached += float(parts[-1].sum(dtype=np.float64))
        return np.concatenate(parts)

    def expected_packets(self, span_s: float, *, place: str) -> float:
        """Return about how many packets a span has."""
        mean_bytes, size = self.bin_bytes.mean, self.packet_bytes.mean
        if not (math.isfinite(mean_bytes) and mean_bytes > 0 and size > 0 and self.bin_s > 0):
            raise GenerationError(
                f"bin_bytes and packet_bytes in {place} need finite means above 0; correct the laws"
            )
        return (span_s / self.bin_s + 1) * mean_bytes / size


def noise_autocovariance(hurst: float, lags: int) -> FloatArray:
    """Compute the autocovariance of fractional Gaussian noise of variance 1, shape (lags + 1,).

    It is (|k + 1|^2H - 2 |k|^2H + |k - 1|^2H) / 2 (Mandelbrot and Van Ness 1968).
    """
    lag = np.arange(lags + 1, dtype=np.float64)
    power = 2 * hurst
    return 0.5 * ((lag + 1) ** power - 2 * lag**power + np.abs(lag - 1) ** power)


def fractional_noise(hurst: float, count: int, generator: np.random.Generator) -> FloatArray:
    """Draw fractional Gaussian noise of mean 0 and variance 1, shape (count,).

    The autocovariance is put on a circle, whose Fourier transform is positive for all H in (0, 1),
    so that the series has exactly the wanted law.

    Source: Davies and Harte, Biometrika 74 (1987); Dietrich and Newsam, SIAM J. Sci. Comput. 18
    (1997).
    """
    covariance = noise_autocovariance(hurst, count)
    circle = np.concatenate((covariance, covariance[-2:0:-1]))
    power = np.maximum(np.fft.rfft(circle).real, 0.0)
    size = circle.size
    draws = generator.standard_normal(power.size) + 1j * generator.standard_normal(power.size)
    draws[0], draws[-1] = math.sqrt(2) * draws[0].real, math.sqrt(2) * draws[-1].real
    return np.fft.irfft(draws * np.sqrt(power / 2 * size), n=size)[:count]
