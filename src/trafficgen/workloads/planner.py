"""From a description to a workload that can be drawn: models are loaded, files read, and what does
not fit is told.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
from pydantic import JsonValue

from trafficgen.distributions import MixedLaw
from trafficgen.errors import SettingError, SimulationError, WorkloadFileError
from trafficgen.generation.address_plan import AddressRange
from trafficgen.generation.arrivals import (
    Arrivals,
    ConstantIntensity,
    FlashCrowd,
    HourlyIntensity,
    ListedArrivals,
    PoissonArrivals,
    TogetherArrivals,
)
from trafficgen.generation.popularity import MOST_CLIPS, ListedPopularity, Popularity, Zipf
from trafficgen.models import Model, PublishedModel
from trafficgen.models.published import entry_digest, entry_names, load_model, with_settings
from trafficgen.simulation import options_from_text
from trafficgen.units import HOURS_PER_DAY, FloatArray
from trafficgen.workloads.column_files import read_numbers
from trafficgen.workloads.description import (
    ArrivalsPart,
    ClipsPart,
    DeparturesPart,
    GroupPart,
    HourlyPart,
    WorkloadDescription,
)
from trafficgen.workloads.entry_player import Variants
from trafficgen.workloads.laws import MOST_VALUES, LawPart
from trafficgen.workloads.plan import PlannedClips, PlannedDepartures, PlannedGroup, PlannedWorkload
from trafficgen.workloads.values import network, quantity, rate_per_s, share, time_s

_MODEL_FORM = re.compile(r"(?P<name>[^(]*)(?:\((?P<options>.*)\))?", re.DOTALL)
_CLIP_OPTION, _PLAYLIST = "clip", "playlist"
#: Rates that stand for "as many as the number of sessions and the time say": only their proportions
#: count.
_ANY_RATE = ConstantIntensity(1.0)

Playable = Model | PublishedModel
T = TypeVar("T")


def planned(
    description: WorkloadDescription,
    *,
    file: str,
    folder: Path,
    models: Mapping[str, Playable] | None = None,
) -> PlannedWorkload:
    """Return a workload that can be drawn.

    Args:
        description: What its file holds.
        file: Name of that file, for messages.
        folder: Where models and other files are looked for.
        models: Models that are loaded already, by what a group calls them.

    Raises:
        WorkloadFileError: If parts do not fit each other or a file beside it cannot be used.
        ModelFileError: If a model cannot be read.
        SettingError: If an option does not fit its model.
    """
    return _Planning(description, file, folder, dict(models or {})).workload()


@dataclass
class _Planning:
    """What is at hand while a workload is planned."""

    description: WorkloadDescription
    file: str
    folder: Path
    models: dict[str, Playable]
    digests: list[str] = field(default_factory=list)

    def workload(self) -> PlannedWorkload:
        described = self.description
        if described.sessions is not None and all(
            group.arrivals is not None for group in described.groups
        ):
            raise self._refusal("sessions", "all groups have arrivals of their own", "leave it out")
        names = self._names()
        return PlannedWorkload(
            description=described,
            groups=tuple(
                self._group(place, name, its_share)
                for place, (name, its_share) in enumerate(
                    zip(names, described.shares(), strict=True)
                )
            ),
            arrivals=self._arrivals(described.arrivals, "arrivals"),
            sessions=described.sessions,
            window_s=None if described.window is None else time_s(described.window),
            digests=tuple(self.digests),
        )

    def _names(self) -> list[str]:
        """Return a name for each group; those that are named by their model are numbered where it
        comes again.
        """
        given = [group.name for group in self.description.groups if group.name is not None]
        twice = [name for name, count in Counter(given).items() if count > 1]
        if twice:
            raise self._refusal("groups", f"two are named {twice[0]!r}", "choose other names")
        names: list[str] = []
        for group in self.description.groups:
            usual = group.name or _usual_name(group.model)
            name, number = usual, 1
            while group.name is None and (name in names or name in given):
                number += 1
                name = f"{usual}-{number}"
            names.append(name)
        return names

    def _group(self, place: int, name: str, its_share: float) -> PlannedGroup:
        group, described, at = self.description.groups[place], self.description, f"groups.{place}"
        model, options = self._model(group, at)
        clips = group.clips
        if (
            clips is None
            and described.clips is not None
            and (described.clips.option or _CLIP_OPTION) not in options
        ):
            clips = described.clips
        duration = group.duration or described.duration
        departures = group.departures or described.departures
        planned_group = PlannedGroup(
            name=name,
            model=model,
            share=its_share,
            arrivals=(
                None if group.arrivals is None else self._arrivals(group.arrivals, f"{at}.arrivals")
            ),
            sessions=group.sessions,
            clips=None if clips is None else self._clips(clips, model, options, f"{at}.clips"),
            duration=None if duration is None else self._law(duration, f"{at}.duration"),
            departures=(
                None if departures is None else self._departures(departures, f"{at}.departures")
            ),
            clients=_ranges(group.clients),
            servers=_ranges(group.servers),
        )
        self._check_versions(planned_group, at)
        return planned_group

    def _model(self, group: GroupPart, at: str) -> tuple[Playable, dict[str, str]]:
        """Return a group's model with its options set, and which options those are."""
        found = _MODEL_FORM.fullmatch(group.model)
        if group.model in self.models:
            found, model = None, self.models[group.model]
        elif found is None or not found["name"].strip():
            raise self._refusal(
                f"{at}.model", f"{group.model!r} names no model", "write NAME or NAME(option=value)"
            )
        else:
            name = found["name"].strip()
            is_name = name in entry_names() or ("/" not in name and "." not in name)
            model = load_model(name if is_name else self.folder / name)
        options: dict[str, str] = {}
        if found is not None and found["options"]:
            try:
                options = options_from_text(found["options"], place=f"{self.file}: {at}.model")
            except SimulationError as error:
                raise self._refusal(
                    f"{at}.model", str(error).partition(": ")[2], "write option=value"
                ) from error
        if options and isinstance(model, Model):
            raise self._refusal(
                f"{at}.model",
                f"{model.name} is a fitted model, which has no options",
                "set nothing",
            )
        if isinstance(model, PublishedModel):
            try:
                model = with_settings(model, options)
            except SettingError as error:
                raise error.at(f"{self.file}: {at}.model") from error
        self.digests.append(entry_digest(model))
        return model, options

    def _arrivals(self, part: ArrivalsPart | None, at: str) -> Arrivals:
        if part is None:
            return TogetherArrivals()
        if part.poisson is not None:
            rate = part.poisson.rate
            known = (
                None
                if rate is None
                else self._made(at, lambda: ConstantIntensity(rate_per_s(rate)))
            )
            return PoissonArrivals(known or _ANY_RATE, is_known=known is not None)
        if part.hourly is not None:
            return self._hourly(part.hourly, f"{at}.hourly")
        if part.flash is not None:
            flash = part.flash
            crowd = self._made(
                f"{at}.flash",
                lambda: FlashCrowd(
                    base_per_s=rate_per_s(flash.base),
                    start_s=time_s(flash.start),
                    rise_s=time_s(flash.rise),
                    peak_factor=flash.peak,
                    decay_s=time_s(flash.decay),
                ),
            )
            return PoissonArrivals(crowd)
        if part.file is not None:
            times_s = self._numbers(part.file.name, part.file.column, ("start_s", "time_s"))
            return ListedArrivals(np.sort(times_s))
        return TogetherArrivals()

    def _hourly(self, part: HourlyPart, at: str) -> Arrivals:
        if part.are_rates:
            rates = np.array([rate_per_s(str(value)) for value in part.hours])
            return PoissonArrivals(self._intensity(rates, part, at))
        if isinstance(part.hours, str):
            weights = self._numbers(part.hours, None, ("share", "rate"), most=HOURS_PER_DAY)
            if weights.size != HOURS_PER_DAY:
                raise self._refusal(
                    at,
                    f"{part.hours} has {weights.size} values",
                    f"give {HOURS_PER_DAY}, one an hour",
                )
        else:
            weights = np.array([quantity(str(value))[0] for value in part.hours])
        if weights.sum() <= 0:
            raise self._refusal(at, "no hour has a session", "give at least one hour more than 0")
        mean = 1.0 if part.rate is None else rate_per_s(part.rate)
        rates = weights / weights.mean() * mean
        return PoissonArrivals(self._intensity(rates, part, at), is_known=part.rate is not None)

    def _intensity(self, rates: FloatArray, part: HourlyPart, at: str) -> HourlyIntensity:
        return self._made(
            at, lambda: HourlyIntensity(tuple(rates.tolist()), begins_s=time_s(part.begins))
        )

    def _clips(
        self, part: ClipsPart, model: Playable, options: Mapping[str, str], at: str
    ) -> PlannedClips:
        popularity, count = self._count(part, at)
        variants, is_shuffled = None, False
        if isinstance(model, PublishedModel):
            variants, is_shuffled = self._variants(part, model, options, at)
            if part.rate is not None:
                raise self._refusal(
                    f"{at}.rate", f"{model.name} is a published model", "vary one of its options"
                )
            if variants is None and part.length is None:
                problem = f"{model.name} has no option {_CLIP_OPTION!r}"
                raise self._refusal(
                    at,
                    problem,
                    "name with option and values what tells clips apart, or give length",
                )
        elif part.option is not None or part.values is not None:
            raise self._refusal(
                at,
                f"{model.name} is a fitted model, which has no options",
                "leave option and values out",
            )
        elif model.population is None and part.length is None and part.rate is None:
            raise self._refusal(
                at,
                f"{model.name} has no population, and its clips would all be the same",
                "give length or rate",
            )
        if variants is not None:
            count = self._fitting_count(count, len(variants.values), at)
            variants = Variants(
                variants.option, variants.values if is_shuffled else variants.values[:count]
            )
        if count is None:
            raise self._refusal(
                at,
                "how many clips there are is not said",
                "give count, or write zipf:0.8,clips=100",
            )
        return PlannedClips(
            popularity=popularity or self._zipf(part, count, at),
            length=None if part.length is None else self._law(part.length, f"{at}.length"),
            rate=None if part.rate is None else self._law(part.rate, f"{at}.rate"),
            variants=variants,
            is_shuffled=is_shuffled,
        )

    def _count(self, part: ClipsPart, at: str) -> tuple[Popularity | None, int | None]:
        """Return the popularity where a file has it, and the number of clips as far as it is
        said.
        """
        counts = [] if part.count is None else [part.count]
        popularity = None
        counted = None if part.popularity is None else part.popularity.counted
        zipf = None if part.popularity is None else part.popularity.zipf
        if counted is not None:
            weights = self._numbers(counted.file, counted.column, ("weight",), most=MOST_CLIPS)
            popularity = self._made(
                f"{at}.popularity", lambda: ListedPopularity(tuple(weights.tolist()))
            )
            counts.append(weights.size)
        elif zipf is not None and zipf.clips is not None:
            counts.append(zipf.clips)
        if len(set(counts)) > 1:
            raise self._refusal(
                at,
                f"there are {counts[0]} clips by one key and {counts[1]} by another",
                "correct one",
            )
        return popularity, next(iter(counts), None)

    def _zipf(self, part: ClipsPart, count: int, at: str) -> Popularity:
        zipf = None if part.popularity is None else part.popularity.zipf
        exponent = 0.0 if zipf is None else zipf.exponent
        return self._made(f"{at}.popularity", lambda: Zipf(count, exponent))

    def _fitting_count(self, wanted: int | None, available: int, at: str) -> int:
        if wanted is not None and wanted > available:
            raise self._refusal(
                at, f"{wanted} clips are wanted and there are {available}", "ask for fewer"
            )
        return available if wanted is None else wanted

    def _variants(
        self, part: ClipsPart, model: PublishedModel, options: Mapping[str, str], at: str
    ) -> tuple[Variants | None, bool]:
        """Return what tells the clips of a published model apart, and whether their order is to be
        drawn.
        """
        option = part.option or (_CLIP_OPTION if _CLIP_OPTION in model.options else None)
        if option is None and part.values is None:
            return None, False
        if option is None:
            raise self._refusal(
                at, "values without an option", "say with option what they are values of"
            )
        if option in options:
            raise self._refusal(
                at, f"{option} is set in the brackets of the model too", "leave one of both out"
            )
        if part.values is not None:
            for value in part.values:
                try:
                    with_settings(model, {option: value})
                except SettingError as error:
                    raise error.at(f"{self.file}: {at}.values") from error
            return Variants(option, part.values), False
        if option not in model.options:
            known = ", ".join(model.options) or "none"
            raise self._refusal(
                f"{at}.option", f"{model.name} has no option {option!r}", f"its options are {known}"
            )
        values = model.options[option].choices or _playlist(model)
        if not values or (option != _CLIP_OPTION and not model.options[option].choices):
            raise self._refusal(
                at,
                f"{model.name} does not list what {option} may be",
                "list the values with values",
            )
        return Variants(option, tuple(values)), True

    def _departures(self, part: DeparturesPart, at: str) -> PlannedDepartures:
        after = None if part.after is None else self._law(part.after, f"{at}.after")
        watched = part.watched
        if watched is None and after is None:
            watched = LawPart.model_validate({"uniform": {"low": "0", "high": "1"}})
        law = None if watched is None else self._law(watched, f"{at}.watched")
        if law is not None and law.support[1] > 1:
            raise self._refusal(
                f"{at}.watched", "more than the whole session is watched", "keep it at most 1"
            )
        return PlannedDepartures(share=share(part.share), watched=law, after=after)

    def _law(self, part: LawPart, at: str) -> MixedLaw:
        values = None
        if part.table is not None and part.table.file is not None:
            values = self._numbers(part.table.file, part.table.column, ("value",), most=MOST_VALUES)
            if values.min() < 0:
                raise self._refusal(at, f"{part.table.file} has negative values", "correct them")
        return self._made(at, lambda: part.distribution(values))

    def _check_versions(self, group: PlannedGroup, at: str) -> None:
        for version in _ip_versions(group.model):
            for key, given in (("clients", group.clients), ("servers", group.servers)):
                if given and version not in given:
                    problem = (
                        f"{group.model.name} plays over IPv{version}, and no range of that version"
                        " is given"
                    )
                    raise self._refusal(f"{at}.{key}", problem, "add one")

    def _numbers(
        self, name: str, column: str | None, usual: tuple[str, ...], **most: int
    ) -> FloatArray:
        numbers = read_numbers(self.folder / name, column=column, usual=usual, **most)
        self.digests.append(f"sha256:{hashlib.sha256(numbers.tobytes()).hexdigest()}")
        return numbers

    def _made(self, at: str, make: Callable[[], T]) -> T:
        try:
            return make()
        except ValueError as error:
            problem, _, remedy = str(error).rpartition("; ")
            raise self._refusal(
                at, problem or str(error), remedy if problem else "correct it"
            ) from error

    def _refusal(self, at: str, problem: str, remedy: str) -> WorkloadFileError:
        return WorkloadFileError(file=self.file, problem=f"{at}: {problem}", remedy=remedy)


def _usual_name(model: str) -> str:
    """Return the name of a group that has none: that of its model, without folder, ending and
    options.
    """
    return Path(model.partition("(")[0].strip()).stem or model


def _playlist(model: PublishedModel) -> tuple[JsonValue, ...]:
    """Return the numbers of the clips that a model lists, none where it has no such list."""
    parameter = model.mechanism.parameters.get(_PLAYLIST)
    rows = parameter.value if parameter is not None and isinstance(parameter.value, list) else []
    return tuple(row[_CLIP_OPTION] for row in rows if isinstance(row, dict) and _CLIP_OPTION in row)


def _ranges(texts: tuple[str, ...] | None) -> dict[int, AddressRange]:
    networks = [network(text) for text in texts or ()]
    versions = sorted({one.version for one in networks})
    return {
        version: AddressRange(tuple(one for one in networks if one.version == version))
        for version in versions
    }


def _ip_versions(model: Playable) -> list[int]:
    if isinstance(model, PublishedModel):
        return [4]
    streams = list(model.streams)
    if model.population is not None:
        streams += [
            stream
            for prototype in model.population.prototypes
            for stream in prototype.streams or ()
        ]
    return sorted({stream.transport.ip_version for stream in streams})
