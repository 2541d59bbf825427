"""Closed loop: a model over a path beside other flows: `trafficgen simulate`."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as FilePath

from pydantic import JsonValue

from trafficgen.errors import GenerationError, SettingError, SimulationWarning
from trafficgen.generation import session_starts
from trafficgen.models import Model, PublishedModel
from trafficgen.models.published import load_model
from trafficgen.packet_files.destinations import format_of
from trafficgen.packet_files.formats import write_as
from trafficgen.packet_files.report import View
from trafficgen.provenance import software_version
from trafficgen.simulation import (
    UNLIMITED_PATH,
    Competitor,
    Participant,
    Path,
    Run,
    SimulationResult,
    Source,
    packet_table,
    participants,
    published_source,
    read_path,
    run_path,
)
from trafficgen.simulation.fitted_sources import fitted_sources
from trafficgen.tables import PacketTable
from trafficgen.units import s_from_ns

#: Whatever names a path: keys with values, a file, a dictionary, or the path itself.
PathLike = Path | str | os.PathLike[str] | Mapping[str, object]
ModelLike = Model | PublishedModel | str | FilePath


def simulate(
    model: ModelLike,
    *,
    path: PathLike,
    compete: str | Iterable[str | Competitor] = (),
    settings: Mapping[str, JsonValue] | None = None,
    seed: int = 0,
    duration_s: float | None = None,
    out: str | FilePath | None = None,
    at: View = "sender",
) -> SimulationResult:
    """Play a model over a path, beside other flows; the same seed gives the same result.

    Args:
        model: A model, the name of a catalogue entry or of a model file.
        path: The path: a list such as ``rate=725kbps,delay=45ms,queue=80p``, a YAML or JSON file, a
            dictionary with the same keys, or a :class:`~trafficgen.simulation.Path`.
        compete: Flows beside the session, such as ``tcp@-10s``, ``cbr:200kbps``, ``ping`` or a
            model's name.
        settings: Options and parameters of a published model.
        seed: Seed, >= 0.
        duration_s: Stop the session after this time, s; None: it ends by itself.
        out: File for the packets of all flows, by its ending as for :func:`~trafficgen.generate`;
            None writes nothing.
        at: Whose view a pcap or CSV shows.

    Warns:
        SimulationWarning: If no media packet arrives.

    Raises:
        ModelFileError: If the model cannot be read.
        SettingError: If a setting does not fit the model.
        SimulationError: If the path or a competitor is not understood or cannot be simulated.
        InputFileError: If a file of the path cannot be read.
        ExportError: If the ending of ``out`` is none that is written.
        OutputFileError: If ``out`` cannot be written.

    Example:
        >>> import trafficgen
        >>> result = trafficgen.simulate(
        ...     "wmedia9_nichols2004", path="rate=725kbps,delay=45ms,queue=80p", compete="tcp@-10s", duration_s=30
        ... )
        >>> for flow in result.flows:
        ...     print(flow.name, f"{flow.measure.rate_kbps:.0f} kbps, {flow.measure.loss:.1%} lost")
        media 464 kbps, 13.9% lost
        audio 56 kbps, 7.7% lost
        video 409 kbps, 14.6% lost
        tcp-1 257 kbps, 0.6% lost
    """
    file_format = None if out is None else format_of(out)
    sources = sources_of(model, settings or {}, duration_s=duration_s, seed=seed)
    run, notes = run_sessions(sources, path=path, compete=compete, seed=seed, duration_s=duration_s)
    result = SimulationResult(run, notes)
    if result.arrivals_s == (0.0, 0.0):
        warnings.warn(
            "no media packet reached the client, so that rates and delays are unknown",
            SimulationWarning,
            2,
        )
    if file_format is not None and out is not None:
        write_as(file_format, result.packets(), FilePath(out), at=at)
    return result


def run_sessions(
    sources: Sequence[Source],
    *,
    path: PathLike,
    compete: str | Iterable[str | Competitor],
    seed: int,
    duration_s: float | None = None,
    starts_s: Sequence[float] | None = None,
    most_packets: int | None = None,
) -> tuple[Run, dict[str, object]]:
    """Run sessions that share a path with competitors; return the run, and how it was made.

    Args:
        sources: Source of each session.
        path: The path.
        compete: Flows beside the sessions.
        seed: Seed, >= 0.
        duration_s: Stop each session after this time, s.
        starts_s: Start of each session, s; None: all together.
        most_packets: Packets after which it is given up; None: as many as there is room for.

    Raises:
        SimulationError: If the path or a competitor cannot be simulated, or there are more packets.
    """
    starts_s = starts_s or [0.0] * len(sources)
    sessions = [
        Participant(
            "media" if len(sources) == 1 else f"media-{number}",
            source,
            start_s=start_s,
            stop_s=None if duration_s is None else start_s + duration_s,
            is_session=True,
        )
        for number, (source, start_s) in enumerate(zip(sources, starts_s, strict=True), start=1)
    ]
    asked = [compete] if isinstance(compete, str) else list(compete)
    competitors = [one if isinstance(one, Competitor) else Competitor.parse(one) for one in asked]
    numbers = itertools.count(len(sources))  # a fitted model draws as a session of its own
    others = participants(
        competitors,
        lambda name, options: sources_of(name, options, first_session=next(numbers), seed=seed)[0],
        measured_beside=sources[0].competing_tcp,
    )
    shared = read_path(path)
    run = run_path(shared, sessions, others, seed=seed, most_packets=most_packets)
    notes: dict[str, object] = {
        "model": sources[0].name,
        "model_digest": sources[0].digest,
        "settings": dict(sources[0].settings),
        "path": shared.model_dump(mode="json", exclude_defaults=True),
        "compete": [one if isinstance(one, str) else str(one) for one in asked],
        "seed": seed,
        "sessions": len(sources),
        "software": f"trafficgen {software_version()}",
    }
    return run, notes


def generate_over_path(
    model: Model | PublishedModel,
    *,
    path: PathLike | None,
    compete: str | Iterable[str | Competitor],
    settings: Mapping[str, JsonValue],
    sessions: int,
    duration_s: float | None,
    seed: int,
    arrival_rate_per_s: float | None,
    origin_ns: int,
) -> PacketTable:
    """Return the packets of sessions of a model that share a path, and of what competes with them.

    Raises:
        GenerationError: If there is nothing to play, or flows compete without a path.
        SimulationError: If the path or a competitor cannot be simulated.
    """
    if sessions < 1:
        raise GenerationError(f"{sessions} sessions cannot be generated; ask for at least 1")
    if path is None and compete:
        raise GenerationError("competing flows need a path to compete on; add --path")
    starts_ns = session_starts(sessions, arrival_rate_per_s=arrival_rate_per_s, seed=seed)
    run, notes = run_sessions(
        sources_of(model, settings, sessions=sessions, duration_s=duration_s, seed=seed),
        path=UNLIMITED_PATH if path is None else path,
        compete=compete,
        seed=seed,
        duration_s=duration_s,
        starts_s=s_from_ns(starts_ns).tolist(),
    )
    return packet_table(run, origin_ns=origin_ns, notes=notes)


def sources_of(
    model: ModelLike,
    settings: Mapping[str, JsonValue],
    *,
    sessions: int = 1,
    first_session: int = 0,
    duration_s: float | None = None,
    seed: int = 0,
) -> list[Source]:
    """Return sessions of a model as the engine plays them.

    Raises:
        ModelFileError: If the model cannot be read.
        SettingError: If a setting does not fit it.
        GenerationError: If a fitted model cannot be played as asked.
    """
    found = load_model(model) if isinstance(model, str | FilePath) else model
    if isinstance(found, Model):
        if settings:
            raise SettingError(f"{found.name} is a fitted model, which has no options; set nothing")
        numbers = range(first_session, first_session + sessions)
        return list(
            fitted_sources(
                found, sessions=numbers, count=sessions, duration_s=duration_s, seed=seed
            )
        )
    return [published_source(found, settings)] * sessions
