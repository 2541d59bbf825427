"""Results: contestants at one task, and how cost grows with size; printed, and kept as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

_BYTES_IN_MB = 1_000_000
_MILLION = 1e6


@dataclass(frozen=True)
class Outcome:
    """Packets and bytes that one contestant handled (0: none), median time, peak memory."""

    name: str
    packets: int
    size_bytes: int
    time_s: float
    peak_bytes: int
    note: str = ""

    @property
    def packets_per_s(self) -> float:
        """Packets handled a second."""
        return self.packets / self.time_s

    @property
    def megabytes_per_s(self) -> float:
        """Megabytes (10^6) handled a second."""
        return self.size_bytes / _BYTES_IN_MB / self.time_s

    @property
    def peak_mb(self) -> float:
        """Peak memory in megabytes."""
        return self.peak_bytes / _BYTES_IN_MB

    def to_json(self) -> dict[str, object]:
        """Return it as JSON."""
        row: dict[str, object] = {
            "name": self.name,
            "packets": self.packets,
            "bytes": self.size_bytes,
        }
        return row | {"time_s": self.time_s, "peak_bytes": self.peak_bytes, "note": self.note}


@dataclass(frozen=True)
class Race:
    """Contestants at one task.

    Attributes:
        title: The task.
        ours: Ours.
        peers: The others.
        absent: Peers that this machine does not have.
        remark: What to know of the figures.
    """

    title: str
    ours: Outcome
    peers: Sequence[Outcome] = ()
    absent: Sequence[str] = ()
    remark: str = ""

    def times_as_fast(self, peer: Outcome) -> float:
        """Return how many times as fast as a peer we are: by packets, else by the task."""
        if self.ours.packets and peer.packets:
            return self.ours.packets_per_s / peer.packets_per_s
        return peer.time_s / self.ours.time_s

    def show(self) -> None:
        """Print a table; the last column says how many times as fast as each we are."""
        print(f"\n{self.title}")
        print(f"  {'':42}{'s':>9}{'Mpackets/s':>12}{'MB/s':>8}{'peak MB':>9}{'x as fast':>11}")
        for outcome in (self.ours, *self.peers):
            packets = f"{outcome.packets_per_s / _MILLION:12.3f}" if outcome.packets else " " * 12
            size = f"{outcome.megabytes_per_s:8.0f}" if outcome.size_bytes else " " * 8
            line = f"  {outcome.name:42}{outcome.time_s:9.3f}{packets}{size}{outcome.peak_mb:9.0f}"
            print(f"{line}{self.times_as_fast(outcome):11.2f}  {outcome.note}".rstrip())
        for name in self.absent:
            print(f"  {name:42}absent on this machine")
        if self.remark:
            print(f"  {self.remark}")

    def to_json(self) -> dict[str, object]:
        """Return it as JSON, the ratio with each row."""
        rows = [
            {**outcome.to_json(), "times_as_fast": self.times_as_fast(outcome)}
            for outcome in (self.ours, *self.peers)
        ]
        return {
            "title": self.title,
            "rows": rows,
            "absent": list(self.absent),
            "remark": self.remark,
        }


@dataclass(frozen=True)
class Sweep:
    """One task at growing sizes.

    Attributes:
        title: The task.
        axis: What grows.
        sizes: How many of them, ascending.
        outcomes: One for each size.
        remark: What to know of the figures.
    """

    title: str
    axis: Literal["packets", "sessions", "flows"]
    sizes: Sequence[int]
    outcomes: Sequence[Outcome]
    remark: str = ""

    @property
    def time_exponent(self) -> float:
        """Slope of time over size on logarithmic scales."""
        return exponent(self.sizes, [one.time_s for one in self.outcomes])

    @property
    def memory_exponent(self) -> float:
        """Slope of peak memory over size on logarithmic scales."""
        return exponent(self.sizes, [one.peak_bytes for one in self.outcomes])

    def show(self) -> None:
        """Print a line for each size, and how time and memory grow."""
        print(f"\n{self.title}")
        for size, outcome in zip(self.sizes, self.outcomes, strict=True):
            rate, peak = (
                f"{size / outcome.time_s:14,.0f} {self.axis}/s",
                f"{outcome.peak_mb:8.0f} MB",
            )
            print(
                f"  {size:>12,} {self.axis}{outcome.time_s:9.2f} s"
                f"{rate}{peak}  {outcome.note}".rstrip()
            )
        if len(self.sizes) > 1:
            print(
                f"  time grows with exponent {self.time_exponent:.2f}, memory with"
                f" {self.memory_exponent:.2f}"
            )
        if self.remark:
            print(f"  {self.remark}")

    def to_json(self) -> dict[str, object]:
        """Return it as JSON."""
        rows = [
            {"size": size, **one.to_json()}
            for size, one in zip(self.sizes, self.outcomes, strict=True)
        ]
        growth = {"time_exponent": self.time_exponent, "memory_exponent": self.memory_exponent}
        return {
            "title": self.title,
            "axis": self.axis,
            "rows": rows,
            **growth,
            "remark": self.remark,
        }


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the least-squares slope on logarithmic scales; nan for fewer than two values."""
    if len(sizes) < 2:
        return math.nan
    x, y = [math.log(size) for size in sizes], [math.log(value) for value in values]
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True))
    return products / sum((a - x_mean) ** 2 for a in x)


def powers_of_ten(first: int, last: int) -> list[int]:
    """Return powers of ten from ``first`` to the largest up to ``last``, at least the first."""
    return [
        first * 10**power
        for power in range(max(0, math.floor(math.log10(last / first) + 1e-9)) + 1)
    ]
