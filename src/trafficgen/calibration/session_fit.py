"""Fit a model to the packets of one session: phases, streams, path and provenance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from trafficgen.calibration.model_size import compact_model
from trafficgen.calibration.options import FitOptions
from trafficgen.calibration.path.conditions import PathConditions, find_conditions
from trafficgen.calibration.path.pairing import Pairing, pair_arrivals, pair_sessions
from trafficgen.calibration.path.source_reconstruction import reconstruct_source
from trafficgen.calibration.phases.phase_rows import FittedViews
from trafficgen.calibration.phases.session_phases import (
    PHASES_METHOD,
    SHARE_OF_DOWNLOAD,
    Phases,
    estimate_phase_rates,
    find_phases,
)
from trafficgen.calibration.player_log.events import PlayerLog, anchor_phases
from trafficgen.calibration.session_measures import SessionMeasures, measure_session
from trafficgen.calibration.streams import FittedStreams, fit_streams
from trafficgen.calibration.summary import summarise
from trafficgen.capture.options import TimeWindow
from trafficgen.errors import CalibrationError, TooFewObservationsError
from trafficgen.flows import SessionView, clock_tick_ns, resegment
from trafficgen.formatting import format_count, format_duration, rate_text
from trafficgen.models import (
    LONGEST_S,
    Buffering,
    Estimate,
    FittedProvenance,
    Model,
    Playout,
    Startup,
    describe_failed_checks,
)
from trafficgen.option_names import name_options
from trafficgen.process_memory import give_back_freed_memory
from trafficgen.progress import report_step
from trafficgen.provenance import run_date, software_version
from trafficgen.randomness import random_stream
from trafficgen.standard_streams import describe_input
from trafficgen.tables import PacketTable
from trafficgen.tables.counts import as_captured
from trafficgen.units import kbps_from_bytes, s_from_ns

#: A gap needs two packets, and a law of gaps two gaps.
_FEWEST_PACKETS = 3
#: What a model needs: of fewer packets a law is known to a KS distance of 0.14 only, a self-check
#: needs five bins of 0.5 s, and the slowest speech codecs send more with their headers.
FEWEST_MODELLED, _SHORTEST_MODELLED_S, _SLOWEST_MODELLED_KBPS = 100, 2.5, 10.0
CHOOSE_ANOTHER = (
    "choose another session with [--session] ([trafficgen inspect|inspect()] lists them), or"
    " capture more of the stream"
)
_ANCHORED_METHOD = {
    "buffer_full": (
        "player log: last media packet before its buffer was full; interval of one sample of"
        " the log"
    ),
    "playback_start": "player log: last media packet before the playback started",
    "option": "set by the user",
}


@dataclass(frozen=True)
class SessionInputs:
    """What a session is fitted from, apart from its packets.

    Attributes:
        files: Names of the capture's files; the first one names the model.
        digests: ``sha256:`` digests of the files; empty if the input was a stream.
        window: Part of the capture that the packets are from; None for all of it.
        receiver: Packets of a capture at the other end of the path, in order of time.
        player_log: What the player logged, on the session's clock.
        buffering_end_s: Known end of buffering, s from the first media packet; 0 for no buffering,
            None to find it.
        remedy: What to do where the session has too few media packets for a model.
        refuse_unsuited: Whether such a session is refused before it is fitted.
    """

    files: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    window: TimeWindow | None = None
    receiver: PacketTable | None = None
    receiver_files: tuple[str, ...] = ()
    player_log: PlayerLog | None = None
    buffering_end_s: float | None = None
    remedy: str = CHOOSE_ANOTHER
    refuse_unsuited: bool = False


@dataclass(frozen=True)
class Calibration:
    """A model with the measures and warnings of its fit.

    Attributes:
        model: The model, ready to be saved or played.
        session: Measures of the session that are not part of the model.
        warnings: What is doubtful, a sentence each.
        views: The packets that the estimates are of.
        details: Where no textbook distribution fits which quantities, a sentence a part.
    """

    model: Model
    session: SessionMeasures
    warnings: list[str]
    views: FittedViews = field(repr=False, compare=False)
    details: tuple[str, ...] = ()

    @property
    def unsuited(self) -> str | None:
        """Why the media packets are too few for a model; None if they are not."""
        return describe_unsuited(self.views.captured)

    def summary(self) -> dict[str, object]:
        """Return what `trafficgen fit --json` prints, without the key ``flow``."""
        return summarise(self.session, self.warnings)


def fit_session(
    view: SessionView, inputs: SessionInputs | None = None, options: FitOptions | None = None
) -> Calibration:
    """Fit a model to one session of a capture.

    Change points of the rate divide the session into silence, buffering and playout. Each media
    flow with at least 1% of the media bytes becomes a stream with a packet process for each phase.
    Laws have atoms and the family that BIC prefers, or a smoothed empirical distribution where no
    family fits.

    The model describes the source apart from the path: packets missing from RTP's numbers are put
    back; where more than 1% of a flow is missing, frames return to the schedule of their
    timestamps; TCP's retransmissions are left out. With a capture at the other end of the path, the
    packets of both are matched: the model is fitted to the sender's, whichever of the two that is,
    and loss, delays and reordering go into its conditions.

    Raises:
        TooFewObservationsError: If the session has fewer than three media packets, or all at one
            time.
        CalibrationError: If it has too few for a model and ``inputs`` refuse that, a media flow is
            neither UDP nor TCP, or the second capture is of something else.
    """
    inputs, options = inputs or SessionInputs(), options or FitOptions()
    ends = _match_ends(view, inputs, options)
    view, inputs = ends.view, ends.inputs
    _check_media(view, inputs.remedy)
    if inputs.refuse_unsuited and (unsuited := describe_unsuited(view)) is not None:
        raise CalibrationError(unsuited)
    tick_s = s_from_ns(clock_tick_ns(view.media_time_ns))
    report_step(f"looking for phases in {view.media_time_ns.size} media packets")
    phases = _find_phases(view, tick_s, inputs, options)
    restored = reconstruct_source(view)
    sent_phases = phases
    if restored.method is not None:
        sent_phases = _find_phases(restored.view, tick_s, inputs, options)
    streams = fit_streams(restored.view, sent_phases, tick_s=tick_s, seed=options.seed)
    if not streams.streams:
        raise TooFewObservationsError(what="media packets in one flow", required=2, available=1)
    report_step("measuring the session and its path")
    give_back_freed_memory(view.media_time_ns.size)
    path = find_conditions(
        view, pairing=ends.pairing, receiver=ends.receiver, tick_s=tick_s, seed=options.seed
    )
    views = FittedViews(view, phases, restored.view, sent_phases, tick_s)
    give_back_freed_memory(view.media_time_ns.size)
    measures = measure_session(
        views,
        path,
        streams.streams[0],
        pairing=ends.pairing,
        log=inputs.player_log,
        seed=options.seed,
    )
    origin = _describe_origin(ends, path, streams, restored.method, seed=options.seed)
    model = _build_model(views, measures, streams, origin, inputs.window)
    warnings = _list_warnings(views, model, streams, remedy=inputs.remedy)
    details = tuple(streams.details)
    return Calibration(compact_model(model), measures, warnings, views, details)


@dataclass(frozen=True)
class _Ends:
    """A session at its sender and receiver, and how many packets above the MTU were cut."""

    view: SessionView
    inputs: SessionInputs
    pairing: Pairing | None
    receiver: PacketTable | None
    cut_packets: int


def _match_ends(view: SessionView, inputs: SessionInputs, options: FitOptions) -> _Ends:
    """Undo segmentation offload, and match the session with its packets at the other end."""
    cut = 0
    if options.resegment:
        table, cut = resegment(view.table)
        view = replace(view, table=table) if cut else view
    if inputs.receiver is None:
        _check_media(view, inputs.remedy)
        pairing = pair_arrivals(view)
        receiver = as_captured(view.table, at_client=True) if pairing is not None else None
        return _Ends(view, inputs, pairing, receiver, cut)
    receiver = resegment(inputs.receiver)[0] if options.resegment else inputs.receiver
    pairing = pair_sessions(view, receiver)
    if pairing.swapped:
        inputs = replace(inputs, files=inputs.receiver_files, receiver_files=inputs.files)
        receiver = view.table
    return _Ends(pairing.sender, inputs, pairing, receiver, cut)


def _describe_origin(
    ends: _Ends, path: PathConditions, streams: FittedStreams, restored: str | None, *, seed: int
) -> FittedProvenance:
    inputs, window = ends.inputs, ends.inputs.window
    return FittedProvenance(
        files=_base_names(inputs.files),
        digests=inputs.digests,
        session=ends.view.session,
        flows=tuple(streams.flows),
        receiver_files=_base_names(inputs.receiver_files),
        restored=restored,
        player_log=inputs.player_log.file if inputs.player_log else None,
        resegmented_packets=ends.cut_packets,
        from_s=window.from_s if window else None,
        to_s=window.to_s if window and math.isfinite(window.to_s) else None,
        conditions=path.conditions,
        software=f"trafficgen {software_version()}",
        seed=seed,
        date=run_date(),
    )


def _check_media(view: SessionView, remedy: str) -> None:
    """Raise where the media packets are too few, at one time, or years apart."""
    time_ns = view.media_time_ns
    is_moment = time_ns.size > 1 and time_ns[0] == time_ns[-1]
    how = " at one time" if is_moment else ""
    if time_ns.size < _FEWEST_PACKETS or is_moment:
        raise TooFewObservationsError(
            what="media packets at different times",
            required=_FEWEST_PACKETS,
            available=int(time_ns.size),
            message=f"{_say_too_little(time_ns.size, how)}: {remedy}",
        )
    span_s = s_from_ns(int(time_ns[-1] - time_ns[0]))
    if span_s > LONGEST_S:
        raise CalibrationError(
            f"the media packets span {span_s:.3g} s, longer than any session: the clock jumped; cut"
            " the capture there"
        )


def _find_phases(
    view: SessionView, tick_s: float, inputs: SessionInputs, options: FitOptions
) -> Phases:
    generator = random_stream(options.seed, session=view.session, purpose="fit/phases")
    phases = find_phases(
        view,
        tick_s=tick_s,
        generator=generator,
        keep_visible=True,
        buffering_end_s=inputs.buffering_end_s,
    )
    log = inputs.player_log
    return phases if log is None else anchor_phases(phases, view, log)


def _base_names(files: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(PurePath(name).name for name in files)


def _list_warnings(
    views: FittedViews, model: Model, streams: FittedStreams, *, remedy: str
) -> list[str]:
    failure, phases, origin = describe_failed_checks(model), views.sent_phases, model.provenance
    assert isinstance(origin, FittedProvenance)
    unsuited = describe_unsuited(views.captured)
    warnings = [f"self-check failed: {failure}"] if failure and unsuited is None else []
    if phases.is_download:
        warnings.append(describe_download(phases))
    elif (doubt := phases.describe_burst_doubt()) is not None:
        warnings.append(doubt)
    if unsuited is not None:
        warnings.append(f"{unsuited}: do not rely on this model; {remedy}")
    if len(streams.absent) > 1:
        warnings.append(
            f"{len(streams.absent)} small flows ({streams.left_out_share:.1%} of the media bytes)"
            " are not in the model"
        )
    else:
        warnings += [
            f"{flow} {why}: it is not in the model" for flow, why in streams.absent.items()
        ]
    if origin.restored is not None:
        warnings.append(f"the model describes what was sent, not what arrived: {origin.restored}")
    if origin.resegmented_packets:
        warnings.append(
            f"{origin.resegmented_packets} packets above the MTU (segmentation offload) were cut to"
            " MTU size before the fit"
        )
    return [name_options(text) for text in warnings]


def describe_unsuited(view: SessionView) -> str | None:
    """Say why the media packets are too few for a model; None if they are not."""
    packets = int(view.media_time_ns.size)
    span_s = s_from_ns(int(view.media_time_ns[-1] - view.media_time_ns[0]))
    rate_kbps = kbps_from_bytes(float(view.media_ip_bytes.sum()), span_s)
    if (
        packets >= FEWEST_MODELLED
        and span_s >= _SHORTEST_MODELLED_S
        and rate_kbps >= _SLOWEST_MODELLED_KBPS
    ):
        return None
    how = f" in {format_duration(span_s)} at {rate_text(rate_kbps)}"
    if packets >= FEWEST_MODELLED and rate_kbps >= _SLOWEST_MODELLED_KBPS:
        how += " (too short: a download, or a capture that ends early)"
    return _say_too_little(packets, how)


def _say_too_little(packets: int, how: str) -> str:
    return (
        f"too little media traffic for a model: {format_count(packets, 'media packet')}{how}; at"
        f" least {FEWEST_MODELLED} packets, {_SHORTEST_MODELLED_S:g} s and"
        f" {_SLOWEST_MODELLED_KBPS:g} kbit/s are needed"
    )


def describe_download(phases: Phases) -> str:
    """Say that nearly all bytes come before the end of what looks like buffering."""
    return (
        f"this looks like a download: more than {SHARE_OF_DOWNLOAD:.0%} of the bytes come in the"
        f" first {format_duration(phases.buffering_end_s)}; the model has that part as buffering"
        " and what little follows as playout: [--to TIME|to_s=TIME] fits the first part alone"
    )


def _build_model(
    views: FittedViews,
    session: SessionMeasures,
    streams: FittedStreams,
    origin: FittedProvenance,
    window: TimeWindow | None,
) -> Model:
    names, phases = origin.files, views.sent_phases
    absent = {**streams.absent, **session.path.absent, **session.response.absent}
    if phases.buffering_end_s is None:
        by_option = phases.anchor == "option"
        why = _ANCHORED_METHOD["option"] if by_option else "the start is not faster than the rest"
        absent["buffering"] = why
    if session.levels_absent is not None:
        absent["levels"] = session.levels_absent
    absent |= {f"measures.{name}": why for name, why in session.measures.absent.items()}
    buffering_bps, playout_bps = estimate_phase_rates(views.sent, phases, seed=origin.seed)
    part = f", {window}" if window else ""
    files = ", ".join(map(describe_input, names))
    return Model(
        name=names[0].split(".")[0] if names and names[0] not in ("", "-") else "stdin",
        description=f"Session {origin.session} of {files or 'a stream'}{part}.",
        provenance=origin,
        startup=Startup(
            silence_s=Estimate(
                value=session.phases.silence_s, method="first packet to first media packet"
            )
        ),
        buffering=_buffering(phases, buffering_bps),
        playout=_playout(phases, playout_bps),
        streams=tuple(streams.streams),
        facts=session.facts,
        response=session.response.response,
        absent=absent,
    )


def _buffering(phases: Phases, rate: Estimate | None) -> Buffering | None:
    if phases.buffering_end_s is None or rate is None or phases.ratio is None:
        return None
    method = PHASES_METHOD if phases.anchor is None else _ANCHORED_METHOD[phases.anchor]
    if phases.burst_p_value is not None:
        method += f"; kept although the test cannot separate it (p = {phases.burst_p_value:.2g})"
    return Buffering(
        duration_s=Estimate(
            value=phases.buffering_end_s, low=phases.low_s, high=phases.high_s, method=method
        ),
        rate_bps=rate,
        ratio=Estimate(value=phases.ratio, method="buffering rate / playout rate"),
    )


def _playout(phases: Phases, rate: Estimate) -> Playout:
    until = (
        "to the last media packet"
        if phases.playout_end_s is None
        else "to where the stream runs out"
    )
    duration_s = phases.playout_stop_s - phases.playout_start_s
    return Playout(duration_s=Estimate(value=duration_s, method=until), rate_bps=rate)
