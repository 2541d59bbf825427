"""The packets of one stream in one phase, to which a packet process and its laws are fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from trafficgen.calibration.laws.families import Unit
from trafficgen.calibration.laws.fit_law import fit_law
from trafficgen.flows import gaps_s
from trafficgen.models import Law, PacketProcess, ProcessChoice
from trafficgen.units import FloatArray, IntArray, s_from_ns

#: A misfit of the continuous part is not mentioned when the whole law is this near to the sample.
_NOTABLE_KS = 0.02

GeneratorOf = Callable[[str], np.random.Generator]


@dataclass(frozen=True)
class PhasePackets:
    """The media packets of one stream in one phase.

    Attributes:
        time_ns: Times, ns, ascending, shape (n,), n >= 2.
        ip_bytes: IP total lengths, bytes, shape (n,).
        span_ns: Start and end of the phase, ns; it may reach beyond the first and the last packet.
        tick_s: Granularity of the clock, s.
        threshold_s: Largest gap within a burst of the whole stream, s; None without bursts.
        rtp_timestamp: Extended RTP timestamps, clock ticks, shape (n,); None without RTP.
        clock_hz: RTP clock, Hz; None where it is unknown.
        name: Name of stream and phase in messages.
    """

    time_ns: IntArray
    ip_bytes: IntArray
    span_ns: tuple[int, int]
    tick_s: float
    threshold_s: float | None = None
    rtp_timestamp: IntArray | None = None
    clock_hz: int | None = None
    name: str = "the stream"

    @property
    def span_s(self) -> float:
        """Length of the phase, s."""
        return s_from_ns(self.span_ns[1] - self.span_ns[0])

    @property
    def gap_s(self) -> FloatArray:
        """Gaps, s, in order of time, shape (n - 1,)."""
        return gaps_s(self.time_ns)

    @property
    def sizes(self) -> FloatArray:
        """IP total lengths as numbers, bytes, shape (n,)."""
        return self.ip_bytes.astype(np.float64)


@dataclass(frozen=True)
class FittedProcess:
    """A process and what is doubtful about it.

    Attributes:
        process: The process as it is played.
        problems: Quantity -> why no family is used for it.
        choice: What else was tried; None where nothing was compared.
    """

    process: PacketProcess
    problems: dict[str, str] = field(default_factory=dict)
    choice: ProcessChoice | None = None


class LawFitter:
    """Fits one law after another and keeps what was doubtful."""

    def __init__(self, generator_of: GeneratorOf, tick_s: float) -> None:
        self.generator_of = generator_of
        self._tick_s = tick_s
        self.problems: dict[str, str] = {}

    def law(self, quantity: str, sample: FloatArray, unit: Unit) -> Law:
        """Fit the law that generation uses for a quantity, whose name is that of its random stream.

        The sample is in order of time, shape (n,), n > 0.
        """
        tick = self._tick_s if unit == "s" else 1.0
        fitted = fit_law(sample, unit=unit, tick=tick, generator=self.generator_of(quantity))
        notable = fitted.parametric.fit is None or fitted.parametric.fit.ks > _NOTABLE_KS
        if fitted.problem and notable:
            self.problems[quantity] = fitted.problem
        return fitted.law
