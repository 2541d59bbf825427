"""Workloads over one path that all sessions share: they start, compete and end on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trafficgen.errors import GenerationError
from trafficgen.generation.model_player import ModelPlayer, Viewing
from trafficgen.generation.timeline import check_memory
from trafficgen.models import Model, ModelHolder, PublishedModel
from trafficgen.options import takes
from trafficgen.packet_files.destinations import choose_format
from trafficgen.packet_files.writing import write_packets
from trafficgen.simulation.options import SimulateOptions
from trafficgen.simulation.packets import packet_table
from trafficgen.simulation.run import Run, check_session_count
from trafficgen.simulation.simulate import check_flows, run_together
from trafficgen.simulation.sources import SCHEDULED_BYTES, Participant
from trafficgen.tables import DEFAULT_ORIGIN_NS, PacketTable
from trafficgen.tables.protocols import documentation_pair
from trafficgen.units import s_from_ns
from trafficgen.workloads.files import load_playable
from trafficgen.workloads.group_player import GroupPlayer
from trafficgen.workloads.mix import MixedSessions
from trafficgen.workloads.options import SharedPathOptions, WorkloadOptions
from trafficgen.workloads.plan import PlannedWorkload
from trafficgen.workloads.sessions import mix_sessions
from trafficgen.workloads.shares import WorkloadResult

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
    run, notes = run_mixed(mixed, options, keep_packets=file_format is not None)
    if file_format is not None and options.out is not None:
        table = _table(mixed, run, origin_ns=DEFAULT_ORIGIN_NS, notes=notes)
        write_packets(table, options.out, file_format=file_format, at=options.at)
    return WorkloadResult.from_run(run, mixed, notes)


def generate_mixed(
    mixed: MixedSessions, options: SimulateOptions, *, origin_ns: int
) -> PacketTable:
    """Return the packets of sessions that share a path, and of competing flows.

    Raises:
        GenerationError: If sessions cannot be played on a path.
        SimulationError: If the path or a competing flow cannot be simulated.
    """
    run, notes = run_mixed(mixed, options, keep_packets=True)
    return _table(mixed, run, origin_ns=origin_ns, notes=notes)


def run_mixed(
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
