"""The packet processes of a model as something to play: one entry a kind."""

from __future__ import annotations

import math

import numpy as np

from trafficgen.models import (
    BurstDependence,
    BurstProcess,
    FractionalNoiseProcess,
    FrameProcess,
    ModulatedProcess,
    PacketProcess,
    RenewalProcess,
    ScoreSpectrum,
)
from trafficgen.processes.base import PlayableProcess
from trafficgen.processes.burst_dependence import DependenceOfBursts
from trafficgen.processes.bursts import BurstLaws
from trafficgen.processes.fractional_noise import FractionalNoiseLaws
from trafficgen.processes.frames import FrameLaws, FrameTypeLaws, GroupLaws
from trafficgen.processes.modulated import ClassLaws, ModulatedLaws
from trafficgen.processes.renewal import RenewalLaws
from trafficgen.processes.spectral_scores import Spectrum


def playable(process: PacketProcess) -> PlayableProcess:
    """Return a process as laws to draw from, made once for all sessions."""
    match process:
        case BurstProcess():
            return _bursts(process)
        case RenewalProcess():
            return RenewalLaws(gap_s=process.gap_s.distribution(), packet_bytes=process.packet_bytes.distribution())
        case FrameProcess():
            return _frames(process)
        case FractionalNoiseProcess():
            return FractionalNoiseLaws(
                bin_s=process.bin_s,
                hurst=process.hurst.value,
                bin_bytes=process.bin_bytes.distribution(),
                packet_bytes=process.packet_bytes.distribution(),
                placement=process.placement,
            )
        case ModulatedProcess():
            return _modulated(process)


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
                burst_packets=None if part.burst_packets is None else part.burst_packets.distribution(),
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
        group=None
        if group is None
        else GroupLaws(
            frames=np.array([part.frames for part in group.distances]),
            share=np.array([part.share for part in group.distances]),
            first_key_frame=group.first_key_frame,
            reference_period=group.reference_period,
            reference_position=group.reference_position,
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
