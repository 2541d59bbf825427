"""Provenance: the captures or the papers that a model's numbers come from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from trafficgen.model_parts.estimate import Estimate, ModelPart
from trafficgen.models.response import CapacityStep, DelayRange, LossModel


class CaptureConditions(ModelPart):
    """What the path of the capture was like, kept apart from the source."""

    rtt_s: Estimate | None = None
    """Round-trip time between the client and the server, s."""
    loss_rate: Estimate | None = None
    """Lost / expected packets."""
    mean_loss_burst_packets: float | None = Field(default=None, ge=1)
    """Mean run of consecutive lost packets."""
    loss_source: Literal["rtp", "tcp", "rtcp", "pair", "arrival"] | None = None
    """What the loss was counted from."""
    loss_model: LossModel | None = None
    """Law of the runs of lost packets."""
    jitter_s: Estimate | None = None
    """Interarrival jitter of RTCP reports, s."""
    queueing_delay_s: DelayRange | None = None
    """One-way delay above the least, s."""
    one_way_delay_s: Estimate | None = None
    """Least delay from sender to receiver by their two clocks, offset included, s."""
    clock_skew: Estimate | None = None
    """How much faster the receiver's clock runs than the sender's, as a share."""
    reordered_share: Estimate | None = None
    """Packets that arrived after one sent later / packets that arrived."""
    link_rate_bps: Estimate | None = None
    """Rate of the narrow link, headers of the link layer included, bit/s."""
    capacity: tuple[CapacityStep, ...] | None = None
    """The same over time, in order; null where it is not known at all."""


class FittedProvenance(ModelPart):
    """A model that was fitted to captures."""

    kind: Literal["fitted"] = "fitted"
    files: tuple[str, ...]
    """Names of the capture files, without folders; addresses in them are masked."""
    digests: tuple[str, ...]
    """sha256 of each file; empty where the input was a stream."""
    session: int = Field(ge=0)
    """Session of the capture that was fitted."""
    flows: tuple[int, ...]
    """Flows of that session whose packets were used."""
    receiver_files: tuple[str, ...] = ()
    """Captures at the receiver that were paired with these; only the path comes from them."""
    restored: str | None = None
    """What was done to get from what arrived to what was sent; null where nothing was."""
    player_log: str | None = None
    """Name of the player log that anchored the phases, without folders."""
    resegmented_packets: int = Field(default=0, ge=0)
    """Segmentation-offload packets cut back to MTU size before the fit."""
    from_s: float | None = Field(default=None, ge=0)
    """Start of the fitted window, s after the capture's first packet; absent: none."""
    to_s: float | None = Field(default=None, gt=0)
    """End of the fitted window, s after the capture's first packet; absent: none."""
    conditions: CaptureConditions = Field(default_factory=CaptureConditions)
    """The path of the capture."""
    software: str
    """Name and version of the software that fitted it."""
    seed: int = Field(ge=0)
    """Seed of intervals, p-values and the self-check's played sessions."""
    date: str
    """Day of the fit, ISO 8601."""

    @model_serializer(mode="wrap")
    def _omit_absent_window(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        content: dict[str, object] = handler(self)
        return {
            name: value
            for name, value in content.items()
            if name not in ("from_s", "to_s") or value is not None
        }


class PublishedSource(ModelPart):
    """A citation with what it supports."""

    authors: tuple[str, ...]
    """Family names."""
    year: int
    """Year of publication."""
    title: str
    """Title."""
    venue: str | None = None
    """Where it was published; null where that is not known."""
    doi: str | None = None
    """DOI; null without one."""
    supports: tuple[str, ...] = Field(min_length=1)
    """Parts of the model that rest on it."""

    @property
    def text(self) -> str:
        """Authors, year, title, where it was published and DOI, on one line."""
        parts = [f"{', '.join(self.authors)} ({self.year}): {self.title}", self.venue]
        parts.append(None if self.doi is None else f"doi:{self.doi}")
        return ". ".join(part for part in parts if part)


class PublishedProvenance(ModelPart):
    """A model that was built from what papers measured."""

    kind: Literal["published"] = "published"
    citations: tuple[PublishedSource, ...] = Field(min_length=1)
    """Sources, each with what it supports."""
    sources: dict[str, str] = Field(default_factory=dict)
    """Key of a number -> table, figure or page it comes from."""
    limitations: tuple[str, ...] = ()
    """What the model leaves out or does not know."""
    review: Literal["provisional", "second-hand", "reviewed"] = "provisional"
    """Whether a second derivation agrees: ``reviewed`` from the source itself, ``second-hand`` from
    works that cite it.
    """


class RegisteredProvenance(ModelPart):
    """A model that a function of a user plays."""

    kind: Literal["registered"] = "registered"
    module: str
    """Module that registers the function."""


Provenance = Annotated[
    FittedProvenance | PublishedProvenance | RegisteredProvenance, Field(discriminator="kind")
]
