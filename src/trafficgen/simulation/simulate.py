"""Closed loop: models over a path with competing flows: `trafficgen simulate`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np

from trafficgen.errors import GenerationError, SimulationError, SimulationWarning, warn
from trafficgen.formatting import rate_text
from trafficgen.generation import session_starts
from trafficgen.models import Model, ModelHolder, PublishedModel
from trafficgen.models.published import find_model
from trafficgen.options import check_argument, takes
from trafficgen.packet_files.destinations import choose_format
from trafficgen.packet_files.writing import write_packets
from trafficgen.provenance import software_version
from trafficgen.simulation.applications import UnvisitedRungs
from trafficgen.simulation.competitors import Competitor, participants, quic_settings
from trafficgen.simulation.links import Links
from trafficgen.simulation.options import SimulateOptions
from trafficgen.simulation.path import UNLIMITED_PATH, Path, read_path
from trafficgen.simulation.recorded_path import with_recorded_path
from trafficgen.simulation.results import SimulationResult
from trafficgen.simulation.run import Run, packet_table, run_path
from trafficgen.simulation.sources import (
    LENGTH_KEYS,
    SILENCE_KEYS,
    STREAMS,
    Participant,
    Source,
    check_congestion_control,
    make_published_source,
    set_congestion_control,
    set_quic,
    sources_of,
)
from trafficgen.simulation.what_if import repeat_runs
from trafficgen.tables import PacketTable
from trafficgen.units import bps_from_bytes, kbps_from_bps, s_from_ns

if TYPE_CHECKING:
    from pydantic import JsonValue

#: A session that ends earlier than this before it is stopped is shorter than it was to be, s.
_EARLY_S = 1.0
#: So is one whose packets end before this share of its duration.
_EARLY_SHARE = 0.95
#: More runs make an interval no better.
_MOST_RUNS = 100_000


@takes(SimulateOptions)
def simulate(
    model: Model | PublishedModel | ModelHolder | str | FilePath, options: SimulateOptions
) -> SimulationResult:
    """Play a model over a path with competing flows; the same seed gives the same result.

    Args:
        model: A model or a fit, the name of a catalogue entry or of a model file.
        options: See :class:`SimulateOptions`.

    Warns:
        SimulationWarning: If no media packet arrives, or a session ends before its duration.

    Raises:
        ModelFileError: If the model cannot be read.
        SettingError: If a setting does not fit the model.
        SimulationError: If the path or a competing flow is invalid or cannot be simulated.
        InputFileError: If a file of the path cannot be read.
        ExportError: If the ending of ``out`` is not one that is written.
        OutputFileError: If ``out`` cannot be written.

    Example:
        >>> import trafficgen
        >>> result = trafficgen.simulate(
        ...     "wmedia9_nichols2004",
        ...     path="rate=725kbps,delay=45ms,queue=80p",
        ...     compete="tcp@-10s",
        ...     duration_s=30,
        ... )
        >>> for flow in result.flows:
        ...     measure = flow.measure
        ...     print(f"{flow.name} {measure.rate_kbps:.0f} kbit/s, {measure.loss:.1%} lost")
        media 464 kbit/s, 13.9% lost
        audio 56 kbit/s, 7.7% lost
        video 409 kbit/s, 14.6% lost
        tcp-1 257 kbit/s, 0.6% lost
    """
    file_format = choose_format(options.out, options.to_format)
    _check_runs(options.runs)
    found = find_model(model)
    options = with_recorded_path(found, options)
    path_kbps = _path_kbps(options)  # what is wrong here comes before what is doubtful of the model
    options = check_flows(options)
    result = _play_once(found, options, path_kbps)
    warn_of_short_session(result.run)
    kind = result.run.participants[0].source.kind
    if options.runs > 1:
        answers = repeat_runs(found, options, result, _play_once)
        notes = {**result.notes, "runs": options.runs}
        result = replace(result, notes=notes, answers=answers)
    if result.arrivals_s == (0.0, 0.0) and kind != STREAMS:
        warn(
            "no media packet reached the client, so that rates and delays are unknown",
            SimulationWarning,
        )
    if file_format is not None and options.out is not None:
        write_packets(result.packets(), options.out, file_format=file_format, at=options.at)
    return result


def _play_once(
    model: Model | PublishedModel, options: SimulateOptions, unvisited: UnvisitedRungs
) -> SimulationResult:
    settings, duration_s = options.settings or {}, options.duration_s
    sources = sources_of(
        model, settings, duration_s=duration_s, seed=options.seed, unvisited=unvisited
    )
    return SimulationResult(*run_sessions(sources, options))


def run_sessions(
    sources: Sequence[Source],
    options: SimulateOptions,
    *,
    starts_s: Sequence[float] | None = None,
    most_packets: int | None = None,
) -> tuple[Run, dict[str, object]]:
    """Run sessions that share a path with competing flows; return the run, and how it was made.

    Sessions start at ``starts_s``, or all together. After ``most_packets`` the run is given up.

    Raises:
        SimulationError: If the path or a competing flow cannot be simulated, or there are more
            packets.
    """
    sessions = _list_sessions(sources, options, starts_s=starts_s)
    run, notes = run_together(sessions, options, most_packets=most_packets)
    first = run.participants[0].source
    return run, {
        "model": first.name,
        "model_digest": first.digest,
        "settings": dict(first.settings),
        **notes,
    }


def check_simulation(
    model: Model | PublishedModel | ModelHolder | str | FilePath, options: SimulateOptions
) -> None:
    """Raise the error of a wrong name or option as :func:`simulate` does, and play nothing."""
    _check_runs(options.runs)
    found = find_model(model)
    options = with_recorded_path(found, options)
    read_path(options.path)
    options = check_flows(options)
    duration_s, settings = options.duration_s, options.settings or {}
    sources = sources_of(found, settings, duration_s=duration_s, seed=options.seed)
    list_participants(_list_sessions(sources, options), options)


def check_flows(options: SimulateOptions) -> SimulateOptions:
    """Return options with valid competing flows, as a list, and congestion controls.

    No session has been made yet: what is wrong comes before warnings of a doubtful model.

    Raises:
        SimulationError: If a competing flow or a congestion control is invalid.
        ModelFileError: If there is no such competing flow.
        SettingError: If an option of a competing flow is invalid.
    """
    if options.tcp is not None and options.quic is not None:
        raise SimulationError("[--tcp] and [--quic] exclude each other; leave one out")
    if options.tcp is not None:
        check_congestion_control(options.tcp, place=f"tcp={options.tcp}")
    if options.quic is not None:
        quic_settings(options.quic)
    compete = _compete_of(options)
    for one in map(_parse_competitor, compete):
        one.source(_find_source)
    return replace(options, compete=compete)


def _find_source(name: str, settings: Mapping[str, JsonValue]) -> Source:
    """Return the source of a published model, and of a fitted one, which draws packets, a blank."""
    found = find_model(name)
    if isinstance(found, PublishedModel):
        return make_published_source(found, settings)
    return Source(found.name, "fitted", {})


def _check_runs(runs: int) -> None:
    if runs > _MOST_RUNS:
        raise SimulationError(f"[--runs]: {runs:.3g} runs are too many; use {_MOST_RUNS:,} at most")


def _list_sessions(
    sources: Sequence[Source], options: SimulateOptions, *, starts_s: Sequence[float] | None = None
) -> list[Participant]:
    """Return sessions of one model, which start at ``starts_s`` or all together."""
    duration_s = options.duration_s
    starts_s = starts_s or [0.0] * len(sources)
    return [
        Participant(
            "media" if len(sources) == 1 else f"media-{number}",
            source,
            start_s=start_s,
            stop_s=None if duration_s is None else start_s + duration_s,
            is_session=True,
        )
        for number, (source, start_s) in enumerate(zip(sources, starts_s, strict=True), start=1)
    ]


def run_together(
    sessions: Sequence[Participant],
    options: SimulateOptions,
    *,
    most_packets: int | None = None,
    with_sums: bool = False,
    keep_packets: bool = True,
) -> tuple[Run, dict[str, object]]:
    """Run sessions with the competing flows of the options; see :func:`run_sessions`."""
    compete = _compete_of(options)
    sessions, others = list_participants(sessions, replace(options, compete=compete))
    path, plays = read_path(options.path), sessions[0].source.plays
    _warn_of_narrow_path(sessions[0].source, path)
    run = run_path(
        path,
        sessions,
        others,
        seed=options.seed,
        most_packets=most_packets,
        with_sums=with_sums,
        keep_packets=keep_packets,
    )
    notes: dict[str, object] = {
        "path": path.model_dump(mode="json", exclude_defaults=True),
        "compete": [one if isinstance(one, str) else str(one) for one in compete],
        **({"tcp": options.tcp} if options.tcp is not None else {}),
        **({"quic": options.quic} if options.quic is not None else {}),
        **({"plays": plays} if plays is not None else {}),
        "seed": options.seed,
        "sessions": len(sessions),
        "software": f"trafficgen {software_version()}",
    }
    return run, notes


def list_participants(
    sessions: Sequence[Participant], options: SimulateOptions
) -> tuple[Sequence[Participant], list[Participant]]:
    """Return sessions with the congestion control of the options, and the competing flows.

    Competing flows have the TCP that the sources were measured with, if all were with the same.

    Raises:
        SimulationError: If a competing flow or a congestion control is unknown.
    """
    seed = options.seed
    if options.tcp is not None:
        control = options.tcp
        sessions = _change_sources(sessions, lambda one: set_congestion_control(one, control))
    if options.quic is not None:
        settings = quic_settings(options.quic)
        sessions = _change_sources(sessions, lambda one: set_quic(one, settings))
    usual_tcp = sessions[0].source.competing_tcp
    if any(one.source.competing_tcp != usual_tcp for one in sessions):
        usual_tcp = None
    numbers = itertools.count(len(sessions))  # a fitted model draws as a session of its own
    others = participants(
        list(map(_parse_competitor, _compete_of(options))),
        lambda name, settings: sources_of(name, settings, first_session=next(numbers), seed=seed)[
            0
        ],
        usual_tcp=usual_tcp,
    )
    return sessions, others


def _warn_of_narrow_path(source: Source, path: Path) -> None:
    """Say of packets over a connection that a path which takes less only makes them late."""
    streams = source.parameters.get("streams")
    connects = isinstance(streams, list) and any(stream["protocol"] != "udp" for stream in streams)
    plays_packets = source.kind == "fitted" and source.plays is None
    limit_bps = Links.from_path(path).rate_bps if connects and plays_packets else None
    if limit_bps is None or not (times_ns := [one[0] for one in source.schedules if one[0].size]):
        return
    span_ns = max(int(one[-1]) for one in times_ns) - min(int(one[0]) for one in times_ns)
    sent_bytes = sum(float(sizes.sum()) for _, sizes, *_ in source.schedules)
    sent_bps = bps_from_bytes(sent_bytes, max(s_from_ns(span_ns), _EARLY_S))
    if sent_bps > limit_bps:
        warn(
            f"{source.name}: what its client requests is not known, so that its packets are played"
            f" as they were captured, {rate_text(kbps_from_bps(sent_bps))} over a path of"
            f" {rate_text(kbps_from_bps(limit_bps))}: they all come, but later",
            SimulationWarning,
        )


def _path_kbps(options: SimulateOptions) -> float | None:
    """Return the rate of the narrowest link of a path; None without a limit."""
    rate_bps = Links.from_path(read_path(options.path)).rate_bps
    return None if rate_bps is None else kbps_from_bps(rate_bps)


def _compete_of(options: SimulateOptions) -> list[str | Competitor]:
    return [options.compete] if isinstance(options.compete, str) else list(options.compete)


def _parse_competitor(one: str | Competitor) -> Competitor:
    check_argument("each of compete", one, str | Competitor)
    return one if isinstance(one, Competitor) else Competitor.parse(one)


def _change_sources(
    sessions: Sequence[Participant], change: Callable[[Source], Source]
) -> list[Participant]:
    """Return sessions with sources changed where they can be; one at least must be."""
    changed, refusals = [], []
    for one in sessions:
        try:
            changed.append(replace(one, source=change(one.source)))
        except SimulationError as error:
            changed.append(one)
            refusals.append(error)
    if len(refusals) == len(sessions):
        raise refusals[0]
    return changed


def warn_of_short_session(run: Run, *, of_packets: bool = False) -> None:
    """Warn, once, of sessions of published models that end long before they are stopped.

    With ``of_packets`` also of sessions of any model that send no media, or none towards their end.
    """
    last_ns = np.full(len(run.flows), -1, dtype=np.int64)
    media = run.outcome.select_packets(list(range(len(run.flows))), media_only=True)
    sends_up = [
        number
        for number, flow in enumerate(run.flows)
        if run.participants[flow["agent"]].source.kind == STREAMS
    ]
    media |= run.outcome.select_packets(sends_up, to_client=False, media_only=True)
    # In order of time: the last one stays.
    last_ns[run.columns["flow"][media]] = run.columns["time_ns"][media]
    for number, (one, log) in enumerate(zip(run.participants, run.agents, strict=True)):
        if not one.is_session or one.stop_s is None:
            continue
        name, duration_s = one.source.name, one.stop_s - one.start_s
        media_ns = int(last_ns[run.flows_of(number, media_only=True)].max(initial=-1))
        last_s = s_from_ns(media_ns) - one.start_s if of_packets else math.inf
        ends = [s_from_ns(time_ns) for time_ns, (kind, *_) in log["events"] if kind == "end"]
        end_s = (ends[0] if ends and one.source.kind != "fitted" else math.inf) - one.start_s
        if end_s < duration_s - _EARLY_S:
            key = next((key for key in LENGTH_KEYS if key in one.source.parameters), None)
            remedy = f"; set {key} for longer ones ([--set {key}=...])" if key else ""
            early = 0 <= last_s < _EARLY_SHARE * end_s
            said = f", its last media packet after {last_s:.3g} s" if early else ""
            text = (
                f"a session ends by itself after {end_s:.3g} s{said}, before its duration of"
                f" {duration_s:.6g} s{remedy}"
            )
        elif of_packets and media_ns < 0:
            silence_s = next(filter(None, map(one.source.parameters.get, SILENCE_KEYS)), None)
            after = f", which comes after about {silence_s:g} s" if silence_s else ""
            text = (
                f"a session of {duration_s:.6g} s ends before its first media packet{after}; ask"
                " for a longer duration"
            )
        elif last_s < _EARLY_SHARE * duration_s:
            text = (
                f"a session's last media packet comes after {last_s:.3g} s, before its duration of"
                f" {duration_s:.6g} s: the source pauses then; another duration ends elsewhere"
            )
        else:
            continue
        warn(f"{name}: {text}", SimulationWarning)
        return


def generate_over_path(
    model: Model | PublishedModel,
    options: SimulateOptions,
    *,
    sessions: int,
    arrival_rate_per_s: float | None,
    origin_ns: int,
) -> PacketTable:
    """Return the packets of sessions of a model that share a path, and of competing flows.

    Raises:
        GenerationError: If there is no session, or flows compete without a path.
        SimulationError: If the path or a competing flow cannot be simulated.
    """
    if sessions < 1:
        raise GenerationError(f"{sessions} sessions cannot be generated; use at least 1")
    if options.path is UNLIMITED_PATH and options.compete:
        raise GenerationError("competing flows need a path to compete on; add [--path]")
    options = check_flows(options)
    seed, duration_s = options.seed, options.duration_s
    starts_ns = session_starts(sessions, arrival_rate_per_s=arrival_rate_per_s, seed=seed)
    run, notes = run_sessions(
        sources_of(
            model,
            options.settings or {},
            sessions=sessions,
            duration_s=duration_s,
            seed=seed,
            unvisited=_path_kbps(options),
        ),
        options,
        starts_s=s_from_ns(starts_ns).tolist(),
    )
    warn_of_short_session(run, of_packets=True)
    return packet_table(run, origin_ns=origin_ns, notes=notes)
