"""mahimahi: the path as delivery traces, and the shells that play it around any program.

mahimahi emulates a network and sends nothing. What is exported is the path that the table's notes
name, or the one a setting gives; without either, the path that the arriving packets define, as
recorded traces do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from trafficgen.errors import ExportError
from trafficgen.export.sending_ends import write_script
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.target import Target, Written
from trafficgen.export.targets.mahimahi.delivery import (
    Delivery,
    delivery_of_arrivals,
    delivery_of_rate,
    delivery_of_steps,
)
from trafficgen.packet_files.report import ProjectionReport, TimingError
from trafficgen.simulation.links import ACCESS_QUEUE_PACKETS, Links
from trafficgen.simulation.path import Path, find_traces, read_path
from trafficgen.simulation.traces import OPPORTUNITY_BYTES, TUNNEL_HEADER_BYTES
from trafficgen.tables import PacketTable
from trafficgen.units import kbps_from_bps, ms_from_s


@dataclass(frozen=True)
class Shells:
    """Commands, the outermost first, each run by the one before.

    Attributes:
        commands: Their words; a trace is ``$here/NAME``.
        cannot_express: What they lack of the path, a sentence each.
    """

    commands: tuple[tuple[str, ...], ...]
    cannot_express: tuple[str, ...]

    @classmethod
    def nest(cls, parts: Sequence[Shells]) -> Shells:
        """Return the shells of links that follow one another from the server to the client."""
        commands = tuple(command for part in parts for command in part.commands)
        lacks = dict.fromkeys(text for part in parts for text in part.cannot_express)
        return cls(commands, tuple(lacks))

    def script(self) -> str:
        """Return the body of a script that runs its arguments, or a shell, inside."""
        head = "# Runs a program, or a shell when none is named, behind the path. Not as root.\n"
        if not self.commands:
            return head + 'exec "${@:-sh}"\n'
        return f'{head}exec {self._joined()} "$@"\n'

    def command_text(self) -> str:
        """Return the command for people."""
        return self._joined().replace('"$here/', "").replace('"', "") + " CLIENT ARGUMENTS..."

    def _joined(self) -> str:
        return " \\\n  ".join(" ".join(command) for command in self.commands)


def link_shells(
    forward: Mapping[str, Any], reverse: Mapping[str, Any], *, names: tuple[str, str] | None
) -> Shells:
    """Return the shells of one link.

    A packet to the client meets loss, then queue and capacity, then the delay; one to the server
    loss after the delay. Links are as the engine reads them. ``names`` are the traces to the client
    and to the server; None without limits.
    """
    lacks: list[str] = []
    commands = [
        *_loss("downlink", forward["loss"], lacks),
        *_link(forward, reverse, names),
        *_loss("uplink", reverse["loss"], lacks),
        *_delay(forward["delay_s"], reverse["delay_s"], lacks),
    ]
    if forward.get("delay_jitter_s"):
        lacks.append("jitter of the delay")
    if forward["reorder"] is not None:
        lacks.append("reordering")
    if forward["hold_in_flight"]:
        lacks.append("packets in propagation that fill the queue")
    return Shells(tuple(commands), tuple(lacks))


def _loss(word: str, loss: Mapping[str, Any] | None, lacks: list[str]) -> list[tuple[str, ...]]:
    if loss is None:
        return []
    if loss.get("start_s") is not None or loss.get("stop_s") is not None:
        lacks.append("start and end of the loss: packets are lost from the start to the end")
    if loss.get("mean_burst_packets") is not None:
        lacks.append("bursts of loss: each packet is lost on its own, at the same mean rate")
    return [("mm-loss", word, f"{loss['rate']:g}")]


def _link(
    forward: Mapping[str, Any], reverse: Mapping[str, Any], names: tuple[str, str] | None
) -> list[tuple[str, ...]]:
    if names is None:
        return []
    # The uplink is what leaves the shell, in which the client runs.
    queues = (*_queue("uplink", reverse["queue"]), *_queue("downlink", forward["queue"]))
    to_client, to_server = names
    return [("mm-link", *queues, f'"$here/{to_server}"', f'"$here/{to_client}"', "--")]


def _queue(word: str, queue: Mapping[str, int] | None) -> tuple[str, ...]:
    if queue is None:
        return ()
    [(unit, limit)] = queue.items()
    return (f"--{word}-queue=droptail", f"--{word}-queue-args={unit}={limit}")


def _delay(forward_s: float, reverse_s: float, lacks: list[str]) -> list[tuple[str, ...]]:
    mean_ms = ms_from_s((forward_s + reverse_s) / 2)
    delay_ms = round(mean_ms)
    if forward_s != reverse_s:
        lacks.append(
            f"delays that differ by direction ({ms_from_s(forward_s):g} and"
            f" {ms_from_s(reverse_s):g} ms): both are their mean"
        )
    if abs(delay_ms - mean_ms) > _SAME_MS:
        lacks.append(
            f"a delay of {mean_ms:g} ms: mm-delay knows whole milliseconds, it is {delay_ms} ms"
        )
    return [("mm-delay", str(delay_ms))] if delay_ms else []


#: Delays that differ by less are equal.
_SAME_MS = 1e-6


MAHIMAHI_SETTINGS = (
    Setting(
        "path",
        "",
        "Path to play, as in `simulate --path`; empty: that of the table, else what arrived defines"
        " one.",
    ),
    Setting(
        "packet_bytes",
        1500,
        "IP length of packets at which rates are met; mahimahi counts 4 bytes more with each.",
        low=28,
        high=1500,
    ),
    Setting(
        "length_s",
        0.0,
        "Length of traces of a rate that changes; 0: that of the path's file.",
        low=0,
        high=1e6,
    ),
)
_SCRIPT = "run.sh"
_WORDS = ("forward", "reverse")
#: Digits of a relative error; what is below is rounding of the arithmetic.
_DIGITS = 9
#: Rate of a direction without a limit where the other one has a limit.
_UNLIMITED_BPS = 1e9
_NOTHING_ELSE: dict[str, Any] = {
    "delay_s": 0.0,
    "queue": None,
    "loss": None,
    "reorder": None,
    "hold_in_flight": False,
}


@dataclass(frozen=True)
class _Direction:
    """A direction of a link.

    Attributes:
        delivery: Its trace; None without a limit, and then no file is written.
        about: The link as the engine reads it.
    """

    file: str
    delivery: Delivery | None
    about: Mapping[str, Any]


#: Both directions of a link: to the client, to the server.
_Link = tuple[_Direction, _Direction]


def write_mahimahi(table: PacketTable, folder: FilePath, settings: Settings) -> Written:
    """Write the delivery traces of a path and the script that runs a program behind it.

    Raises:
        ExportError: If the path has too many lines, or there is no path and too little arrived to
            define one.
        SimulationError: If the path is not understood.
        InputFileError: If a file of the path cannot be read.

    Source: manual pages of mahimahi 0.98; Netravali et al., Mahimahi: Accurate Record-and-Replay
    for HTTP, USENIX ATC 2015.
    """
    path = _path(table, settings)
    lacks: list[str] = []
    if path is None:
        links = [_of_arrivals(table)]
        lacks += [
            (
                "a path: the table names none, so the trace lets full packets pass as the table's"
                " arrived, which is what the traffic used and not what the path could carry; delay,"
                " queue and loss are not known; set path=... to play one"
            ),
            "the path to the server: the same trace is used",
        ]
    else:
        links = list(_of_path(path, settings, lacks))
    traces = {
        direction.file: direction.delivery
        for link in links
        for direction in link
        if direction.delivery is not None
    }
    for name, delivery in traces.items():
        delivery.write(folder / name)
    shells = Shells.nest([_shells(*link) for link in links])
    lacks += shells.cannot_express
    write_script(folder / _SCRIPT, shells.script())
    lacks.append("packets: mahimahi sends nothing; play the traffic through it")
    report = ProjectionReport(
        target="mahimahi",
        files=(_SCRIPT, *traces),
        timing_error_s=_timing_error(list(traces.values())),
        cannot_express=tuple(lacks),
        distances={
            f"{name.removesuffix('.trace')}.rate": round(abs(trace.rate_error), _DIGITS)
            for name, trace in traces.items()
        },
    )
    return Written(report, _how_to_run(links, shells, path=path))


def _path(table: PacketTable, settings: Settings) -> Path | None:
    text = settings.text("path")
    if text:
        return read_path(text)
    noted = table.notes.get("path")
    if noted is None:
        return None
    remedy = "give it with [--set path=...]"
    try:
        path = Path.model_validate(noted)
    except ValueError:
        raise ExportError(f"mahimahi: the table's notes have an invalid path; {remedy}") from None
    try:
        return find_traces(path, FilePath())
    except ValueError as error:  # a trace that nobody has named but the table
        problem = str(error).partition(";")[0]
        raise ExportError(f"mahimahi: the path in the table's notes: {problem}; {remedy}") from None


def _of_arrivals(table: PacketTable) -> _Link:
    arrived = table.is_known("arrival_ns")
    at_ns = (
        np.asarray(table.values("arrival_ns"), dtype=np.int64) if arrived.any() else table.time_ns
    )
    rows = np.flatnonzero(table.to_client & (arrived | ~arrived.any()))
    rows = rows[np.argsort(at_ns[rows], kind="stable")]
    if not rows.size:
        raise ExportError(
            "mahimahi: no packet goes to the client; give the path with [--set path=...]"
        )
    delivery = delivery_of_arrivals(
        at_ns[rows], table.ip_bytes[rows].astype(np.int64) + TUNNEL_HEADER_BYTES
    )
    forward, reverse = (_Direction(f"{word}.trace", delivery, _NOTHING_ELSE) for word in _WORDS)
    return forward, reverse


def _of_path(path: Path, settings: Settings, lacks: list[str]) -> list[_Link]:
    """Return the links from the server to the client, each in both directions."""
    shared = Links.from_path(path)
    about = [
        (shared.configs[forward], shared.configs[reverse])
        for forward, reverse in zip(shared.forward, reversed(shared.reverse), strict=True)
    ]
    if path.access_bps is not None:
        own = {
            **_NOTHING_ELSE,
            "capacity": {"constant": {"rate_bps": path.access_bps}},
            "queue": {"packets": ACCESS_QUEUE_PACKETS},
            "overhead_bytes": 0,
        }
        about = [(own, own), *about, (own, own)]
        lacks.append("access links of each end: all flows share one of the access rate")
    links = []
    for number, configs in enumerate(about, start=1):
        place = "" if len(about) == 1 else str(number)
        is_limited = any(config["capacity"] is not None for config in configs)
        forward, reverse = (
            _Direction(
                f"{word}{place}.trace",
                _delivery(config, settings, lacks) if is_limited else None,
                config,
            )
            for word, config in zip(_WORDS, configs, strict=True)
        )
        links.append((forward, reverse))
    return links


def _delivery(config: Mapping[str, Any], settings: Settings, lacks: list[str]) -> Delivery:
    capacity = config["capacity"]
    # A packet takes this much more of the trace than of the rate.
    packet_bytes, overhead_bytes = settings.whole("packet_bytes"), int(config["overhead_bytes"])
    more = (packet_bytes + TUNNEL_HEADER_BYTES) / (packet_bytes + overhead_bytes)
    if capacity is None:
        _add(lacks, "a direction without limit: it gets 1 Gbit/s")
        return delivery_of_rate(_UNLIMITED_BPS * more)
    if "opportunities" in capacity:
        if overhead_bytes != TUNNEL_HEADER_BYTES:
            _add(
                lacks,
                f"an overhead of {overhead_bytes} bytes a packet: mahimahi's own is"
                f" {TUNNEL_HEADER_BYTES}",
            )
        return _recorded(capacity["opportunities"])
    _add(
        lacks,
        f"rates of packets of other sizes than {packet_bytes} bytes: mahimahi counts"
        f" {TUNNEL_HEADER_BYTES} bytes more with each packet (setting packet_bytes)",
    )
    if "steps" in capacity:
        steps = capacity["steps"]
        length_s = settings.number("length_s") or steps["period_s"] or steps["times_s"][-1]
        if steps["period_s"] is None:
            _add(
                lacks,
                f"a last rate without end: traces repeat after {length_s:g} s (setting length_s)",
            )
        rates_bps = np.asarray(steps["rates_bps"], dtype=float) * more
        return delivery_of_steps(
            np.asarray(steps["times_s"], dtype=float), rates_bps, length_s=length_s
        )
    if "token_bucket" in capacity:
        _add(lacks, "bursts of a token bucket: packets leave one after the other at the rate")
        return delivery_of_rate(capacity["token_bucket"]["rate_bps"] * more)
    return delivery_of_rate(capacity["constant"]["rate_bps"] * more)


def _add(lacks: list[str], text: str) -> None:
    if text not in lacks:
        lacks.append(text)


def _recorded(opportunities: Mapping[str, Any]) -> Delivery:
    times_s = np.asarray(opportunities["times_s"], dtype=float)
    recorded = Delivery(np.rint(ms_from_s(times_s)).astype(np.int64), 0.0)
    return replace(recorded, wanted_bps=recorded.rate_bps)


def _shells(forward: _Direction, reverse: _Direction) -> Shells:
    names = (forward.file, reverse.file) if forward.delivery is not None else None
    return link_shells(forward.about, reverse.about, names=names)


def _timing_error(traces: list[Delivery]) -> TimingError:
    lines = sum(trace.times_ms.size for trace in traces)
    if not lines:
        return TimingError()
    mean_s = sum(trace.error_s[1] * trace.times_ms.size for trace in traces) / lines
    return TimingError(max=max(trace.error_s[0] for trace in traces), mean=mean_s)


def _how_to_run(links: list[_Link], shells: Shells, *, path: Path | None) -> str:
    forward = [link[0].delivery for link in links if link[0].delivery is not None]
    slowest_kbps = kbps_from_bps(min((trace.rate_bps for trace in forward), default=0.0))
    length_s = max((trace.length_s for trace in forward), default=0.0)
    traces = (
        f"""What the program receives comes through
