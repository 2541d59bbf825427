"""What a paper found, and a set-up of a paper that can be run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from trafficgen.formatting import number, one_line
from trafficgen.notebook import NotebookView

_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Finding(NotebookView):
    """One published quantity: a row of `trafficgen reproduce`.

    Attributes:
        id: Id of the finding, such as ``BMW-T1.1``; several quantities may share it.
        quantity: What is measured, in a few words.
        unit: Its unit: ``kbps``, ``s``, ``share``; empty where it has none.
        published: The paper's figure, or its words; None where it gives neither.
        low: Least value that is accepted, inclusive; None: no limit.
        high: Largest value that is accepted, inclusive; None: no limit.
        role: ``input`` where the figure stands in the catalogue entry itself, else ``predicted``.
        entry: Catalogue entry whose digest is shown.
        key: Key of the value in what the experiment measures.
        gap: Why the simulation misses, shown only when it does.

    Example:
        >>> import trafficgen
        >>> finding = trafficgen.reproduce("BMW-T1.1", runs=1, workers=1).rows[1].finding
        >>> finding
        <Finding BMW-T1.1: buffering rate, kbps, published 45, accepted 40.5 to 49.5>
        >>> finding.accepts(44.0), finding.accepts(60.0)
        (True, False)
    """

    id: str
    quantity: str
    unit: str
    published: float | str | None
    low: float | None
    high: float | None
    role: Literal["predicted", "input"]
    entry: str
    key: str
    gap: str | None = None

    def __repr__(self) -> str:
        return f"<Finding {self.id}: {self.published_text}, accepted {self.accepted_text}>"

    @property
    def published_text(self) -> str:
        """Quantity with its unit and published value, for people."""
        quantity = f"{self.quantity}, {self.unit}" if self.unit else self.quantity
        value = self.published if isinstance(self.published, str) else number(self.published)
        return f"{one_line(quantity)}, published {one_line(value)}"

    @property
    def accepted_text(self) -> str:
        """Accepted range, for people."""
        if self.low is None and self.high is None:
            return "any number"
        if self.high is None:
            return f"at least {number(self.low)}"
        if self.low is None:
            return f"at most {number(self.high)}"
        return f"{number(self.low)} to {number(self.high)}"

    def accepts(self, value: float) -> bool:
        """Return whether a value is a number in the range, up to rounding."""
        if math.isnan(value):
            return False
        slack = _ROUNDING * abs(value)
        above = self.low is None or value >= self.low - slack
        return above and (self.high is None or value <= self.high + slack)


@runtime_checkable
class Experiment(Protocol):
    """One set-up of a paper: a frozen dataclass at the top of its module, since processes hand it
    to each other.
    """

    @property
    def name(self) -> str:
        """Name, unique among all experiments; seeds are derived from it."""
        ...

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What it measures of what the paper found."""
        ...

    @property
    def parts(self) -> int:
        """Number of pieces of one run, at least 1; each may go to another process."""
        ...

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Simulate a piece and return small measures of it.

        Args:
            part: Number of the piece, from 0.
            seed: Seed of this piece of this run; other pieces and runs have others.
        """
        ...

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return one run's value of every finding's key from the measures of all its pieces, in
        order.

        NaN says that a quantity could not be measured in this run.
        """
        ...
