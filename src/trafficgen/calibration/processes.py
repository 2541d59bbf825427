"""The packet process of one stream in one phase: renewal gaps, or bursts where the gaps are of two kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.marginals import FittedLaw, fit_law
from trafficgen.calibration.selection import Unit
from trafficgen.flows import Bursts, gaps_s, segment_bursts
from trafficgen.models import BurstProcess, Law, PacketProcess, RenewalProcess
from trafficgen.units import FloatArray, IntArray, s_from_ns

#: Bursts need this many to be told from chance, and more than this many packets on average.
_FEWEST_BURSTS = 5
_SMALLEST_MEAN_PACKETS = 1.05
#: A misfit of the part beside the atoms is not worth a word when the whole law is within this of the sample.
_NOTABLE_KS = 0.02

GeneratorOf = Callable[[str], np.random.Generator]


@dataclass(frozen=True)
class FittedProcess:
    """A process and what is doubtful about it.

    Attributes:
        process: The process as generation plays it.
        problems: Quantity -> why no family is used for it.
    """

    process: PacketProcess
    problems: dict[str, str]


def fit_process(
    time_ns: IntArray,
    ip_bytes: IntArray,
    *,
    threshold_s: float | None,
    tick_s: float,
    generator_of: GeneratorOf,
    span_ns: tuple[int, int] | None = None,
) -> FittedProcess:
    """Fit the packet process of one stream in one phase.

    Bursts are taken when a threshold was found in the stream's gaps, the phase has five bursts or more, and these have
    more than one packet on average; else gaps and sizes are drawn independently (renewal).

    Args:
        time_ns: Times of the stream's media packets in the phase, ns, ascending, shape (n,), n >= 2.
        ip_bytes: Their IP total lengths, bytes, shape (n,).
        threshold_s: Largest gap within a burst, s, or None.
        tick_s: Granularity of the clock, s.
        generator_of: Gives the random stream of each quantity's bootstrap.
        span_ns: Start and end of the phase, ns; None where its first and last packets are.
    """
    fit = _Fitter(generator_of, tick_s)
    if threshold_s is not None:
        bursts = segment_bursts(time_ns, ip_bytes, threshold_s=threshold_s)
        many = bursts.packets.size >= _FEWEST_BURSTS
        if many and float(bursts.packets.mean()) > _SMALLEST_MEAN_PACKETS:
            return FittedProcess(_bursts(bursts, time_ns, ip_bytes, fit, span_ns=span_ns), fit.problems)
    process = RenewalProcess(
        gap_s=fit.law("gap_s", gaps_s(time_ns), "s"),
        packet_bytes=fit.law("packet_bytes", ip_bytes.astype(np.float64), "bytes"),
    )
    return FittedProcess(process, fit.problems)


class _Fitter:
    """Fits one law after another and keeps what was doubtful."""

    def __init__(self, generator_of: GeneratorOf, tick_s: float) -> None:
        self._generator_of, self._tick_s = generator_of, tick_s
        self.problems: dict[str, str] = {}

    def law(self, quantity: str, sample: FloatArray, unit: Unit) -> Law:
        """Return the law that generation is to use for a quantity."""
        tick = self._tick_s if unit == "s" else 1.0
        fitted: FittedLaw = fit_law(sample, unit=unit, tick=tick, generator=self._generator_of(quantity))
        notable = fitted.parametric.fit is None or fitted.parametric.fit.ks > _NOTABLE_KS
        if fitted.problem and notable:
            self.problems[quantity] = fitted.problem
        return fitted.law


def _bursts(
    bursts: Bursts, time_ns: IntArray, ip_bytes: IntArray, fit: _Fitter, *, span_ns: tuple[int, int] | None
) -> BurstProcess:
    last = np.zeros(time_ns.size, dtype=np.bool_)
    last[bursts.last] = True
    sizes = ip_bytes.astype(np.float64)
    return BurstProcess(
        threshold_s=bursts.threshold_s,
        spacing_s=fit.law("spacing_s", _spacings_s(bursts, span_ns=span_ns), "s"),
        burst_packets=fit.law("burst_packets", bursts.packets.astype(np.float64), "packets"),
        gap_within_s=fit.law("gap_within_s", gaps_s(time_ns)[bursts.within], "s"),
        packet_bytes=fit.law("packet_bytes", sizes[~last], "bytes"),
        last_packet_bytes=fit.law("last_packet_bytes", sizes[last], "bytes"),
    )


def _spacings_s(bursts: Bursts, *, span_ns: tuple[int, int] | None) -> FloatArray:
    """Return the spacings, s, with that of the last burst where it is longer than the mean of the others.

    The burst after the last one is not seen. The phase is closed to a ring: what is left of it after the last burst's
    start and before the first one's is the last spacing, so that all spacings together are the phase. Left out, it
    would give a few bursts of which the last fills half of the phase twice the phase's rate.
    """
    seen_s = bursts.spacing_s
    last_s = s_from_ns(int(bursts.end_ns[-1] - bursts.start_ns[-1])) + bursts.threshold_s
    if span_ns is not None:
        start_ns, end_ns = span_ns
        last_s = max(last_s, s_from_ns(end_ns - int(bursts.start_ns[-1]) + int(bursts.start_ns[0]) - start_ns))
    return np.append(seen_s, last_s) if seen_s.size and last_s > float(seen_s.mean()) else seen_s
