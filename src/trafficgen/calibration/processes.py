"""The packet process of one stream in one phase: renewal gaps, or bursts where the gaps are of two kinds."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.fractional_noise import propose_fgn
from trafficgen.calibration.frames import propose_frames
from trafficgen.calibration.phase_packets import FittedProcess, GeneratorOf, LawFitter, PhasePackets
from trafficgen.flows import Bursts, segment_bursts
from trafficgen.models import BurstProcess, RenewalProcess
from trafficgen.units import FloatArray, s_from_ns

#: Bursts need this many to be told from chance, and more than this many packets on average.
_FEWEST_BURSTS = 5
_SMALLEST_MEAN_PACKETS = 1.05


def fit_process(packets: PhasePackets, *, generator_of: GeneratorOf) -> FittedProcess:
    """Fit the packet process of one stream in one phase.

    Bursts are taken when a threshold was found in the stream's gaps, the phase has five bursts or more, and these have
    more than one packet on average; else gaps and sizes are drawn independently (renewal).

    Args:
        packets: The stream's media packets in the phase.
        generator_of: Gives the random stream of each quantity's bootstrap.
    """
    if (framed := propose_frames(packets, LawFitter(generator_of, packets.tick_s))) is not None:
        return framed
    if (noise := propose_fgn(packets, LawFitter(generator_of, packets.tick_s))) is not None:
        return noise
    fit = LawFitter(generator_of, packets.tick_s)
    if packets.threshold_s is not None:
        bursts = segment_bursts(packets.time_ns, packets.ip_bytes, threshold_s=packets.threshold_s)
        many = bursts.packets.size >= _FEWEST_BURSTS
        if many and float(bursts.packets.mean()) > _SMALLEST_MEAN_PACKETS:
            return FittedProcess(_bursts(bursts, packets, fit), fit.problems)
    process = RenewalProcess(
        gap_s=fit.law("gap_s", packets.gap_s, "s"),
        packet_bytes=fit.law("packet_bytes", packets.ip_bytes.astype(np.float64), "bytes"),
    )
    return FittedProcess(process, fit.problems)


def _bursts(bursts: Bursts, packets: PhasePackets, fit: LawFitter) -> BurstProcess:
    last = np.zeros(packets.time_ns.size, dtype=np.bool_)
    last[bursts.last] = True
    sizes = packets.ip_bytes.astype(np.float64)
    return BurstProcess(
        threshold_s=bursts.threshold_s,
        spacing_s=fit.law("spacing_s", _spacings_s(bursts, span_ns=packets.span_ns), "s"),
        burst_packets=fit.law("burst_packets", bursts.packets.astype(np.float64), "packets"),
        gap_within_s=fit.law("gap_within_s", packets.gap_s[bursts.within], "s"),
        packet_bytes=fit.law("packet_bytes", sizes[~last], "bytes"),
        last_packet_bytes=fit.law("last_packet_bytes", sizes[last], "bytes"),
    )


def _spacings_s(bursts: Bursts, *, span_ns: tuple[int, int]) -> FloatArray:
    """Return the spacings, s, with that of the last burst where it is longer than the mean of the others.

    The burst after the last one is not seen. The phase is closed to a ring: what is left of it after the last burst's
    start and before the first one's is the last spacing, so that all spacings together are the phase. Left out, it
    would give a few bursts of which the last fills half of the phase twice the phase's rate.
    """
    seen_s = bursts.spacing_s
    last_s = s_from_ns(int(bursts.end_ns[-1] - bursts.start_ns[-1])) + bursts.threshold_s
    start_ns, end_ns = span_ns
    last_s = max(last_s, s_from_ns(end_ns - int(bursts.start_ns[-1]) + int(bursts.start_ns[0]) - start_ns))
    return np.append(seen_s, last_s) if seen_s.size and last_s > float(seen_s.mean()) else seen_s
