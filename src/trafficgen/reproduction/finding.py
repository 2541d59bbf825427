"""Experiments of the papers and what they found, read from one data file a paper.

The files are ``models/published/findings/*.yaml``. A finding has an id, such as ``CCZ-H1``, a
statement in one sentence and its place in the paper. Its quantities are rows of `trafficgen
reproduce`: each names the experiment that measures it and the key of its value there, and has a
role, which says what a row within its range proves. A finding without quantities is a set-up, a
definition or context.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from trafficgen.formatting import number, one_line
from trafficgen.models import ModelPart, read_yaml
from trafficgen.models.published import load_entry
from trafficgen.models.published_model import Parameter, PublishedModel, TablePart, leaves
from trafficgen.notebook import NotebookView
from trafficgen.options import checks_arguments

Role = Literal["predicted", "calibrated", "input"]
#: An id, and the end of a range that begins with it: CCZ-W5..W7, BMW-T1.1..9, CCZ-M1 to M3.
_IDS = re.compile(
    r"\b(?P<paper>[A-Z]{2,4})-(?P<kind>[A-Z]+)(?P<number>\d+)(?:\.(?P<part>\d+))?"
    r"(?:(?:\.\.| to )(?:(?P=paper)-)?(?P<last>[A-Z]*\d+))?"
)
#: A share in an entry may be per cent in a paper, kbit/s may be bit/s.
_SCALES = (1.0, 0.01, 100.0, 0.001, 1000.0)


class _Use(NamedTuple):
    """What a parameter, or a part of one, says of the findings that it rests on."""

    is_figure: bool
    findings: frozenset[str]
    numbers: tuple[float, ...]


def find_role(entry: str, finding: str, published: object) -> Role:
    """Return the role of a quantity of a finding that is simulated with a catalogue entry.

    It is ``input`` if a parameter whose basis is a figure of the paper names the finding as its
    source and holds the published value, ``calibrated`` if any other parameter names the finding
    in its source or reason.
    """
    named = [use for use in _uses(entry) if finding in use.findings]
    if isinstance(published, int | float) and any(
        use.is_figure and any(_are_equal(published, one) for one in use.numbers) for use in named
    ):
        return "input"
    return "calibrated" if named else "predicted"


def list_ids(text: str) -> set[str]:
    """Return the ids of findings that a text names, those within ranges too."""
    found: set[str] = set()
    for match in _IDS.finditer(text):
        paper, kind, number, part, last = match.group("paper", "kind", "number", "part", "last")
        head = f"{paper}-{kind}"
        first = int(part or number)
        end = first if last is None else int(last.lstrip(kind))
        names = range(first, max(first, end) + 1)
        found |= {f"{head}{number}.{one}" if part else f"{head}{one}" for one in names}
    return found


@cache
def _uses(entry: str) -> tuple[_Use, ...]:
    model = load_entry(entry)
    return tuple(use for one in _parameters(model) for use in _uses_of(one))


def _parameters(model: PublishedModel) -> Iterator[Parameter]:
    yield from model.mechanism.parameters.values()
    if model.competing_tcp is not None:
        yield model.competing_tcp


def _uses_of(parameter: Parameter) -> Iterator[_Use]:
    numbers: dict[str, list[float]] = {}
    for path, value in leaves(parameter.value):
        if isinstance(value, int | float) and not isinstance(value, bool):
            numbers.setdefault(parameter.basis_of(path), []).append(float(value))
    parts: list[Parameter | TablePart] = [parameter, *parameter.parts.values()]
    for part in parts:
        texts = " ".join(filter(None, (part.source, part.reason)))
        found = frozenset(list_ids(texts))
        yield _Use(part.basis == "figure", found, tuple(numbers.get(part.basis, ())))


def _are_equal(published: float, value: float) -> bool:
    return any(math.isclose(published, value * scale, rel_tol=1e-9) for scale in _SCALES)


Published = int | float | str | None

_ROUNDING = 1e-9
_FOLDER = resources.files("trafficgen.models.published") / "findings"


@dataclass(frozen=True, eq=False, kw_only=True)
class Finding(NotebookView):
    """One published quantity: a row of `trafficgen reproduce`.

    Attributes:
        id: Id of the finding, such as ``BMW-T1.1``; several quantities may share it.
        statement: What the paper found, in one sentence.
        quantity: What is measured, in a few words.
        unit: Its unit in JSON, such as ``s`` or ``share``; empty: none.
        published: The paper's figure, or its words; None where it gives neither.
        low: Least value that is accepted, inclusive; None: no limit.
        high: Largest value that is accepted, inclusive; None: no limit.
        role: ``input`` if the value is in the catalogue entry itself, ``calibrated`` if a value of
            the entry or of the set-up was taken from the finding or chosen with it in view, else
            ``predicted``.
        entry: Catalogue entry whose digest is shown.
        key: Key of the value in what the experiment measures.
        gap: Why the simulation misses, shown only when it does.

    Example:
        >>> import trafficgen
        >>> finding = trafficgen.reproduce("BMW-T1.1", runs=1, workers=1).rows[1].finding
        >>> finding
        <Finding BMW-T1.1: buffering rate, kbit/s, published 45, accepted 40.5 to 49.5>
        >>> finding.accepts(44.0), finding.accepts(60.0)
        (True, False)
    """

    id: str
    statement: str = ""
    quantity: str
    unit: str
    published: Published
    low: float | None
    high: float | None
    role: Role
    entry: str
    key: str
    gap: str | None = None

    def __repr__(self) -> str:
        return f"<Finding {self.id}: {self.published_text}, accepted {self.accepted_text}>"

    @property
    def quantity_text(self) -> str:
        """Quantity with its unit, for people."""
        text = f"{self.quantity}, {self.unit}" if self.unit else self.quantity
        return one_line(text.replace("kbps", "kbit/s"))

    @property
    def published_text(self) -> str:
        """Quantity with its unit and published value, for people."""
        value = self.published if isinstance(self.published, str) else number(self.published)
        return f"{self.quantity_text}, published {one_line(value)}"

    @property
    def accepted_text(self) -> str:
        """Accepted range, for people."""
        if self.low is None and self.high is None:
            return "any number"
        if self.high is None:
            return f"at least {number(self.low)}"
        if self.low is None:
            return f"at most {number(self.high)}"
        if self.low == self.high:
            return number(self.low)
        return f"{number(self.low)} to {number(self.high)}"

    @checks_arguments
    def accepts(self, value: float) -> bool:
        """Check whether a value is a number in the range, up to rounding."""
        if math.isnan(value):
            return False
        slack = _ROUNDING * abs(value)
        above = self.low is None or value >= self.low - slack
        return above and (self.high is None or value <= self.high + slack)


class Quantity(ModelPart):
    """A quantity of a published finding, as its data file has it."""

    key: str = Field(description="Key of the value in what the experiment measures.")
    experiment: str = Field(default="", description="Experiment; empty: that of the finding.")
    quantity: str = Field(min_length=1, description="What is measured, in a few words.")
    unit: str = Field(default="", description="Unit; empty where it has none.")
    published: Published = Field(description="The paper's figure, or its words.")
    accept: tuple[int | float | None, int | float | None] | Literal["10%", "8 points", "10 points"]
    role: Literal["input"] | None = Field(
        default=None,
        description="input: it is in the entry, in other words or units; null: computed.",
    )
    entry: str = Field(default="", description="Catalogue entry; empty: that of the paper.")
    gap: str | None = Field(default=None, description="Why the simulation misses.")
    chosen: str = Field(
        default="",
        description="Value of the set-up, open in the paper, that was chosen with it in view.",
    )

    @model_validator(mode="after")
    def _has_a_range(self) -> Self:
        low, high = self.range
        if low is None and high is None:
            raise ValueError(f"{self.key}: any value would be accepted; give a limit")
        if low is not None and high is not None and low > high:
            raise ValueError(f"{self.key}: the range from {low} to {high} is empty")
        return self

    @property
    def range(self) -> tuple[float | None, float | None]:
        """Lowest and highest value that is accepted; None: no limit."""
        if not isinstance(self.accept, str):
            return self.accept
        if not isinstance(self.published, int | float):
            raise ValueError(f"{self.key}: {self.accept} around {self.published!r}: not a number")
        if self.accept == "10%":
            return self.published * (1 - 0.1), self.published * (1 + 0.1)
        points = int(self.accept.removesuffix(" points")) / 100
        return self.published - points, self.published + points


class PublishedFinding(ModelPart):
    """A finding of a paper."""

    statement: str = Field(min_length=1, description="What the paper found, in one sentence.")
    source: str = Field(min_length=1, description="Section, table or figure of the paper.")
    conflict: str = Field(default="", description="Where the paper contradicts itself.")
    experiment: str = Field(default="", description="Experiment that measures its quantities.")
    quantities: tuple[Quantity, ...] = ()


class Paper(ModelPart):
    """The findings of a paper."""

    prefix: str = Field(pattern="^[A-Z]+$", description="Beginning of its ids.")
    title: str = Field(min_length=1, description="What it measured.")
    entry: str = Field(default="", description="Catalogue entry of its quantities.")
    findings: dict[str, PublishedFinding]

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        for name, finding in self.findings.items():
            if not name.startswith(f"{self.prefix}-"):
                raise ValueError(f"{name}: ids of this paper begin with {self.prefix}-")
            for one in finding.quantities:
                if not (one.experiment or finding.experiment) or not (one.entry or self.entry):
                    raise ValueError(f"{name}, {one.key}: name its experiment and entry")
        return self

    def rows(self) -> Iterator[tuple[str, Finding]]:
        """Yield the name of the experiment and the row of each quantity, in order."""
        for name, finding in self.findings.items():
            for one in finding.quantities:
                low, high = one.range
                given = one.model_dump(exclude={"experiment", "accept", "chosen"})
                given["entry"] = entry = one.entry or self.entry
                found = "calibrated" if one.chosen else find_role(entry, name, one.published)
                given["role"] = one.role or found
                row = Finding(id=name, statement=finding.statement, low=low, high=high, **given)
                yield one.experiment or finding.experiment, row


@cache
def papers() -> tuple[Paper, ...]:
    """Read the findings of all papers."""
    files = sorted(_FOLDER.iterdir(), key=lambda one: one.name)
    texts = (one.read_text(encoding="utf-8") for one in files if one.name.endswith(".yaml"))
    return tuple(Paper.model_validate(read_yaml(text)) for text in texts)


@cache
def findings_by_experiment() -> dict[str, tuple[Finding, ...]]:
    """Group the rows of all papers by the experiment that measures them."""
    found: dict[str, list[Finding]] = {}
    for paper in papers():
        for experiment, row in paper.rows():
            found.setdefault(experiment, []).append(row)
    return {experiment: tuple(rows) for experiment, rows in found.items()}


Measures = dict[str, Any]
#: Simulates a part of a run from a seed and returns small measures of it.
Piece = Callable[[int], Measures]


def average_pieces(pieces: Sequence[Measures]) -> Measures:
    """Return the mean of each measure over the pieces of a run."""
    return {key: np.mean([piece[key] for piece in pieces]) for key in pieces[0]}


def merge_pieces(pieces: Sequence[Measures]) -> Measures:
    """Return the measures of all pieces of a run, whose keys differ."""
    return {key: value for piece in pieces for key, value in piece.items()}


@dataclass(frozen=True)
class Experiment:
    """A set-up of a paper: what is simulated, and the values that follow from it.

    Its functions are functions of a module or partials of them, which other processes can load.

    Attributes:
        name: Name, unique among all experiments; seeds are derived from it.
        pieces: Simulations that make up one run, each in any process. Each takes a seed, which
            differs from piece to piece and from run to run, and returns small measures.
        combine: Returns the value of every finding's key from the measures of all pieces of a run;
            NaN marks a quantity that could not be measured.
        repeats: How often `reproduce` does it in each run, whose values are the means: more often
            where the mean of the default runs would still be a matter of the seed. Studies that
            move open values do it once.
    """

    name: str
    pieces: tuple[Piece, ...]
    combine: Callable[[Sequence[Measures]], Measures] = average_pieces
    repeats: int = 1

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Rows that it measures: those of the data files with its name."""
        return findings_by_experiment()[self.name]
