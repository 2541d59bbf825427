"""Frames on a clock as a part of the model file."""

from __future__ import annotations

from operator import attrgetter
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from trafficgen.distributions.law import LawOfBytes, LawOfTime
from trafficgen.formatting import number
from trafficgen.model_parts.estimate import Estimate, ModelPart
from trafficgen.processes.process import Process, ScoreSpectrum
from trafficgen.processes.trains.model import Trains

#: Frame rates that differ by less count as the same.
_SAME_RATE = 0.01
#: So many distances of key frames are spelt out.
_FEW_DISTANCES = 2
#: More frames than any session has; what counts them fits into 32 bits.
_MOST_FRAMES = (1 << 31) - 1
#: The longest group whose sizes are described place by place: 20 s of film.
LONGEST_PROFILE = 600
FrameName = Literal["frame", "key", "predicted", "bidirectional"]


class FrameType(ModelPart):
    """Frames of one type."""

    name: FrameName
    """key: coded alone; predicted: others, or the larger ones of them; bidirectional: the
    smaller ones; frame: where types cannot be distinguished."""
    frame_bytes: LawOfBytes
    """IP bytes of all packets of a frame."""
    lead_bytes: tuple[Annotated[int, Field(ge=0, le=65_535)], ...] = Field(default=(), max_length=8)
    """IP total lengths of the small packets before the picture, bytes."""
    lead_share: float = Field(default=0.0, ge=0, le=1)
    """Share of the frames that begin with these packets."""


class GroupDistance(ModelPart):
    """A number of frames from one key frame to the next."""

    frames: int = Field(ge=1, le=_MOST_FRAMES)
    """Frames from key frame to key frame."""
    share: float = Field(gt=0, le=1)
    """Share of the groups."""


class GroupOfPictures(ModelPart):
    """Where key frames are, and the pattern of the frames between them."""

    distances: tuple[GroupDistance, ...] = Field(min_length=1, max_length=64)
    """Lengths of the groups."""
    first_key_frame: int = Field(ge=0, le=_MOST_FRAMES)
    """Frames of the phase before its first key frame."""
    reference_period: int | None = Field(default=None, ge=2, le=_MOST_FRAMES)
    """Every so many frames one is predicted, the others are bidirectional."""
    reference_position: int = Field(default=0, ge=0, le=_MOST_FRAMES)
    """Place of the predicted frame in this period."""
    profile: tuple[Annotated[float, Field(ge=-4, le=4)], ...] = Field(
        default=(), max_length=LONGEST_PROFILE
    )
    """Mean of the normal scores of sizes, among those of a type, at each place from the key frame
    on; 0 at later ones. What it leaves of their variance has the spectrum of the sizes."""


class FrameProcess(Process):
    """Frames on a clock: their spacing, lateness, types and sizes, and how a frame becomes packets.

    Sizes are normal scores with a spectrum, mapped to the law of each type (an ARTA process: Cario
    and Nelson 1996). A frame is sent when its time has come and the frame before it has been sent.
    """

    title: ClassVar[str] = "frame clock"

    kind: Literal["frames"] = "frames"
    frame_rate_hz: Estimate
    """Frames in a second of the media clock, by the mode of its steps."""
    clock_ratio: Estimate
    """Time that passed / time by the media clock."""
    spacing_s: LawOfTime
    """Spacing of frames, s: of their instants, or as sent without lateness."""
    spacing_spectrum: ScoreSpectrum | None = None
    """Power spectrum of the spacings themselves."""
    lateness_s: LawOfTime | None = None
    """Time of a frame after its instant, s; null where spacings are those as sent."""
    first_lateness_s: float = Field(default=0.0, ge=0)
    """Lateness of the first frame of the phase, s."""
    lateness_spectrum: ScoreSpectrum | None = None
    """Power spectrum of the normal scores of lateness."""
    lateness_trains: Trains | None = None
    """Order of lateness in stretches of frames, whose gap_ranks rank lateness; null where the
    spectrum says enough of it."""
    types: tuple[FrameType, ...] = Field(min_length=1, max_length=3)
    """Types of frames."""
    group: GroupOfPictures | None = None
    """Null where there is one type of frames."""
    size_spectrum: ScoreSpectrum | None = None
    """Dependence of the normal scores of the frames' sizes; null for independent sizes."""
    packetisation: Literal["filled", "equal"]
    """filled: packets of packet_bytes and a last one with the rest; equal: packets of equal
    size, as few as packet_bytes at its largest allows."""
    packet_bytes: LawOfBytes
    """IP total length of packets but the last of a frame, bytes."""
    gap_within_s: LawOfTime | None
    """Gap in a frame, s; null where frames are single packets."""
    gap_scale: Literal["packet", "frame", "bytes"] = "packet"
    """packet: each gap is drawn; frame: gap_within_s is the time of a frame, shared by its
    packets; bytes: gap_within_s is the gap of a packet of the largest size, others have it in
    proportion to theirs."""
    paced_from_s: float | None = None
    """From the instant of a frame to where the time begins that its packets share, s: those after
    a first one that is late are on time; null where it begins with the first one."""
    lead_gap_s: LawOfTime | None = None
    """Gap after each lead packet of frames that share gap_within_s, s: these are sent at once; null
    where they share it too."""
    trains: Trains | None = None
    """What gaps follow one another within a frame; null where they are independent. Frames then
    wait for the last packet of the frame before, not for a gap after it."""

    @model_validator(mode="after")
    def _types_told_apart(self) -> Self:
        names = [part.name for part in self.types]
        if len(set(names)) != len(names) or (self.group is None) != (names == ["frame"]):
            raise ValueError(
                "a group of pictures has key and predicted frames, else there is one type: frame"
            )
        if self.trains is not None and (self.gap_within_s is None or self.gap_scale != "packet"):
            raise ValueError("trains need gap_within_s, and gap_scale packet")
        if self.paced_from_s is not None and self.gap_scale != "frame":
            raise ValueError("paced_from_s needs gap_scale frame")
        pattern = self.group is not None and self.group.reference_period is not None
        wanted = ["key", "predicted", "bidirectional"] if pattern else ["key", "predicted"]
        if self.group is not None and sorted(names) != sorted(wanted):
            raise ValueError(f"this group of pictures has the types {', '.join(wanted)}")
        return self

    def describe(self, *, mean_gap_s: float | None = None) -> str:
        """Say in a few words what it plays: the mean rate, and the clock's if it is another one."""
        rate_hz, clock_hz = 1 / self.spacing_s.distribution().mean, self.frame_rate_hz.value
        text = f"{number(rate_hz)} frames a second"
        if abs(rate_hz / clock_hz - 1) > _SAME_RATE:
            text += f" (the commonest step of the clock is that of {number(clock_hz)})"
        if self.group is None:
            return text
        distances = self.group.distances
        if len(distances) <= _FEW_DISTANCES:
            apart = " or ".join(
                f"{one.frames:,}" for one in sorted(distances, key=attrgetter("frames"))
            )
            return f"{text}, key frames {apart} frames apart"
        mean = sum(part.frames * part.share for part in distances)
        return f"{text}, a key frame every {number(mean)} frames on average"
