"""An estimated quantity with its interval, and the base of every part of a model."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ModelPart(BaseModel):
    """Base of all parts: frozen, closed to unknown keys, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Estimate(ModelPart):
    """A fitted quantity; its unit is in the name of the field that holds it."""

    value: float = Field(description="Point estimate.")
    low: float | None = Field(
        default=None, description="Lower end of the confidence interval; null where none was computed."
    )
    high: float | None = Field(
        default=None, description="Upper end of the confidence interval; null where none was computed."
    )
    level: float = Field(default=0.95, gt=0, lt=1, description="Confidence level of the interval.")
    method: str = Field(description="How value and interval were obtained.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")
        return self
