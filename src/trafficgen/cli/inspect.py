"""`trafficgen inspect`."""

from __future__ import annotations

import datetime
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trafficgen
from trafficgen.capture.options import ReadOptions
from trafficgen.cli._options import AsJson, Captures, expand_options
from trafficgen.cli._output import Messages, number, print_json_lists, say_line
from trafficgen.cli._tables import Curve, curve_bins, print_curves, print_table
from trafficgen.formatting import (
    endpoint,
    format_count,
    format_duration,
    one_line,
    rate_text,
    size_text,
)
from trafficgen.standard_streams import describe_input
from trafficgen.units import NS_PER_S

if TYPE_CHECKING:
    from trafficgen.units import IntArray

_SHOWN_FLOWS = 20
_SHOWN_NAME = 40
_FEWEST_REQUESTS = 4


@expand_options
def inspect(
    captures: Captures,
    options: ReadOptions,
    *,
    as_json: AsJson = False,
    flows: Annotated[
        int, typer.Option("--flows", min=0, help="Flows to show; 0 shows all.")
    ] = _SHOWN_FLOWS,
    messages: Messages,
) -> None:
    """Summarise captures: flows, sessions, RTP streams and problems.

    Example: trafficgen inspect capture.pcapng

    Example: trafficgen inspect capture.pcapng.gz --json > flows.json
    """
    work = trafficgen.inspect  # loaded before the clock of the progress runs
    with messages.progress("reading"):
        found = work(captures, **vars(options))
    messages.warn(found.warnings)
    # A terminal that shows the lists themselves needs no line about them.
    with nullcontext() if as_json and sys.stdout.isatty() else messages.progress("describing"):
        if as_json:
            print_json_lists(found.json_head(), found.json_columns())
            return
        described: list[dict[str, Any]] = found.describe_flows(flows or None)
    _render(found, described)


