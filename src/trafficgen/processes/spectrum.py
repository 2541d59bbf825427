"""Power spectra of normal scores, as a part of the model file."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from trafficgen.model_parts.estimate import ModelPart

_MOST_BANDS = 64


class SpectralLine(ModelPart):
    """A strict period: power at one frequency."""

    frequency: float = Field(gt=0, le=0.5)
    """Cycles per value of the series."""
    share: float = Field(ge=0, le=1)
    """Share of the series' variance."""


class ScoreSpectrum(ModelPart):
    """The power spectrum of a series of normal scores: bands of frequency, and strict periods."""

    upper_frequency: tuple[float, ...] = Field(min_length=1, max_length=_MOST_BANDS)
    """Upper ends of the bands, ascending, cycles per value."""
    share: tuple[float, ...] = Field(min_length=1, max_length=_MOST_BANDS)
    """Share of variance by band."""
    lines: tuple[SpectralLine, ...] = Field(default=(), max_length=16)
    """Strict periods."""

    @model_validator(mode="after")
    def _matches(self) -> Self:
        ends = self.upper_frequency
        if (
            len(ends) != len(self.share)
            or list(ends) != sorted(set(ends))
            or ends[0] <= 0
            or ends[-1] > 0.5 + 1e-9
        ):
            raise ValueError(
                "upper_frequency must ascend from above 0 to at most 0.5, with one share for each"
                " band"
            )
        if min(self.share) < 0 or sum(self.share) + sum(line.share for line in self.lines) <= 0:
            raise ValueError("shares of variance must not be negative, nor all of them 0")
        return self
