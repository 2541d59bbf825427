"""A workload ready to be drawn: models loaded, files read, laws as distributions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import JsonValue

from trafficgen.distributions import MixedLaw
from trafficgen.formatting import format_count, number, one_line
from trafficgen.generation.addresses import AddressRange
from trafficgen.generation.arrivals import Arrivals
from trafficgen.generation.popularity import Popularity
from trafficgen.models import Model, PublishedModel
from trafficgen.notebook import NotebookView
from trafficgen.workloads.description import WorkloadDescription


@dataclass(frozen=True)
class Variants:
    """What distinguishes the clips of a published model.

    Attributes:
        option: Option of the model.
        values: Its value for each clip, most popular first.
    """

    option: str
    values: tuple[JsonValue, ...]


@dataclass(frozen=True)
class PlannedClips:
    """Clips of a group.

    Attributes:
        popularity: How often each is played.
        length: Law of a clip's length, s; None: that of the model.
        rate: Law of a clip's rate / the rate of the model; None: 1.
        variants: What distinguishes the clips of a published model; None for a fitted one.
        is_shuffled: Whether the order of the variants is drawn.
    """

    popularity: Popularity
    length: MixedLaw | None = None
    rate: MixedLaw | None = None
    variants: Variants | None = None
    is_shuffled: bool = False


@dataclass(frozen=True)
class PlannedDepartures:
    """Viewers who leave early.

    Attributes:
        share: Share of the sessions that may end early.
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
        clips: Its clips; None: it has none.
        duration: Law of a session's length, s; None: that of the model or the clip.
        departures: Viewers who leave early; None: all stay.
        clients: Ranges of the clients by IP version.
        servers: Ranges of the servers by IP version.
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


@dataclass(frozen=True, repr=False)
class PlannedWorkload(NotebookView):
    """A workload ready to be drawn.

    Attributes:
        description: What its file holds.
        groups: Its groups.
        arrivals: When the sessions start that groups share.
        sessions: Number of sessions; None: as many as start.
        window_s: Time in which sessions start, s; None: until all have started.
        digests: Digests of the models and of what was read from files.

    Example:
        >>> import trafficgen
        >>> workload = trafficgen.load_workload("examples/workloads/evening.yaml")
        >>> radio = workload.groups[0]
        >>> print(f"{radio.clips.popularity.shares[0]:.0%} of {radio.name} is the most popular of 79 clips")
        13% of radio is the most popular of 79 clips
        >>> print(f"{radio.departures.share:.0%} of the viewers may leave, half of them within 90 s")
        40% of the viewers may leave, half of them within 90 s
    """

    description: WorkloadDescription
    groups: tuple[PlannedGroup, ...]
    arrivals: Arrivals
    sessions: int | None
    window_s: float | None
    digests: tuple[str, ...]

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

    @property
    def name(self) -> str:
        """Name of the workload."""
        return self.description.name

    def with_duration(self, duration_s: float) -> PlannedWorkload:
        """Return the workload with every session of one length, s."""
        fixed = MixedLaw(continuous=None, values=(duration_s,), probabilities=(1.0,))
        return replace(self, groups=tuple(replace(group, duration=fixed) for group in self.groups))
