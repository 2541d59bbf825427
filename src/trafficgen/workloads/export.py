"""Export for other tools: packets, models, and workloads of any length in bounded memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from trafficgen.errors import ExportError
from trafficgen.export.exporting import Writer, export_packets, find_target, write_folder
from trafficgen.export.options import ExportOptions
from trafficgen.export.settings import Settings
from trafficgen.export.target import Target, Written
from trafficgen.export.targets import TARGETS
from trafficgen.export.workload_groups import SessionGroup
from trafficgen.generation.columns import order_columns, superpose
from trafficgen.models import Model, ModelHolder
from trafficgen.options import DataFrame, list_options, takes
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.progress import report_each
from trafficgen.tables import FLOW_SCHEMA, PacketTable
from trafficgen.units import s_from_ns
from trafficgen.workloads.files import is_workload_file, load_workload
from trafficgen.workloads.mix import MixedSessions
from trafficgen.workloads.options import WorkloadOptions
from trafficgen.workloads.plan import PlannedWorkload
from trafficgen.workloads.run import work_folder
from trafficgen.workloads.sessions import find_view, sessions_of_workload
from trafficgen.workloads.write import check_sessions, stream_sessions

#: Sessions of a group that are played to choose examples from.
_SAMPLED = 15


@takes(ExportOptions)
def export(
    table: PacketTable | DataFrame | Model | ModelHolder | PlannedWorkload | str | Path,
    options: ExportOptions,
) -> ProjectionReport:
    """Write traffic for another tool into a folder, with a README on its use.

    Args:
        table: A packet table, a data frame or the name of a table or capture, whose packets are
            exported packet by packet; a fitted model, a fit or the name of its file
            (``.json``), whose law is exported where the target can draw it; or a workload or its
            file, whose sessions are exported in bounded memory.
        options: See :class:`~trafficgen.export.options.ExportOptions`.

    Raises:
        ExportError: If there is no such target, or it cannot express the traffic.
        SettingError: If the target has no such setting.
        OutputFileError: If the folder cannot be written, or a file that is not an earlier export's
            would be overwritten.
        SelectionError: If there is no such flow.
        InputFileError: If a file of packets cannot be read, or does not fit into the memory.
        GenerationError: If a session of a workload cannot be played.

    Example:
        >>> import trafficgen
        >>> table = trafficgen.generate("cbr", duration_s=10)
        >>> settings = {"destination": "192.0.2.7"}
        >>> trafficgen.export(table, to="iperf3", directory="for-iperf3", settings=settings)
        <ProjectionReport for iperf3: 4 files, 425 packets, 0 resized, timing error at most 40.8
        ms, 3 limits>
        >>> _ = trafficgen.generate("cbr", "cbr.parquet", duration_s=20)
        >>> model = trafficgen.fit("cbr.parquet").model
        >>> trafficgen.export(model, to="ns3", directory="for-ns3").kind  # ns-3 draws from it
        'model'
    """
    if isinstance(table, str | Path) and is_workload_file(table):
        table = load_workload(table)
    if isinstance(table, PlannedWorkload):
        return _export_workload(table, options)
    if given := [
        f"[{declared.flags[0]}]"
        for one, declared in list_options(ExportOptions)
        if one.name in ("sessions", "window_s", "seed")
        and getattr(options, one.name) != one.default
    ]:
        raise ExportError(f"{' and '.join(given)}: only for workloads, whose sessions are drawn")
    return export_packets(table, options)


def _export_workload(workload: PlannedWorkload, options: ExportOptions) -> ProjectionReport:
    target, settings = find_target(options)
    if options.flow is not None:
        raise ExportError("A workload has no flow numbers yet; leave [--flow] out.")
    sessions = sessions_of_workload(
        workload,
        seed=options.seed,
        sessions=options.sessions,
        window_s=options.window_s,
        at=find_view(options.at),
    )
    write = _workload_writer(target, settings, sessions, options)
    check_sessions(sessions, options.memory_bytes)
    return write_folder(target, options.directory, write)


def _workload_writer(
    target: Target, settings: Settings, sessions: MixedSessions, options: ExportOptions
) -> Writer:
    """Return what writes a workload for a target; raise ExportError if nothing does."""
    how = WorkloadOptions(seed=options.seed, workers=options.workers, at=options.at)
    if options.memory_bytes is not None:
        how = WorkloadOptions(**{**vars(how), "memory_bytes": options.memory_bytes})
    # Not within the folder of the export, which a failure takes away with all that is in it.
    blocks = work_folder(Path(options.directory).absolute())
    play = partial(stream_sessions, sessions, blocks, how)
    write_groups, write_stream = target.write_groups, target.stream_writer
    if write_groups is not None:
        return lambda folder: write_groups(session_groups(sessions), folder, settings)
    if write_stream is not None:

        def write(folder: Path) -> Written:
            with play() as stream:
                return write_stream(stream, folder, settings)

        return write
    able = ", ".join(name for name, other in TARGETS.items() if other.takes_workloads)
    raise ExportError(
        f"{target.name} takes packets in memory, not a workload; generate packets and export those,"
        f" or choose one of {able}"
    )


def session_groups(sessions: MixedSessions) -> list[SessionGroup]:
    """Return the groups of a workload that have sessions, with a sample of each."""
    workload = sessions.workload
    last_s = s_from_ns(int(sessions.starts_ns[-1]))
    window_s = workload.window_s or last_s or 1.0  # all together: within a second
    found = []
    numbered = list(enumerate(workload.groups))
    for place, group in report_each(
        numbered, "sampling sessions", total=len(numbered), unit="groups"
    ):
        own = np.flatnonzero(sessions.groups == place)
        if not own.size:
            continue
        places = np.linspace(0, own.size - 1, min(_SAMPLED, own.size)).astype(int)
        sampled = own[places].tolist()
        sizes = [_size_to_client(_play_session(sessions, number)) for number in sampled]
        found.append(
            SessionGroup(
                name=group.name,
                sessions=int(own.size),
                window_s=window_s,
                sampled=sampled,
                sizes_bytes=np.array(sizes, dtype=np.int64),
                play=partial(_play_session, sessions),
            )
        )
    return found


def _play_session(sessions: MixedSessions, number: int) -> PacketTable:
    tables, rows = sessions.block(number, 1)
    return PacketTable(
        packets=order_columns(superpose(tables)),
        flows=pa.Table.from_pylist(rows, schema=FLOW_SCHEMA),
    )


def _size_to_client(table: PacketTable) -> int:
    return int(table.ip_bytes[table.to_client].sum(dtype=np.int64))
