"""A capacity that changes in steps: what all traces of rates end in, and what is refused in
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from trafficgen.errors import InputFileError

REMEDY = (
    "give a mahimahi trace (whole milliseconds, one a line, ascending), a CSV with columns time_s"
    " and rate, or JSON with duration_ms and bandwidth_kbps, trace_pattern, or times_s and"
    " rates_kbps"
)
#: Longer ago or later than anything that is simulated.
LONGEST_S = 1e6


@dataclass(frozen=True)
class Trace:
    """A capacity over time.

    Attributes:
        capacity: What the engine reads.
        mean_bps: Mean over the file, bit/s.
        overhead_bytes: What each packet takes of it beside its IP bytes.
    """

    capacity: dict[str, object]
    mean_bps: float
    overhead_bytes: int = 0


def trace_error(file: str, problem: str, *, remedy: str = REMEDY) -> InputFileError:
    """Return the error of a file that is no trace."""
    return InputFileError(file=file, problem=problem, remedy=remedy)


@dataclass
class Steps:
    """Rates from times on, collected in order.

    Attributes:
        file: Name of the file.
        times_s: Beginning of each rate, s.
        rates_bps: The rates, bit/s.
    """

    file: str
    times_s: list[float]
    rates_bps: list[float]

    @classmethod
    def of(cls, file: str) -> Steps:
        """Return steps without any yet."""
        return cls(file, [], [])

    def add(self, place: str, time_s: float, rate_bps: float) -> None:
        """Add a rate.

        Raises:
            InputFileError: If it does not come after the one before; the message begins with
                ``place``.
        """
        if time_s > LONGEST_S:
            raise trace_error(self.file, f"{place}: {time_s:g} s is later than {LONGEST_S:g} s")
        if self.times_s and time_s <= self.times_s[-1]:
            raise trace_error(
                self.file, f"{place}: {time_s:g} s does not come after {self.times_s[-1]:g} s"
            )
        self.times_s.append(time_s)
        self.rates_bps.append(rate_bps)

    def trace(self, *, period_s: float | None) -> Trace:
        """Return the capacity, repeated after ``period_s`` or with a last rate that stays.

        Raises:
            InputFileError: If nothing can ever be sent, or the period ends before the last rate
                begins.
        """
        if not any(self.rates_bps):
            raise trace_error(self.file, "no rate is above 0")
        if period_s is None and self.rates_bps[-1] == 0:
            remedy = "end with a rate above 0 or give trace_period"
            raise trace_error(self.file, "the last rate is 0 and stays", remedy=remedy)
        if period_s is not None and period_s < self.times_s[-1]:
            remedy = "make trace_period at least so long"
            raise trace_error(self.file, f"goes on to {self.times_s[-1]:g} s", remedy=remedy)
        capacity = {"times_s": self.times_s, "rates_bps": self.rates_bps, "period_s": period_s}
        return Trace({"steps": capacity}, self._mean_bps(period_s))

    def _mean_bps(self, period_s: float | None) -> float:
        """Return the mean rate over the file or its period, the first rate holding from 0 on,
        bit/s.
        """
        end_s = self.times_s[-1] if period_s is None else period_s
        if end_s <= 0:
            return self.rates_bps[-1]
        begins = [0.0, *self.times_s[1:]]
        ends = [*self.times_s[1:], end_s]
        return (
            sum(
                rate * (end - begin)
                for rate, begin, end in zip(self.rates_bps, begins, ends, strict=True)
            )
            / end_s
        )
