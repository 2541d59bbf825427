"""The path between server and client as users describe it: links, queues, delay and loss."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Self, TypeVar

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from trafficgen.errors import InputFileError, SimulationError
from trafficgen.formatting import list_or, one_line, suggest_name
from trafficgen.input_files import find_named_file, with_outside_files
from trafficgen.json_text import clean_texts
from trafficgen.model_parts.problems import explain_problem
from trafficgen.models import ModelPart, YamlTextError, read_yaml
from trafficgen.notebook import NotebookView, frame_facts
from trafficgen.options import check_argument, checks_arguments, parse_pairs
from trafficgen.simulation.path_keys import (
    AQM,
    AQM_SETTINGS,
    CAPACITIES,
    FILE,
    IN_FLIGHT,
    NEEDS,
    PACKETS,
    PRESET,
    QUEUE,
    RATE,
    SHARE,
    SIZE,
    STEPS,
    SWITCH,
    TIME,
    TIME_AFTER_MEDIA,
    AqmName,
    Kind,
    Preset,
    apply_preset,
    check_steps,
    load_presets,
)
from trafficgen.simulation.traces import LARGEST_TRACE_BYTES
from trafficgen.standard_streams import read_text_file

if TYPE_CHECKING:
    import pandas as pd

#: What a path begins with that is the one of a model's capture.
RECORDED = "recorded"
#: A bucket must hold the tokens of a full Ethernet packet, or that packet could never leave.
LARGEST_PACKET_BYTES = 1500
#: The time to live of an IP packet has eight bits.
MOST_LINKS = 255
_LARGEST_FILE_BYTES = 1_000_000
#: The engine counts tokens in 32 bits.
LARGEST_BURST_BYTES = 2**32 - 1
#: The engine counts what waits in 64 bits.
_LARGEST_QUEUE = 10**15

T = TypeVar("T")
_Rate = Annotated[float | None, Field(gt=0), RATE]
_File = Annotated[str | None, Field(min_length=1), FILE]
_Steps = Annotated[tuple[tuple[float, float], ...] | None, Field(min_length=1), STEPS]
_AqmTime = Annotated[float | None, Field(ge=1e-4, le=1e3), TIME]
_Switch = Annotated[bool, SWITCH]
_Share = Annotated[float, Field(ge=0, le=1), SHARE]


class Queue(ModelPart):
    """What a queue holds at most: what waits and the packet being sent, not what is in flight."""

    packets: int | None = Field(default=None, ge=1, le=_LARGEST_QUEUE)
    """Packets."""
    size_bytes: int | None = Field(default=None, ge=1, le=_LARGEST_QUEUE)
    """Bytes."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.packets is None) == (self.size_bytes is None):
            raise ValueError("a queue has one limit; give packets=80 or size_bytes=10_000")
        return self


