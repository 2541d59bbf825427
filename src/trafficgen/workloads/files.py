"""Workloads that a file or a few words describe: which sessions there are, before any is played."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue, ValidationError

from trafficgen.errors import GenerationError
from trafficgen.generation.arrivals import MOST_SESSIONS
from trafficgen.models import Model, PublishedModel, YamlTextError, read_yaml
from trafficgen.models.published import with_settings
from trafficgen.workloads.description import (
    ArrivalsPart,
    ClipsPart,
    GroupPart,
    PopularityPart,
    WorkloadDescription,
)
from trafficgen.workloads.mix import MixedSessions
from trafficgen.workloads.plan import PlannedWorkload
from trafficgen.workloads.planner import planned
from trafficgen.workloads.reading import LARGEST_WORKLOAD_BYTES, read_description

_ENDINGS = (".yaml", ".yml", ".json")
#: A line of YAML or JSON with the one key at the top level that every workload has and no model.
_GROUPS = re.compile(r"""^[ {]*["']?groups["']?\s*:""", re.MULTILINE)


def load_workload(path: str | Path) -> PlannedWorkload:
    """Return the workload of a file, with the models and files it names.

    Args:
        path: YAML or JSON file; what it names is looked for beside it.

    Raises:
        WorkloadFileError: If the file breaks the schema, parts of it do not fit each other, or a
            file beside it cannot be used; the message names the key.
        ModelFileError: If a model cannot be read.
        SettingError: If an option does not fit its model.

    Example:
        >>> import trafficgen
        >>> workload = trafficgen.load_workload("examples/workloads/evening.yaml")
        >>> workload
        <PlannedWorkload evening: 2 groups, 14,400 s>
        >>> for group in workload.groups:
        ...     print(f"{group.name}: {group.share:.0%} of the sessions play {group.model.name}")
        radio: 30% of the sessions play realplayer8_tcp_chung2002
        films: 70% of the sessions play wmedia9_nichols2004
    """
    file = Path(path)
    return planned(read_description(file), file=str(path), folder=file.parent)


def is_workload_file(path: str | Path) -> bool:
    """Return whether a file describes a workload and no model: YAML or JSON with groups at the top
    level.
    """
    file = Path(path)
    if file.suffix.lower() not in _ENDINGS or not file.is_file():
        return False
    try:
        with file.open(encoding="utf-8-sig", errors="replace") as stream:
            text = stream.read(LARGEST_WORKLOAD_BYTES)
        if not _GROUPS.search(text):
            return False
        content = read_yaml(text)
    except (OSError, YamlTextError):
        return True  # that it cannot be read is told when it is
    return isinstance(content, dict) and "groups" in content


def sessions_of_workload(
    workload: PlannedWorkload,
    *,
    seed: int,
    sessions: int | None = None,
    window_s: float | None = None,
    duration_s: float | None = None,
) -> MixedSessions:
    """Return the sessions of a workload, ready to be cut into blocks and made.

    Args:
        workload: The workload.
        seed: Seed, >= 0.
        sessions: Number of sessions; None: as the workload says.
        window_s: Time in which sessions start, s; None: as the workload says. Where only one of
            number and time is given here, the other one of the workload does not hold.
        duration_s: Length of each session, s; None: as the workload says.

    Raises:
        GenerationError: If there are no such sessions.
        ValueError: If the seed is negative.
    """
    if sessions is not None or window_s is not None:
        if sessions is not None and all(group.arrivals is not None for group in workload.groups):
            raise GenerationError(
                "all groups have arrivals of their own, which say how many sessions there are"
            )
        workload = replace(workload, sessions=sessions, window_s=window_s)
    if duration_s is not None:
        workload = workload.lasting(duration_s)
    made = MixedSessions(workload=workload, seed=seed)
    made.check()
    return made


def workload_of_model(
    model: Model | PublishedModel,
    *,
    sessions: int | None = None,
    window_s: float | None = None,
    duration_s: float | None = None,
    arrivals: str | None = None,
    popularity: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
) -> PlannedWorkload:
    """Return the workload of one model, as options of the command line describe it.

    Args:
        model: The model.
        sessions: Number of sessions; None: as many as start within ``window_s``.
        window_s: Time in which sessions start, s; None: until all have started.
        duration_s: Length of each session, s; None: that of the model.
        arrivals: ``together``, ``poisson:0.5/s``, ``hourly:FILE``, ``flash:base=...,...`` or
            ``file:FILE``, as in a workload file; files are looked for in the working directory.
            None: all together.
        popularity: ``zipf:0.8`` or ``zipf:0.8,clips=100``; None: no clips.
        settings: Options of a published model.

    Raises:
        GenerationError: If a text is not understood, or there are too many sessions.
        WorkloadFileError: If parts do not fit each other or a file cannot be used.
        SettingError: If a setting does not fit the model.
    """
    if settings and isinstance(model, Model):
        raise GenerationError(f"{model.name} is a fitted model, which has no options; set nothing")
    if sessions is not None and sessions > MOST_SESSIONS:
        raise GenerationError(
            f"{sessions:,} sessions are more than {MOST_SESSIONS:,}; ask for fewer"
        )
    if isinstance(model, PublishedModel):
        model = with_settings(model, settings or {})
    described = WorkloadDescription(
        name=model.name,
        sessions=sessions,
        arrivals=parse_arrivals(arrivals or "together"),
        groups=(
            GroupPart(
                model=model.name, clips=None if popularity is None else parse_popularity(popularity)
            ),
        ),
    )
    workload = planned(described, file=model.name, folder=Path(), models={model.name: model})
    workload = replace(workload, window_s=window_s)
    return workload if duration_s is None else workload.lasting(duration_s)


def parse_arrivals(text: str) -> ArrivalsPart:
    """Return the arrivals of a short form such as ``poisson:0.5/s``.

    Raises:
        GenerationError: If it is not understood.
    """
    try:
        return ArrivalsPart.model_validate(text)
    except ValidationError as error:
        raise _refusal("arrivals", text, error) from error


def parse_popularity(text: str) -> ClipsPart:
    """Return clips with the popularity of a short form such as ``zipf:0.8`` or
    ``zipf:0.8,clips=100``.

    Raises:
        GenerationError: If it is not understood.
    """
    try:
        return ClipsPart(popularity=PopularityPart.model_validate(text))
    except ValidationError as error:
        raise _refusal("popularity", text, error) from error


def _refusal(what: str, text: str, error: ValidationError) -> GenerationError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return GenerationError(
        f"{what}={text}: {f'{place}: ' if place else ''}{message[0].lower()}{message[1:]}"
    )
