"""The packets of one stream in one phase, to which a packet process and its laws are fitted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from trafficgen.distributions.fitting.families import Unit
from trafficgen.distributions.fitting.fit_law import PlayedLaw, fit_played_law, split_sample
from trafficgen.distributions.fitting.ticks import Sample
from trafficgen.distributions.law import Law
from trafficgen.flows import gaps_s
from trafficgen.processes.base import GeneratorOf
from trafficgen.processes.kinds import PacketProcess
from trafficgen.processes.process import ProcessChoice
from trafficgen.units import FloatArray, IntArray, s_from_ns

#: A misfit of the continuous part is not mentioned when the whole law is this near to the sample.
_NOTABLE_KS = 0.02


@dataclass(frozen=True)
class PhasePackets:
    """The media packets of one stream in one phase."""

    time_ns: IntArray  #: times, ns, ascending, shape (n,), n >= 2
    ip_bytes: IntArray  #: IP total lengths, bytes, shape (n,)
    span_ns: tuple[int, int]  #: start and end of the phase, ns, around the packets
    tick_s: float  #: granularity of the clock, s
    threshold_s: float | None = None  #: largest gap within a burst of the stream, s
    rtp_timestamp: IntArray | None = None  #: extended, clock ticks, shape (n,); None without RTP
    clock_hz: int | None = None  #: RTP clock, Hz; None where it is unknown
    name: str = "the stream"  #: of stream and phase in messages

    @property
    def span_s(self) -> float:
        """Length of the phase, s."""
        return s_from_ns(self.span_ns[1] - self.span_ns[0])

    @property
    def gap_s(self) -> FloatArray:
        """Gaps, s, in order of time, shape (n - 1,)."""
        return gaps_s(self.time_ns)


@dataclass(frozen=True)
class FittedProcess:
    """A process and what is doubtful about it."""

    process: PacketProcess
    #: Quantity -> why no family is used for it.
    problems: dict[str, str] = field(default_factory=dict)
    #: What else was tried; None where nothing was compared.
    choice: ProcessChoice | None = None


class LawFitter:
    """Fits one law after another, each once, and keeps what was doubtful."""

    def __init__(self, generator_of: GeneratorOf, tick_s: float) -> None:
        self.generator_of = generator_of
        self._tick_s = tick_s
        self._known: dict[tuple[str, Unit, bytes], PlayedLaw] = {}
        self.problems: dict[str, str] = {}

    def start_anew(self) -> LawFitter:
        """Return a fitter without doubts that knows the laws of this one."""
        other = LawFitter(self.generator_of, self._tick_s)
        other._known = self._known
        return other

    def law(self, quantity: str, sample: Sample, unit: Unit) -> Law:
        """Fit the law that generation uses for a quantity, whose name is that of its random stream.

        The sample is in order of time, shape (n,), n > 0, of floats or of whole numbers.
        """
        key = quantity, unit, hashlib.sha256(np.ascontiguousarray(sample).data).digest()
        fitted = self._known.get(key)
        if fitted is None:
            tick = self._tick_s if unit == "s" else 1.0
            split = split_sample(sample, unit=unit, tick=tick)
            del sample  # as long as the session, and often of no further use to the caller
            fitted = fit_played_law(split, unit=unit, generator=self.generator_of(quantity))
            self._known[key] = fitted
        if fitted.problem and fitted.ks > _NOTABLE_KS:
            self.problems[quantity] = fitted.problem
        return fitted.law


@dataclass(frozen=True)
class Proposal:
    """A process to try."""

    #: What to call it in messages.
    name: str
    #: Those with a smaller number are tried before.
    place: int
    #: Fits it; None where the packets do not support it.
    propose: Callable[[PhasePackets, LawFitter], FittedProcess | None]
    #: Whether it passes a test of its own before it is proposed, or is read from timestamps: it
    #: need not pass the check, which has few bins of 10 s, but must be better than independent gaps
    #: and not far beyond chance in any rate. What does not vary must have gaps as near, too.
    proven: bool = False
    #: Whether its sessions truly differ from one another, since a few long states or slow swings
    #: make up each. Of others, sessions that differ much are a sign of laws that do not fit
    #: together.
    varies: bool = False
    #: Whether it says what no statistic of the check sees: that bursts or timestamps stay on a
    #: clock, and that one law of frame sizes replaces two. It is tried even after a process passed,
    #: and taken where it passes and is nearer or hardly farther.
    refines: bool = False
    #: Whether it is tried even after another one than the simplest passed: two states follow many a
    #: swinging rate.
    follows_levels: bool = False
