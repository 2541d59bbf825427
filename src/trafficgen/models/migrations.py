"""Model files of earlier schema versions, brought up to the present one step by step.

Each step is a pure function from the content of one version to that of the next; a file takes all
steps from its own version on. A step stays as it is once a version has been written: its tests are
model files of that version.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trafficgen.models.schema import PUBLISHED_SCHEMA_VERSION, SCHEMA_VERSION
from trafficgen.redaction import redact_addresses

Content = dict[str, Any]


class UnknownVersionError(ValueError):
    """A schema version that no step leads on from.

    Attributes:
        version: The version.
        known: Those that are read, earliest first.
    """

    def __init__(self, version: str, known: tuple[str, ...]) -> None:
        self.version, self.known = version, known
        reads = known[0] if len(known) == 1 else f"{known[0]} to {known[-1]}"
        super().__init__(f"it has schema version {version}, this trafficgen reads {reads}")


@dataclass(frozen=True)
class Step:
    """From one schema version to the next.

    Attributes:
        before: Version that it takes.
        after: Version that it gives.
        summary: What it does, for people.
        apply: The change; it may alter the content that it is given.
    """

    before: str
    after: str
    summary: str
    apply: Callable[[Content], Content]


def _redact_addresses_in_names(content: Content) -> Content:
    """1.0 kept names of files as they were; from 1.1 on addresses in them are masked."""
    provenance = content.get("provenance")
    if isinstance(provenance, dict):
        for key in ("files", "receiver_files"):
            provenance[key] = _masked(provenance.get(key, []))
        provenance["player_log"] = _masked(provenance.get("player_log"))
    for key in ("name", "description"):
        if key in content:
            content[key] = _masked(content[key])
    population = content.get("population")
    if isinstance(population, dict) and isinstance(population.get("prototypes"), list):
        for prototype in population["prototypes"]:
            if isinstance(prototype, dict) and "name" in prototype:
                prototype["name"] = _masked(prototype["name"])
    pooled = content.get("same_source")
    if isinstance(pooled, dict):
        for key in pooled.keys() & {"source", "captures"}:
            pooled[key] = _masked(pooled[key])
    return content


def _masked(value: object) -> object:
    """Return a text, or a list of them, without addresses; anything else is left for the schema to
    refuse.
    """
    if isinstance(value, list):
        return [_masked(one) for one in value]
    return redact_addresses(value) if isinstance(value, str) else value


#: Steps of fitted models, in order; the last one gives the present version.
FITTED_STEPS: tuple[Step, ...] = (
    Step("1.0", "1.1", "addresses in names of files are masked", _redact_addresses_in_names),
)
#: Steps of published models: there is one version so far.
PUBLISHED_STEPS: tuple[Step, ...] = ()


def steps_from(version: str, *, published: bool) -> tuple[Step, ...]:
    """Return the steps from a version to the present one; none for the present one itself.

    Raises:
        UnknownVersionError: If it is neither that nor an earlier one.
    """
    steps = PUBLISHED_STEPS if published else FITTED_STEPS
    known = (
        *(step.before for step in steps),
        PUBLISHED_SCHEMA_VERSION if published else SCHEMA_VERSION,
    )
    if version not in known:
        raise UnknownVersionError(version, known)
    return steps[known.index(version) :]


def migrated(content: Mapping[str, Any], *, published: bool) -> tuple[Content, tuple[Step, ...]]:
    """Return the content of a model file in the present version, and the steps that were taken.

    A version that is not a text is left for the schema to refuse; without one the content is taken
    for the present.

    Raises:
        UnknownVersionError: If the version is none that is known.
    """
    version = content.get("schema_version")
    if not isinstance(version, str):
        return dict(content), ()
    steps = steps_from(version, published=published)
    if not steps:
        return dict(content), ()
    result = copy.deepcopy(dict(content))
    for step in steps:
        result = {**step.apply(result), "schema_version": step.after}
    return result, steps
