"""Competing flows by name: ``tcp@-10s``, ``quic:bbr``, ``cbr:200kbps``, ``ping``, or a model."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from trafficgen.errors import ModelFileError, SimulationError
from trafficgen.formatting import suggest_name
from trafficgen.models.published.mechanisms import find_problem
from trafficgen.options import checks_arguments, parse_pairs
from trafficgen.simulation.sources import Participant, Source, check_congestion_control
from trafficgen.units import bytes_from_text, rate_from_text, s_from_text

#: Programs do not start on the nanosecond; without this, runs with other seeds would be the same.
TCP_START_SPREAD_S = 0.05
#: Default of Linux (RFC 9438); published sources bring the TCP that they were measured with.
DEFAULT_CONGESTION_CONTROL = "cubic"
DEFAULT_CBR_PACKET_BYTES = 1000

_FORM = re.compile(r"(?P<what>[^(@]*)(?:\((?P<options>.*)\))?(?:@(?P<times>[^@()]*))?", re.DOTALL)
#: What a competing flow begins with that sends in the reverse direction.
_UP = "up:"
_EXAMPLES = (
    "write for example tcp@-10s, tcp:reno@-10s..60s, quic:bbr, cbr:200kbps, ping or a model with"
    " options in brackets"
)

#: Makes a source of a model's name and options, such as those of the catalogue.
ModelSource = Callable[[str, Mapping[str, str]], Source]


@dataclass(frozen=True)
class Competitor:
    """A competing flow."""

    what: str  #: ``tcp``, ``quic``, ``cbr``, ``ping`` or the name of a model
    argument: str = ""  #: text after the colon; empty: none
    options: dict[str, str] = field(default_factory=dict)  #: options in brackets
    #: When it starts, s from the media session's first packet; negative before it.
    start_s: float = 0.0
    stop_s: float | None = None  #: when it stops, s; None: it does not
    is_upload: bool = False  #: whether it sends from the clients' end of the path
    via: str | None = None  #: the one link of a chain that it passes; None: all

    @classmethod
    @checks_arguments
    def parse(cls, text: str) -> Competitor:
        """Parse a text such as ``tcp:reno@-10s..60s``; raise SimulationError if it is invalid."""
        found = _FORM.fullmatch(text.strip())
        if found is None or not found["what"].strip():
            raise SimulationError(f"compete={text}: not understood; {_EXAMPLES}")
        named = found["what"].strip()
        what, colon, argument = named.removeprefix(_UP).partition(":")
        if what not in ("tcp", *_BUILT_IN):
            what, argument = what + colon + argument, ""
        options = options_from_text(found["options"] or "", place=f"compete={text}")
        via, times = options.pop("via", None), _times(text, found["times"])
        return cls(what, argument, options, *times, named.startswith(_UP), via)

    @property
    def values(self) -> dict[str, object]:
        """Options with sizes, numbers and truth values as such."""
        return {name: _value(text) for name, text in self.options.items()}

    def source(
        self, model_source: ModelSource, *, usual_tcp: Mapping[str, object] | None = None
    ) -> Source:
        """Return the source of the flow; ``model_source`` makes that of a model.

        A bulk flow uses TCP as the session's source was measured with; None: that of today.

        Raises:
            SimulationError: If an argument or an option is invalid.
        """
        if self.what == "tcp":
            return self._checked(_tcp(self, usual_tcp or {}))
        # Without a rate it is the catalogue's entry of that name, with its options.
        built_in = None if self.what == "cbr" and not self.argument else _BUILT_IN.get(self.what)
        if built_in is not None:
            return self._checked(built_in(self))
        try:
            return model_source(self.what, self.options)
        except ModelFileError as error:
            if guess := suggest_name(self.what, ("tcp", *_BUILT_IN)):
                raise SimulationError(
                    f"compete={self.what}: no such flow{guess}; {_EXAMPLES}"
                ) from error
            raise

    def _checked(self, source: Source) -> Source:
        """Return a source; raise SimulationError if the engine does not take its options."""
        if problem := find_problem(source.kind, source.parameters):
            raise SimulationError(f"compete={self.what}: {problem}")
        return source


def options_from_text(text: str, *, place: str) -> dict[str, str]:
    """Parse a list ``key=value,key=value``; commas within brackets separate nothing.

    Raises:
        SimulationError: If a part is not ``key=value``, or a key comes twice.
    """
    try:
        return parse_pairs(filter(str.strip, _parts(text)))
    except ValueError as error:
        raise SimulationError(f"{place}: {error}") from None


def _parts(text: str) -> list[str]:
    """Split at commas outside of brackets, in one pass from the end."""
    parts, end, in_brackets = list[str](), len(text), False
    for at in range(len(text) - 1, -1, -1):
        if text[at] in "[{()}]":
            in_brackets = text[at] in ")}]"
        elif text[at] == "," and not in_brackets:
            parts.append(text[at + 1 : end])
            end = at
    return [text[:end], *reversed(parts)]


def participants(
    competitors: Iterable[Competitor],
    model_source: ModelSource,
    *,
    usual_tcp: Mapping[str, object] | None = None,
) -> list[Participant]:
    """Return competing flows as participants with names: tcp-1, tcp-2, cbr-1, up-tcp-1, ..."""
    seen: Counter[str] = Counter()
    made = []
    for competitor in competitors:
        source = competitor.source(model_source, usual_tcp=usual_tcp)
        kind = f"up-{source.name}" if competitor.is_upload else source.name
        seen[kind] += 1
        made.append(
            Participant(
                f"{kind}-{seen[kind]}",
                source,
                start_s=competitor.start_s,
                stop_s=competitor.stop_s,
                is_upload=competitor.is_upload,
                via=competitor.via,
            )
        )
    return made


def _times(text: str, times: str | None) -> tuple[float, float | None]:
    if times is None:
        return 0.0, None
    found: list[float] = []
    for time in times.split("..", maxsplit=1):
        time_s = s_from_text(time, bare="s")
        if time_s is None or abs(time_s) > 1e6:
            raise SimulationError(
                f"compete={text}: invalid time {time!r}; write for example @-10s or @-10s..60s"
            )
        found.append(time_s)
    start_s, stop_s = found[0], found[1] if len(found) > 1 else None
    if stop_s is not None and stop_s <= start_s:
        raise SimulationError(
            f"compete={text}: it would stop at {stop_s:g} s, not after its start; correct the times"
        )
    return start_s, stop_s


def _tcp(competitor: Competitor, usual_tcp: Mapping[str, object]) -> Source:
    """Return a bulk flow: as the session's source was measured with, unless it names a control."""
    usual = str(usual_tcp.get("congestion_control", DEFAULT_CONGESTION_CONTROL))
    control = competitor.argument or usual
    return _bulk(competitor, "tcp", control, usual_tcp if control == usual else {})