`forward*.trace` (the downlink of `mm-link`), what it sends leaves through `reverse*.trace` (the
uplink). Each line of a trace lets {OPPORTUNITY_BYTES} bytes pass, of which {TUNNEL_HEADER_BYTES}
are the tunnel's header of each packet. With them {slowest_kbps:.6g} kbit/s pass towards
the client; the trace repeats after {length_s:.6g} s.
"""
        if forward
        else "It has no limit, and so no traces.\n"
    )
    stands = "It is what the table's packets used, not a path that was measured."
    if path is not None:
        played = (
            "a chain of links"
            if len(path.links) > 1
            else f"the path `{path.text().replace('`', '')}`"
        )
        stands = f"It plays {played}."
    return f"""
As an ordinary user (mahimahi refuses root), with the server running outside, on the machine or
beyond:

```sh
sudo sysctl -w net.ipv4.ip_forward=1     # once
./{_SCRIPT} CLIENT ARGUMENTS...          # or without arguments: a shell behind the path
```

The program runs behind the path; inside, the machine outside is `$MAHIMAHI_BASE`. The script runs

```text
{shells.command_text()}
```

{stands} {traces}
Things to know:

- `mm-link` ends with an error when a packet is larger than 1500 bytes.
- Traces begin when the shell starts, not with the first packet, and repeat for ever.
- trafficgen plays the same traces:
  `trafficgen simulate MODEL --path trace=forward.trace,reverse_trace=reverse.trace`.
- mahimahi was not at hand when this was written: the traces were read back and simulated, the
  script was not run.

To check: `mm-link` with `--downlink-log=down.log` and
`mm-throughput-graph 500 down.log > down.svg`.
"""


TARGET = Target(
    name="mahimahi",
    summary="the path: delivery traces of mm-link and a script that runs a program behind them",
    versions="mahimahi 0.98",
    write=write_mahimahi,
    settings=MAHIMAHI_SETTINGS,
    protocols="the path, no packets",
    how_to="feed-mahimahi",
    several_files=True,
)
