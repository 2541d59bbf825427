"""Options of ``generate`` and ``generate_workload``, declared once for functions and command."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trafficgen.capture.options import memory_option
from trafficgen.options import option, seed_option
from trafficgen.packet_files.formats import View, format_option, view_option
from trafficgen.simulation.options import SimulateOptions
from trafficgen.units import (
    DEFAULT_ORIGIN_NS,
    FEWEST_FRAME_BYTES,
    WHOLE_FRAME_BYTES,
    parse_delay_s,
    parse_duration_s,
    parse_positive,
    per_s_from_text,
)

if TYPE_CHECKING:
    from pydantic import JsonValue

    from trafficgen.simulation.competitors import Competitor
    from trafficgen.simulation.path import PathLike
else:  # the command line, which offers none of these fields, loads nothing for them
    JsonValue = Competitor = PathLike = Any


def parse_snaplen(text: str) -> int:
    """Return bytes of a frame that a capture keeps; raise ValueError for any other text."""
    if not text.isdecimal() or not FEWEST_FRAME_BYTES <= int(text) <= WHOLE_FRAME_BYTES:
        ends = f"{FEWEST_FRAME_BYTES} (headers) to {WHOLE_FRAME_BYTES}"
        raise ValueError(f"Invalid number of bytes {text!r}. Use {ends}.")
    return int(text)


def parse_rate_per_s(text: str) -> float:
    """Return sessions per second of ``2``, ``2/s`` or ``30/min``; raise ValueError for others."""
    rate_per_s = per_s_from_text(text)
    if rate_per_s is None and per_s_from_text(f"{text}/s") is not None:
        rate_per_s = float(text)
    if rate_per_s is None or not 0 < rate_per_s < math.inf:
        raise ValueError(
            f"Invalid rate {text!r}. Use a rate above 0, such as 2/s, 30/min or 300/h."
        )
    return rate_per_s


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """Sessions of a model, and how their packets are written.

    The help text of each option explains it; None takes the default that it names. Four fields are
    for Python, or are options of the command itself:

    Attributes:
        origin_ns: Time from which packets are counted, ns since 1970-01-01 UTC: sessions start
            their arrival times after it; over a path that of the first packet.
        settings: Options and parameters of a published model.
        path: Path that all sessions share, as for :func:`~trafficgen.simulate`; None plays a fitted
            model open loop, and each session of a published one over an unlimited path of its own.
        compete: Flows that compete with the sessions on the path.
    """

    sessions: int | None = option(
        None,
        "--sessions",
        help=(
            "Number of sessions, each with its own addresses; default: the workload file's, or 1,"
            " or as many as start in the time that is given."
        ),
        low=1,
    )
    duration_s: float | None = option(
        None,
        "--duration",
        help=("Length of each session, such as 20min (60 is 60 s); default: that of the model."),
        metavar="TIME",
        parse=parse_duration_s,
    )
    arrival_rate_per_s: float | None = option(
        None,
        "--arrival-rate",
        help=(
            "Sessions that start per second (a Poisson process), or a rate such as 30/min; it"
            " replaces the number of sessions in a workload file. Default: all start together,"
            " or as other options say."
        ),
        metavar="R",
        parse=parse_rate_per_s,
    )
    vary: str | float | None = option(
        None,
        "--vary",
        parse=str,
        help=(
            "How much sessions of a fitted model differ: duration=20%,rate=10%,size=5% (standard"
            " deviation / mean); 20% alone varies durations and rates."
        ),
        metavar="SPREADS",
    )
    scale_rate: float | None = option(
        None,
        "--scale-rate",
        help="Multiply the rate of a fitted model by this factor, such as 1.5.",
        metavar="FACTOR",
        parse=parse_positive,
    )
    jitter_s: float | None = option(
        None,
        "--jitter",
        help="Longest delay that each packet of a fitted model gets at random, such as 5ms.",
        metavar="TIME",
        parse=parse_delay_s,
    )
    posterior: bool = option(
        False,
        "--posterior",
        help=(
            "Let each session of a fitted model draw its parameters from their uncertainty,"
            " together, instead of playing the estimates."
        ),
    )
    seed: int = seed_option()
    workers: int = option(
        1, "--workers", help="Processes or threads; the result does not depend on them.", low=1
    )
    to_format: str | None = format_option()
    at: View = view_option()
    snaplen_bytes: int | None = option(
        None,
        "--snaplen",
        help="Bytes kept of a frame in a pcap; default: all.",
        metavar="BYTES",
        parse=parse_snaplen,
    )
    origin_ns: int = DEFAULT_ORIGIN_NS
    settings: Mapping[str, JsonValue] | None = None
    path: PathLike | None = None
    compete: str | Iterable[str | Competitor] = ()


@dataclass(frozen=True, kw_only=True)
class WorkloadOptions(GenerateOptions):
    """Sessions of a model or workload, and where they are made in bounded memory.

    The help text of each option explains it.
    """

    window_s: float | None = option(
        None,
        "--for",
        help=(
            "Time in which sessions start, such as 24h (60 is 60 s); with [--sessions|sessions]"
            " they start at random times in it (a Poisson process). A workload file with a number"
            " of sessions is cut at this time."
        ),
        metavar="TIME",
        parse=parse_duration_s,
    )
    arrivals: str | None = option(
        None,
        "--arrivals",
        help=(
            "When sessions start: together (default without [--for|window_s]), poisson:0.5/s,"
            " hourly:FILE (24 rates of the day),"
            " flash:base=0.1/s,start=10min,rise=1min,peak=20,decay=5min,"
            " rates:FILE (CSV of time_s,rate_per_s), or file:FILE (one time a line); in place of"
            " those of a workload file."
        ),
        metavar="HOW",
    )
    popularity: str | None = option(
        None,
        "--popularity",
        help="How often each clip is played: zipf:0.8, or zipf:0.8,clips=100.",
        metavar="LAW",
    )
    scheduler: str | None = option(
        None,
        "--scheduler",
        help=(
            "Dask scheduler whose workers make the sessions, such as tcp://host:8786 (extra"
            " cluster)."
        ),
        metavar="URL",
    )
    storage: str | None = option(
        None,
        "--storage",
        help=(
            "Where finished blocks wait for the merge: a folder or URL that all workers reach;"
            " default: next to the output."
        ),
        metavar="URL",
    )
    memory_bytes: int = memory_option()


@dataclass(frozen=True, kw_only=True)
class SharedPathOptions(SimulateOptions):
    """Path, competing flows and number of sessions that share the path.

    The help text of each option explains it.
    """

    sessions: int | None = option(
        None,
        "--sessions",
        help=(
            "Number of sessions that share the path; default: the workload file's, or 1 of a model."
        ),
        low=1,
    )
    window_s: float | None = option(
        None,
        "--for",
        help="Time in which sessions start, such as 10min (60 is 60 s).",
        metavar="TIME",
        parse=parse_duration_s,
    )
    arrivals: str | None = option(
        None,
        "--arrivals",
        help="When sessions start, as for [`trafficgen generate`|generate_workload()]; default:"
        " together, without [--for|window_s].",
        metavar="HOW",
    )

    @property
    def names_sessions(self) -> bool:
        """Whether it says how many sessions there are, or when they start."""
        return any(one is not None for one in (self.sessions, self.window_s, self.arrivals))