def _render(found: trafficgen.Inspection, described: list[dict[str, Any]]) -> None:
    start = datetime.datetime.fromtimestamp(found.start_time_ns // NS_PER_S, datetime.UTC)
    files = ", ".join(map(describe_input, found.files))
    what = f", {size_text(found.frame_bytes)}, {format_duration(found.duration_s)}"
    what += f" from {start:%Y-%m-%d %H:%M:%S} UTC"
    many = format_count(found.packets, "packet")
    if not found.ip_packets:
        say_line(f"{files}: no IP packets ({many}{what if found.packets else ''})")
        return
    say_line(f"{files}: {many} ({found.ip_packets:,} IP){what}")
    if found.flows.num_rows > min(_SHOWN_FLOWS, len(described)):
        _render_totals(found)
    kinds = found.session_kinds({flow["session"] for flow in described})
    rows = [_row(flow, kinds) for flow in described]
    header: tuple[str, ...] = (
        "flow",
        "session",
        "proto",
        "server",
        "client",
        "media",
        "to client",
        "to server",
        "start s",
        "length s",
        "RTP",
    )
    names = [one_line(flow["name"] or "", longest=_SHOWN_NAME) for flow in described]
    if any(names):
        header = (*header, "name")
        rows = [(*row, name) for row, name in zip(rows, names, strict=True)]
    print_table(header, rows, right=(0, 6, 7, 8, 9))
    _render_rates(found, described)
    for session in found.sessions if found.signalling.num_rows else ():
        if (play_s := found.play_s(session)) is not None:
            say_line(f"session {session.session}: PLAY at {format_duration(play_s)}")
    _render_exchanges(found, {flow["session"] for flow in described})
    if len(rows) < found.flows.num_rows:
        say_line(f"... and {found.flows.num_rows - len(rows):,} more flows (--flows 0 shows all)")


def _render_exchanges(found: trafficgen.Inspection, sessions: set[int]) -> None:
    """Print the requests of sessions that ask again and again, as adaptive players do."""
    for session in sorted(sessions):
        exchanges = found.session_exchanges(session)
        if (exchanges.column("kind") == "media").sum() >= _FEWEST_REQUESTS:
            say_line(f"session {session}: {exchanges.summary_line()}")


def _render_totals(found: trafficgen.Inspection) -> None:
    """Print what many flows are together: how many at once, how often one starts, their rate."""
    flows, duration_s = found.flows, found.duration_s
    starts, ends = (flows.column(f"{end}_time_ns").to_numpy() for end in ("first", "last"))
    _render_concurrency("flow", flows.column("flow").to_numpy(), starts, ends, duration_s)
    _render_concurrency("session", flows.column("session").to_numpy(), starts, ends, duration_s)
    if not duration_s > 0:
        return
    import numpy as np  # noqa: PLC0415 - --help needs none

    names = ["flows to client", "flows to server"]
    bins = curve_bins(names)
    rates = found.measure_rates(bins)
    to_client, to_server = (rate_text(float(rate_kbps.mean())) for rate_kbps in rates)
    peak = rate_text(float(np.sum(rates, axis=0).max()))
    say_line(
        f"{to_client} to clients, {to_server} to servers on average; at most"
        f" {peak} together over {format_duration(duration_s / bins)}"
    )
    curves = [Curve(name, rate) for name, rate in zip(names, rates, strict=True) if rate.any()]
    print_curves("rate of all flows (frame bytes)", curves, start_s=0.0, end_s=duration_s)


def _render_concurrency(
    what: str, owner: IntArray, starts: IntArray, ends: IntArray, duration_s: float
) -> None:
    """Print how many flows or sessions there are at once, and how often one starts.

    A session is there while one of its flows is, so that there are never more than flows.
    """
    import numpy as np  # noqa: PLC0415 - --help needs none

    order = np.lexsort((starts, owner))
    owner, starts, ends = owner[order], starts[order], ends[order]
    first = np.diff(owner, prepend=-1) != 0
    # The latest end so far within each owner: ranks of ends, those of later owners above.
    count, known = int(first.sum()), np.unique(ends)
    ranks = np.searchsorted(known, ends) + (np.cumsum(first) - 1) * known.size
    latest = known[np.maximum.accumulate(ranks) % known.size]
    begins = first | (starts > np.concatenate((latest[:1], latest[:-1])))
    last = np.append(np.flatnonzero(begins)[1:] - 1, len(ends) - 1)
    spans, until, begun = np.sort(starts[begins]), np.sort(latest[last]), np.sort(starts[first])
    at_once = np.arange(1, len(spans) + 1) - np.searchsorted(until, spans)
    text = f"{format_count(count, what)}: at most {at_once.max():,} at once"
    if duration_s > 0:
        mean = float((until - spans).sum()) / NS_PER_S / duration_s
        text += f", {number(round(mean, 1)) if mean >= 0.1 else 'fewer than 0.1'} on average"
    if count > 1:
        spacing_s = float(begun[-1] - begun[0]) / NS_PER_S / (count - 1)
        text += f", a new one every {format_duration(spacing_s)}"
    say_line(text)


def _render_rates(found: trafficgen.Inspection, described: list[dict[str, Any]]) -> None:
    """Print the rate over time of the heaviest flows, each in its heavier direction."""
    shown = [flow for flow in described[:_SHOWN_FLOWS] if flow["flow"] in found.rates]
    if not shown or not found.duration_s > 0:
        return
    ways = [_heavier_way(flow) for flow in shown]
    names = [
        f"flow {flow['flow']} {way.replace('_', ' ')}"
        for flow, way in zip(shown, ways, strict=True)
    ]
    bins = curve_bins(names)
    curves = []
    for name, flow, way in zip(names, shown, ways, strict=True):
        rates = found.rates[flow["flow"]]
        curve = rates.to_client if way == "to_client" else rates.to_server
        rate_kbps = curve.rate_kbps(bins, start_s=0.0, end_s=found.duration_s)
        curves.append(Curve(name, rate_kbps))
    print_curves("rate on the wire (frame bytes)", curves, start_s=0.0, end_s=found.duration_s)


def _heavier_way(flow: dict[str, Any]) -> str:
    more_to_server = flow["to_server"]["frame_bytes"] > flow["to_client"]["frame_bytes"]
    return "to_server" if more_to_server else "to_client"


def _row(flow: dict[str, Any], kinds: dict[int, str]) -> tuple[str, ...]:
    rtp, kind = flow["rtp"], kinds[flow["session"]]
    if kind in ("http", "quic"):  # a session of the web may have both
        from trafficgen.flows.sessions import web_kind  # noqa: PLC0415 - --help needs it not

        kind = web_kind(flow["protocol"], flow["server_port"], flow["application"])
    if kind == "http" and flow["application"] != "http":
        # Nothing of HTTP was seen: TLS, or a port that the web uses.
        by_port = {443: "tls", 80: "http"}.get(flow["server_port"], "tcp")
        kind = flow["application"] or by_port
    loss = (
        f"{rtp['lost']:,}/{rtp['expected']:,} lost, PT {number(rtp['payload_type'])}" if rtp else ""
    )
    return (
        str(flow["flow"]),
        f"{flow['session']} {kind}",
        flow["protocol"],
        endpoint(flow["server"], flow["server_port"]),
        endpoint(flow["client"], flow["client_port"]),
        flow["media"],
        size_text(flow["to_client"]["frame_bytes"]),
        size_text(flow["to_server"]["frame_bytes"]),
        f"{flow['start_s']:.3f}",
        f"{flow['duration_s']:.3f}",
        loss,
    )
