"""From models and workloads to packets: ``trafficgen generate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trafficgen.errors import ExportError, GenerationError
from trafficgen.generation.model_player import ModelPlayer, Viewing
from trafficgen.generation.open_loop import OpenLoopSessions
from trafficgen.generation.timeline import check_memory
from trafficgen.models import Model, ModelHolder, PublishedModel
from trafficgen.models.published import find_model
from trafficgen.options import takes
from trafficgen.packet_files.destinations import choose_format, format_of, local_path
from trafficgen.packet_files.formats import check_options
from trafficgen.packet_files.writing import select_view, write_packets
from trafficgen.simulation.options import SimulateOptions
from trafficgen.simulation.path import UNLIMITED_PATH
from trafficgen.simulation.recorded_path import with_recorded_path
from trafficgen.simulation.run import Run, check_session_count, packet_table
from trafficgen.simulation.simulate import (
    check_flows,
    check_simulation,
    generate_over_path,
    run_together,
)
from trafficgen.simulation.sources import SCHEDULED_BYTES, Participant
from trafficgen.tables import DEFAULT_ORIGIN_NS, PacketTable
from trafficgen.tables.protocols import documentation_pair
from trafficgen.tables.stream import stream_of
from trafficgen.units import s_from_ns
from trafficgen.workloads.blocks import Sessions
from trafficgen.workloads.files import is_workload_file, load_playable, load_workload
from trafficgen.workloads.group_player import GroupPlayer
from trafficgen.workloads.mix import MixedSessions
from trafficgen.workloads.options import GenerateOptions, SharedPathOptions, WorkloadOptions
from trafficgen.workloads.plan import WORKLOAD_PLAYERS, PlannedWorkload
from trafficgen.workloads.run import gather_table, make_in_memory
from trafficgen.workloads.sessions import VARIATIONS, choose_sessions, list_given, mix_sessions
from trafficgen.workloads.shares import WorkloadResult
from trafficgen.workloads.storage import check_deliverable, deliver
from trafficgen.workloads.write import WrittenWorkload, describe_written, write_sessions

_Viewings = Sequence[tuple[GroupPlayer, Viewing]]


@takes(SharedPathOptions)
def simulate_workload(
    model: Model | PublishedModel | ModelHolder | PlannedWorkload | str | Path,
    options: SharedPathOptions,
) -> WorkloadResult:
    """Play the sessions of a workload over one path that all share, and show who got what.

    Without ``out`` no packet is kept, so that the memory does not grow with time. The same seed
    gives the same result.

    Args:
        model: A workload of several models or its file; or a model, the name of its file or of a
            catalogue entry, for many sessions of it.
        options: See :class:`~trafficgen.workloads.options.SharedPathOptions`.

    Raises:
        ModelFileError: If the model cannot be read.
        WorkloadFileError: If a workload file is not valid.
        SettingError: If a setting does not fit the model.
        GenerationError: If the options do not fit each other or the model.
        SimulationError: If the path or a competing flow is invalid or cannot be simulated.
        ExportError: If the ending of ``out`` is not one that is written.
        OutputFileError: If ``out`` cannot be written.

    Example:
        >>> import trafficgen
        >>> result = trafficgen.simulate_workload(
        ...     "dashjs", path="rate=20Mbps,delay=20ms", sessions=8, window_s=10, duration_s=60
        ... )
        >>> [(group.name, group.sessions) for group in result.groups]
        [('dashjs', 8)]
        >>> result.jain_index > 0.8
        True
    """
    if options.runs > 1:
        raise GenerationError("[--runs] repeats one session, not sessions together; leave it out")
    file_format = choose_format(options.out, options.to_format)
    asked = WorkloadOptions(
        sessions=options.sessions,
        window_s=options.window_s,
        arrivals=options.arrivals,
        duration_s=options.duration_s,
        settings=options.settings,
        seed=options.seed,
    )
    mixed = mix_sessions(load_playable(model), asked)
    run, notes = _run_mixed(mixed, options, keep_packets=file_format is not None)
    if file_format is not None and options.out is not None:
        table = _table(mixed, run, origin_ns=DEFAULT_ORIGIN_NS, notes=notes)
        write_packets(table, options.out, file_format=file_format, at=options.at)
    return WorkloadResult.from_run(run, mixed, notes)


def _run_mixed(
    mixed: MixedSessions, options: SimulateOptions, *, keep_packets: bool
) -> tuple[Run, dict[str, object]]:
    """Run sessions that share a path, with competing flows; return the run and how it was made."""
    check_session_count(mixed.count)
    options = check_flows(options)
    viewings = list(mixed.viewings(0, mixed.count))
    _check_schedules(viewings)
    sessions = []
    for player, viewing in viewings:
        source, stop_s = player.source(viewing)
        start_s = s_from_ns(int(mixed.starts_ns[viewing.session]))
        stop_s = None if stop_s is None else start_s + stop_s
        name = f"session-{viewing.session + 1}"
        group = mixed.workload.groups[mixed.groups[viewing.session]].name
        sessions.append(
            Participant(name, source, start_s=start_s, stop_s=stop_s, is_session=True, group=group)
        )
    run, notes = run_together(sessions, options, with_sums=True, keep_packets=keep_packets)
    return run, {**mixed.notes, "digests": list(mixed.workload.digests), **notes}


def _check_schedules(viewings: _Viewings) -> None:
    """Refuse more packets of fitted models than fit: they are drawn before the first is sent."""
    players = [
        (player.model, viewing)
        for player, viewing in viewings
        if isinstance(player.model, ModelPlayer)
    ]
    if players:
        check_memory(
            sum(player.expected_packets(viewing) for player, viewing in players),
            flows=sum(len(player.model.streams) for player, _ in players),
            sessions=len(players),
            packet_bytes=SCHEDULED_BYTES,
        )


def _table(
    mixed: MixedSessions, run: Run, *, origin_ns: int, notes: dict[str, object]
) -> PacketTable:
    """Return the packets; sessions have the addresses of their groups."""
    plans = [player.addresses for player, _ in mixed.viewings(0, mixed.count)]

    def pair_of(agent: int) -> tuple[str, str]:
        plan = plans[agent] if agent < len(plans) else None
        return documentation_pair(agent) if plan is None else plan.pair(agent, version=4)

    return packet_table(run, origin_ns=origin_ns, notes=notes, pair_of=pair_of)


_DEFAULTS = GenerateOptions()


@takes(GenerateOptions)
def generate(
    model: Model | PublishedModel | ModelHolder | str | Path,
    out: str | Path | None = None,
    options: GenerateOptions = _DEFAULTS,
) -> PacketTable:
    """Play a model into packets, open loop or over a path; the same seed gives the same bytes.

    Args:
        model: A model or a fit, the name of its file, or the name of a catalogue entry.
        out: File to write, by its ending: ``.parquet``, ``.csv``, ``.pcap`` or ``.pcapng``; None
            writes nothing.
        options: See :class:`~trafficgen.workloads.options.GenerateOptions`.

    Raises:
        ModelFileError: If the model cannot be read.
        SettingError: If a setting does not fit the model.
        GenerationError: If the options do not fit each other or the model.
        SimulationError: If the path or a competitor cannot be simulated.
        ExportError: If the ending of ``out`` names no format, or an option does not suit it.
        OutputFileError: If ``out`` cannot be written.

    Example:
        >>> import trafficgen
        >>> settings = {"rate_kbps": 500}
        >>> trafficgen.generate("cbr", "cbr.pcap", duration_s=10, settings=settings, seed=1)
        <PacketTable: 625 packets, 1 flow, 9.984 s, 625,000 IP bytes>
        >>> path = "rate=725kbps,delay=45ms,queue=80p"
        >>> table = trafficgen.generate(
        ...     "wmedia9_nichols2004", path=path, compete="tcp@-10s", duration_s=20
        ... )
        >>> table.flows.column("media").to_pylist()
        ['bulk', 'control', 'audio', 'video', 'video', 'control']
    """
    file_format = choose_format(out, options.to_format)
    if isinstance(model, str | Path) and is_workload_file(model):
        load_workload(model)  # it says what is wrong with its file
        raise GenerationError(f"{model} is a workload, not a model; use {WORKLOAD_PLAYERS}")
    found = find_model(model)
    table = _play(found, options)
    if file_format is not None and out is not None:
        write_packets(
            table,
            Path(out),
            file_format=file_format,
            at=options.at,
            snaplen_bytes=options.snaplen_bytes,
        )
    return table


@takes(WorkloadOptions)
def generate_workload(
    model: Model | PublishedModel | ModelHolder | PlannedWorkload | str | Path,
    out: str | Path,
    options: WorkloadOptions,
) -> WrittenWorkload:
    """Play sessions into a file or folder in bounded memory; the same seed gives the same bytes.

    Packets that fit in the memory are made there. Otherwise sessions are made in blocks, which wait
    next to the output in a folder ``.OUT.work`` and are merged in order of time; a run that was
    interrupted continues where it stopped. The bytes are the same either way. Sessions over a path
    meet each other on it, also those of a workload: they are played all at once, in memory.

    Args:
        model: A model, the name of its file or of a catalogue entry; a workload of several models,
            or its file.
        out: File to write, by its ending: ``.parquet``, ``.csv``, ``.pcap`` or ``.pcapng``; without
            an ending a folder, a partitioned Parquet dataset. A file may have a URL (``file://``,
            ``s3://``).
        options: See :class:`~trafficgen.workloads.options.WorkloadOptions`.

    Raises:
        ModelFileError: If the model cannot be read.
        SettingError: If a setting does not fit the model.
        GenerationError: If the options do not fit each other or the model.
        SimulationError: If the path or a competitor cannot be simulated.
        ExportError: If the ending of ``out`` names no format, or an option does not suit it.
        OutputFileError: If something cannot be written.

    Example:
        >>> import trafficgen
        >>> fitted = trafficgen.fit("examples/captures/rtsp_rtp_two_streams.pcap.gz")
        >>> trafficgen.save_model(fitted.model, "rtsp.json")
        >>> written = trafficgen.generate_workload(
        ...     "rtsp.json", "fleet", sessions=20, arrival_rate_per_s=0.5, seed=1
        ... )
        >>> written.flows, trafficgen.read_packets("fleet").flows.num_rows
        (40, 40)
    """
    file_format = format_of(out, options.to_format)
    check_options(file_format, at=options.at, snaplen_bytes=options.snaplen_bytes)
    if file_format.name == "dataset" and local_path(out) is None:
        raise ExportError(f"{out}: a folder cannot be sent; name a file, such as {out}.parquet")
    check_deliverable(out)
    playable = load_playable(model)
    if options.path is None and not options.compete:
        sessions = choose_sessions(playable, options)
        if sessions is not None:
            if isinstance(sessions, MixedSessions) and file_format.has_views:
                sessions = replace(sessions, at=options.at)
            return write_sessions(sessions, out, file_format, options)
    of_workload = ("--for", "--arrivals", "--popularity")
    refused = () if isinstance(playable, PlannedWorkload) else of_workload
    given = list_given(options, "--scheduler", "--storage", *refused)
    if given:
        raise GenerationError(
            f"{given}: only for sessions that play apart from each other; leave [--path] and"
            " [--compete] out, and ask for more than one session of a published model"
        )
    mixed = None
    if isinstance(playable, PlannedWorkload):
        mixed = mix_sessions(playable, options)
        run, notes = _run_mixed(mixed, _path_options(options), keep_packets=True)
        table = _table(mixed, run, origin_ns=options.origin_ns, notes=notes)
    else:
        table = _play(playable, options)
    with deliver(out) as target:
        write_packets(
            table,
            target,
            file_format=file_format,
            at=options.at,
            snaplen_bytes=options.snaplen_bytes,
        )
    if file_format.has_views:
        table = select_view(table, options.at)
    if mixed is None:
        return describe_written(out, stream_of(table), sessions=options.sessions or 1)
    written = describe_written(out, stream_of(table), sessions=mixed.count)
    return replace(written, count_text=mixed.count_text, remarks=mixed.remarks)


def check_playable(
    playable: Model | PublishedModel | PlannedWorkload, options: WorkloadOptions
) -> None:
    """Raise the error of options that fit no model, or not this one, and play nothing."""
    is_apart = options.path is None and not options.compete
    if is_apart and choose_sessions(playable, options) is not None:
        return
    asked = _path_options(options)
    if not isinstance(playable, PlannedWorkload):
        check_simulation(playable, replace(asked, seed=0, duration_s=None))


def _play(model: Model | PublishedModel, options: GenerateOptions) -> PacketTable:
    """Return the packets of all sessions, in memory."""
    if options.path is None and not options.compete:
        asked = WorkloadOptions(**{**vars(options), "at": "sender"})
        sessions = choose_sessions(model, asked)
        if sessions is not None:
            try:
                _check_table_memory(sessions)
            except GenerationError as error:
                remedy = "generate_workload(model, out) writes them without a table in memory"
                raise GenerationError(f"{error}; {remedy}") from None
            workers, origin_ns = options.workers, options.origin_ns
            return gather_table(make_in_memory(sessions, workers=workers, origin_ns=origin_ns))
    given = list_given(WorkloadOptions(**vars(options)), *VARIATIONS)
    if given:
        raise GenerationError(f"{given}: only for sessions without a path; leave [--path] out")
    return generate_over_path(
        model,
        with_recorded_path(model, _path_options(options)),
        sessions=1 if options.sessions is None else options.sessions,
        arrival_rate_per_s=options.arrival_rate_per_s,
        origin_ns=options.origin_ns,
    )


def _check_table_memory(sessions: Sessions) -> None:
    """Raise GenerationError if the packets of all sessions do not fit in the memory at once."""
    if isinstance(sessions, OpenLoopSessions):
        sessions.check_memory()
    else:
        packets = sessions.expected_packets(range(sessions.count))
        check_memory(packets, flows=sessions.count, sessions=sessions.count)


def _path_options(options: GenerateOptions) -> SimulateOptions:
    """Return path, competing flows and settings; raise GenerationError for flows without a path."""
    if options.path is None and options.compete:
        raise GenerationError("competing flows need a path to compete on; add [--path]")
    return SimulateOptions(
        path=UNLIMITED_PATH if options.path is None else options.path,
        compete=options.compete,
        settings=options.settings,
        seed=options.seed,
        duration_s=options.duration_s,
    )
