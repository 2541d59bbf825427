"""The model file: what a source sends, in which phases, on which transport, and where each number
comes from.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from trafficgen.formatting import format_count, number, one_line
from trafficgen.models.choice import ProcessChoice
from trafficgen.models.estimate import Estimate, ModelPart
from trafficgen.models.facts import Facts
from trafficgen.models.packet_process import PacketProcess
from trafficgen.models.population import Population, Prototype
from trafficgen.models.response import CongestionResponse, DelayRange, LossModel
from trafficgen.models.same_source import PooledResponse
from trafficgen.notebook import POINTS, NotebookView, RateLines
from trafficgen.tables import RateCurve
from trafficgen.units import kbps_from_bps

#: Version of model files, fitted and published.
SCHEMA_VERSION: Final = "1"
#: Over thirty years: longer than any session, and short enough that times in ns fit in 64 bits.
LONGEST_S = 1e9

PhaseName = Literal["buffering", "playout", "rebuffering", "end"]


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
    """Seed of the resampling used for intervals and p-values."""
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
    """DOI, null where there is none."""
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
    review: Literal["provisional", "reviewed"] = "provisional"
    """Whether a second derivation agrees."""


Provenance = Annotated[FittedProvenance | PublishedProvenance, Field(discriminator="kind")]


class RtpFormat(ModelPart):
    """RTP header fields of a stream (RFC 3550)."""

    payload_type: int = Field(ge=0, le=127)
    """Payload type."""
    clock_hz: int = Field(gt=0, lt=1 << 32)
    """RTP timestamp clock, Hz."""
    timestamp_step: Estimate | None = None
    """Mode of the timestamp step between frames, clock ticks."""
    frame_per_burst: bool
    """Whether packets of one burst share a timestamp, the last one marked (video)."""


def smallest_header_bytes(protocol: Literal["udp", "tcp"], *, ip_version: Literal[4, 6]) -> int:
    """Return the IP and transport header without options, bytes (RFC 791, 8200, 768, 9293)."""
    return {4: 20, 6: 40}[ip_version] + {"udp": 8, "tcp": 20}[protocol]


class Transport(ModelPart):
    """Headers in which a stream travels."""

    protocol: Literal["udp", "tcp"]
    """Transport protocol."""
    ip_version: Literal[4, 6] = 4
    """IP version."""
    server_port: int = Field(ge=0, le=65535)
    """Port of the server."""
    client_port: int = Field(ge=0, le=65535)
    """Port of the client."""
    header_bytes: int = Field(ge=28, lt=65_535)
    """IP and transport header of a media packet, bytes: its payload is ip_bytes less these."""
    rtp: RtpFormat | None = None
    """RTP fields; null where the stream is not RTP."""

    @model_validator(mode="after")
    def _headers_fit(self) -> Self:
        smallest = smallest_header_bytes(self.protocol, ip_version=self.ip_version)
        if self.header_bytes < smallest:
            raise ValueError(
                f"header_bytes is {self.header_bytes}, {self.protocol} over IPv{self.ip_version}"
                f" needs {smallest}"
            )
        return self


class Phase(ModelPart):
    """One phase of a stream."""

    name: PhaseName
    """buffering: faster than it plays; playout: as it plays; rebuffering: the refill after a
    stall; end: where it runs out."""
    start_s: float = Field(ge=0, le=LONGEST_S)
    """Start after the session's first media packet, s."""
    duration_s: float = Field(gt=0, le=LONGEST_S)
    """Length, s."""
    rate_bps: float = Field(ge=0)
    """Mean IP rate of the capture in the phase, bit/s; what is played is the process."""
    process: PacketProcess
    """How packets are placed and sized."""
    choice: ProcessChoice | None = None
    """What else was tried; null where there was no choice or too few packets to judge."""

    @property
    def end_s(self) -> float:
        """End after the session's first media packet, s."""
        return self.start_s + self.duration_s


class Stream(ModelPart):
    """One media stream of the source: a flow with its phases."""

    name: str = Field(min_length=1)
    """Name, unique in the model."""
    media: Literal["audio", "video", "mixed", "bulk", "unknown"]
    """What it carries."""
    transport: Transport
    """Headers."""
    phases: tuple[Phase, ...] = Field(min_length=1)
    """Phases in order of time, without overlap."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for before, after in zip(self.phases, self.phases[1:], strict=False):
            if after.start_s < before.end_s - 1e-9:
                raise ValueError(
                    f"phase {after.name!r} starts at {after.start_s} s, before {before.name!r} ends"
                    f" at {before.end_s} s"
                )
        return self


# A prototype holds streams and a model holds prototypes: the two modules meet here.
Prototype.model_rebuild(_types_namespace={"Stream": Stream})
Population.model_rebuild()


class Startup(ModelPart):
    """What comes before the first media packet."""

    silence_s: Estimate
    """From the session's first packet to its first media packet, s."""


class Buffering(ModelPart):
    """The part in which the source sends faster than it plays."""

    duration_s: Estimate
    """Length after the first media packet, s."""
    rate_bps: Estimate
    """Mean IP rate to the client, bit/s."""
    ratio: Estimate
    """Buffering rate / playout rate."""


