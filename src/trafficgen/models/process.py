"""Packet processes: how a stream places packets in time and how large they are, in one phase."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator

from trafficgen.models.estimate import Estimate, ModelPart
from trafficgen.models.law import LawOfBytes, LawOfPackets, LawOfTime

#: Digits of a rank, lowest first: 64 to the power of two characters are all ranks.
RANK_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
#: Stretches are cut to fewer packets only where they are more than this.
_FEWEST_KEPT = 64
_RANKS = Field(pattern=r"^([A-Za-z0-9+/]{2})*$", max_length=1 << 17)


class Trains(ModelPart):
    """The order of gaps and sizes in packet trains: their ranks in stretches of the capture.

    Gaps and sizes that are drawn from their laws are put in the order of such stretches, chosen at
    random (a block bootstrap of the ranks: Künsch 1989; Politis and Romano 1994). The laws stay as
    they are; what follows what in a train is as in the capture.
    """

    packets: tuple[Annotated[int, Field(ge=1, le=1 << 16)], ...] = Field(min_length=1)
    """Packets of each stretch; in bursts and frames, one of them or its beginning."""
    gap_ranks: Annotated[str, _RANKS]
    """Rank of the gap before each packet among all gaps, two characters: A is 0, / is 63, the
    first one counts 64; from AA, the shortest, to //, the longest."""
    size_ranks: Annotated[str, _RANKS] = ""
    """Rank of the size of each packet, in the same way, of the last packet of a burst among those;
    empty where sizes have an order of their own, as the packets of a frame."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = 2 * sum(self.packets)
        if len(self.gap_ranks) != needed or len(self.size_ranks) not in (0, needed):
            raise ValueError("gap_ranks and size_ranks need two characters for each packet")
        return self

    def keep(self, most_packets: int) -> Self:
        """Return at most so many packets of the trains, those of all lengths cut alike.

        What is cut keeps its last packet.
        """
        if sum(self.packets) <= most_packets:
            return self
        count = min(len(self.packets), max(1, most_packets // _FEWEST_KEPT))
        longest = most_packets // count
        gaps, sizes, packets = "", "", []
        for place in range(count):
            number = (2 * place + 1) * len(self.packets) // (2 * count)
            start, kept = sum(self.packets[:number]), min(self.packets[number], longest)
            packets.append(kept)
            begun, last = start + kept - 1, start + self.packets[number] - 1
            gaps += self.gap_ranks[2 * start : 2 * begun] + self.gap_ranks[2 * last : 2 * last + 2]
            sizes += self.size_ranks[2 * start : 2 * begun]
            sizes += self.size_ranks[2 * last : 2 * last + 2]
        changed = {"packets": tuple(packets), "gap_ranks": gaps, "size_ranks": sizes}
        return self.model_copy(update=changed)


class RenewalProcess(ModelPart):
    """Independent gaps between packets (a renewal process), sizes drawn apart."""

    kind: Literal["renewal"] = "renewal"
    gap_s: LawOfTime
    """Gap between successive packets, s."""
    packet_bytes: LawOfBytes
    """IP total length of a packet, bytes."""
    trains: Trains | None = None
    """What follows what; null where gaps and sizes are independent."""


class BurstDependence(ModelPart):
    """How the bursts of a stream are correlated: chunk after chunk, and within a chunk.

    Correlations are between ranks (Spearman), so that they do not depend on the laws.
    """

    packets_autocorrelation: tuple[float, ...] = Field(default=(), max_length=64)
    """Autocorrelation of the packets of successive bursts, from lag 1."""
    spacing_autocorrelation: tuple[float, ...] = Field(default=(), max_length=64)
    """Autocorrelation of successive spacings, from lag 1."""
    packets_to_spacing: float = Field(default=0.0, ge=-1, le=1)
    """Rank correlation of a burst's packets with the spacing that follows."""
    gap_correlation: float = Field(default=0.0, ge=0, le=1)
    """Rank correlation of gaps of one burst: above 0 where some bursts are faster than others."""
    packets_to_gap: float = Field(default=0.0, ge=-1, le=1)
    """Rank correlation of a burst's packets with the mean rank of its gaps."""


