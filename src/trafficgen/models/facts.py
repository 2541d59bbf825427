"""Facts that were measured and are not played: by them a reader, or another tool, judges a
model.
"""

from __future__ import annotations

from pydantic import Field

from trafficgen.models.estimate import ModelPart


class FactsAtScale(ModelPart):
    """Variability at one time scale."""

    bin_s: float = Field(gt=0)
    """Width of the bins, s."""
    dispersion_of_counts: float = Field(ge=0)
    """Index of dispersion for counts: variance / mean of the packets in a bin; 1 is Poisson."""
    relative_variance: float = Field(ge=0)
    """Variance of the mean byte rate in a bin / its squared mean: a point of the variance-time
    curve."""


class DispersionOfIntervals(ModelPart):
    """Index of dispersion for intervals at one number of gaps."""

    gaps: int = Field(ge=1)
    """Successive gaps that are added up."""
    value: float = Field(ge=0)
    """Variance of the sum / (gaps * squared mean gap); 1 is Poisson."""


class Facts(ModelPart):
    """Second-order facts of the media packets in the playout (Gusella, IEEE JSAC 9 (1991) 203;
    Leland et al. 1994).
    """

    scales: tuple[FactsAtScale, ...] = Field(default=(), max_length=24)
    """Variability by time scale."""
    dispersion_of_intervals: tuple[DispersionOfIntervals, ...] = Field(default=(), max_length=24)
    """Index of dispersion for intervals, by number of gaps."""
    gap_autocorrelation: tuple[float, ...] = Field(default=(), max_length=20)
    """Autocorrelation of the gaps of all media packets, from lag 1."""
    rate_autocorrelation: tuple[float, ...] = Field(default=(), max_length=20)
    """Autocorrelation of the bytes in bins of 0.5 s, from lag 1."""
