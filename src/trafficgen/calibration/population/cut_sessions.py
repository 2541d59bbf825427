"""Find the sessions that a capture cut: they went on as it was stopped, or before it was started.

Their lengths are lower bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.flows import SessionView
from trafficgen.flows.inspection import Inspection
from trafficgen.units import BoolArray, ns_from_s

#: TCP flags (RFC 9293) that open a connection, and that close it: FIN and RST.
_SYN, _CLOSES = 2, 1 | 4


class CutLimits:
    """What shows that a capture, and not its sessions, came to an end."""

    #: A clock stopped a capture if so many others of the corpus are as long,
    alike_captures: int = 2
    #: to this share;
    alike_share: float = 0.02
    #: or if so many of its sessions were still sending: they do not all end at once.
    ending_together: int = 3


_LIMITS = CutLimits()


@dataclass(frozen=True)
class Ends:
    """How a session lies in its capture.

    Attributes:
        capture: Name of the capture.
        capture_s: Length of the capture, s.
        begins_before: Whether it uses a connection that was open before the capture was started.
        may_go_on: Whether the silence after its last packet is one that it had before, its
            connection was not closed, and the capture has later packets of others.
    """

    capture: str
    capture_s: float
    begins_before: bool
    may_go_on: bool


def describe_ends(capture: str, view: SessionView, inspection: Inspection) -> Ends:
    """Describe how a session lies in its capture, which is named for comparison with others."""
    time_ns = view.media_time_ns
    pause_ns = int(np.diff(time_ns).max(initial=0))
    start_ns = inspection.start_time_ns - view.table.origin_ns
    end_ns = start_ns + ns_from_s(inspection.duration_s)
    last_ns = int(view.table.time_ns[-1])
    flow = view.table.flow[view.media]
    first, last = (_join_flags(view, int(one)) for one in flow[[0, -1]])
    return Ends(
        capture=capture,
        capture_s=inspection.duration_s,
        begins_before=first > 0 and not first & _SYN and time_ns[0] - start_ns <= pause_ns,
        may_go_on=not last & _CLOSES and last_ns < end_ns <= int(time_ns[-1]) + pause_ns,
    )


def _join_flags(view: SessionView, flow: int) -> int:
    """Return the TCP flags that any packet of a flow has; 0 where it has none."""
    table = view.table
    if "tcp_flags" not in table.packets.column_names:
        return 0
    rows = (table.flow == flow) & table.is_known("tcp_flags")
    return int(np.bitwise_or.reduce(table.values("tcp_flags")[rows].astype(np.int64), initial=0))


def find_cut_sessions(sessions: Sequence[Ends]) -> BoolArray:
    """Return which sessions of a corpus were cut, shape (k,)."""
    length_s = {one.capture: one.capture_s for one in sessions}
    together = Counter(one.capture for one in sessions if one.may_go_on)

    def is_stopped(capture: str) -> bool:
        share = _LIMITS.alike_share * length_s[capture]
        alike = sum(abs(other - length_s[capture]) <= share for other in length_s.values()) - 1
        return alike >= _LIMITS.alike_captures or together[capture] >= _LIMITS.ending_together

    stopped = {capture: is_stopped(capture) for capture in length_s}
    return np.array(
        [one.begins_before or (one.may_go_on and stopped[one.capture]) for one in sessions]
    )