class BurstProcess(ModelPart):
    """Bursts of packets: laws of start-to-start spacing, packets of a burst, and gaps within it.

    The last packet of a burst has a size law of its own, since a frame or a chunk rarely fills its
    last packet.
    """

    kind: Literal["bursts"] = "bursts"
    threshold_s: float = Field(gt=0)
    """Largest gap within a burst, s."""
    spacing_s: LawOfTime
    """Start of one burst to the start of the next, s."""
    burst_packets: LawOfPackets
    """Packets of a burst."""
    gap_within_s: LawOfTime | None
    """Gap between packets of a burst, s; null when bursts are single packets."""
    packet_bytes: LawOfBytes
    """IP total length of packets but the last of a burst, bytes."""
    last_packet_bytes: LawOfBytes
    """IP total length of the last packet of a burst, bytes."""
    largest_first: bool = False
    """Whether the phase begins with its largest burst, as where a player fills its buffer."""
    dependence: BurstDependence | None = None
    """How bursts are correlated; null where they are independent."""
    trains: Trains | None = None
    """What follows what within a burst; null where gaps and sizes are independent."""


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


#: More frames than any session has; what counts them fits into 32 bits.
_MOST_FRAMES = (1 << 31) - 1

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


class FrameProcess(ModelPart):
    """Frames on a clock: their spacing, lateness, types and sizes, and how a frame becomes packets.

    Sizes are normal scores with a spectrum, mapped to the law of each type (an ARTA process: Cario
    and Nelson 1996). A frame is sent when its time has come and the frame before it has been sent.
    """

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
        pattern = self.group is not None and self.group.reference_period is not None
        wanted = ["key", "predicted", "bidirectional"] if pattern else ["key", "predicted"]
        if self.group is not None and sorted(names) != sorted(wanted):
            raise ValueError(f"this group of pictures has the types {', '.join(wanted)}")
        return self


class RateClass(ModelPart):
    """How packets are placed while the rate is in one range."""

    up_to_bytes: float | None = Field(gt=0)
    """Largest bytes of a bin of this class; null for the class of the highest rates."""
    gap_s: LawOfTime
    """Gap between successive packets of such a bin (within a burst of it), s."""
    idle_s: LawOfTime | None = None
    """Gap between bursts, s; null without bursts."""
    burst_packets: LawOfPackets | None = None
    """Packets of a burst; null without bursts."""
    packet_bytes: LawOfBytes
    """IP total length of a packet in such a bin, bytes."""
    trains: Trains | None = None
    """What follows what in such bins; null where gaps and sizes are independent."""
    pauses_in_trains: bool = False
    """Whether ranks of gaps in the trains count the gaps between bursts too: these are then where
    the trains have them."""

    @model_validator(mode="after")
    def _bursts_whole(self) -> Self:
        if (self.idle_s is None) != (self.burst_packets is None):
            raise ValueError("idle_s and burst_packets are given together or not at all")
        if self.pauses_in_trains and (self.idle_s is None or self.trains is None):
            raise ValueError("pauses_in_trains needs idle_s and trains")
        return self


class ModulatedProcess(ModelPart):
    """Renewal gaps or bursts under a slowly varying rate.

    Time is cut into bins. The bytes of the bins follow a law and have an autocorrelation, in the
    manner of ARTA processes (Cario and Nelson 1996); within a bin, packets are placed by the laws
    of its class of rates.
    """

    kind: Literal["modulated"] = "modulated"
    bin_s: float = Field(gt=0)
    """Width of a bin, s."""
    bin_bytes: LawOfBytes
    """IP bytes of a bin; 0 is an idle bin."""
    autocorrelation: tuple[float, ...] = Field(max_length=256)
    """Sample autocorrelation of the bytes of the bins, from lag 1."""
    classes: tuple[RateClass, ...] = Field(min_length=1, max_length=16)
    """Classes of rates, ascending."""

    @model_validator(mode="after")
    def _classes_ascend(self) -> Self:
        bounds = [part.up_to_bytes for part in self.classes]
        known = [bound for bound in bounds[:-1] if bound is not None]
        if bounds[-1] is not None or len(known) != len(bounds) - 1 or known != sorted(set(known)):
            raise ValueError(
                "up_to_bytes must ascend from class to class and be null in the last one alone"
            )
        if any(not -1 <= value <= 1 for value in self.autocorrelation):
            raise ValueError("an autocorrelation lies between -1 and 1")
        return self

    @property
    def gap_model(self) -> Literal["renewal", "bursts"]:
        """What generates the gaps within a bin."""
        return "renewal" if self.classes[-1].idle_s is None else "bursts"


