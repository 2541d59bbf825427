"""How an input is read and which of its packets are measured: options of commands and functions."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from trafficgen.capture.traces.formats import FORMATS
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.option_names import name_options
from trafficgen.options import option
from trafficgen.packet_files.formats import View, format_option, view_option
from trafficgen.units import memory_from_text, parse_duration_s, parse_time_s

#: Memory that a command takes by default, bytes.
DEFAULT_MEMORY_BYTES = 1_000_000_000
#: Endings of files of exchanges.
EXCHANGE_ENDINGS = (".parquet", ".csv")
#: Smallest limit of memory, bytes: room for the fewest packets that commands hold at once.
LEAST_MEMORY_BYTES = 4_000_000


#: More than any computer has; the engine counts in 64 bits.
_MOST_MEMORY_BYTES = 2**53


def parse_memory(text: str) -> int:
    """Return the bytes of a text such as ``500MB``; raise ValueError for others and below 4 MB."""
    size_bytes = memory_from_text(text)
    if size_bytes is None or not 0 <= size_bytes < math.inf:
        raise ValueError(f"Invalid size {text!r}. Use a size such as 500MB or 4GB.")
    if size_bytes < LEAST_MEMORY_BYTES:
        raise ValueError(f"{text} of memory is too little. Use 4MB or more, such as 500MB.")
    return min(int(size_bytes), _MOST_MEMORY_BYTES)


def parse_idle_timeout(text: str) -> float:
    """Return the seconds of a time above 0, or of ``inf``; raise ValueError for others."""
    return math.inf if text == "inf" else parse_duration_s(text)


def memory_option(default: int | None = DEFAULT_MEMORY_BYTES) -> Any:
    """Declare the option ``--memory`` of a field ``memory_bytes``."""
    return option(
        default,
        "--memory",
        help=(
            "Most memory to use, such as 500MB or 4GB; this includes the program itself, which"
            " takes up to 250 MB whatever the limit."
        ),
        metavar="SIZE",
        parse=parse_memory,
        text="1GB",
        low=1,
    )


def from_option(help_text: str) -> Any:
    """Declare the option ``--from`` of a field ``from_s``: where a window of time starts."""
    return option(0.0, "--from", help=help_text, metavar="TIME", parse=parse_time_s, text="0s")


def to_option() -> Any:
    """Declare the option ``--to``, also ``--until``, of a field ``to_s``: where a window ends."""
    return option(
        None,
        "--to",
        help=(
            "End of the window after the first packet, such as 20min (a number without a unit is"
            " s); default: the end."
        ),
        metavar="TIME",
        parse=parse_time_s,
        aliases=("--until",),
    )


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How captures and packet tables are read."""

    decapsulate: bool = option(
        False, "--decapsulate", help="Look into tunnels (IP in IP, GRE, VXLAN, Geneve, Teredo)."
    )
    idle_timeout_s: float | None = option(
        None,
        "--idle-timeout",
        help="Silence after which packets are a new flow, such as 60s; default: never.",
        metavar="TIME",
        parse=parse_idle_timeout,
    )
    memory_bytes: int | None = memory_option()


@dataclass(frozen=True, kw_only=True)
class UnlimitedReadOptions(ReadOptions):
    """How all packets of an input are read; memory is not limited by default."""

    memory_bytes: int | None = memory_option(None)


@dataclass(frozen=True, kw_only=True)
class ExchangeOptions(ReadOptions):
    """How an input is read, and which session's exchanges are taken.

    Attributes:
        session: Number of a session; None takes the one that carries most bytes to a client.
    """

    session: int | None = None


@dataclass(frozen=True, kw_only=True)
class SessionChoice:
    """Which packets of an input are measured; by default those of its heaviest session.

    Attributes:
        every: Whether all sessions are taken as one.
        together: Sessions of a capture that are taken as one; of a packet table all are.
        upload: Whether to exchange servers and clients, so that uploads are measured; None does so
            where more payload of the chosen flows goes to the servers.
    """

    flow: int | None = option(None, "--flow", help="Take this flow alone.", low=0)
    session: int | None = option(
        None,
        "--session",
        help="Take this session; default: the one that carries most bytes to a client.",
        low=0,
    )
    every: bool = False
    together: Collection[int] | None = None
    upload: bool | None = option(
        False,
        "--upload",
        help=(
            "Take the packets to the servers of the capture: what was uploaded. The end that"
            " uploads is then called the server."
        ),
    )


#: No capture is longer: its times are 64-bit numbers of ns.
_LATEST_S = 1e9


@dataclass(frozen=True)
class TimeWindow:
    """A part of an input by time, s after its first packet.

    Attributes:
        from_s: Packets from this time on.
        to_s: Packets before this time; infinite for all to the end.

    Raises:
        ValueError: If the window is empty or begins before the input.
    """

    from_s: float = 0.0
    to_s: float = math.inf

    def __post_init__(self) -> None:
        if not 0 <= self.from_s < min(self.to_s, _LATEST_S):
            raise ValueError(
                name_options(
                    f"nothing is in the window {self}; start at 0 s or later ([--from|from_s]) and"
                    " end after the start ([--to|to_s])"
                )
            )

    @classmethod
    def from_options(cls, from_s: float, to_s: float | None) -> TimeWindow:
        """Return the window between two times; no end is that of the input."""
        return cls(from_s, math.inf if to_s is None else to_s)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is cut."""
        return self.from_s == 0 and self.to_s == math.inf

    def __str__(self) -> str:
        end = "the end" if self.to_s == math.inf else f"{self.to_s:g} s"
        return f"{self.from_s:g} s to {end}"


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(TraceOptions):
    """How a trace is read and written."""

    from_format: str | None = option(
        None,
        "--from",
        help=f"Format; default: by the content. One of: {', '.join(FORMATS.list_built_in())}.",
        metavar="FORMAT",
        values=FORMATS,
    )
    to_format: str | None = format_option()
    at: View = view_option()
    memory_bytes: int | None = memory_option()
