"""Delivery traces: the milliseconds at which a link lets a full-sized packet pass.

It is the format of mahimahi (Netravali et al. 2015): one whole millisecond a line, all repeated
after the last. The last line is therefore the length of the trace, and rates become counts of lines
in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trafficgen.errors import ExportError
from trafficgen.simulation.traces import OPPORTUNITY_BYTES
from trafficgen.units import (
    FloatArray,
    IntArray,
    bps_from_bytes,
    bytes_from_bps,
    ms_from_s,
    s_from_ms,
    s_from_ns,
)

#: Lines that a trace has at most: some 10 MB.
MOST_LINES = 2_000_000
#: A constant rate repeats after this long at most, and sooner where its count of lines comes out as
#: exactly.
_LONGEST_PERIOD_MS = 60_000
#: Relative error of a constant rate at which the search for a period ends.
_CLOSE_ENOUGH = 1e-6
#: Shares that differ by less are the same.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Delivery:
    """A delivery trace and what it was made for.

    Attributes:
        times_ms: When a packet may pass, ms from the start, ascending, shape (n,).
        wanted_bps: Mean rate that it was to have, with what the tunnel adds to packets, bit/s.
        error_s: Largest and mean difference of an opportunity from where it would lie without
            rounding, s.
    """

    times_ms: IntArray
    wanted_bps: float
    error_s: tuple[float, float] = (0.0, 0.0)

    @property
    def length_s(self) -> float:
        """Time after which the trace repeats, s."""
        return s_from_ms(int(self.times_ms[-1]))

    @property
    def rate_bps(self) -> float:
        """Mean rate of the trace, bit/s."""
        return bps_from_bytes(self.times_ms.size * OPPORTUNITY_BYTES, self.length_s)

    @property
    def rate_error(self) -> float:
        """Relative difference of the trace's mean rate from the one it was to have."""
        return self.rate_bps / self.wanted_bps - 1

    def write(self, path: Path) -> None:
        """Write the trace, a line each."""
        path.write_text("\n".join(map(str, self.times_ms.tolist())) + "\n", encoding="ascii")


def delivery_of_rate(rate_bps: float) -> Delivery:
    """Return the trace of a constant rate.

    Its length is the shortest in which a whole number of opportunities comes to the rate within a
    millionth, or, below a minute, the one that comes closest. The rate, above 0, has what the
    tunnel adds to packets.

    Raises:
        ExportError: If a millisecond of it has more opportunities than a trace may have lines.
    """
    per_ms = bytes_from_bps(rate_bps, s_from_ms(1)) / OPPORTUNITY_BYTES
    longest_ms = int(min(_LONGEST_PERIOD_MS, MOST_LINES / per_ms))
    if longest_ms < 1:
        raise ExportError(
            f"mahimahi: {rate_bps:g} bit/s are more than {MOST_LINES} lines a millisecond; export a"
            " slower path"
        )
    longest_ms = max(longest_ms, int(np.ceil(1 / per_ms)))
    lengths_ms = np.arange(1, longest_ms + 1)
    counts = np.rint(lengths_ms * per_ms)
    error = np.abs(counts / (lengths_ms * per_ms) - 1)
    close = np.flatnonzero(error <= _CLOSE_ENOUGH)
    chosen = int(close[0]) if close.size else int(np.argmin(error))
    return _spread(
        np.array([0.0, lengths_ms[chosen]]),
        np.array([0.0, 1.0]),
        count=int(counts[chosen]),
        rate_bps=rate_bps,
    )


