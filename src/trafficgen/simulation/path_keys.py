"""Keys of a path: how each is read, written and explained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from trafficgen.errors import SimulationError
from trafficgen.units import (
    bytes_from_text,
    number_and_unit,
    rate_from_text,
    s_from_text,
    share_from_text,
)


@dataclass(frozen=True)
class _Kind:
    """How values of a kind are read (None: invalid) and written, and what to write instead."""

    read: Callable[[str], object | None]
    write: Callable[[object], str]
    remedy: str


@dataclass(frozen=True)
class PathKey:
    """A key: the field of the path or link that it sets, and the kind of its value."""

    field: str
    kind: _Kind

    def value(self, name: str, text: str) -> object:
        """Return the value of a text.

        Raises:
            SimulationError: If it is invalid; the message has key, value and remedy.
        """
        value = self.kind.read(text)
        if value is None:
            raise SimulationError(f"path: {name}={text}: not understood; {self.kind.remedy}")
        return value


def _number(value: object) -> str:
    return repr(value).removesuffix(".0")


def _zero_or(read: Callable[[str], float | None]) -> Callable[[str], float | None]:
    """Read a bare 0 too: it is the same in all units."""
    return lambda text: 0.0 if number_and_unit(text) == (0.0, "") else read(text)


def _queue(text: str) -> dict[str, int] | None:
    parts = number_and_unit(text)
    size_bytes = bytes_from_text(text)
    if size_bytes is not None and size_bytes.is_integer():
        return {"size_bytes": int(size_bytes)}
    if parts is not None and parts[1] in ("p", "packets") and parts[0].is_integer():
        return {"packets": int(parts[0])}
    return None


def _queue_text(value: object) -> str:
    packets = getattr(value, "packets", None)
    return f"{packets}p" if packets is not None else f"{getattr(value, 'size_bytes', 0)}B"


def _whole_bytes(text: str) -> int | None:
    size_bytes = bytes_from_text(text)
    return int(size_bytes) if size_bytes is not None and size_bytes.is_integer() else None


def _packets(text: str) -> float | None:
    parts = number_and_unit(text)
    return parts[0] if parts is not None and parts[1] in ("", "p", "packets") else None


_RATE = _Kind(
    rate_from_text,
    lambda value: f"{_number(value)}bps",
    "write a number with its unit, such as 725kbps or 10Mbps",
)
_TIME = _Kind(
    _zero_or(s_from_text),
    lambda value: f"{_number(value)}s",
    "write a number with its unit, such as 45ms or 1.5s",
)
_TIME_AFTER_MEDIA = replace(_TIME, read=partial(s_from_text, bare="s"))
_SIZE = _Kind(
    _zero_or(_whole_bytes),
    lambda value: f"{value}B",
    "write a number with its unit, such as 500B or 10kB",
)
_SHARE = _Kind(
    share_from_text, _number, "write a share from 0 to 1 or a percentage, such as 0.03 or 3%"
)
_FILE = _Kind(lambda text: text or None, str, "name a file")
_QUEUE = _Kind(_queue, _queue_text, "write packets or bytes, such as 80p or 10kB")
_PACKETS = _Kind(_packets, _number, "write a number of packets from 1 on")
_IN_FLIGHT = _Kind(
    lambda text: True if text == "in_flight" else None,
    lambda _: "in_flight",
    "the one value is in_flight",
)

#: Keys of one link, in the order in which a path is written; the fields say what they are.
LINK_KEYS = {
    "rate": PathKey("rate_bps", _RATE),
    "trace": PathKey("trace", _FILE),
    "trace_period": PathKey("trace_period_s", _TIME),
    "delay": PathKey("delay_s", _TIME),
    "queue": PathKey("queue", _QUEUE),
    "burst": PathKey("burst_bytes", _SIZE),
    "loss": PathKey("loss", _SHARE),
    "loss_start": PathKey("loss_start_s", _TIME_AFTER_MEDIA),
    "loss_stop": PathKey("loss_stop_s", _TIME_AFTER_MEDIA),
    "loss_burst": PathKey("loss_burst_packets", _PACKETS),
    "hold": PathKey("hold_in_flight", _IN_FLIGHT),
    "overhead": PathKey("overhead_bytes", _SIZE),
    "reorder": PathKey("reorder", _SHARE),
    "reorder_delay": PathKey("reorder_delay_s", _TIME),
    "reverse_rate": PathKey("reverse_rate_bps", _RATE),
    "reverse_trace": PathKey("reverse_trace", _FILE),
    "reverse_delay": PathKey("reverse_delay_s", _TIME),
    "reverse_queue": PathKey("reverse_queue", _QUEUE),
    "reverse_loss": PathKey("reverse_loss", _SHARE),
}
#: Keys of the path as a whole.
PATH_KEYS = {"access": PathKey("access_bps", _RATE)}


def list_keys() -> str:
    """List all keys for people."""
    return ", ".join([*LINK_KEYS, *PATH_KEYS])
