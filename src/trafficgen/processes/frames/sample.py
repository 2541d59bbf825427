"""Play the frame clock: instants, lateness, types and sizes of frames, then their packets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from trafficgen import _core
from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError
from trafficgen.processes.autocorrelated_series import Spectrum, normal_scores, spectral_ranks
from trafficgen.processes.base import (
    LARGEST_IP_BYTES,
    DrawnPart,
    GeneratorOf,
    PlayableProcess,
    PlayedPackets,
    Span,
    UintArray,
    plays,
)
from trafficgen.processes.frames.model import FrameProcess, FrameType, GroupOfPictures
from trafficgen.processes.renewal.sample import positive_mean_s
from trafficgen.processes.trains.sample import TrainOrder
from trafficgen.units import FloatArray, IntArray

#: Frames drawn beyond the expected number, so that the last one passes the end of the phase.
_SPARE_SHARE, _SPARE_FRAMES = 0.02, 4
#: Turns of drawing more frames; laws that need more do not move on.
_MOST_TURNS = 64


@plays(FrameType)
@dataclass(frozen=True, kw_only=True)
class FrameTypeLaws(DrawnPart):
    """Laws of a :class:`~trafficgen.models.FrameType`; meanings and units as there."""

    name: str
    frame_bytes: MixedLaw
    lead_bytes: tuple[int, ...]
    lead_share: float

    def expected_packets(self, packet_bytes: float) -> float:
        """Estimate the packets of a frame that is cut into packets of a size, bytes."""
        rest = self.frame_bytes.mean - self.lead_share * sum(self.lead_bytes)
        return self.lead_share * len(self.lead_bytes) + max(1.0, rest / packet_bytes + 0.5)


@plays(GroupOfPictures)
@dataclass(frozen=True, kw_only=True)
class GroupLaws(DrawnPart):
    """A :class:`~trafficgen.models.GroupOfPictures` as arrays."""

    frames: IntArray
    share: FloatArray
    first_key_frame: int
    reference_period: int | None
    reference_position: int
    profile: FloatArray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def from_model(cls, part: GroupOfPictures, **given: Any) -> GroupLaws:
        """Convert groups of pictures of a model."""
        frames = np.array([distance.frames for distance in part.distances])
        share = np.array([distance.share for distance in part.distances])
        profile = np.array(part.profile)
        return super().from_model(part, frames=frames, share=share, profile=profile, **given)

    def shares(self) -> dict[str, float]:
        """Return the share of frames that are of each type, by name."""
        key = float(self.share.sum() / max(1.0, np.dot(self.frames, self.share)))
        predicted = 1.0 if self.reference_period is None else 1 / self.reference_period
        others = {"predicted": predicted, "bidirectional": 1 - predicted}
        return {"key": key} | {name: (1 - key) * share for name, share in others.items()}

    def places(
        self, count: int, generator: np.random.Generator, *, frames_before: int = 0
    ) -> IntArray:
        """Draw the place of each frame in its group, 0 for a key frame, shape (count,).

        Groups go on from ``frames_before`` as if those had the most frequent length.
        """
        usual = int(self.frames[self.share.argmax()])
        first = self.first_key_frame
        if frames_before:
            first = (first - frames_before) % usual
        groups = int(count / max(1.0, float(np.dot(self.frames, self.share)))) + 2
        # Lengths of groups are spread evenly over their law: the number of key frames hardly
        # varies.
        probability = (generator.permutation(groups) + generator.random(groups)) / groups
        chosen = np.searchsorted(np.cumsum(self.share), probability * self.share.sum())
        lengths = self.frames[np.minimum(chosen, self.frames.size - 1)]
        keys = first + np.concatenate(([0], np.cumsum(lengths)))
        while keys[-1] < count:
            length = generator.choice(self.frames, p=self.share / self.share.sum())
            keys = np.append(keys, keys[-1] + length)
        return places_after(keys, count, usual=usual)

    def types(self, places: IntArray) -> IntArray:
        """Return the types of frames at places: 0 key, 1 predicted, 2 bidirectional."""
        types = np.ones(places.size, dtype=np.int64)
        if self.reference_period is not None:
            types[places % self.reference_period != self.reference_position] = 2
        types[places == 0] = 0
        return types

    def order_by_profile(self, ranks: IntArray, places: IntArray) -> IntArray:
        """Return ranks of sizes that have the profile of the group, from those of what is left."""
        left = math.sqrt(max(0.0, 1 - float(np.mean(self.profile**2))))
        mean = np.append(self.profile, 0.0)[np.minimum(places, self.profile.size)]
        scores = mean + left * normal_scores(ranks.size)[ranks]
        ordered = np.empty_like(ranks)
        ordered[np.argsort(scores)] = np.arange(ranks.size)
        return ordered


def places_after(keys: IntArray, count: int, *, usual: int) -> IntArray:
    """Return how many frames after the last key frame each is, shape (count,).

    Those before the first key frame belong to groups of the usual length that have none.
    """
    frame = np.arange(count)
    row = np.searchsorted(keys, frame, side="right") - 1
    before = (frame - keys[0] - 1) % usual + 1
    return np.where(row >= 0, frame - keys[np.maximum(row, 0)], before)


@plays(FrameProcess)
@dataclass(frozen=True, kw_only=True)
class FrameLaws(PlayableProcess):
    """Laws of a :class:`~trafficgen.models.FrameProcess`; meanings and units as there."""

    spacing_s: MixedLaw
    spacing_spectrum: Spectrum | None
    lateness_s: MixedLaw | None
    lateness_spectrum: Spectrum | None
    lateness_trains: TrainOrder | None = None
    first_lateness_s: float
    types: tuple[FrameTypeLaws, ...]
    group: GroupLaws | None
    size_spectrum: Spectrum | None
    packetisation: Literal["filled", "equal"]
    packet_bytes: MixedLaw
    gap_within_s: MixedLaw | None
    gap_scale: Literal["packet", "frame", "bytes"]
    paced_from_s: float | None = None
    lead_gap_s: MixedLaw | None = None
    trains: TrainOrder | None = None

    def play(self, span: Span, generator_of: GeneratorOf) -> PlayedPackets:
        """Return the packets in a span."""
        # The first frame may be less late than others, which come later by about the mean lateness.
        late_s = 0.0 if self.lateness_s is None else self.lateness_s.mean
        instant_s = frame_instants(self, span_s=span.length_s + late_s, generator_of=generator_of)
        count = instant_s.size
        before = frames_before(self, span)
        if before is not None:
            instant_s = instant_s + before.first_s
        elif not span.first_at_start and count > 1:
            first_gap_s = instant_s[1] - instant_s[0]
            instant_s = instant_s + generator_of("residual").random() * first_gap_s
        lateness_s = np.zeros(count)
        if self.lateness_s is not None:
            values = self.lateness_s.ascending_sample(generator_of("lateness_s"), count)
            lateness_s = order_lateness(
                values,
                spectrum=self.lateness_spectrum,
                trains=self.lateness_trains,
                generator=generator_of("lateness_s order"),
            )
        if span.first_at_start:
            lateness_s[0] = self.first_lateness_s
        types, frame_bytes = frame_sizes(
            self, count, generator_of=generator_of, frames_before=before.count if before else 0
        )
        frames = cut_into_packets(self, types, frame_bytes, generator_of=generator_of)
        counts, sizes = frames.counts, frames.sizes
        time_s = _core.frame_times(
            instant_s + lateness_s,
            counts,
            self._draw_gaps(frames, lateness_s, generator_of),
            of_frames=self._shares_evenly,
            start_s=span.start_s,
            first_at_start=span.first_at_start,
        )
        # A phase may be too short for any packet but the one at its start.
        within = max(int(span.first_at_start), int(np.searchsorted(time_s, span.end_s)))
        first = np.cumsum(counts) - counts
        begun = int(np.searchsorted(first, within))
        zero_s = before.zero_s if before else instant_s[0]
        clock_s = span.start_s + instant_s[:begun] - zero_s
        return PlayedPackets(time_s[:within], sizes[:within], first[:begun], frame_clock_s=clock_s)

    @property
    def _shares_evenly(self) -> bool:
        """Whether packets share the time of their frame from the first one on."""
        return self.gap_scale == "frame" and self.lead_gap_s is None and self.paced_from_s is None

    def _draw_gaps(
        self, frames: CutFrames, lateness_s: FloatArray, generator_of: GeneratorOf
    ) -> FloatArray | None:
        """Draw the gap before each packet, or the length of each frame, s; None without gaps."""
        if self.gap_within_s is None:
            return None
        counts, sizes = frames.counts, frames.sizes
        generator = generator_of("gap_within_s")
        if self.gap_scale == "frame":
            whole_s = self.gap_within_s.sample(generator, counts.size)
            if self._shares_evenly:
                return whole_s
            gap_s = np.repeat(whole_s / (counts - frames.leads), counts)
            first = np.cumsum(counts) - counts
            if self.paced_from_s is not None:
                several = counts > frames.leads + 1
                second = (first + frames.leads + 1)[several]
                gap_s[second] -= lateness_s[several] - self.paced_from_s
                gap_s = np.maximum(gap_s, 0.0)
            gap_s[first] = 0.0
            if self.lead_gap_s is not None:
                rows = frames.lead_rows() + 1
                gap_s[rows] = self.lead_gap_s.sample(generator_of("lead_gap_s"), rows.size)
            return gap_s
        gap_s = self.gap_within_s.sample(generator, sizes.size)
        if self.gap_scale == "bytes":
            gap_s *= sizes / max(1.0, min(self.packet_bytes.support[1], LARGEST_IP_BYTES))
        if self.trains is not None:
            order = generator_of("order of trains")
            gap_s, _ = self.trains.arrange(gap_s, sizes, order, counts=counts)
            gap_s[np.cumsum(counts) - counts] = 0.0
        return gap_s

    def expected_packets(self, span_s: float, *, place: str) -> float:
        """Return about how many packets a span has."""
        frames = span_s / positive_mean_s(self.spacing_s, "spacing_s", place=place) + 1
        largest, packet = max(part.frame_bytes.mean for part in self.types), self.packet_bytes.mean
        if not (math.isfinite(largest) and packet >= 1):
            raise GenerationError(
                f"frame_bytes in {place} has no finite mean, or packet_bytes is below 1 on average"
            )
        if self.packetisation == "equal":
            packet = min(self.packet_bytes.support[1], LARGEST_IP_BYTES)
        shares = {"predicted": 1.0} if self.group is None else self.group.shares()
        rows = type_rows(self.types)
        parts = ((share, self.types[rows[name]]) for name, share in shares.items())
        return frames * sum(share * part.expected_packets(packet) for share, part in parts)


@dataclass(frozen=True)
class CutFrames:
    """Frames as packets.

    Attributes:
        counts: Packets of each, shape (k,).
        sizes: IP bytes of each packet, shape (n,).
        leads: Packets of each before its picture, fewer than it has, shape (k,).
    """

    counts: IntArray
    sizes: UintArray
    leads: IntArray

    def lead_rows(self) -> IntArray:
        """Return the rows of the leads among all packets."""
        first = np.repeat(np.cumsum(self.counts) - self.counts, self.leads)
        return (
            first
            + np.arange(first.size)
            - np.repeat(np.cumsum(self.leads) - self.leads, self.leads)
        )


@dataclass(frozen=True)
class FramesBefore:
    """Frames of a process that were played before a span.

    Attributes:
        count: How many.
        first_s: Instant of the next one after the start of the span, s.
        zero_s: Instant after the start of the span that the media clock shows as that start, s.
    """

    count: int
    first_s: float
    zero_s: float


def frames_before(laws: FrameLaws, span: Span) -> FramesBefore | None:
    """Return the frames that were played before a span; None for a process that begins there.

    They are counted by their mean spacing, so that the media clock and the groups of pictures of
    a steady encoder go on. A frame at the start of a process is sent at once, however late: all
    others are earlier by as much.
    """
    if not span.continues:
        return None
    zero_s = -laws.first_lateness_s if span.begun_at_packet else 0.0
    count = math.ceil((span.played_s - zero_s) / laws.spacing_s.mean)
    return FramesBefore(count, zero_s + count * laws.spacing_s.mean - span.played_s, zero_s)


def frame_instants(laws: FrameLaws, *, span_s: float, generator_of: GeneratorOf) -> FloatArray:
    """Draw the instants of the frames from 0 on, the last near the end of the phase, s."""
    mean_s = laws.spacing_s.mean
    if not mean_s > 0:
        raise GenerationError(
            f"frames {mean_s:g} s apart do not move on; correct spacing_s to be above 0"
        )
    spacings: list[FloatArray] = []
    reached_s = 0.0
    for turn in range(_MOST_TURNS):
        count = int((span_s - reached_s) / mean_s * (1 + _SPARE_SHARE)) + _SPARE_FRAMES
        values = laws.spacing_s.ascending_sample(generator_of(f"spacing_s {turn}"), count)
        ordered = order_by_spectrum(values, laws.spacing_spectrum, generator_of(f"order {turn}"))
        spacings.append(np.maximum(ordered, 0.0))
        reached_s += float(spacings[-1].sum())
        if reached_s >= span_s:
            break
    instant_s = np.concatenate(([0.0], np.cumsum(np.concatenate(spacings))))
    return instant_s[: max(1, int(np.searchsorted(instant_s, span_s)))]


def type_rows(types: Sequence[FrameTypeLaws]) -> dict[str, int]:
    """Return the index into ``types`` of key, predicted and bidirectional frames, in that order."""
    place = {part.name: row for row, part in enumerate(types)}
    return {name: place.get(name, 0) for name in ("key", "predicted", "bidirectional")}


def frame_sizes(
    laws: FrameLaws, count: int, *, generator_of: GeneratorOf, frames_before: int = 0
) -> tuple[IntArray, IntArray]:
    """Draw the types and bytes of frames after some others.

    Bytes are ranks of one series, mapped to the law of each type.

    Returns:
        Index into ``laws.types`` and bytes of each frame, both of shape (count,).
    """
    ranks = spectral_ranks(laws.size_spectrum, count, generator_of("frame_bytes order"))
    types = np.zeros(count, dtype=np.int64)
    if laws.group is not None:
        places = laws.group.places(count, generator_of("group"), frames_before=frames_before)
        types = np.array(list(type_rows(laws.types).values()))[laws.group.types(places)]
        if laws.group.profile.size:
            ranks = laws.group.order_by_profile(ranks, places)
    counts = np.bincount(types, minlength=len(laws.types)).tolist()
    values = [
        part.frame_bytes.ascending_sample(generator_of(f"frame_bytes {part.name}"), members)
        for part, members in zip(laws.types, counts, strict=True)
    ]
    sizes = _core.values_by_rank(ranks, types, np.concatenate(values))
    return types, np.maximum(np.rint(sizes, out=sizes), 1).astype(np.int64)


def cut_into_packets(
    laws: FrameLaws, types: IntArray, frame_bytes: IntArray, *, generator_of: GeneratorOf
) -> CutFrames:
    """Cut frames into packets that add up to their bytes.

    ``types`` and ``frame_bytes``, at least 1, have shape (k,).
    """
    cutter, number = _core.FrameCutter(frame_bytes), np.zeros(types.size, dtype=np.int64)
    for row, part in enumerate(laws.types):
        if not part.lead_bytes:
            continue
        leads = generator_of(f"lead {part.name}").random(types.size) < part.lead_share
        mine = np.flatnonzero((types == row) & leads & (frame_bytes > sum(part.lead_bytes)))
        number[mine] = len(part.lead_bytes)
        for lead in part.lead_bytes:
            cutter.take(mine, lead)
    if laws.packetisation == "equal":
        cutter.cut_equally(round(min(laws.packet_bytes.support[1], LARGEST_IP_BYTES)))
    else:
        generator, unfilled = generator_of("packet_bytes"), frame_bytes.size
        while unfilled:
            unfilled = cutter.fill(laws.packet_bytes.sample(generator, unfilled))
    return CutFrames(*cutter.end(), number)


def order_by_spectrum(
    ascending: FloatArray, spectrum: Spectrum | None, generator: np.random.Generator
) -> FloatArray:
    """Order values so that they have a spectrum: sums of spacings vary as it says, shape (n,)."""
    return ascending[spectral_ranks(spectrum, ascending.size, generator, ascending=ascending)]


def order_lateness(
    ascending: FloatArray,
    *,
    spectrum: Spectrum | None,
    trains: TrainOrder | None,
    generator: np.random.Generator,
) -> FloatArray:
    """Order lateness as in stretches of a capture, else by its spectrum, shape (n,)."""
    if trains is not None:
        return trains.arrange_series(ascending, generator)
    return ascending[spectral_ranks(spectrum, ascending.size, generator)]


def schedule_frames(ready_s: FloatArray, busy_s: FloatArray) -> FloatArray:
    """Return when each frame is sent: when it is ready and the one before is out (Lindley 1952).

    A frame keeps the sender busy for ``busy_s``; all have the shape (k,).
    """
    before_s = np.cumsum(busy_s) - busy_s
    return np.maximum.accumulate(ready_s - before_s) + before_s