class FractionalNoiseProcess(ModelPart):
    """Bytes of bins: fractional Gaussian noise (Mandelbrot and Van Ness 1968), mapped to a law.

    They are those that the rate asks for, before they are cut into packets.
    """

    kind: Literal["fgn"] = "fgn"
    bin_s: float = Field(gt=0)
    """Width of a bin, s."""
    hurst: Estimate
    """Hurst parameter of the bytes of the bins."""
    bin_bytes: LawOfBytes
    """IP bytes of a bin."""
    packet_bytes: LawOfBytes
    """IP total length of a packet, bytes."""
    placement: Literal["even", "poisson"]
    """even: packets follow the rate evenly; poisson: they come at independent times, so that
    their number varies around the rate."""


JumpRow = tuple[float, ...]


def check_jump_chain(rows: Sequence[JumpRow | None], *, states: int) -> None:
    """Check the transition probabilities of a jump chain.

    There is a row a state, from which, with a probability a state, to which; None for a state that
    is never left.

    Raises:
        ValueError: If the chain is not square, has a jump from a state to itself, or a row does not
            sum to 1.
    """
    if len(rows) != states:
        raise ValueError(f"transition has {len(rows)} rows for {states} states")
    for number, row in enumerate(rows):
        if row is None:
            continue
        if len(row) != states:
            raise ValueError(
                f"row {number} of transition has {len(row)} numbers for {states} states"
            )
        if min(row) < 0 or row[number] != 0 or not math.isclose(sum(row), 1.0, abs_tol=1e-6):
            raise ValueError(
                f"row {number} of transition must have a zero diagonal, no negative number and sum"
                " to 1"
            )


#: No capture distinguishes more states than this.
MOST_STATES = 16


class MmppState(ModelPart):
    """One state of the chain."""

    rate_per_s: Estimate
    """Packets per second in this state."""
    mean_sojourn_s: Estimate
    """Mean time until the state is left, s; sojourns are exponential."""

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.rate_per_s.value < 0 or not self.mean_sojourn_s.value > 0:
            raise ValueError(
                "a state needs a rate_per_s of at least 0 and a mean_sojourn_s above 0"
            )
        return self


class MmppProcess(ModelPart):
    """A Poisson process of packets whose rate is switched by a Markov chain."""

    kind: Literal["mmpp"] = "mmpp"
    states: tuple[MmppState, ...] = Field(min_length=2, max_length=MOST_STATES)
    """States, fastest first."""
    transition: tuple[JumpRow, ...]
    """Jump chain: row = from, column = to, zero diagonal, rows sum to 1."""
    packet_bytes: LawOfBytes
    """IP total length of a packet, bytes."""
    mean_rate_per_s: float = Field(gt=0)
    """Packets per second over the whole phase of the capture."""
    observed_s: float = Field(gt=0)
    """Length of that phase, s; sessions of this length and more are played at its mean rate."""
    evidence_bic: float | None = None
    """BIC of independent gaps less that of this process, on the gaps that were fitted."""

    @model_validator(mode="after")
    def _chain(self) -> Self:
        check_jump_chain(self.transition, states=len(self.states))
        if not any(state.rate_per_s.value > 0 for state in self.states):
            raise ValueError("at least one state needs a rate_per_s above 0")
        return self


StatePackets = Annotated[RenewalProcess | BurstProcess, Field(discriminator="kind")]