class PathLink(ModelPart):
    """A link that all flows share, in both directions; the way back is as forward unless set."""

    name: str = Field(default="bottleneck", min_length=1)
    """Name in results."""
    rate_bps: _Rate = None
    """Capacity to the client, IP bytes and overhead, bit/s; null: no limit."""
    steps: _Steps = None
    """Capacity that changes: pairs of a time, s after the session's first packet, and the rate from
    then on, bit/s; the last stays."""
    trace: _File = None
    """File with the capacity instead: mahimahi, CSV with time_s and rate, or JSON."""
    trace_period_s: Annotated[float | None, TIME] = Field(default=None, ge=1e-3, le=1e6)
    """A CSV repeats after this, s; null: its last rate stays."""
    delay_s: Annotated[float, TIME] = Field(default=0.0, ge=0, le=1e6)
    """Propagation, one way, s."""
    delay_jitter_s: Annotated[float, TIME] = Field(default=0.0, ge=0, le=1e3)
    """Mean of what each packet takes longer, in either direction, exponential, s; none overtakes
    another."""
    queue: Annotated[Queue | None, QUEUE] = None
    """Limit of the queue; null: 50 packets or twice the bandwidth-delay product."""
    aqm: Annotated[AqmName | None, AQM] = None
    """Active queue management: red, pie, codel, fq_codel or dualpi2, or priority: the media before
    all else; null: drop-tail."""
    aqm_target_s: _AqmTime = None
    """Wait that it aims at, s; null: 5 ms (CoDel, FQ-CoDel, RED) or 15 ms (PIE, DualPI2)."""
    aqm_interval_s: _AqmTime = None
    """Its interval (CoDel), update time (PIE, RED) or largest round trip (DualPI2), s."""
    ecn: _Switch = False
    """The queue marks packets of TCP instead of dropping them, and TCP answers marks (RFC 3168)."""
    burst_bytes: Annotated[int | None, SIZE] = Field(default=None, ge=1)
    """Size of the token bucket, bytes; null: a line, or of a policer what its rate sends in 250
    ms, a packet at least."""
    policer: _Switch = False
    """What finds no tokens on its way to the client is dropped instead of queued."""
    loss: _Share = 0.0
    """Share of packets to the client lost at random before the queue."""
    loss_start_s: Annotated[float | None, TIME_AFTER_MEDIA] = None
    """From here on, s after the first media packet."""
    loss_stop_s: Annotated[float | None, TIME_AFTER_MEDIA] = None
    """Until here, s after the first media packet."""
    loss_burst_packets: Annotated[float | None, PACKETS] = Field(default=None, ge=1)
    """Mean run of lost packets."""
    hold_in_flight: Annotated[bool, IN_FLIGHT] = False
    """Packets in propagation fill the queue too."""
    overhead_bytes: Annotated[int | None, SIZE] = Field(default=None, ge=0, le=65535)
    """Link-layer bytes that rate and queue count with each packet."""
    reorder: _Share = 0.0
    """Share of packets to the client that are overtaken."""
    reorder_delay_s: Annotated[float | None, TIME] = Field(default=None, ge=0, le=1e6)
    """How much later those arrive, s; null: 0.01."""
    fade_every_s: Annotated[float | None, TIME] = Field(default=None, ge=1e-4, le=1e6)
    """Mean time from the end of a fade of the link to the next one, exponential, s."""
    fade_s: Annotated[float | None, TIME] = Field(default=None, ge=1e-4, le=1e6)
    """Mean length of a fade, exponential, s."""
    fade_loss: _Share = 0.0
    """Share of packets that a fade takes, in either direction."""
    harq: _Share = 0.0
    """Share of transmissions that the link makes again (HARQ), three times at most."""
    harq_delay_s: Annotated[float | None, TIME] = Field(default=None, ge=1e-4, le=1e3)
    """How long each takes, s; null: 0.008."""
    handover_every_s: Annotated[float | None, TIME] = Field(default=None, ge=1e-4, le=1e6)
    """Time from one handover of the link to the next, s."""
    handover_s: Annotated[float | None, TIME] = Field(default=None, ge=1e-4, le=1e6)
    """Length of each handover, s; what is sent meanwhile arrives after it."""
    reverse_rate_bps: _Rate = None
    """Capacity to the server, bit/s."""
    reverse_trace: _File = None
    """File with that capacity instead."""
    reverse_delay_s: Annotated[float | None, TIME] = Field(default=None, ge=0, le=1e6)
    """Propagation to the server, s."""
    reverse_queue: Annotated[Queue | None, QUEUE] = None
    """Queue towards the server."""
    reverse_loss: _Share = 0.0
    """Share of packets to the server lost at random."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for keys, needed in NEEDS.items():
            if not any(map(self._has, needed)) and (key := next(filter(self._has, keys), None)):
                raise ValueError(f"{key} needs {list_or(needed)}; add {needed[0]}=...")
        if self.policer and (self._has("queue") or self._has("aqm")):
            raise ValueError("a policer has no queue; leave out queue and aqm")
        if self.aqm == "priority" and (setting := next(filter(self._has, AQM_SETTINGS), None)):
            raise ValueError(f"priority has no {setting}; leave it out")
        if self.handover_s and self.handover_every_s and self.handover_s >= self.handover_every_s:
            raise ValueError("handover_s must be shorter than handover_every_s")
        for capacities in CAPACITIES:
            if len(given := list(filter(self._has, capacities))) > 1:
                raise ValueError(f"{given[0]} and {given[1]} exclude each other; leave one out")
        check_steps(self.steps or ())
        start_s, stop_s = self.loss_start_s, self.loss_stop_s
        if start_s is not None and stop_s is not None and stop_s <= start_s:
            raise ValueError("loss_stop_s must come after loss_start_s")
        burst_bytes, least_bytes = self.burst_bytes, LARGEST_PACKET_BYTES
        if burst_bytes is not None and burst_bytes > LARGEST_BURST_BYTES:
            raise ValueError(
                f"burst_bytes={burst_bytes} is above {LARGEST_BURST_BYTES}; make it smaller"
            )
        if burst_bytes is not None and burst_bytes < least_bytes + (self.overhead_bytes or 0):
            raise ValueError(
                f"burst_bytes={burst_bytes} lets no packet of {least_bytes} bytes pass;"
                " make it larger"
            )
        return self

    def _has(self, key: str) -> bool:
        return bool(getattr(self, key) != type(self).model_fields[key].default)


def _keys(part: type[ModelPart]) -> dict[str, tuple[str, Kind]]:
    """Return key -> field and kind of its value, in the order in which a path is written."""
    kinds = {
        field: kind
        for field, info in part.model_fields.items()
        for kind in info.metadata
        if isinstance(kind, Kind)
    }
    return {field.removesuffix(kind.unit): (field, kind) for field, kind in kinds.items()}


def list_keys() -> str:
    """List all keys for people."""
    return ", ".join([*_keys(PathLink), *_keys(Path)])


class Path(NotebookView, ModelPart):
    """A path: one bottleneck or a chain of links, and a link for each end if ``access_bps`` is set.

    Example:
        >>> import trafficgen
        >>> path = trafficgen.Path.parse("rate=725kbps,delay=45ms,queue=80p,loss=1%")
        >>> path
        Path.parse('rate=725000bps,delay=0.045s,queue=80p,loss=0.01')
        >>> print(f"{path.links[0].rate_bps:,.0f} bit/s, {path.round_trip_s} s there and back")
        725,000 bit/s, 0.09 s there and back
        >>> keys = {"rate": "725kbps", "delay": "45ms", "queue": "80p", "loss": 0.01}
        >>> path == trafficgen.Path.from_settings(keys)
        True
    """

    links: tuple[PathLink, ...] = Field(min_length=1, max_length=MOST_LINKS)
    """Shared links, from the server to the client."""
    access_bps: _Rate = None
    """Rate of each end's own link, bit/s."""

    def __repr__(self) -> str:
        if len(self.links) == 1:
            return f"Path.parse({one_line(self.text(), longest=300)!r})"
        names = ", ".join(one_line(link.name) for link in self.links)
        return f"<Path of {len(self.links)} links: {names}>"

    def _notebook_data(self) -> dict[str, object]:
        links = [link.model_dump(exclude_defaults=True) for link in self.links]
        return {"round_trip_s": self.round_trip_s, "access_bps": self.access_bps, "links": links}

    def to_pandas(self) -> pd.DataFrame:
        """Return a row a link, from the server to the client; nested values are named ``a.b``."""
        return frame_facts(link.model_dump() for link in self.links)

    @model_validator(mode="after")
    def _unique_names(self) -> Self:
        names = set[str]()
        for link in self.links:
            if link.name in names:
                raise ValueError(f"two links are named {one_line(link.name)}; rename one")
            names.add(link.name)
        return self

    @classmethod
    @checks_arguments
    def parse(cls, text: str) -> Path:
        """Parse a list such as ``rate=725kbps,delay=45ms`` or ``preset:lte,queue=80p``.

        Raises:
            SimulationError: If a key or a value is invalid; the message has key, value and remedy.
        """
        first, _, rest = text.strip().partition(",")
        named = {"preset": first.removeprefix(PRESET).strip()} if first.startswith(PRESET) else {}
        items = filter(str.strip, (rest if named else text).split(","))
        try:
            settings = parse_pairs(items, remedy=f"; keys are {list_keys()}")
        except ValueError as error:
            raise SimulationError(f"path: {error}") from None
        return cls.from_settings({**named, **settings})

    @classmethod
    @checks_arguments
    def from_settings(cls, settings: Mapping[str, object]) -> Path:
        """Make a path from keys and values: of one link, or of a chain under ``links``.

        Raises:
            SimulationError: If a key or a value is invalid.
        """
        keys = _keys(cls)
        own = {key: value for key, value in settings.items() if key in keys}
        rest = {key: value for key, value in settings.items() if key not in keys}
        links = rest.pop("links", None)
        if links is None:
            made = [_link(rest)]
        elif rest:
            raise SimulationError(
                f"path: {next(iter(rest))} is a key of a link; put it into one of the links"
            )
        elif isinstance(links, list) and len(links) > MOST_LINKS:
            raise SimulationError(
                f"path: {len(links):,} links are more than the {MOST_LINKS} that IP packets pass;"
                " leave some out"
            )
        elif links and isinstance(links, list) and all(isinstance(link, dict) for link in links):
            named = ({"name": f"link-{number}", **link} for number, link in enumerate(links, 1))
            made = [_link(keys_of_link) for keys_of_link in named]
        else:
            raise SimulationError(
                "path: links must be a list of links; give each its keys, such as rate and delay"
            )
        return _checked(cls, {"links": made, **_fields(own, cls)}, own)

    @classmethod
    @checks_arguments
    def load(cls, file: str | os.PathLike[str], *, outside_files: bool = False) -> Path:
        """Read a YAML or JSON file; its traces are looked for in the same folder.

        Args:
            file: Name of the file.
            outside_files: Whether it may name traces of other folders.

        Raises:
            InputFileError: If the file cannot be read or is not a path.
        """
        name = os.fspath(file)
        remedy = "a path file has keys such as `rate: 725kbps`, or a list under `links`"
        text = read_text_file(name, most_bytes=_LARGEST_FILE_BYTES, remedy=remedy)
        try:
            found = clean_texts(read_yaml(text))  # JSON is YAML
        except YamlTextError as error:
            raise InputFileError(file=name, problem=str(error), remedy=remedy) from error
        if not isinstance(found, dict):
            raise InputFileError(file=name, problem="holds no path", remedy=remedy)
        try:
            path = cls.from_settings({str(key): value for key, value in found.items()})
        except SimulationError as error:
            raise error.prepend_place(name) from error
        try:
            with with_outside_files(allowed=outside_files):
                return find_traces(path, FilePath(name).parent)
        except ValueError as error:
            problem, _, remedy = str(error).partition("; ")
            raise InputFileError(file=name, problem=problem, remedy=remedy) from error

    @staticmethod
    def presets() -> tuple[Preset, ...]:
        """Return the paths that have names, such as ``preset:lte``, each with its source."""
        return tuple(load_presets().values())

    def text(self) -> str:
        """Write the list that :meth:`parse` reads back as this path.

        Raises:
            SimulationError: If the path is a chain of links, which only a file can hold.
        """
        if len(self.links) > 1:
            raise SimulationError(
                "path: a chain of links cannot be written on one line; use a file"
            )
        return ",".join([*_write_keys(self.links[0]), *_write_keys(self)])

    @property
    def round_trip_s(self) -> float:
        """Propagation there and back, s."""
        forward_s = [link.delay_s for link in self.links]
        reverse_s = [link.reverse_delay_s for link in self.links]
        pairs = zip(forward_s, reverse_s, strict=True)
        return sum(forward_s) + sum(to_s if back_s is None else back_s for to_s, back_s in pairs)


