"""Keys of a path: how each is read, written and explained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trafficgen.errors import SimulationError
from trafficgen.units import (
    bytes_from_text,
    number_and_unit,
    rate_from_text,
    s_from_text,
    share_from_text,
)

_RATE = "write a number with its unit, such as 725kbps or 10Mbps"
_TIME = "write a number with its unit, such as 45ms or 1.5s"
_SIZE = "write a number with its unit, such as 500B or 10kB"
_SHARE = "write a share from 0 to 1 or a percentage, such as 0.03 or 3%"
_QUEUE = "write packets or bytes, such as 80p or 10kB"


@dataclass(frozen=True)
class PathKey:
    """One key.

    Attributes:
        field: Field of the path or link that it sets.
        read: Value of a text; None if it is invalid.
        write: Text of a value, which reads back equal.
        remedy: What to write instead of an invalid text.
        help: What it is, for people.
    """

    field: str
    read: Callable[[str], object | None]
    write: Callable[[object], str]
    remedy: str
    help: str

    def value(self, name: str, text: str) -> object:
        """Return the value of a text.

        Raises:
            SimulationError: If it is invalid; the message has key, value and remedy.
        """
        value = self.read(text)
        if value is None:
            raise SimulationError(f"path: {name}={text}: not understood; {self.remedy}")
        return value


def _number(value: object) -> str:
    return repr(value).removesuffix(".0")


def _zero_or(read: Callable[[str], float | None]) -> Callable[[str], float | None]:
    """Read a bare 0 too: it is the same in all units."""
    return lambda text: 0.0 if number_and_unit(text) == (0.0, "") else read(text)


def _time_after_media(text: str) -> float | None:
    parts = number_and_unit(text)
    return parts[0] if parts is not None and not parts[1] else s_from_text(text)


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


def _rate_key(field: str, explained: str) -> PathKey:
    return PathKey(field, rate_from_text, lambda value: f"{_number(value)}bps", _RATE, explained)


def _time_key(field: str, explained: str, *, bare: bool = False) -> PathKey:
    read = _time_after_media if bare else _zero_or(s_from_text)
    return PathKey(field, read, lambda value: f"{_number(value)}s", _TIME, explained)


def _size_key(field: str, explained: str) -> PathKey:
    return PathKey(field, _zero_or(_whole_bytes), lambda value: f"{value}B", _SIZE, explained)


def _share_key(field: str, explained: str) -> PathKey:
    return PathKey(field, share_from_text, _number, _SHARE, explained)


def _file_key(field: str, explained: str) -> PathKey:
    return PathKey(field, lambda text: text or None, str, "name a file", explained)


def _queue_key(field: str, explained: str) -> PathKey:
    return PathKey(field, _queue, _queue_text, _QUEUE, explained)


#: Keys of one link, in the order in which a path is written.
LINK_KEYS: dict[str, PathKey] = {
    "rate": _rate_key(
        "rate_bps", "capacity towards the client, IP bytes (and `overhead`); default: no limit"
    ),
    "trace": _file_key(
        "trace",
        "capacity from a file instead: mahimahi (a millisecond a line, repeated), CSV with time_s"
        " and rate, or JSON",
    ),
    "trace_period": _time_key(
        "trace_period_s", "repeat a CSV trace after this time; default: its last rate stays"
    ),
    "delay": _time_key("delay_s", "propagation, one way; default 0"),
    "queue": _queue_key(
        "queue",
        "drop-tail queue in packets or bytes; default: 50 packets or twice the bandwidth-delay"
        " product",
    ),
    "burst": _size_key("burst_bytes", "makes a token bucket of the rate: tokens for so many bytes"),
    "loss": _share_key(
        "loss", "share of the packets to the client that is lost at random before the queue"
    ),
    "loss_start": _time_key(
        "loss_start_s", "when loss begins, s after the first media packet", bare=True
    ),
    "loss_stop": _time_key(
        "loss_stop_s", "when loss ends, s after the first media packet", bare=True
    ),
    "loss_burst": PathKey(
        "loss_burst_packets",
        _packets,
        _number,
        "write a number of packets from 1 on",
        "mean run of lost packets",
    ),
    "hold": PathKey(
        "hold_in_flight",
        lambda text: True if text == "in_flight" else None,
        lambda _: "in_flight",
        "the one value is in_flight",
        "in_flight: packets in propagation fill the queue too",
    ),
    "overhead": _size_key(
        "overhead_bytes", "bytes of the link layer that rate and queue count with each packet"
    ),
    "reorder": _share_key("reorder", "share of packets to the client that the next ones overtake"),
    "reorder_delay": _time_key("reorder_delay_s", "how much later those come; default 10ms"),
    "reverse_rate": _rate_key(
        "reverse_rate_bps", "capacity towards the server; default: as forward"
    ),
    "reverse_trace": _file_key("reverse_trace", "trace towards the server; default: as forward"),
    "reverse_delay": _time_key(
        "reverse_delay_s", "propagation towards the server; default: as forward"
    ),
    "reverse_queue": _queue_key("reverse_queue", "queue towards the server; default: as forward"),
    "reverse_loss": _share_key(
        "reverse_loss", "share of the packets to the server that is lost at random"
    ),
}
#: Keys of the path as a whole.
PATH_KEYS: dict[str, PathKey] = {
    "access": _rate_key(
        "access_bps", "rate of each end's own link, before and after the shared ones; default: none"
    )
}


def known_keys() -> str:
    """Return all keys as a list for people."""
    return ", ".join([*LINK_KEYS, *PATH_KEYS])


def explained_keys() -> str:
    """Return a line for each key with what it is."""
    return "\n".join(f"{name}: {key.help}." for name, key in {**LINK_KEYS, **PATH_KEYS}.items())
