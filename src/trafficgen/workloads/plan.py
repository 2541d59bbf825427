"""Planning a workload: models are loaded, files read and checked, laws become distributions."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from trafficgen.data_frames import frame_rows
from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError, ModelFileError, SettingError, SimulationError
from trafficgen.formatting import format_count, number, one_line
from trafficgen.generation.addresses import AddressRange
from trafficgen.generation.arrivals import Arrivals, DefaultArrivals
from trafficgen.input_files import find_named_file
from trafficgen.models import Model, PublishedModel
from trafficgen.models.io import LARGEST_MODEL_BYTES
from trafficgen.models.published import entry_digest, entry_names, find_model, set_options
from trafficgen.notebook import NotebookView
from trafficgen.options import checks_arguments
from trafficgen.simulation.competitors import options_from_text
from trafficgen.workloads.arrivals import ArrivalsPart
from trafficgen.workloads.clips import CLIP_OPTION, PlannedClips, plan_clips
from trafficgen.workloads.column_files import ColumnFiles
from trafficgen.workloads.description import (
    DeparturesPart,
    GroupPart,
    Variation,
    VariedPart,
    WorkloadDescription,
)
from trafficgen.workloads.laws import LawPart, read_law
from trafficgen.workloads.options import WorkloadOptions
from trafficgen.workloads.shorthand import parse_network, parse_share, parse_time_s

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PlannedDepartures:
    """Viewers who leave early.

    Attributes:
        watched: Law of the share of the session after which they leave; None: see ``after``.
        after: Law of the time after which they leave, s; None: see ``watched``.
    """

    share: float
    watched: MixedLaw | None
    after: MixedLaw | None


@dataclass(frozen=True)
class PlannedGroup:
    """Sessions of one model.

    Attributes:
        name: Name, unique in the workload.
        model: The model, its options set.
        share: Share of the sessions of the workload; 0 if it has arrivals of its own.
        arrivals: When its sessions start; None: with those of the workload.
        sessions: Number of sessions if it has arrivals of its own; None: as many as start.
        duration: Law of a session's length, s; None: that of the model or the clip.
        departures: Viewers who leave early; None: all stay.
        clients: Ranges of the clients by IP version.
        servers: Ranges of the servers by IP version.
        variation: How its sessions differ from the model.
    """

    name: str
    model: Model | PublishedModel
    share: float
    arrivals: Arrivals | None
    sessions: int | None
    clips: PlannedClips | None
    duration: MixedLaw | None
    departures: PlannedDepartures | None
    clients: dict[int, AddressRange]
    servers: dict[int, AddressRange]
    variation: Variation = field(default_factory=Variation)

    @property
    def has_length(self) -> bool:
        """Whether the length of its sessions has a law, apart from its model."""
        return self.duration is not None or (
            self.clips is not None and self.clips.length is not None
        )


#: What takes a workload where a model alone is refused.
WORKLOAD_PLAYERS = (
    "generate_workload(workload, out), simulate_workload(workload, path=...) or export(workload,"
    " to=...)"
)


@dataclass(frozen=True, eq=False, repr=False)
class PlannedWorkload(NotebookView):
    """A workload ready to be drawn.

    Attributes:
        description: What its file holds.
        groups: Its groups.
        arrivals: When the sessions start that groups share.
        sessions: Number of sessions; None: as many as start.
        window_s: Time in which sessions start, s; None: until all have started.
        digests: Digests of the models and of what was read from files.
        remarks: What people need to know about how it is played.

    Example:
        >>> import trafficgen
        >>> workload = trafficgen.load_workload("examples/workloads/evening.yaml")
        >>> radio = workload.groups[0]
        >>> print(f"{radio.clips.popularity.shares[0]:.0%} of radio is the first of 79 clips")
        13% of radio is the first of 79 clips
        >>> print(f"{radio.departures.share:.0%} of its viewers may leave early")
        40% of its viewers may leave early
    """

    taken_by: ClassVar[str] = WORKLOAD_PLAYERS

    description: WorkloadDescription
    groups: tuple[PlannedGroup, ...]
    arrivals: Arrivals
    sessions: int | None
    window_s: float | None
    digests: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = [format_count(len(self.groups), "group")]
        parts += [] if self.sessions is None else [format_count(self.sessions, "session")]
        parts += [] if self.window_s is None else [f"{number(self.window_s)} s"]
        return f"<PlannedWorkload {one_line(self.name)}: {', '.join(parts)}>"

    def _notebook_data(self) -> dict[str, object]:
        return {
            "description": self.description.description,
            "sessions": self.sessions,
            "window_s": self.window_s,
            "groups": [
                {
                    "group": group.name,
                    "model": group.model.name,
                    "share": None if group.arrivals else group.share,
                }
                for group in self.groups
            ],
        }

    def to_json(self) -> dict[str, Any]:
        """Return what its workload file holds."""
        return self.description.model_dump(mode="json", by_alias=True, exclude_unset=True)

    @checks_arguments(like=WorkloadOptions)
    def to_pandas(
        self, *, seed: int = 0, sessions: int | None = None, window_s: float | None = None
    ) -> pd.DataFrame:
        """Return a row a session that ``generate_workload`` plays with the same arguments.

        ``start_s`` is after the start of the workload; ``rate_factor`` its rate / that of the
        model. ``duration_s`` is its length, ``pd.NA`` where only playing it shows the length: a
        published model that ends by itself, in a group without a duration. ``media_s`` is how long
        the media of such a model last, ``pd.NA`` where the model draws the length of its clip or
        has no end: the session ends when they have been sent or played.

        Raises:
            GenerationError: If the workload does not say how many sessions there are.
        """
        from trafficgen.workloads.sessions import sessions_of_workload  # noqa: PLC0415 - it plays what is planned

        columns = {"session": int, "start_s": float, "group": str, "model": str}
        columns |= {"duration_s": float, "media_s": float, "clip": int, "rate_factor": float}
        drawn = sessions_of_workload(self, seed=seed, sessions=sessions, window_s=window_s)
        return frame_rows(drawn.describe(), columns)

    @property
    def name(self) -> str:
        """Name of the workload."""
        return self.description.name

    @checks_arguments
    def with_variation(self, part: VariedPart | str | float) -> PlannedWorkload:
        """Return the workload with another variation where a part says so, for all groups.

        A text or a number is read as ``vary`` of ``generate``.

        Raises:
            GenerationError: If a text is not understood.
        """
        if not isinstance(part, VariedPart):
            try:
                part = VariedPart.model_validate({"vary": part})
            except ValueError as error:  # names of classes say nothing to users
                raise GenerationError(str(error).removeprefix("VariedPart: ")) from error
        groups = [
            replace(group, variation=group.variation.overridden(part)) for group in self.groups
        ]
        return replace(self, groups=tuple(groups))

    @checks_arguments(like=WorkloadOptions)
    def with_duration(self, duration_s: float) -> PlannedWorkload:
        """Return the workload with every session of one length, s or a text such as ``3min``."""
        fixed = MixedLaw(continuous=None, values=(duration_s,), probabilities=(1.0,))
        return replace(self, groups=tuple(replace(group, duration=fixed) for group in self.groups))


_MODEL_FORM = re.compile(r"(?P<name>[^(]*)(?:\((?P<options>.*)\))?", re.DOTALL)

AnyModel = Model | PublishedModel


def plan_workload(
    description: WorkloadDescription,
    *,
    file: str,
    folder: Path,
    models: Mapping[str, AnyModel] | None = None,
) -> PlannedWorkload:
    """Plan a workload: load what its description names, and check that its parts fit.

    ``models`` are loaded already, by what a group calls them; others, and files, are looked for in
    ``folder``. Messages name ``file``.

    Raises:
        WorkloadFileError: If parts do not fit each other or a file it names cannot be used.
        ModelFileError: If a model cannot be read.
        SettingError: If an option does not fit its model.
    """
    return _Planner(description, ColumnFiles(folder, file), dict(models or {})).workload()


@dataclass
class _Planner:
    description: WorkloadDescription
    files: ColumnFiles
    models: dict[str, AnyModel]
    digests: list[str] = field(default_factory=list)

    def workload(self) -> PlannedWorkload:
        described = self.description
        if described.sessions is not None and all(
            group.arrivals is not None for group in described.groups
        ):
            raise self.files.error(
                "sessions", "all groups have arrivals of their own", "leave it out"
            )
        shares = zip(self._names(), described.shares(), strict=True)
        return PlannedWorkload(
            description=described,
            groups=tuple(
                self._group(place, name, share) for place, (name, share) in enumerate(shares)
            ),
            arrivals=self._arrivals(described.arrivals, "arrivals") or DefaultArrivals(),
            sessions=described.sessions,
            window_s=None if described.window is None else parse_time_s(described.window),
            digests=(*self.digests, *self.files.digests),
        )

    def _names(self) -> list[str]:
        """Return a name for each group; those named by their model are numbered."""
        given = [group.name for group in self.description.groups if group.name is not None]
        twice = [name for name, count in Counter(given).items() if count > 1]
        if twice:
            raise self.files.error("groups", f"two are named {twice[0]!r}", "choose other names")
        names: list[str] = []
        for group in self.description.groups:
            usual = group.name or Path(group.model.partition("(")[0].strip()).stem or group.model
            name, number = usual, 1
            while group.name is None and (name in names or name in given):
                number += 1
                name = f"{usual}-{number}"
            names.append(name)
        return names

    def _group(self, place: int, name: str, share: float) -> PlannedGroup:
        group, described = self.description.groups[place], self.description
        at = f"groups.{place if group.name is None else name}"
        model, options = self._model(group, f"{at}.model")
        clips = group.clips
        if clips is None and described.clips is not None:
            is_fixed = (described.clips.option or CLIP_OPTION) in options
            clips = None if is_fixed else described.clips
        departures = group.departures or described.departures
        planned = PlannedGroup(
            name=name,
            model=model,
            share=share,
            arrivals=self._arrivals(group.arrivals, f"{at}.arrivals"),
            sessions=group.sessions,
            clips=None
            if clips is None
            else plan_clips(clips, model, options, self.files, f"{at}.clips"),
            duration=read_law(self.files, group.duration or described.duration, f"{at}.duration"),
            departures=(
                None if departures is None else self._departures(departures, f"{at}.departures")
            ),
            clients=_ranges(group.clients),
            servers=_ranges(group.servers),
            variation=Variation().overridden(described).overridden(group),
        )
        for version in _ip_versions(model):
            for key, given in (("clients", planned.clients), ("servers", planned.servers)):
                if given and version not in given:
                    problem = f"{model.name} plays over IPv{version}, and no range has that version"
                    raise self.files.error(f"{at}.{key}", problem, "add one")
        return planned

    def _model(self, group: GroupPart, at: str) -> tuple[AnyModel, dict[str, str]]:
        """Return a group's model with its options set, and which options those are."""
        if group.model in self.models:
            name, text, model = group.model, "", self.models[group.model]
        else:
            found = _MODEL_FORM.fullmatch(group.model)
            name = "" if found is None else found["name"].strip()
            if found is None or not name:
                remedy = "write NAME or NAME(option=value)"
                raise self.files.error(at, f"{group.model!r} names no model", remedy)
            is_name = name in entry_names() or not _names_file(name, self.files.folder)
            file = partial(find_named_file, name, self.files.folder, most_bytes=LARGEST_MODEL_BYTES)
            path = name if is_name else self.files.check(at, file)
            try:
                model = find_model(path)
            except (ModelFileError, SettingError) as error:
                raise error.prepend_place(f"{self.files.file}: {at}") from error
            text = found["options"] or ""
        options: dict[str, str] = {}
        if text:
            try:
                options = options_from_text(text, place=f"{self.files.file}: {at}")
            except SimulationError as error:
                problem = str(error).partition(": ")[2]
                raise self.files.error(at, problem, "write option=value") from error
        try:
            model = set_options(model, options)
        except SettingError as error:
            if isinstance(model, Model):
                problem, _, remedy = str(error).partition("; ")
                raise self.files.error(at, problem, remedy) from error
            raise error.prepend_place(f"{self.files.file}: {at}") from error
        self.digests.append(entry_digest(model))
        return model, options

    def _arrivals(self, part: ArrivalsPart | None, at: str) -> Arrivals | None:
        if part is None:
            return None
        return self.files.check(f"{at}.{part.kind}", lambda: part.arrivals(self.files))

    def _departures(self, part: DeparturesPart, at: str) -> PlannedDepartures:
        watched = part.watched
        if watched is None and part.after is None:
            watched = LawPart.model_validate({"uniform": {"low": "0", "high": "1"}})
        law = read_law(self.files, watched, f"{at}.watched")
        if law is not None and law.support[1] > 1:
            problem = "more than the whole session is watched"
            raise self.files.error(f"{at}.watched", problem, "keep it at most 1")
        after = read_law(self.files, part.after, f"{at}.after")
        return PlannedDepartures(share=parse_share(part.share), watched=law, after=after)


def _names_file(name: str, folder: Path) -> bool:
    """Return whether a model is given as a file; a word that no file here has may be an entry."""
    is_word = name != "-" and "/" not in name and "." not in name
    return not is_word or any(os.path.lexists(one) for one in (folder / name, name))


def _ranges(texts: tuple[str, ...] | None) -> dict[int, AddressRange]:
    networks = [parse_network(text) for text in texts or ()]
    versions = sorted({one.version for one in networks})
    return {
        version: AddressRange(tuple(one for one in networks if one.version == version))
        for version in versions
    }


def _ip_versions(model: AnyModel) -> list[int]:
    if isinstance(model, PublishedModel):
        return [4]
    prototypes = () if model.population is None else model.population.prototypes
    streams = [*model.streams, *(one for each in prototypes for one in each.streams or ())]
    return sorted({stream.transport.ip_version for stream in streams})