#: Whatever names a path: keys with values, a file, a dictionary, a preset, or the path itself.
PathLike = Path | Preset | str | os.PathLike[str] | Mapping[str, object]

#: Path of a published source that is played without one: faster and shorter than any needs.
UNLIMITED_PATH = Path(links=(PathLink(rate_bps=1e9, delay_s=0.01, queue=Queue(packets=100_000)),))


def read_path(path: PathLike) -> Path:
    """Read a path from a file, a list of keys or a dictionary of them.

    Raises:
        SimulationError: If it is invalid.
        InputFileError: If it is a file that is not a path.
        TypeError: If it is nothing that names a path.
    """
    check_argument("path", path, PathLike)
    if isinstance(path, Path):
        return path
    if isinstance(path, Preset | Mapping):
        return Path.from_settings(path.link if isinstance(path, Preset) else path)
    text = os.fspath(path)
    if isinstance(path, os.PathLike) or os.path.isfile(text):  # noqa: PTH113 - of any length
        return Path.load(text)
    if text.partition(",")[0].strip() == RECORDED:
        raise SimulationError(
            f"path: {RECORDED} is the path of one fitted model's capture; give a path such as"
            f" rate=725kbps,delay=45ms or {PRESET}lte"
        )
    if "=" in text or text.startswith(PRESET):
        return Path.parse(text)
    if text == "-":
        raise SimulationError("path: standard input is not taken here; name a file")
    if text in load_presets():
        raise SimulationError(f"path: {text!r} is not a file; did you mean {PRESET}{text}?")
    raise SimulationError(
        f"path: {one_line(text)!r} is neither a file nor a list such as rate=725kbps,delay=45ms or"
        f" {PRESET}lte; keys are {list_keys()}"
    )


