"""What part of a session a model was fitted to, where all of it did not fit into the memory, and
what that costs.
"""

from __future__ import annotations

from pydantic import Field

from trafficgen.models.estimate import ModelPart


class SampledMean(ModelPart):
    """A mean over the whole session beside that of the part that was fitted."""

    whole: float = Field(ge=0, description="Of the whole session: everything was counted.")
    sample: float = Field(ge=0, description="Of what was fitted.")
    standard_error: float | None = Field(
        default=None,
        ge=0,
        description="Standard error of the sample, by how its stretches differ (ratio estimate).",
    )


class SampledLaw(SampledMean):
    """The same of a quantity that has a law."""

    ks: float = Field(ge=0, le=1, description="Largest distance of the two distribution functions.")


class SamplingErrors(ModelPart):
    """How far what was fitted is from the whole."""

    rate_kbps: SampledMean = Field(description="Mean rate of the media, kbit/s of IP bytes.")
    packet_bytes: SampledLaw = Field(description="IP length of media packets, bytes.")
    gap_s: SampledLaw = Field(
        description="Gap between media packets of a flow, s; its distance is told to 1% of a gap."
    )


class Sampling(ModelPart):
    """The part of a session that was fitted: its beginning, its end, and stretches of what is
    between.
    """

    packets_used: int = Field(ge=0, description="Media packets that were fitted.")
    packets_present: int = Field(ge=0, description="Media packets of the session.")
    used_s: float = Field(ge=0, description="Time that they cover, s.")
    present_s: float = Field(ge=0, description="First to last media packet of the session, s.")
    stretches: int = Field(ge=1, description="Contiguous parts, beginning and end among them.")
    beginning_s: float = Field(
        ge=0, description="Length of the first part, from the first media packet on, s."
    )
    error: SamplingErrors = Field(
        description="What the rest would have said, as far as it was counted."
    )
