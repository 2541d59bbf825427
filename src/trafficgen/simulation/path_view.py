"""A path for people: one line, and a view for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trafficgen import html_view as html
from trafficgen.formatting import number, one_line
from trafficgen.units import kbps_from_bps, ms_from_s

if TYPE_CHECKING:
    from trafficgen.simulation.path import Path, PathLink, Queue

_HEADER = (
    "link",
    "capacity, kbps",
    "back, kbps",
    "one way, ms",
    "back, ms",
    "queue",
    "lost at random, %",
)


def line_of_path(path: Path) -> str:
    """Return the call that makes the path; a chain of links, which no line of keys can hold, by
    their names.
    """
    if len(path.links) == 1:
        return f"Path.parse({one_line(path.text(), longest=300)!r})"
    return (
        f"<Path of {len(path.links)} links:"
        f" {', '.join(one_line(link.name) for link in path.links)}>"
    )


def view_of_path(path: Path) -> str:
    """Return the links of a path from the server to the client."""
    access = None if path.access_bps is None else number(kbps_from_bps(path.access_bps))
    return html.view(
        "Path from the server to the client",
        html.facts(
            [
                ("propagation there and back, ms", _ms(path.round_trip_s)),
                ("link of each end, kbps", access),
            ]
        ),
        html.table(
            _HEADER, [_row(link) for link in path.links], right=(1, 2, 3, 4, 6), what="links"
        ),
    )


def _row(link: PathLink) -> tuple[str, ...]:
    return (
        link.name,
        _capacity(link.rate_bps, link.trace) or "no limit",
        _capacity(link.reverse_rate_bps, link.reverse_trace) or "as forward",
        _ms(link.delay_s),
        "as forward" if link.reverse_delay_s is None else _ms(link.reverse_delay_s),
        _queue(link.queue),
        number(100 * link.loss),
    )


def _capacity(rate_bps: float | None, trace: str | None) -> str | None:
    if trace is not None:
        return f"trace {trace}"
    return None if rate_bps is None else number(kbps_from_bps(rate_bps))


def _ms(time_s: float) -> str:
    return number(ms_from_s(time_s))


def _queue(queue: Queue | None) -> str:
    if queue is None:
        return "default"
    return (
        f"{number(queue.size_bytes)} bytes"
        if queue.packets is None
        else f"{number(queue.packets)} packets"
    )
