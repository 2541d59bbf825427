"""Workload files: YAML or JSON to a planned workload, and what is wrong with one in one line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from trafficgen.errors import TOO_MANY_FILES, ModelFileError, WorkloadFileError
from trafficgen.formatting import one_line
from trafficgen.input_files import with_outside_files
from trafficgen.json_text import clean_texts
from trafficgen.model_parts.problems import describe_problem
from trafficgen.models import Model, ModelHolder, PublishedModel, YamlTextError, read_yaml
from trafficgen.models.published import find_model
from trafficgen.options import checks_arguments
from trafficgen.standard_streams import STANDARD_INPUT, input_file, read_text_file
from trafficgen.workloads.description import WORKLOAD_SCHEMA_VERSION, WorkloadDescription
from trafficgen.workloads.plan import PlannedWorkload, plan_workload

LARGEST_WORKLOAD_BYTES = 1_000_000
_REMEDY = "see the keys of a workload file in docs/reference/workload-file.md"
_EXAMPLE = "examples/workloads/evening.yaml"
#: How problems of a file begin that is missing or empty: it may have become a workload or a model.
_NOTHING_READ = ("cannot be read", "is empty")
#: Workloads of standards, by the names of their files.
_MIXES = Path(__file__).parent / "mixes"
_ENDINGS = (".yaml", ".yml", ".json")
#: Keys at the top level that workloads have and models have not, and a line with one of them; in
#: JSON only the key that every workload needs, so that models are not read twice.
_KEYS = {"groups", "sessions", "for", "arrivals", "mix"}
_LINE = re.compile(
    rf"""(?:^[ {{]*["']?groups["']?|["']groups["']|^(?:{"|".join(sorted(_KEYS))}))\s*:""",
    re.MULTILINE,
)


@checks_arguments
def load_workload(path: str | Path, *, outside_files: bool = False) -> PlannedWorkload:
    """Load a workload file, with the models and files that it names.

    Args:
        path: YAML or JSON file, or the name of a mix that comes with trafficgen (``ngmn_mix``); the
            files it names are looked for in its folder.
        outside_files: Whether it may name files of other folders.

    Raises:
        WorkloadFileError: If the file breaks the schema, its parts do not fit each other, or a file
            it names cannot be used; the message names the key.
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
    file = _find_file(path)
    description = read_description(file)
    with with_outside_files(allowed=outside_files):
        return plan_workload(description, file=str(path), folder=_folder_of(path, file))


def load_playable(
    what: Model | PublishedModel | ModelHolder | PlannedWorkload | str | Path,
) -> Model | PublishedModel | PlannedWorkload:
    """Return a workload or the one in a file, or a model as ``find_model`` finds it."""
    if isinstance(what, PlannedWorkload):
        return what
    if isinstance(what, str | Path) and is_workload_file(what):
        return load_workload(what)
    try:
        return find_model(what)
    except ModelFileError as error:
        if not str(what).endswith((".yaml", ".yml")):
            raise
        if isinstance(error.__cause__, YamlTextError):  # what it was to be is unknown
            remedy = f"{error.remedy}; for a workload, {_REMEDY}"
        elif error.problem.startswith(_NOTHING_READ):
            remedy = f"{error.remedy}, or a workload file, such as {_EXAMPLE}"
        else:
            raise
        raise ModelFileError(file=error.file, problem=error.problem, remedy=remedy) from error


def is_workload_file(path: str | Path) -> bool:
    """Return whether a file is YAML or JSON with a key at the top level that workloads have."""
    file = _find_file(path)
    if file.suffix.lower() not in _ENDINGS or not file.is_file():
        return False
    try:
        with file.open(encoding="utf-8-sig", errors="replace") as stream:
            text = stream.read(LARGEST_WORKLOAD_BYTES)
        if not _LINE.search(text):
            return False
        content = read_yaml(text)
    except (OSError, YamlTextError) as error:
        if getattr(error, "errno", None) in TOO_MANY_FILES:
            raise  # the next reader may have the room that this one lacked
        return True  # reading it will report why it cannot be read
    return isinstance(content, dict) and not _KEYS.isdisjoint(content)


def mix_names() -> tuple[str, ...]:
    """Return the names of the workload files that come with trafficgen, sorted."""
    return tuple(sorted(file.stem for file in _MIXES.glob("*.yaml")))


def _find_file(path: str | Path) -> Path:
    """Return a file, or the one that comes with trafficgen by its name."""
    file = Path(input_file(str(path)))
    is_mix = isinstance(path, str) and path in mix_names() and not file.exists()
    return _MIXES / f"{path}.yaml" if is_mix else file


def _folder_of(path: str | Path, file: Path) -> Path:
    """Return where names in a file are looked for; those of a pipe in the folder of today."""
    return Path(path).parent if str(path) == STANDARD_INPUT else file.parent


def read_description(path: Path) -> WorkloadDescription:
    """Read a workload file; raise WorkloadFileError, which names the key, if that fails."""
    text = read_text_file(
        path,
        most_bytes=LARGEST_WORKLOAD_BYTES,
        remedy=f"give a workload file, such as {_EXAMPLE}",
        shorten="keep long lists in files of their own",
        error=WorkloadFileError,
    )
    try:
        content = read_yaml(text)
    except YamlTextError as error:
        raise WorkloadFileError(file=str(path), problem=str(error), remedy=_REMEDY) from error
    return description_of(content, file=str(path))


def description_of(content: object, *, file: str) -> WorkloadDescription:
    """Return the description that plain values hold, its texts on one line each.

    Raises:
        WorkloadFileError: If they break the schema.
    """
    if not isinstance(content, dict):
        raise WorkloadFileError(file=file, problem="holds no keys", remedy=_REMEDY)
    version = content.get("schema_version", WORKLOAD_SCHEMA_VERSION)
    if isinstance(version, str) and version != WORKLOAD_SCHEMA_VERSION:
        problem = (
            f"schema_version is {version[:20]!r}, this trafficgen reads {WORKLOAD_SCHEMA_VERSION!r}"
        )
        remedy = "use the trafficgen it was written for"
        raise WorkloadFileError(file=file, problem=problem, remedy=remedy)
    try:
        return TypeAdapter(WorkloadDescription).validate_python(clean_texts(content))
    except ValidationError as error:
        problem, remedy = describe_problem(error, WorkloadDescription)
        problem = _name_groups(problem, content)
        raise WorkloadFileError(file=file, problem=problem, remedy=remedy or _REMEDY) from error


def _name_groups(problem: str, content: Mapping[str, Any]) -> str:
    """Return a problem with the names of groups that have one in place of their numbers."""
    groups = content.get("groups")

    def name(found: re.Match[str]) -> str:
        group = groups[int(found[1])] if isinstance(groups, list) else None
        given = group.get("name") if isinstance(group, dict) else None
        return f"groups.{one_line(given)}" if isinstance(given, str) and given else found[0]

    return re.sub(r"\bgroups\.(\d+)", name, problem)
