"""How a source answers to congestion, and how a path loses packets."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trafficgen.models.estimate import Estimate, ModelPart


class LossModel(ModelPart):
    """Law of the runs of lost packets: independent loss, or the two-state chain of Gilbert
    (1960).
    """

    kind: Literal["bernoulli", "gilbert"] = Field(description="Which of the two BIC prefers.")
    good_to_bad: Estimate = Field(
        description="Probability that a packet is lost after one that came."
    )
    bad_to_good: Estimate = Field(
        description="Probability that a packet comes after one that was lost."
    )
    mean_burst_packets: Estimate = Field(description="Mean run of lost packets.")
    delta_bic: float = Field(ge=0, description="BIC of the other law less that of this one.")


class DelayRange(ModelPart):
    """Delay above the least, that is what queues add, s."""

    median: float = Field(ge=0, description="Median, s.")
    p95: float = Field(ge=0, description="95th percentile, s.")
    largest: float = Field(ge=0, description="Largest, s.")
    increasing_share: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Share of the windows in which the delay increases (PCT and PDT).",
    )
    method: str = Field(description="How it was measured.")


class ResponsePoint(ModelPart):
    """Rate of the source in one state of the path."""

    state: str = Field(description="State, in words.")
    low: float = Field(
        description="Least of the signal in this state: loss as a share, or delay in s."
    )
    high: float = Field(description="Largest of it.")
    relative_rate: Estimate = Field(
        description="Rate sent an interval later / median rate of the session."
    )
    intervals: int = Field(ge=1, description="Intervals that were in this state.")


class Friendliness(ModelPart):
    """Rate of the source beside that of a TCP connection on the same path."""

    interval_s: float = Field(gt=0, description="Length of an interval, s.")
    intervals: int = Field(
        ge=1, description="Intervals with loss, in which the bounds are defined."
    )
    above_bound: Estimate = Field(
        description="Share of them in which the rate is above 1.5 sqrt(2/3) s / (R sqrt(p))."
    )
    above_padhye: Estimate = Field(
        description="Share of them in which the rate is above Padhye's full model (1998)."
    )
    median_ratio: float = Field(ge=0, description="Median of rate / Padhye's rate.")
    overall_bound_bps: float = Field(ge=0, description="Bound over the whole session, bit/s.")
    overall_padhye_bps: float = Field(
        ge=0, description="Padhye's rate over the whole session, bit/s."
    )


class CongestionResponse(ModelPart):
    """What the source does when the path is congested."""

    kind: Literal["unresponsive", "thinning", "level_switching", "rate_following", "unknown"] = (
        Field(
            description=(
                "Class: goes on as before, leaves frames out, changes to another level, follows, or"
                " cannot be told."
            )
        )
    )
    evidence: tuple[str, ...] = Field(description="What it rests on, a sentence each.")
    interval_s: float = Field(gt=0, description="Interval of the series that were looked at, s.")
    effect: Estimate | None = Field(
        default=None,
        description=(
            "Rate after congested intervals / rate after others; null where none was congested."
        ),
    )
    curve: tuple[ResponsePoint, ...] = Field(default=(), description="Rate by state of the path.")
    friendliness: Friendliness | None = Field(
        default=None, description="Null without loss or round-trip time."
    )