class RateState(ModelPart):
    """One rate, the time that the source stays at it, and the packets that it sends meanwhile."""

    rate_bps: float = Field(ge=0)
    """Mean IP rate of the capture in this state, bit/s."""
    dwell_s: LawOfTime | None
    """Time until the state is left, s; null for a state that the capture did not see left."""
    process: StatePackets
    """How packets are placed and sized in this state."""


class SemiMarkovProcess(ModelPart):
    """Rate states with a jump chain, dwell times of any law, and packets of their own."""

    kind: Literal["semi_markov"] = "semi_markov"
    states: tuple[RateState, ...] = Field(min_length=2, max_length=MOST_STATES)
    """States, slowest first."""
    transition: tuple[JumpRow | None, ...]
    """Jump chain: row = from, column = to, zero diagonal, rows sum to 1; null where dwell_s is
    null."""
    first_state: int | None = Field(default=None, ge=0)
    """State that a session begins in, with a whole dwell, as the capture did; null to draw one
    by the long-run shares of the time."""
    mean_rate_bps: float = Field(gt=0)
    """Mean IP rate of the phase of the capture, bit/s."""
    observed_s: float = Field(gt=0)
    """Length of that phase, s; sessions of half this length and more keep its mean rate."""
    evidence_bic: float | None = None
    """BIC of a single level with correlated noise less that of the levels."""

    @model_validator(mode="after")
    def _chain(self) -> Self:
        check_jump_chain(self.transition, states=len(self.states))
        for number, (state, row) in enumerate(zip(self.states, self.transition, strict=True)):
            if (state.dwell_s is None) != (row is None):
                raise ValueError(
                    f"state {number} needs both dwell_s and its row of transition, or neither"
                )
        if self.first_state is not None and self.first_state >= len(self.states):
            raise ValueError(
                f"first_state is {self.first_state}, there are {len(self.states)} states"
            )
        return self


class RegisteredProcess(ModelPart):
    """Packets that a function of a user places: see `trafficgen.register_source`."""

    kind: Literal["registered"] = "registered"
    source: str = Field(min_length=1)
    """Name under which the function is registered."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """Its settings."""
    second_s: float = Field(default=1.0, gt=0)
    """Time in which a second of the function passes, s; below 1 where the rate is scaled up."""


PacketProcess = Annotated[
    RenewalProcess
    | BurstProcess
    | FrameProcess
    | ModulatedProcess
    | FractionalNoiseProcess
    | MmppProcess
    | SemiMarkovProcess
    | RegisteredProcess,
    Field(discriminator="kind"),
]


class RateShares(ModelPart):
    """Where the distributions of a rate, measured and played, are farthest apart."""

    rate_bps: float = Field(ge=0)
    """Rate over a bin; 0 is silence."""
    measured: float = Field(ge=0, le=1)
    """Share of the bins of the capture that have this rate at most."""
    played: float = Field(ge=0, le=1)
    """The same share of the played sessions."""


class TriedProcess(ModelPart):
    """One process that was fitted and played."""

    kind: str
    """Kind of the process."""
    passed: bool
    """Whether rates at several scales and their autocorrelation differ from the capture by no
    more than chance, or by less than 2% of the mean rate."""
    score: float = Field(ge=0)
    """Weighted sum of its distances to the capture; smaller is better."""
    distances: dict[str, float]
    """Statistic -> median distance of played sessions to the capture: Kolmogorov-Smirnov
    distances, and for rate_acf half the largest difference at lags 1 to 20."""
    beyond_chance: dict[str, float] = Field(default_factory=dict)
    """Statistics of the rate that differ by more than chance -> the distance that chance
    explains; empty for a process that passed."""
    differs_at: dict[str, RateShares] = Field(default_factory=dict)
    """Rates of beyond_chance, such as rate.0.5 in bins of 0.5 s -> where they differ most."""


class ProcessChoice(ModelPart):
    """What was tried for a phase, in order; the process of the phase is one of them."""

    chosen: int = Field(ge=0)
    """Which of those tried was chosen, from 0."""
    tried: tuple[TriedProcess, ...] = Field(min_length=1, max_length=32)
    """Processes in order of complexity."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.chosen >= len(self.tried):
            count = len(self.tried)
            raise ValueError(f"chosen must be below the number of those tried, {count}")
        return self
