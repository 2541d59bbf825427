"""Fitting a model to one session: phases, laws, processes and the conditions of its capture."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Literal, cast

import numpy as np

from trafficgen.calibration.laws.fit_law import FittedLaw, fit_law
from trafficgen.calibration.levels.rate_levels import Levels, find_levels
from trafficgen.calibration.levels.switch_hazards import LevelAssociation, associate_switches
from trafficgen.calibration.measured_facts import measured_facts
from trafficgen.calibration.model_size import compact_model
from trafficgen.calibration.paper_measures import Measures, operational_measures
from trafficgen.calibration.path.conditions import PathConditions, find_conditions
from trafficgen.calibration.path.pairing import Pairing, pair_arrivals, pair_sessions
from trafficgen.calibration.phases.phase_rows import (
    FittedViews,
    PhaseRows,
    phase_rows,
    playout_gaps_s,
)
from trafficgen.calibration.phases.rate_intervals import phase_rates
from trafficgen.calibration.phases.session_phases import PHASES_METHOD, Phases, find_phases
from trafficgen.calibration.player_log.anchoring import anchor_phases
from trafficgen.calibration.player_log.events import PlayedLevels, PlayerLog, played_levels
from trafficgen.calibration.processes.fractional_noise import rate_and_noise
from trafficgen.calibration.processes.hurst import Hurst, autocorrelation, estimate_hurst
from trafficgen.calibration.processes.long_range import LongRange, judge_long_range
from trafficgen.calibration.response.congestion_response import FoundResponse, find_response
from trafficgen.calibration.streams.fit_streams import FittedStreams, fit_streams
from trafficgen.calibration.streams.source_reconstruction import restore_source
from trafficgen.errors import CalibrationError, TooFewObservationsError
from trafficgen.flows import (
    Bursts,
    SessionView,
    clock_tick_ns,
    find_burst_threshold_s,
    gaps_s,
    resegment,
    segment_bursts,
)
from trafficgen.models import (
    LONGEST_S,
    Buffering,
    Estimate,
    Facts,
    FittedProvenance,
    Model,
    PacketProcess,
    Playout,
    Startup,
    Stream,
)
from trafficgen.provenance import run_date, software_version
from trafficgen.randomness import random_stream
from trafficgen.tables import PacketTable
from trafficgen.tables.arrivals import as_received
from trafficgen.units import BoolArray, FloatArray, ns_from_s, s_from_ns

_log = logging.getLogger(__name__)

_FEWEST_PACKETS = 3
_HURST_BIN_S = 0.1
#: Ten days; a capture whose clock jumps by years must not fill the memory with empty bins.
_MOST_HURST_BINS = 8_640_000
_ACF_LAGS = 10
_ANCHORED_METHOD = {
    "buffer_full": (
        "player log: last media packet before its buffer was full; interval of one sample of"
        " the log"
    ),
    "playback_start": "player log: last media packet before the playback started",
}


@dataclass(frozen=True)
class SessionMeasures:
    """What a fit says about the session as a whole, beside the model.

    Attributes:
        packets: Media packets.
        duration_s: First to last media packet, s.
        phases: Silence, buffering and playout.
        packet_bytes: Law of the IP lengths in the playout.
        gap_s: Law of the gaps within flows in the playout.
        bursts_by_phase: Bursts of the session's media packets by name of the phase; None where
            there is no threshold.
        path: What the path of the capture was like: loss, round-trip time, delays, link rate.
        response: How the source answers to congestion.
        hurst: Hurst parameter of the byte rate in bins of 0.1 s of the playout.
        long_range: Whether that is long memory, or something that looks like it.
        facts: Dispersion, autocorrelation and variance-time curve of the playout.
        gap_acf: Autocorrelation of the heaviest flow's gaps in the playout, from lag 1.
        process: Process of the heaviest stream in its longest playout.
        levels: Levels of the session's rate; None where it has one.
        association: How the steps between levels go with loss and goodput, or why that is not
            known; None without levels.
        measures: What the papers define.
        player_log: What the player said, aligned; None where no log was given.
        played_levels: Levels of the player log.
    """

    packets: int
    duration_s: float
    phases: Phases
    packet_bytes: FittedLaw
    gap_s: FittedLaw
    bursts_by_phase: dict[str, Bursts] | None
    path: PathConditions
    response: FoundResponse
    hurst: Hurst | None
    long_range: LongRange | None
    facts: Facts | None
    gap_acf: list[float]
    process: PacketProcess
    levels: Levels | None
    association: LevelAssociation | str | None
    measures: Measures
    player_log: PlayerLog | None = None
    played_levels: PlayedLevels | None = None


@dataclass(frozen=True)
class FittedSession:
    """A model with the measures and warnings of its fit, and the packets that they are of."""

    model: Model
    session: SessionMeasures
    warnings: list[str]
    views: FittedViews = field(repr=False, compare=False)


def fit_session(
    view: SessionView,
    *,
    files: Sequence[str],
    digests: Sequence[str],
    seed: int,
    undo_offload: bool,
    receiver: PacketTable | None = None,
    receiver_files: Sequence[str] = (),
    player_log: PlayerLog | None = None,
) -> FittedSession:
    """Fit a model to one session; :func:`trafficgen.calibration.fit` says how.

    Raises:
        TooFewObservationsError: If the session has fewer than three media packets, or all at one
            time.
        CalibrationError: If a media flow is neither UDP nor TCP, or the second capture is of
            something else.
    """
    cut = 0
    if undo_offload:
        table, cut = resegment(view.table)
        view = replace(view, table=table) if cut else view
        receiver = resegment(receiver)[0] if receiver is not None else None
    pairing: Pairing | None
    if receiver is None:
        pairing = pair_arrivals(view)
        receiver = as_received(view.table) if pairing is not None else None
    else:
        pairing = pair_sessions(view, receiver)
        if pairing.swapped:
            files, receiver_files, receiver = receiver_files, files, view.table
        view = pairing.sender
    tick_s = s_from_ns(clock_tick_ns(view.media_time_ns))
    packets = int(np.count_nonzero(view.media))
    if packets < _FEWEST_PACKETS or view.media_time_ns[0] == view.media_time_ns[-1]:
        raise TooFewObservationsError(
            what="media packets at different times", required=_FEWEST_PACKETS, available=packets
        )
    span_s = s_from_ns(int(view.media_time_ns[-1] - view.media_time_ns[0]))
    if span_s > LONGEST_S:
        raise CalibrationError(
            f"the media packets span {span_s:.3g} s, longer than any session: the clock jumped; cut"
            " the capture there"
        )
    _log.info("looking for phases in %d media packets", packets)
    phases = _phases(view, tick_s=tick_s, seed=seed, log=player_log)
    restored = restore_source(view)
    sent_phases = (
        phases
        if restored.method is None
        else _phases(restored.view, tick_s=tick_s, seed=seed, log=player_log)
    )
    streams = fit_streams(restored.view, sent_phases, tick_s=tick_s, seed=seed)
    if not streams.streams:
        raise TooFewObservationsError(what="media packets in one flow", required=2, available=1)
    _log.info("measuring the session and its path")
    path = find_conditions(view, pairing=pairing, receiver=receiver, tick_s=tick_s, seed=seed)
    session = _measure(
        view, phases, streams, path, pairing=pairing, log=player_log, tick_s=tick_s, seed=seed
    )
    model = _model(
        restored.view,
        session,
        streams,
        sent_phases,
        files=files,
        receiver_files=receiver_files,
        digests=digests,
        seed=seed,
        cut=cut,
        restored=restored.method,
    )
    views = FittedViews(captured=view, sent=restored.view, sent_phases=sent_phases, tick_s=tick_s)
    return FittedSession(
        compact_model(model), session, _notes(streams, cut=cut, restored=restored.method), views
    )


def _phases(view: SessionView, *, tick_s: float, seed: int, log: PlayerLog | None) -> Phases:
    generator = random_stream(seed, session=view.session, purpose="fit/phases")
    phases = find_phases(view, tick_s=tick_s, generator=generator)
    return phases if log is None else anchor_phases(phases, view, log)


def _notes(streams: FittedStreams, *, cut: int, restored: str | None) -> list[str]:
    warnings = list(streams.warnings)
    warnings += [f"{what} {why}: it is not in the model" for what, why in streams.absent.items()]
    if restored is not None:
        warnings.append(f"the model describes what was sent, not what arrived: {restored}")
    if cut:
        warnings.append(
            f"{cut} packets above the MTU (segmentation offload) were cut to MTU size before"
            " the fit"
        )
    return warnings


def _measure(
    view: SessionView,
    phases: Phases,
    streams: FittedStreams,
    path: PathConditions,
    *,
    pairing: Pairing | None,
    log: PlayerLog | None,
    tick_s: float,
    seed: int,
) -> SessionMeasures:
    """Return the measures of a session that are not part of a stream."""
    rows = phase_rows(view, phases)
    playout, playout_ns = rows.playout, view.first_media_ns + ns_from_s(phases.playout_start_s)

    def fitted(quantity: Literal["packet_bytes", "gap_s"], sample: FloatArray) -> FittedLaw:
        generator = random_stream(seed, session=view.session, purpose=f"fit/session/{quantity}")
        unit, tick = ("s", tick_s) if quantity == "gap_s" else ("bytes", 1.0)
        return fit_law(
            sample, unit=cast(Literal["s", "bytes"], unit), tick=tick, generator=generator
        )

    hurst, long_range, facts = _memory(view, playout, playout_ns)
    levels = _session_levels(view, playout, tick_s=tick_s)
    played = _played_levels(view, log) if log else None
    heaviest = gaps_s(view.table.time_ns[playout & (view.table.flow == view.heaviest_flow)])
    return SessionMeasures(
        packets=int(np.count_nonzero(view.media)),
        duration_s=phases.end_s,
        phases=phases,
        packet_bytes=fitted("packet_bytes", view.table.ip_bytes[playout].astype(np.float64)),
        gap_s=fitted("gap_s", playout_gaps_s(view, rows)),
        bursts_by_phase=_bursts(view, rows, phases, tick_s=tick_s),
        path=path,
        response=find_response(path.records, rtt_s=path.rtt_s),
        hurst=hurst,
        long_range=long_range,
        facts=facts,
        gap_acf=autocorrelation(heaviest, lags=_ACF_LAGS),
        process=_playout_process(streams.streams[0]),
        levels=levels,
        association=None if levels is None else associate_switches(view, levels),
        measures=operational_measures(
            view, phases, path, pairing=pairing, levels=levels, log=log, played=played
        ),
        player_log=log,
        played_levels=played,
    )


def _played_levels(view: SessionView, log: PlayerLog) -> PlayedLevels | None:
    payload_bytes = view.table.payload_bytes[view.media].astype(np.float64)
    media_time_s = s_from_ns(view.media_time_ns - view.first_media_ns)
    return played_levels(log, media_time_s=media_time_s, payload_bytes=payload_bytes)


def _playout_process(stream: Stream) -> PacketProcess:
    """Return the process of a stream's longest playout, or of its last phase where it has none."""
    playouts = [phase for phase in stream.phases if phase.name == "playout"]
    return max(playouts, key=lambda phase: phase.duration_s, default=stream.phases[-1]).process


