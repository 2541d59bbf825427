"""Roles of published quantities: what a row that falls within its range proves.

A role follows from the catalogue entry, so that nobody claims a prediction: `input`, the figure
is in the entry; `calibrated`, a value of the entry was taken from the finding or chosen with it
in view; `predicted`, neither.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from trafficgen.models.published import load_entry
from trafficgen.models.published_model import Parameter, PublishedModel, TablePart, leaves

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
