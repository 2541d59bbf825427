"""Sessions that do not meet on a path: from options to sessions that any process can make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from trafficgen.errors import GenerationError
from trafficgen.generation.arrivals import MOST_SESSIONS
from trafficgen.generation.open_loop import OpenLoopSessions
from trafficgen.model_parts.estimate import ModelPart
from trafficgen.model_parts.problems import describe_problem
from trafficgen.models import Model, PublishedModel
from trafficgen.models.published import set_options
from trafficgen.models.registered_source import set_source
from trafficgen.options import list_options
from trafficgen.packet_files.formats import View
from trafficgen.simulation.options import SimulateOptions
from trafficgen.simulation.path import UNLIMITED_PATH
from trafficgen.simulation.simulate import run_sessions, warn_of_short_session
from trafficgen.simulation.sources import sources_of
from trafficgen.workloads.arrivals import ArrivalsPart
from trafficgen.workloads.blocks import Sessions
from trafficgen.workloads.clips import ClipsPart, PopularityPart
from trafficgen.workloads.description import (
    HIGHEST_SCALE,
    GroupPart,
    VariedPart,
    VaryPart,
    WorkloadDescription,
)
from trafficgen.workloads.mix import MixedSessions
from trafficgen.workloads.options import GenerateOptions, WorkloadOptions
from trafficgen.workloads.overrides import (
    keep_rate,
    limit_variation,
    override_arrivals,
    override_popularity,
    override_window,
)
from trafficgen.workloads.plan import PlannedWorkload, plan_workload

Part = TypeVar("Part", bound=ModelPart)
#: Options that let sessions of a fitted model differ.
VARIATIONS = ("--vary", "--scale-rate", "--jitter", "--posterior")


def choose_sessions(
    playable: Model | PublishedModel | PlannedWorkload, options: WorkloadOptions
) -> Sessions | None:
    """Choose the sessions that options describe.

    Returns:
        The sessions; None for one session of a published model, which is simulated in memory.

    Raises:
        GenerationError: If options do not fit each other or the model.
        WorkloadFileError: If a file that the arrivals name cannot be used.
        SettingError: If a setting does not fit the model.
    """
    _check_request(options)
    if options.arrival_rate_per_s is not None and options.arrivals is not None:
        raise GenerationError(
            "[--arrival-rate] and [--arrivals] both say when sessions start; leave one out"
        )
    if isinstance(playable, PlannedWorkload):
        return mix_sessions(playable, options)
    is_plain = options.window_s is None and options.arrivals is None and options.popularity is None
    if is_plain and not list_given(options, *VARIATIONS):
        if isinstance(playable, Model):
            playable = set_source(playable, options.settings or {})
            return OpenLoopSessions(
                model=playable,
                count=1 if options.sessions is None else options.sessions,
                duration_s=options.duration_s,
                seed=options.seed,
                arrival_rate_per_s=options.arrival_rate_per_s,
            )
        if options.sessions in (None, 1):
            return None
    mixed = mix_sessions(playable, options)
    if options.duration_s is not None and isinstance(playable, PublishedModel):
        # One session shows, and warns, that all are shorter than they were to be.
        one = SimulateOptions(path=UNLIMITED_PATH, seed=options.seed, duration_s=options.duration_s)
        run, _ = run_sessions(sources_of(playable, options.settings or {}), one)
        warn_of_short_session(run, of_packets=True)
    return mixed


def mix_sessions(
    playable: Model | PublishedModel | PlannedWorkload, options: WorkloadOptions
) -> MixedSessions:
    """Return the sessions that options describe, those of a model as of a workload of one group.

    Raises:
        GenerationError: If options do not fit each other or the model.
        WorkloadFileError: If a file that the arrivals name cannot be used.
        SettingError: If a setting does not fit the model.
    """
    if isinstance(playable, PlannedWorkload):
        if options.settings:
            raise GenerationError(
                f"{playable.name} is a workload of several models; leave [--set] out, and write"
                " options in its file, such as model: cbr(rate_kbps=500)"
            )
        return sessions_of_workload(
            _override_shared(playable, options),
            seed=options.seed,
            sessions=options.sessions,
            window_s=options.window_s,
            duration_s=options.duration_s,
            at=find_view(options.at),
            varied=parse_variation(options),
        )
    workload = plan_model(playable, options)
    if options.sessions is None and options.window_s is None and not workload.arrivals.is_counted:
        workload = replace(workload, sessions=1)
    return sessions_of_workload(workload, seed=options.seed, at=find_view(options.at))


def find_view(at: View) -> View | None:
    """Return the receiver's view; None for the sender's, which is what each end sends."""
    return None if at == "sender" else at


def _override_shared(workload: PlannedWorkload, options: WorkloadOptions) -> PlannedWorkload:
    """Return a workload with the arrivals and the popularity that options give."""
    arrivals = _arrivals_of(options)
    if arrivals is not None:
        workload = override_arrivals(workload, arrivals)
        workload = keep_rate(workload, sessions=options.sessions, window_s=options.window_s)
    if options.popularity is not None:
        workload = override_popularity(workload, parse_popularity(options.popularity))
    return workload


def sessions_of_workload(
    workload: PlannedWorkload,
    *,
    seed: int,
    sessions: int | None = None,
    window_s: float | None = None,
    duration_s: float | None = None,
    at: View | None = None,
    varied: VariedPart | None = None,
) -> MixedSessions:
    """Return the sessions of a workload, ready to be cut into blocks and made.

    None is what the workload gives; ``window_s`` alone is handled by
    :func:`~trafficgen.workloads.overrides.override_window`. Packets are those ``at`` the sender or
    the receiver; how sessions differ is for all groups.

    Raises:
        GenerationError: If there are no such sessions.
        ValueError: If the seed is negative.
    """
    if sessions is None and window_s is not None:
        workload = override_window(workload, window_s)
    if sessions is not None:
        if all(group.arrivals is not None for group in workload.groups):
            raise GenerationError(
                "all groups have arrivals of their own, which give the number of sessions; leave"
                " [--sessions] out"
            )
        window_s = workload.window_s if window_s is None else window_s
        workload = replace(workload, sessions=sessions, window_s=window_s)
        if own := [group.name for group in workload.groups if group.arrivals is not None]:
            remark = (
                f"the number of sessions that is given leaves out group {' and '.join(own)}, with"
                " arrivals of its own"
            )
            workload = replace(workload, remarks=(*workload.remarks, remark))
    if duration_s is not None:
        workload = workload.with_duration(duration_s)
    if varied is not None:
        workload = workload.with_variation(varied)
    mixed = MixedSessions(workload=limit_variation(workload), seed=seed, at=at)
    mixed.check()
    return mixed


def plan_model(model: Model | PublishedModel, options: WorkloadOptions) -> PlannedWorkload:
    """Plan the workload of one model, as options describe it.

    Files that the arrivals name are looked for in the working directory.

    Raises:
        GenerationError: If a text is not understood.
        WorkloadFileError: If parts do not fit each other or a file cannot be used.
        SettingError: If a setting does not fit the model.
    """
    model = set_options(model, options.settings or {})
    law = options.popularity
    clips = None if law is None else ClipsPart(popularity=parse_popularity(law))
    if law is not None and isinstance(model, Model) and model.population is None:
        raise GenerationError(
            f"[--popularity {law}]: {model.name} is of one session, and its clips would all be the"
            " same; fit several captures ([--population|fit_population()]), or give clips a length"
            " or a rate in a workload file"
        )
    try:
        described = WorkloadDescription(
            name=model.name,
            sessions=options.sessions,
            arrivals=_arrivals_of(options),
            groups=(GroupPart(model=model.name, clips=clips),),
        )
    except ValueError as error:  # names of classes say nothing to users
        raise GenerationError(str(error).removeprefix("WorkloadDescription: ")) from error
    workload = plan_workload(described, file=model.name, folder=Path(), models={model.name: model})
    workload = replace(workload, window_s=options.window_s)
    workload = keep_rate(workload, sessions=options.sessions, window_s=options.window_s)
    workload = workload.with_variation(parse_variation(options))
    return workload if options.duration_s is None else workload.with_duration(options.duration_s)


def _check_request(options: GenerateOptions) -> None:
    """Raise GenerationError for more sessions than there can be."""
    if options.sessions is not None and options.sessions > MOST_SESSIONS:
        raise GenerationError(
            f"{options.sessions:,} sessions are more than {MOST_SESSIONS:,}; ask for fewer"
        )


def parse_variation(options: GenerateOptions) -> VariedPart:
    """Return how sessions vary by the options; raise GenerationError for an invalid variation."""
    if options.scale_rate is not None and options.scale_rate > HIGHEST_SCALE:
        raise GenerationError(
            f"[--scale-rate {options.scale_rate:g}] is above {HIGHEST_SCALE}; give a smaller factor"
        )
    return VariedPart(
        vary=None if options.vary is None else _parse("vary", VaryPart, options.vary),
        scale_rate=options.scale_rate,
        jitter=None if options.jitter_s is None else f"{options.jitter_s!r}s",
        posterior=options.posterior or None,
    )


def _arrivals_of(options: WorkloadOptions) -> ArrivalsPart | None:
    """Return the arrivals that options give; None if they give none."""
    rate = options.arrival_rate_per_s
    text = options.arrivals or (None if rate is None else f"poisson:{rate!r}/s")
    return None if text is None else parse_arrivals(text)


def parse_arrivals(text: str) -> ArrivalsPart:
    """Return the arrivals of ``poisson:0.5/s`` and the like; raise GenerationError for others."""
    return _parse("arrivals", ArrivalsPart, text)


def parse_popularity(text: str) -> PopularityPart:
    """Return the popularity of ``zipf:0.8`` and the like; raise GenerationError for others."""
    return _parse("popularity", PopularityPart, text)


def _parse(option: str, part: type[Part], text: str | float) -> Part:
    try:
        return TypeAdapter(part).validate_python(text)
    except ValidationError as error:
        problem, remedy = describe_problem(error, part)
        if "both" not in str(text):  # a key of `20%` that nobody typed
            problem = problem.removeprefix("both: ")
        ending, flag = f"; {remedy}" if remedy else "", f"--{option}"
        raise GenerationError(f"[{flag} {text}]: {problem}{ending}") from error


def list_given(options: WorkloadOptions, *flags: str) -> str:
    """Return which of some options are given, joined by "and"; empty if none is."""
    values = {
        declared.flags[0]: getattr(options, one.name)
        for one, declared in list_options(WorkloadOptions)
    }
    values["--set"] = options.settings or None
    return " and ".join(f"[{flag}]" for flag in flags if values[flag] not in (None, False))