def _session_levels(view: SessionView, playout: BoolArray, *, tick_s: float) -> Levels | None:
    """Return the levels of the rate of all media, from the session's start, or of the playout
    alone.

    A fast start is not a level: what comes before the playout counts where its level comes again.
    """
    table = view.table
    whole = find_levels(view.media_time_ns, view.media_ip_bytes, tick_s=tick_s)
    if playout.sum() == view.media.sum() or (
        whole is not None and whole.level[0] in whole.level[1:]
    ):
        return whole
    return find_levels(table.time_ns[playout], table.ip_bytes[playout], tick_s=tick_s)


def _memory(
    view: SessionView, playout: BoolArray, start_ns: int
) -> tuple[Hurst | None, LongRange | None, Facts | None]:
    """Return memory and facts of the playout; None where it is too short, or too long to be
    true.
    """
    time_ns, ip_bytes = view.table.time_ns[playout], view.table.ip_bytes[playout]
    if (
        time_ns.size == 0
        or s_from_ns(int(time_ns[-1]) - start_ns) > _MOST_HURST_BINS * _HURST_BIN_S
    ):
        return None, None, None
    bins, noise = rate_and_noise(time_ns, ip_bytes, bin_s=_HURST_BIN_S, start_ns=start_ns)
    measured = noise if time_ns.size >= bins.size else None  # of rarer packets it says little
    long_range = judge_long_range(bins, noise_variance=measured)
    return (
        estimate_hurst(bins, noise_variance=measured),
        long_range,
        measured_facts(time_ns, ip_bytes, start_ns=start_ns),
    )