def _quic(competitor: Competitor) -> Source:
    return _bulk(competitor, "quic", competitor.argument or DEFAULT_CONGESTION_CONTROL, {})


def _bulk(
    competitor: Competitor, transport: str, control: str, base: Mapping[str, object]
) -> Source:
    check_congestion_control(control, place=f"compete={transport}:{control}")
    values = competitor.values
    parameters: dict[str, object] = {"bytes": values.pop("bytes")} if "bytes" in values else {}
    parameters[transport] = {**base, "congestion_control": control, **values}
    parameters["start_spread_s"] = TCP_START_SPREAD_S
    settings = {"congestion_control": control, **competitor.options}
    return Source(transport, "bulk_tcp", parameters, settings=settings)


def quic_settings(text: str) -> dict[str, object]:
    """Parse a congestion control with settings of QUIC in brackets, as ``cubic(zero_rtt=true)``.

    Raises:
        SimulationError: If the control is unknown, or a setting is not one of the engine's.
    """
    competitor = Competitor.parse(f"quic:{text}")
    control = competitor.argument or DEFAULT_CONGESTION_CONTROL
    check_congestion_control(control, place=f"quic={text}")
    settings = {"congestion_control": control, **competitor.values}
    if problem := find_problem("bulk_tcp", {"quic": settings}):
        raise SimulationError(f"quic={text}: {problem}")
    return settings


def _cbr(competitor: Competitor) -> Source:
    rate_bps = rate_from_text(competitor.argument)
    if rate_bps is None or not 0 < rate_bps < math.inf:
        raise SimulationError(
            f"compete=cbr:{competitor.argument}: invalid rate; write for example cbr:200kbps"
        )
    packet_bytes = DEFAULT_CBR_PACKET_BYTES
    parameters = {"rate_bps": rate_bps, "packet_bytes": packet_bytes, "duration_s": None}
    settings = {"rate": competitor.argument, **competitor.options}
    return Source("cbr", "cbr", parameters | competitor.values, settings=settings)


def _ping(competitor: Competitor) -> Source:
    if competitor.argument:
        raise SimulationError(
            f"compete=ping:{competitor.argument}: write options of ping in brackets"
        )
    return Source("ping", "ping", competitor.values, settings=dict(competitor.options))


def _value(text: str) -> object:
    """Return a size, a number or a truth value of a text, else the text."""
    size_bytes = bytes_from_text(text)
    if size_bytes is not None and size_bytes.is_integer():
        return int(size_bytes)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_BUILT_IN: dict[str, Callable[[Competitor], Source]] = {"cbr": _cbr, "ping": _ping, "quic": _quic}
