"""What several captures of one source over different paths say about its answer to congestion."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trafficgen.models.estimate import Estimate, ModelPart

ResponseKind = Literal["unresponsive", "thinning", "level_switching", "rate_following", "unknown"]
PathCondition = Literal["loss_rate", "queueing_delay_s", "throughput_bps", "link_rate_bps"]


class PooledPoint(ModelPart):
    """Rate of the source in one range of a condition, across captures."""

    condition: float = Field(ge=0)
    """Mean of the condition in the range, in its own unit."""
    low: float = Field(ge=0)
    """Least of it."""
    high: float = Field(ge=0)
    """Largest of it."""
    relative_rate: Estimate
    """Rate sent an interval later / rate without congestion."""
    intervals: int = Field(ge=1)
    """Intervals in this range."""
    captures: int = Field(ge=1)
    """Captures that they come from."""


class ResponseCurve(ModelPart):
    """Rate against one condition of the path."""

    condition: PathCondition
    """What the rate is looked at against; the unit ends its name."""
    points: tuple[PooledPoint, ...] = Field(min_length=1)
    """Ascending in the condition, monotone in the rate."""
    end_to_end: Estimate
    """Rate at the most congested point / rate at the least congested one, by the regression."""
    capture_log_deviation: float = Field(ge=0)
    """Standard deviation between captures of the logarithm of the rate, apart from the
    condition."""
    method: str
    """How curve and intervals were obtained."""


class PooledResponse(ModelPart):
    """One answer to congestion from several paths."""

    kind: ResponseKind
    """Class: goes on as before, leaves frames out, changes to another level, follows, or cannot
    be told."""
    evidence: tuple[str, ...] = Field(min_length=1)
    """What the class rests on, a sentence each."""
    interval_s: float = Field(gt=0)
    """Interval of the series that were looked at, s."""
    uncongested_rate_bps: float = Field(gt=0)
    """What rates are relative to, bit/s."""
    source: str
    """Capture that the processes of the model come from: the least congested one."""
    captures: tuple[str, ...] = Field(min_length=1)
    """Captures that were used."""
    curves: tuple[ResponseCurve, ...] = ()
    """One for each condition that varied."""
    absent: dict[str, str] = Field(default_factory=dict)
    """Conditions without a curve -> why."""
