"""The network between server and client: links with capacity, delay, queue and loss, as users
describe them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path as FilePath
from typing import Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from trafficgen.errors import InputFileError, SimulationError
from trafficgen.formatting import one_line
from trafficgen.models import ModelPart, YamlTextError, read_yaml
from trafficgen.notebook import NotebookView
from trafficgen.simulation.path_keys import LINK_KEYS, PATH_KEYS, PathKey, known_keys

#: A bucket must hold the tokens of a full Ethernet packet, or that packet could never leave.
LARGEST_PACKET_BYTES = 1500
_LARGEST_FILE_BYTES = 1_000_000
#: The engine counts tokens in 32 bits.
_LARGEST_BURST_BYTES = 2**32 - 1

T = TypeVar("T")


class Queue(ModelPart):
    """What a queue holds at most: what waits and the packet being sent, not what is in flight."""

    packets: int | None = Field(default=None, ge=1, description="Packets.")
    size_bytes: int | None = Field(default=None, ge=1, description="Bytes.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.packets is None) == (self.size_bytes is None):
            raise ValueError("a queue has a limit in packets or in bytes")
        return self


class PathLink(ModelPart):
    """A link that all flows share, with the line back; what is not said about the line back is as
    forward.
    """

    name: str = Field(default="bottleneck", min_length=1, description="Name in results.")
    rate_bps: float | None = Field(
        default=None, gt=0, description="Capacity, bit/s; null: no limit."
    )
    trace: str | None = Field(
        default=None, min_length=1, description="File with the capacity instead."
    )
    trace_period_s: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="A CSV repeats after this, s."
    )
    delay_s: float = Field(default=0.0, ge=0, le=1e6, description="Propagation, one way, s.")
    queue: Queue | None = Field(
        default=None, description="Null: 50 packets or twice the bandwidth-delay product."
    )
    burst_bytes: int | None = Field(
        default=None, ge=1, description="Size of the token bucket, bytes; null: a line."
    )
    loss: float = Field(
        default=0.0, ge=0, le=1, description="Share of packets to the client lost at random."
    )
    loss_start_s: float | None = Field(
        default=None, description="From here on, s after the first media packet."
    )
    loss_stop_s: float | None = Field(
        default=None, description="Until here, s after the first media packet."
    )
    loss_burst_packets: float | None = Field(
        default=None, ge=1, description="Mean run of lost packets."
    )
    hold_in_flight: bool = Field(
        default=False, description="Packets in propagation fill the queue too."
    )
    overhead_bytes: int | None = Field(
        default=None, ge=0, le=65535, description="Link layer of each packet, bytes."
    )
    reorder: float = Field(
        default=0.0, ge=0, le=1, description="Share of packets to the client that are overtaken."
    )
    reorder_delay_s: float | None = Field(
        default=None, ge=0, le=1e6, description="How much later those come, s."
    )
    reverse_rate_bps: float | None = Field(
        default=None, gt=0, description="Capacity to the server, bit/s."
    )
    reverse_trace: str | None = Field(
        default=None, min_length=1, description="File with that capacity instead."
    )
    reverse_delay_s: float | None = Field(
        default=None, ge=0, le=1e6, description="Propagation to the server, s."
    )
    reverse_queue: Queue | None = Field(default=None, description="Queue towards the server.")
    reverse_loss: float = Field(
        default=0.0, ge=0, le=1, description="Share of packets to the server lost at random."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        limited = self.rate_bps is not None or self.trace is not None
        refusals = (
            (
                self.rate_bps is not None and self.trace is not None,
                "rate and trace exclude each other; leave one out",
            ),
            (
                self.reverse_rate_bps is not None and self.reverse_trace is not None,
                "reverse_rate and reverse_trace exclude each other; leave one out",
            ),
            (self.trace_period_s is not None and self.trace is None, "trace_period needs a trace"),
            (
                self.burst_bytes is not None and self.rate_bps is None,
                "burst needs a rate; add rate=...",
            ),
            (
                self.burst_bytes is not None and self.burst_bytes > _LARGEST_BURST_BYTES,
                f"burst={self.burst_bytes}B is more than {_LARGEST_BURST_BYTES}B; make it smaller",
            ),
            (
                self.queue is not None and not limited,
                "queue needs a rate or a trace, else nothing waits; add rate=...",
            ),
            (self.hold_in_flight and not limited, "hold needs a rate or a trace; add rate=..."),
            (
                self.loss == 0 and self.loss_start_s is not None,
                "loss_start needs a loss; add loss=...",
            ),
            (
                self.loss == 0 and self.loss_stop_s is not None,
                "loss_stop needs a loss; add loss=...",
            ),
            (
                self.loss == 0 and self.loss_burst_packets is not None,
                "loss_burst needs a loss; add loss=...",
            ),
            (
                self.reorder == 0 and self.reorder_delay_s is not None,
                "reorder_delay needs a reorder; add reorder=...",
            ),
            (
                self.burst_bytes is not None
                and self.burst_bytes < LARGEST_PACKET_BYTES + (self.overhead_bytes or 0),
                (
                    f"burst={self.burst_bytes}B lets no packet of {LARGEST_PACKET_BYTES} bytes"
                    " pass; make it larger"
                ),
            ),
            (
                None not in (self.loss_start_s, self.loss_stop_s)
                and self.loss_stop_s <= self.loss_start_s,  # type: ignore[operator]
                "loss_stop must come after loss_start",
            ),
        )
        for refused, why in refusals:
            if refused:
                raise ValueError(why)
        return self


class Path(NotebookView, ModelPart):
    """A path: one bottleneck or a chain of links, with a link of its own for each end where
    ``access_bps`` is given.

    Example:
        >>> import trafficgen
        >>> path = trafficgen.Path.parse("rate=725kbps,delay=45ms,queue=80p,loss=1%")
        >>> path
        Path.parse('rate=725000bps,delay=0.045s,queue=80p,loss=0.01')
        >>> print(f"{path.links[0].rate_bps:,.0f} bit/s, {path.round_trip_s} s there and back")
        725,000 bit/s, 0.09 s there and back
        >>> path == trafficgen.Path.from_settings({"rate": "725kbps", "delay": "45ms", "queue": "80p", "loss": 0.01})
        True
    """

    links: tuple[PathLink, ...] = Field(
        min_length=1, description="Shared links, from the server to the client."
    )
    access_bps: float | None = Field(
        default=None, gt=0, description="Rate of each end's own link, bit/s."
    )

    def __repr__(self) -> str:
        if len(self.links) == 1:
            return f"Path.parse({one_line(self.text(), longest=300)!r})"
        names = ", ".join(one_line(link.name) for link in self.links)
        return f"<Path of {len(self.links)} links: {names}>"

    def _notebook_data(self) -> dict[str, object]:
        links = [link.model_dump(exclude_defaults=True) for link in self.links]
        return {"round_trip_s": self.round_trip_s, "access_bps": self.access_bps, "links": links}

    @model_validator(mode="after")
    def _unique_names(self) -> Self:
        names = [link.name for link in self.links]
        if len(set(names)) != len(names):
            raise ValueError(f"link names must be unique, got {', '.join(names)}")
        return self

    @classmethod
    def parse(cls, text: str) -> Path:
        """Return the path of a list such as ``rate=725kbps,delay=45ms,queue=80p``.

        Raises:
            SimulationError: If a key or a value is not understood; the message has key, value and
                remedy.
        """
        settings: dict[str, str] = {}
        for item in filter(None, (part.strip() for part in text.split(","))):
            key, equals, value = (part.strip() for part in item.partition("="))
            if not equals:
                raise SimulationError(f"path: {item!r} is no key=value; keys are {known_keys()}")
            if key in settings:
                raise SimulationError(f"path: {key} is given twice; leave one out")
            settings[key] = value
        return cls.from_settings(settings)

    @classmethod
    def from_settings(cls, settings: Mapping[str, object]) -> Path:
        """Return the path of keys with their values: of one link, or of a chain under ``links``.

        Raises:
            SimulationError: If a key or a value is not understood.
        """
        own = {key: value for key, value in settings.items() if key in PATH_KEYS}
        rest = {key: value for key, value in settings.items() if key not in PATH_KEYS}
        links = rest.pop("links", None)
        if links is None:
            return _checked(
                lambda: cls.model_validate({"links": (_link(rest),), **_fields(own, PATH_KEYS)})
            )
        if rest:
            raise SimulationError(
                f"path: {next(iter(rest))} stands beside links; put it into one of them"
            )
        if (
            not isinstance(links, list)
            or not links
            or not all(isinstance(link, dict) for link in links)
        ):
            raise SimulationError(
                "path: links is no list of links; give each its keys, such as rate and delay"
            )
        made = tuple(
            _link({"name": f"link-{number}", **link}) for number, link in enumerate(links, start=1)
        )
        return _checked(lambda: cls.model_validate({"links": made, **_fields(own, PATH_KEYS)}))

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Path:
        """Return the path in a YAML or JSON file; traces in it are looked for beside it.

        Raises:
            InputFileError: If the file cannot be read or is no path.
        """
        name = os.fspath(file)
        remedy = "a path file has keys such as `rate: 725kbps`, or a list under `links`"
        try:
            with FilePath(name).open(encoding="utf-8-sig") as stream:
                text = stream.read(_LARGEST_FILE_BYTES)
            found = read_yaml(text)  # JSON is YAML
        except (OSError, ValueError) as error:
            why = _reason(error)
            raise InputFileError(
                file=name, problem=f"cannot be read ({why})", remedy=remedy
            ) from error
        if not isinstance(found, dict):
            raise InputFileError(file=name, problem="holds no path", remedy=remedy)
        try:
            path = cls.from_settings({str(key): value for key, value in found.items()})
        except SimulationError as error:
            raise error.at(name) from error
        folder = FilePath(name).parent
        links = tuple(_beside(link, folder) for link in path.links)
        return path.model_copy(update={"links": links})

    def text(self) -> str:
        """Return the list that :meth:`parse` reads back as this path.

        Raises:
            SimulationError: If the path is a chain of links, which only a file can hold.
        """
        if len(self.links) > 1:
            raise SimulationError("path: a chain of links has no form on one line; use a file")
        items = [*_written(self.links[0], LINK_KEYS), *_written(self, PATH_KEYS)]
        return ",".join(items)

    @property
    def round_trip_s(self) -> float:
        """Propagation there and back, s."""
        back = (
            link.delay_s if link.reverse_delay_s is None else link.reverse_delay_s
            for link in self.links
        )
        return sum(link.delay_s for link in self.links) + sum(back)


def read_path(path: Path | str | os.PathLike[str] | Mapping[str, object]) -> Path:
    """Return a path from whatever a user gives: a file, a list of keys, a dictionary of them, or a
    path itself.

    Raises:
        SimulationError: If it is not understood.
        InputFileError: If it is a file that is none.
    """
    if isinstance(path, Path):
        return path
    if isinstance(path, Mapping):
        return Path.from_settings(path)
    text = os.fspath(path)
    if not isinstance(path, str) or FilePath(text).is_file():
        return Path.load(text)
    if "=" in text or not text.strip():
        return Path.parse(text)
    raise SimulationError(
        f"path: {text!r} is neither a file nor a list such as rate=725kbps,delay=45ms; keys are"
        f" {known_keys()}"
    )


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return str(error.strerror)
    return str(error) if isinstance(error, YamlTextError) else "not a text file"


def _link(settings: Mapping[str, object]) -> PathLink:
    name = {"name": str(settings["name"])} if "name" in settings else {}
    rest = {key: value for key, value in settings.items() if key != "name"}
    return _checked(lambda: PathLink.model_validate({**name, **_fields(rest, LINK_KEYS)}))


def _fields(settings: Mapping[str, object], keys: Mapping[str, PathKey]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name, value in settings.items():
        if name not in keys:
            raise SimulationError(f"path: there is no key {name!r}; keys are {known_keys()}")
        fields[keys[name].field] = keys[name].value(name, str(value))
    return fields


def _checked(make: Callable[[], T]) -> T:
    """Return what is made; what pydantic refuses is one line."""
    try:
        return make()
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else ""
        names = {key.field: name for name, key in {**LINK_KEYS, **PATH_KEYS}.items()}
        message = first["msg"].removeprefix("Value error, ")
        place = f"{names.get(field, field)}={first['input']}: " if field else ""
        raise SimulationError(f"path: {place}{message[0].lower()}{message[1:]}") from error


def _written(part: ModelPart, keys: Mapping[str, PathKey]) -> Iterable[str]:
    for name, key in keys.items():
        value = getattr(part, key.field)
        if value != type(part).model_fields[key.field].default:
            yield f"{name}={key.write(value)}"


def _beside(link: PathLink, folder: FilePath) -> PathLink:
    traces = {field: getattr(link, field) for field in ("trace", "reverse_trace")}
    return link.model_copy(
        update={field: str(folder / trace) for field, trace in traces.items() if trace is not None}
    )
