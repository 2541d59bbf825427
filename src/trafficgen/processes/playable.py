"""The packet processes of a model as something to play: one entry a kind."""

from __future__ import annotations

import math

import numpy as np

from trafficgen.models import (
    BurstDependence,
    BurstProcess,
    FractionalNoiseProcess,
    FrameProcess,
    MmppProcess,
    ModulatedProcess,
    PacketProcess,
    RenewalProcess,
    ScoreSpectrum,
    SemiMarkovProcess,
)
from trafficgen.processes.base import PlayableProcess
from trafficgen.processes.burst_dependence import DependenceOfBursts
from trafficgen.processes.bursts import BurstLaws
from trafficgen.processes.fractional_noise import FractionalNoiseLaws
from trafficgen.processes.frames import FrameLaws, FrameTypeLaws, GroupLaws
from trafficgen.processes.mmpp import MmppLaws
from trafficgen.processes.modulated import ClassLaws, ModulatedLaws
from trafficgen.processes.rate_path import DwellDraws, RateChain
from trafficgen.processes.renewal import RenewalLaws
from trafficgen.processes.semi_markov import SemiMarkovLaws
from trafficgen.processes.spectral_scores import Spectrum
from trafficgen.units import FloatArray


def playable(process: PacketProcess) -> PlayableProcess:  # noqa: PLR0911 - one line a kind, checked to be complete
    """Return a process as laws to draw from, made once for all sessions."""
    match process:
        case BurstProcess():
            return _bursts(process)
        case RenewalProcess():
            return RenewalLaws(
                gap_s=process.gap_s.distribution(), packet_bytes=process.packet_bytes.distribution()
            )
        case FrameProcess():
            return _frames(process)
        case FractionalNoiseProcess():
            return _fractional_noise(process)
        case ModulatedProcess():
            return _modulated(process)
        case MmppProcess():
            return _mmpp(process)
        case SemiMarkovProcess():
            return _semi_markov(process)


def _fractional_noise(process: FractionalNoiseProcess) -> FractionalNoiseLaws:
    return FractionalNoiseLaws(
        bin_s=process.bin_s,
        hurst=process.hurst.value,
        bin_bytes=process.bin_bytes.distribution(),
        packet_bytes=process.packet_bytes.distribution(),
        placement=process.placement,
    )


def _bursts(process: BurstProcess) -> BurstLaws:
    within = process.gap_within_s
    return BurstLaws(
        threshold_s=process.threshold_s,
        spacing_s=process.spacing_s.distribution(),
        burst_packets=process.burst_packets.distribution(),
        gap_within_s=None if within is None else within.distribution(),
        packet_bytes=process.packet_bytes.distribution(),
        last_packet_bytes=process.last_packet_bytes.distribution(),
        dependence=None if process.dependence is None else _dependence(process.dependence),
    )


def _dependence(part: BurstDependence) -> DependenceOfBursts:
    return DependenceOfBursts(
        packets_autocorrelation=np.array(part.packets_autocorrelation),
        spacing_autocorrelation=np.array(part.spacing_autocorrelation),
        packets_to_spacing=part.packets_to_spacing,
        gap_correlation=part.gap_correlation,
        packets_to_gap=part.packets_to_gap,
    )


def _modulated(process: ModulatedProcess) -> ModulatedLaws:
    return ModulatedLaws(
        bin_s=process.bin_s,
        bin_bytes=process.bin_bytes.distribution(),
        autocorrelation=np.array(process.autocorrelation),
        classes=tuple(
            ClassLaws(
                up_to_bytes=math.inf if part.up_to_bytes is None else part.up_to_bytes,
                gap_s=part.gap_s.distribution(),
                packet_bytes=part.packet_bytes.distribution(),
                idle_s=None if part.idle_s is None else part.idle_s.distribution(),
                burst_packets=(
                    None if part.burst_packets is None else part.burst_packets.distribution()
                ),
            )
            for part in process.classes
        ),
    )


def _frames(process: FrameProcess) -> FrameLaws:
    group, lateness, within = process.group, process.lateness_s, process.gap_within_s
    return FrameLaws(
        spacing_s=process.spacing_s.distribution(),
        spacing_spectrum=spectrum_of(process.spacing_spectrum),
        lateness_s=None if lateness is None else lateness.distribution(),
        lateness_spectrum=spectrum_of(process.lateness_spectrum),
        first_lateness_s=process.first_lateness_s,
        types=tuple(
            FrameTypeLaws(
                name=part.name,
                frame_bytes=part.frame_bytes.distribution(),
                lead_bytes=part.lead_bytes,
                lead_share=part.lead_share,
            )
            for part in process.types
        ),
        group=(
            None
            if group is None
            else GroupLaws(
                frames=np.array([part.frames for part in group.distances]),
                share=np.array([part.share for part in group.distances]),
                first_key_frame=group.first_key_frame,
                reference_period=group.reference_period,
                reference_position=group.reference_position,
            )
        ),
        size_spectrum=spectrum_of(process.size_spectrum),
        packetisation=process.packetisation,
        packet_bytes=process.packet_bytes.distribution(),
        gap_within_s=None if within is None else within.distribution(),
        gap_scale=process.gap_scale,
    )


def spectrum_of(spectrum: ScoreSpectrum | None) -> Spectrum | None:
    """Return the spectrum of a model as arrays; None for independent values."""
    if spectrum is None:
        return None
    return Spectrum(
        upper=np.array(spectrum.upper_frequency),
        share=np.array(spectrum.share),
        line_frequency=np.array([line.frequency for line in spectrum.lines]),
        line_share=np.array([line.share for line in spectrum.lines]),
    )


def _mmpp(process: MmppProcess) -> MmppLaws:
    mean_s = np.array([state.mean_sojourn_s.value for state in process.states])
    return MmppLaws(
        rate_per_s=np.array([state.rate_per_s.value for state in process.states]),
        chain=RateChain(
            dwells=tuple(_exponential(value) for value in mean_s.tolist()),
            mean_dwell_s=mean_s,
            transition=np.array(process.transition),
        ),
        packet_bytes=process.packet_bytes.distribution(),
        mean_rate_per_s=process.mean_rate_per_s,
        observed_s=process.observed_s,
    )


def _exponential(mean_s: float) -> DwellDraws:
    def draw(generator: np.random.Generator, count: int) -> FloatArray:
        return generator.exponential(mean_s, count)

    return draw


def _semi_markov(process: SemiMarkovProcess) -> SemiMarkovLaws:
    laws = [
        None if state.dwell_s is None else state.dwell_s.distribution() for state in process.states
    ]
    count = len(laws)
    return SemiMarkovLaws(
        rate_bps=np.array([state.rate_bps for state in process.states]),
        chain=RateChain(
            dwells=tuple(None if law is None else law.sample for law in laws),
            mean_dwell_s=np.array([math.inf if law is None else law.mean for law in laws]),
            transition=np.array(
                [row if row is not None else (0.0,) * count for row in process.transition]
            ),
            first_state=process.first_state,
        ),
        packets=tuple(playable(state.process) for state in process.states),
        mean_rate_bps=process.mean_rate_bps,
        observed_s=process.observed_s,
    )
