"""Dependence between bursts: draws of several quantities ordered so that they are correlated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.processes.autocorrelated_series import draw_correlated_scores
from trafficgen.processes.base import DrawnPart, GeneratorOf
from trafficgen.units import FloatArray, IntArray


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
        return _order_by(scores, packets), _order_by(spacing_scores, spacing_s)

    def arrange_gaps(
        self, gaps_s: FloatArray, counts: IntArray, generator: np.random.Generator
    ) -> FloatArray:
        """Order gaps so that those of one burst resemble one another.

        There is a gap for each packet, in any order; ``counts`` are the packets of the bursts.
        """
        if self.gap_correlation == 0.0:
            return gaps_s
        sizes = normal_scores(counts.astype(np.float64))
        of_burst = _correlate(sizes, self.packets_to_gap, generator.standard_normal(counts.size))
        own = generator.standard_normal(gaps_s.size)
        share = math.sqrt(_pearson(self.gap_correlation))
        scores = share * np.repeat(of_burst, counts) + math.sqrt(1 - share**2) * own
        return _order_by(scores, gaps_s)


def _correlate(scores: FloatArray, rank_correlation: float, own: FloatArray) -> FloatArray:
    """Return normal scores whose ranks have a given correlation with those of others."""
    correlation = _pearson(rank_correlation)
    return correlation * scores + math.sqrt(max(0.0, 1 - correlation**2)) * own


def _pearson(rank_correlation: float) -> float:
    """Return the correlation of normal scores with this rank correlation (Pearson 1907)."""
    return 2 * math.sin(math.pi * rank_correlation / 6)


def _order_by(scores: FloatArray, values: FloatArray) -> FloatArray:
    """Return values in the order of the ranks of scores."""
    arranged = np.empty(values.size)
    arranged[np.argsort(scores, kind="stable")] = np.sort(values)
    return arranged


def normal_scores(values: FloatArray) -> FloatArray:
    """Return the normal scores of the ranks of a sample, shape (n,); ties keep their order."""
    ranks = np.empty(values.size)
    ranks[np.argsort(values, kind="stable")] = np.arange(values.size)
    return np.asarray(special.ndtri((ranks + 0.5) / max(1, values.size)), dtype=np.float64)