class Playout(ModelPart):
    """The part in which the source sends as it plays."""

    duration_s: Estimate
    """Length, s."""
    rate_bps: Estimate
    """Mean IP rate to the client, bit/s."""


class ModelRoot(ModelPart):
    """What every model file begins with."""

    schema_version: Literal["1"] = SCHEMA_VERSION
    """Version of this schema."""
    name: str = Field(min_length=1)
    """Name of the model."""
    description: str = ""
    """One or two sentences for people."""


class Model(NotebookView, ModelRoot):
    """A source, as data: everything that generation and simulation need, and where it comes from.

    Example:
        >>> import trafficgen
        >>> model = trafficgen.fit("examples/captures/http_burst_then_paced.pcap.gz").model
        >>> start = model.buffering
        >>> print(f"{start.duration_s.value:.1f} s of buffering at {start.ratio.value:.1f} times the playout rate")
        3.2 s of buffering at 2.5 times the playout rate
        >>> for phase in model.streams[0].phases:
        ...     print(phase.name, phase.process.kind)
        buffering renewal
        playout bursts
    """

    provenance: Provenance
    """Where the numbers come from."""
    startup: Startup
    """Start of the session."""
    buffering: Buffering | None = None
    """Null where the start is not faster than the rest."""
    playout: Playout
    """Steady part."""
    streams: tuple[Stream, ...] = Field(min_length=1)
    """Media streams of the session, heaviest first."""
    facts: Facts | None = None
    """Measured facts of the playout; they are not played."""
    response: CongestionResponse | None = None
    """What the source does when the path is congested; null where it was not looked at."""
    absent: dict[str, str] = Field(default_factory=dict)
    """What could not be estimated -> why."""
    population: Population | None = None
    """How sessions differ; the rest of the model is then the most typical one. Null for one
    session."""
    same_source: PooledResponse | None = None
    """Answer to congestion from captures over several paths; null for one capture."""

    def __repr__(self) -> str:
        rate = number(kbps_from_bps(self.playout.rate_bps.value))
        names = ", ".join(one_line(stream.name) for stream in self.streams)
        parts = [f"{format_count(len(self.streams), 'stream')} ({names})"]
        if self.buffering is not None:
            start = number(kbps_from_bps(self.buffering.rate_bps.value))
            length = number(self.buffering.duration_s.value)
            parts.append(f"buffering {length} s at {start} kbit/s")
        parts.append(f"playout {number(self.playout.duration_s.value)} s at {rate} kbit/s")
        if self.population is not None:
            parts.append(f"a population of {format_count(self.population.sessions, 'session')}")
        if self.same_source is not None:
            parts.append(f"one source over {format_count(len(self.same_source.captures), 'path')}")
        return f"<Model {one_line(self.name)}: {', '.join(parts)}>"

    def summary_line(self) -> str:
        """Name the model, its streams and its rate on part of a line."""
        names = ", ".join(one_line(stream.name) for stream in self.streams)
        length_s = self.buffering.duration_s.value if self.buffering else None
        start = f"buffering {number(length_s)} s, " if self.buffering else ""
        rate = number(kbps_from_bps(self.playout.rate_bps.value))
        return f"{one_line(self.name)} ({names}): {start}playout at {rate} kbit/s"

    def rates_of_phases(self, *, measured: RateCurve | None = None) -> RateLines:
        """Return the mean rate of the phases over time, after that of the capture where given."""
        length_s = max(phase.end_s for stream in self.streams for phase in stream.phases)
        step_s = length_s / POINTS
        middles_s = (np.arange(POINTS) + 0.5) * step_s
        rates = np.zeros(POINTS)
        for phase in (phase for stream in self.streams for phase in stream.phases):
            rates[(middles_s >= phase.start_s) & (middles_s < phase.end_s)] += kbps_from_bps(
                phase.rate_bps
            )
        lines = [("mean rate of the phases", rates)]
        if measured is not None:
            in_capture = measured.rate_kbps(POINTS, start_s=0.0, end_s=length_s)
            lines.insert(0, ("media in the capture", in_capture))
        return RateLines(step_s, lines)

    def _notebook_data(self) -> dict[str, object]:
        published = self.provenance.kind == "published"
        return {
            "description": self.description,
            "startup": self.startup.model_dump(),
            "buffering": self.buffering.model_dump() if self.buffering else None,
            "playout": self.playout.model_dump(),
            "phases": [
                {
                    "stream": stream.name,
                    "transport": stream.transport.protocol,
                    "phase": phase.name,
                    "start_s": phase.start_s,
                    "duration_s": phase.duration_s,
                    "rate_bps": phase.rate_bps,
                    "process": phase.process.kind,
                }
                for stream in self.streams
                for phase in stream.phases
            ],
            "fitted to": None if published else getattr(self.provenance, "files", None),
            "not estimated": [f"{name}: {reason}" for name, reason in self.absent.items()],
        }

    def _notebook_rates(self) -> RateLines | None:
        return self.rates_of_phases()

    @model_validator(mode="after")
    def _unique_names(self) -> Self:
        names = [stream.name for stream in self.streams]
        if len(set(names)) != len(names):
            raise ValueError(f"stream names must be unique, got {', '.join(names)}")
        return self
