"""Sessions that do not meet on a path, from what a user asks for: they can be made in any order, in
any process.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from trafficgen.errors import GenerationError
from trafficgen.generation.open_loop import OpenLoopSessions
from trafficgen.models import Model, PublishedModel
from trafficgen.models.published import load_model
from trafficgen.tables import PacketTable
from trafficgen.workloads.blocks import Sessions
from trafficgen.workloads.files import (
    is_workload_file,
    load_workload,
    sessions_of_workload,
    workload_of_model,
)
from trafficgen.workloads.in_memory import held_workload
from trafficgen.workloads.plan import PlannedWorkload

#: What can be played: a model, a workload, or the name of either.
Playable = Model | PublishedModel | PlannedWorkload


def playable_of(model: Playable | str | Path) -> Playable:
    """Return what a name stands for.

    Raises:
        ModelFileError: If it is no model that can be read.
        WorkloadFileError: If it is a workload file with something wrong in it.
    """
    if not isinstance(model, str | Path):
        return model
    return load_workload(model) if is_workload_file(model) else load_model(model)


def sessions_apart(
    playable: Playable,
    *,
    sessions: int | None,
    duration_s: float | None,
    seed: int,
    arrival_rate_per_s: float | None,
    settings: Mapping[str, JsonValue] | None,
    window_s: float | None = None,
    arrivals: str | None = None,
    popularity: str | None = None,
) -> Sessions | None:
    """Return the sessions, or None for one session of a published model, which is simulated as it
    always is.

    Args:
        playable: The model or workload.
        sessions: Number of sessions; None: as the workload says, as many as start in ``window_s``,
            or one.
        duration_s: Length of each session, s; None: that of the model or workload.
        seed: Seed, >= 0.
        arrival_rate_per_s: Mean number of sessions starting in a second (Poisson).
        window_s: Time in which sessions start, s; None: as the workload says, or until all have
            started.
        arrivals: How sessions start, such as ``poisson:0.5/s``; see
            :mod:`trafficgen.workloads.description`.
        popularity: How often each clip is played, such as ``zipf:0.8``.
        settings: Options of a published model.

    Raises:
        GenerationError: If options do not fit each other or the model.
        WorkloadFileError: If a file that arrivals name cannot be used.
        SettingError: If a setting does not fit the model.
    """
    if arrival_rate_per_s is not None and arrivals is not None:
        raise GenerationError(
            "--arrival-rate and --arrivals both say when sessions start; leave one out"
        )
    if isinstance(playable, PlannedWorkload):
        given = {
            "--arrival-rate": arrival_rate_per_s,
            "--arrivals": arrivals,
            "--popularity": popularity,
        }
        told = [
            name
            for name, value in {**given, "--set": settings or None}.items()
            if value is not None
        ]
        if told:
            raise GenerationError(
                f"{playable.name} is a workload, whose file says that; leave"
                f" {' and '.join(told)} out"
            )
        return sessions_of_workload(
            playable, seed=seed, sessions=sessions, window_s=window_s, duration_s=duration_s
        )
    if window_s is None and arrivals is None and popularity is None:
        if isinstance(playable, Model):
            if settings:
                raise GenerationError(
                    f"{playable.name} is a fitted model, which has no options; leave --set out"
                )
            return OpenLoopSessions(
                model=playable,
                count=1 if sessions is None else sessions,
                duration_s=duration_s,
                seed=seed,
                arrival_rate_per_s=arrival_rate_per_s,
            )
        if sessions in (None, 1):
            return None
    if sessions is None and window_s is None:
        sessions = 1
    rate = None if arrival_rate_per_s is None else f"poisson:{arrival_rate_per_s!r}/s"
    workload = workload_of_model(
        playable,
        sessions=sessions,
        window_s=window_s,
        duration_s=duration_s,
        arrivals=arrivals or rate,
        popularity=popularity,
        settings=settings,
    )
    return sessions_of_workload(workload, seed=seed)


def table_of(sessions: Sessions, *, workers: int, origin_ns: int) -> PacketTable:
    """Return the packets of all sessions in memory.

    Raises:
        GenerationError: If they cannot be played, or do not fit in this machine's memory.
    """
    if isinstance(sessions, OpenLoopSessions):
        sessions.check_memory()
    return held_workload(sessions, workers=workers).table(origin_ns=origin_ns)