def _link(settings: Mapping[str, object]) -> PathLink:
    name = {"name": str(settings["name"])} if "name" in settings else {}
    rest = apply_preset({key: value for key, value in settings.items() if key != "name"})
    return _checked(PathLink, {**name, **_fields(rest, PathLink)}, rest)


def _fields(settings: Mapping[str, object], part: type[ModelPart]) -> dict[str, object]:
    keys, fields = _keys(part), dict[str, object]()
    for name, value in settings.items():
        if name not in keys:
            guess = suggest_name(name, keys)
            raise SimulationError(f"path: unknown key {name!r}{guess}; keys are {list_keys()}")
        field, kind = keys[name]
        fields[field] = kind.value(name, str(value))
    return fields


def _checked(part: type[T], fields: dict[str, object], given: Mapping[str, object]) -> T:
    """Return a part with these fields; an error names the key and the value that were given."""
    try:
        return TypeAdapter(part).validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else ""
        names = {of_key: name for name, (of_key, _) in {**_keys(PathLink), **_keys(Path)}.items()}

        def as_given(found: re.Match[str]) -> str:
            key, value = names.get(found[1], found[1]), found[2]
            return f"{key}={given.get(key, value)}" if value else key

        message = re.sub(r"(\w+)(?:=(\d+))?", as_given, explain_problem(first))
        key = names.get(field, field)
        place = f"{key}={given.get(key, first['input'])}: " if field else ""
        raise SimulationError(f"path: {place}{message[0].lower()}{message[1:]}") from error


def _write_keys(part: ModelPart) -> Iterable[str]:
    for name, (field, kind) in _keys(type(part)).items():
        value = getattr(part, field)
        if value != type(part).model_fields[field].default:
            yield f"{name}={kind.write(value)}"


def find_traces(path: Path, folder: FilePath) -> Path:
    """Return a path whose traces are those of a folder; raise ValueError if one may not be read."""
    links = []
    for link in path.links:
        traces = link.model_dump(include={"trace", "reverse_trace"}, exclude_none=True)
        found = {
            field: str(find_named_file(name, folder, most_bytes=LARGEST_TRACE_BYTES))
            for field, name in traces.items()
        }
        links.append(link.model_copy(update=found))
    return path.model_copy(update={"links": tuple(links)})
