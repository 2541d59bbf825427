"""How a source answers to congestion, and how a path loses packets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from trafficgen.formatting import format_duration, rate_text
from trafficgen.model_parts.estimate import Estimate, ModelPart, NonNegativeEstimate


class LossModel(ModelPart):
    """Law of the runs of lost packets: independent, or the two-state chain of Gilbert (1960)."""

    kind: Literal["bernoulli", "gilbert"]
    """Which of the two BIC prefers."""
    good_to_bad: Estimate
    """Probability that a packet is lost after one that came."""
    bad_to_good: Estimate
    """Probability that a packet comes after one that was lost."""
    mean_burst_packets: Estimate
    """Mean run of lost packets."""
    delta_bic: float = Field(ge=0)
    """BIC of the other law less that of this one."""


class DelayRange(ModelPart):
    """Delay above the least, that is what queues add, s."""

    median: float = Field(ge=0)
    """Median, s."""
    p95: float = Field(ge=0)
    """95th percentile, s."""
    largest: float = Field(ge=0)
    """Largest, s."""
    increasing_share: float | None = Field(default=None, ge=0, le=1)
    """Share of the windows in which the delay increases (PCT and PDT)."""
    method: str
    """How it was measured."""


class CapacityStep(ModelPart):
    """Rate of the narrow link from some time on."""

    start_s: float
    """From here on, s from the first media packet."""
    kbps: NonNegativeEstimate | None
    """Rate, headers of the link layer included, kbit/s; null where it is not known."""


#: More steps are described by how many they are.
_FEW_STEPS = 6


def describe_capacity(steps: Sequence[CapacityStep]) -> str:
    """Describe the rate of the narrow link over time for people."""
    rates_kbps = [step.kbps.value for step in steps if step.kbps is not None]
    if len(steps) > _FEW_STEPS:
        ends = rate_text(min(rates_kbps)), rate_text(max(rates_kbps))
        return f"{len(steps)} steps from {ends[0]} to {ends[1]}"
    texts = ["not known" if step.kbps is None else rate_text(step.kbps.value) for step in steps]
    later = [
        f"{text} from {format_duration(step.start_s)}"
        for step, text in zip(steps[1:], texts[1:], strict=True)
    ]
    return ", ".join([*texts[:1], *later])


class ResponsePoint(ModelPart):
    """Rate of the source in one state of the path."""

    state: str
    """State, in words."""
    low: float
    """Least of the signal in this state: loss as a share, or delay in s."""
    high: float
    """Largest of it."""
    relative_rate: Estimate
    """Rate sent an interval later / median rate of the session."""
    intervals: int = Field(ge=1)
    """Intervals that were in this state."""


class Friendliness(ModelPart):
    """Rate of the source compared with that of a TCP connection on the same path."""

    interval_s: float = Field(gt=0)
    """Length of an interval, s."""
    intervals: int = Field(ge=1)
    """Intervals with loss, in which the bounds are defined."""
    above_bound: Estimate
    """Share of them in which the rate is above 1.5 sqrt(2/3) s / (R sqrt(p))."""
    above_padhye: Estimate
    """Share of them in which the rate is above Padhye's full model (1998)."""
    median_ratio: float = Field(ge=0)
    """Median of rate / Padhye's rate."""
    overall_bound_bps: float = Field(ge=0)
    """Bound over the whole session, bit/s."""
    overall_padhye_bps: float = Field(ge=0)
    """Padhye's rate over the whole session, bit/s."""


class CongestionResponse(ModelPart):
    """What the source does when the path is congested."""

    kind: Literal["unresponsive", "thinning", "level_switching", "rate_following", "unknown"]
    """Class: no change, frames left out, another level, the rate follows, or not known."""
    evidence: tuple[str, ...]
    """What it rests on, a sentence each."""
    interval_s: float = Field(gt=0)
    """Interval of the series that were looked at, s."""
    effect: Estimate | None = None
    """Rate after congested intervals / rate after others; null where none was congested."""
    curve: tuple[ResponsePoint, ...] = ()
    """Rate by state of the path."""
    friendliness: Friendliness | None = None
    """Null without loss or round-trip time."""


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
    """Class: no change, frames left out, another level, the rate follows, or not known."""
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