def _bursts(
    view: SessionView, rows: PhaseRows, phases: Phases, *, tick_s: float
) -> dict[str, Bursts] | None:
    """Return the bursts of all media packets of the session, phase by phase."""
    threshold_s = find_burst_threshold_s(gaps_s(view.media_time_ns), tick_s=tick_s)
    if threshold_s is None:
        return None
    parts = {"playout": rows.playout}
    if phases.buffering_end_s is not None:
        parts["buffering"] = rows.before
    table = view.table
    return {
        name: segment_bursts(table.time_ns[inside], table.ip_bytes[inside], threshold_s=threshold_s)
        for name, inside in parts.items()
    }


def _model(
    view: SessionView,
    session: SessionMeasures,
    streams: FittedStreams,
    phases: Phases,
    *,
    files: Sequence[str],
    receiver_files: Sequence[str],
    digests: Sequence[str],
    seed: int,
    cut: int,
    restored: str | None,
) -> Model:
    names = tuple(PurePath(name).name for name in files)
    absent = {**streams.absent, **session.path.absent, **session.response.absent}
    if phases.buffering_end_s is None:
        absent["buffering"] = "the start is not faster than the rest"
    absent |= {f"measures.{name}": why for name, why in session.measures.absent.items()}
    rates = phase_rates(view, phases, seed=seed)
    return Model(
        name=names[0].split(".")[0] if names and names[0] not in ("", "-") else "stdin",
        description=f"Session {view.session} of {', '.join(names) or 'a stream'}.",
        provenance=FittedProvenance(
            files=names,
            digests=tuple(digests),
            session=view.session,
            flows=tuple(streams.flows),
            receiver_files=tuple(PurePath(name).name for name in receiver_files),
            restored=restored,
            player_log=session.player_log.file if session.player_log else None,
            resegmented_packets=cut,
            conditions=session.path.conditions,
            software=f"trafficgen {software_version()}",
            seed=seed,
            date=run_date(),
        ),
        startup=Startup(
            silence_s=Estimate(
                value=session.phases.silence_s, method="first packet to first media packet"
            )
        ),
        buffering=_buffering(phases, rates[0]),
        playout=_playout(phases, rates[1]),
        streams=tuple(streams.streams),
        facts=session.facts,
        response=session.response.response,
        absent=absent,
    )


def _buffering(phases: Phases, rate: Estimate | None) -> Buffering | None:
    if phases.buffering_end_s is None or rate is None or phases.ratio is None:
        return None
    method = PHASES_METHOD if phases.anchor is None else _ANCHORED_METHOD[phases.anchor]
    return Buffering(
        duration_s=Estimate(
            value=phases.buffering_end_s, low=phases.low_s, high=phases.high_s, method=method
        ),
        rate_bps=rate,
        ratio=Estimate(value=phases.ratio, method="buffering rate / playout rate"),
    )


def _playout(phases: Phases, rate: Estimate) -> Playout:
    until_s = phases.end_s if phases.playout_end_s is None else phases.playout_end_s
    method = (
        "to the last media packet"
        if phases.playout_end_s is None
        else "to where the stream runs out"
    )
    return Playout(
        duration_s=Estimate(value=until_s - phases.playout_start_s, method=method), rate_bps=rate
    )