def delivery_of_steps(times_s: FloatArray, rates_bps: FloatArray, *, length_s: float) -> Delivery:
    """Return the trace of rates that change in steps.

    Rates have what the tunnel adds to packets and begin at ``times_s``, ascending, shape (n,); the
    first holds from 0 on. ``length_s`` is cut to whole milliseconds.

    Raises:
        ExportError: If nothing passes in that time, or it takes too many lines.
    """
    length_ms = max(1.0, float(np.rint(ms_from_s(length_s))))
    begins_ms = np.concatenate([[0.0], ms_from_s(np.asarray(times_s[1:]))])
    is_inside = begins_ms < length_ms
    begins_ms, rates_bps = begins_ms[is_inside], np.asarray(rates_bps)[is_inside]
    edges_ms = np.concatenate([begins_ms, [length_ms]])
    passed = np.concatenate(
        [[0.0], np.cumsum(bytes_from_bps(rates_bps, s_from_ms(np.diff(edges_ms))))]
    )
    count = round(passed[-1] / OPPORTUNITY_BYTES)
    if count == 0:
        raise ExportError(
            f"mahimahi: no packet passes the path within {length_s:g} s; export a faster path or"
            " set length_s"
        )
    if count > MOST_LINES:
        raise ExportError(
            f"mahimahi: {length_s:g} s of the path are {count} lines, more than {MOST_LINES};"
            " set length_s to a shorter time"
        )
    return _spread(
        edges_ms,
        passed / passed[-1],
        count=count,
        rate_bps=bps_from_bytes(float(passed[-1]), s_from_ms(length_ms)),
    )


def delivery_of_arrivals(times_ns: IntArray, size_bytes: IntArray) -> Delivery:
    """Return the trace that arrivals define: an opportunity whenever another full packet has come.

    What is left at the end makes a last one, so that the trace is as long as the packets. Times
    ascend from any origin, sizes have what the tunnel adds; both have shape (n,).

    Raises:
        ExportError: If fewer bytes than one opportunity has arrived, or all within a millisecond.

    Source: traces recorded by saturating a link, Winstein, Sivaraman and Balakrishnan (2013),
    section 4.1.
    """
    at_ms = ms_from_s(s_from_ns(times_ns - times_ns[0]))
    passed = np.cumsum(size_bytes)
    count = int(passed[-1]) // OPPORTUNITY_BYTES
    if count == 0 or round(float(at_ms[-1])) == 0:
        raise ExportError(
            "mahimahi: too little arrived to define a path; give it with"
            " [--set path=rate=725kbps,delay=45ms]"
        )
    wanted = np.arange(1, count + 1) * OPPORTUNITY_BYTES
    row = np.searchsorted(
        passed, wanted if wanted[-1] == passed[-1] else np.append(wanted, passed[-1])
    )
    exact_ms = at_ms[row]
    times_ms = np.rint(exact_ms).astype(np.int64)
    return Delivery(
        times_ms,
        bps_from_bytes(int(passed[-1]), s_from_ms(float(at_ms[-1]))),
        _errors(exact_ms, times_ms),
    )


def _spread(edges_ms: FloatArray, share: FloatArray, *, count: int, rate_bps: float) -> Delivery:
    """Place ``count`` opportunities where another whole share of all has passed.

    Each is placed from the start of the trace, so that roundings do not add up.
    """
    count = max(1, count)
    wanted = np.arange(1, count + 1) / count
    # The first edge by which this much has passed; before it the share grows, so there is no
    # division by zero.
    edge = np.clip(np.searchsorted(share, wanted - _ROUNDING), 1, share.size - 1)
    part = (wanted - share[edge - 1]) / np.diff(share)[edge - 1]
    exact_ms = edges_ms[edge - 1] + np.clip(part, 0, 1) * np.diff(edges_ms)[edge - 1]
    times_ms = np.rint(exact_ms).astype(np.int64)
    times_ms[-1] = round(float(edges_ms[-1]))
    return Delivery(times_ms, rate_bps, _errors(exact_ms, times_ms))


def _errors(exact_ms: FloatArray, times_ms: IntArray) -> tuple[float, float]:
    error_s = s_from_ms(np.abs(times_ms - exact_ms))
    return float(error_s.max()), float(error_s.mean())
