"""What differs between two fitted models by more than the uncertainty of their estimates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.data_frames import frame_rows
from trafficgen.distributions import MixedLaw
from trafficgen.formatting import format_count, format_duration, interval, number, rate_text
from trafficgen.models.estimate import Estimate, ModelPart
from trafficgen.models.law import Law
from trafficgen.models.parameters import name_members
from trafficgen.models.schema import Model
from trafficgen.models.stream import Phase
from trafficgen.notebook import NotebookView
from trafficgen.units import kbps_from_bps

if TYPE_CHECKING:
    import pandas as pd

#: Parts of a model that are compared; the others say where it comes from.
_PARTS = ("startup", "buffering", "playout", "streams", "response", "same_source")
#: Fields that say how a model was made, and ports, which the client's system chooses.
_IGNORED = {"choice", "evidence", "captures", "client_port", "server_port"}
#: Probabilities at which two laws are compared, atoms included.
_PROBABILITIES = np.linspace(0.0, 1.0, 2001)
#: Values of laws that differ by less, relative to them, count as the same.
_SAME_VALUE = 1e-3

Basis = Literal["interval", "law", "value", "no_interval"]


@dataclass(frozen=True)
class Difference:
    """One thing that differs.

    Attributes:
        what: Where it is in the model file; streams and phases by their names.
        basis: ``interval``: the intervals do not overlap, or one estimate is outside the interval
            of the other; ``law``: two laws are farther apart than chance explains; ``value``:
            something that has no uncertainty; ``no_interval``: numbers without an interval.
        first: In the first model: value, ``low`` and ``high`` of an estimate, the median of a law,
            or the value itself; None where it is missing.
        second: The same in the second model.
        ks: Kolmogorov-Smirnov distance of two laws; None for what is no law.
        ks_limit: Distance that two samples of this size exceed once in 20 times by chance.
    """

    what: str
    basis: Basis
    first: object
    second: object
    ks: float | None = None
    ks_limit: float | None = None

    def describe(self) -> str:
        """Say in a few words in what way they differ."""
        if self.basis == "law":
            return f"KS {number(self.ks, digits=3)}, chance {number(self.ks_limit, digits=3)}"
        words = {"interval": "beyond the interval", "value": "differs"}
        return words.get(self.basis, "no interval to judge by")


@dataclass(frozen=True, eq=False)
class ModelDifferences(NotebookView):
    """What differs between two fitted models.

    Attributes:
        differences: What differs: first what is beyond its interval, then laws, values, and
            numbers without an interval.
        matches: Number of estimates and laws that do not differ.

    Example:
        >>> import trafficgen
        >>> capture = "examples/captures/rtsp_rtp_two_streams.pcap.gz"
        >>> model = trafficgen.fit(capture).model
        >>> trafficgen.models_diff(model, model).differences
        ()
    """

    differences: tuple[Difference, ...]
    matches: int

    def __repr__(self) -> str:
        return f"<ModelDifferences: {self.summary}>"

    @property
    def summary(self) -> str:
        """How many estimates and laws differ, in one sentence."""
        judged = sum(one.basis in ("interval", "law") for one in self.differences)
        values = sum(one.basis == "value" for one in self.differences)
        total = judged + self.matches
        text = f"{judged} of {total:,} estimates and laws differ beyond their uncertainty"
        if values:
            text += f"; {format_count(values, 'property differs', 'properties differ')}"
        return text

    def to_pandas(self) -> pd.DataFrame:
        """Return a row a difference, with ``first`` and ``second`` as texts.

        Numbers of both are in columns of their own too: ``first_value``, ``first_low``,
        ``first_high`` and so on, in units of the model file.
        """
        names, rows = ("first", "second"), []
        numbers = [f"{name}_{part}" for name in names for part in ("value", "low", "high")]
        for one in self.differences:
            row = asdict(one)
            for name in names:
                side = row[name] if isinstance(row[name], dict) else {"value": row[name]}
                known = {part: x for part, x in side.items() if isinstance(x, int | float)}
                row |= {f"{name}_{part}": float(x) for part, x in known.items()}
                row[name] = describe_value(getattr(one, name))
            rows.append(row)
        texts = ("what", "basis", *names)
        return frame_rows(
            rows, dict.fromkeys(texts, str) | dict.fromkeys((*numbers, "ks", "ks_limit"), float)
        )

    def to_json(self) -> dict[str, object]:
        """Return the differences as `trafficgen models diff --json` prints them."""
        return {"differences": [asdict(one) for one in self.differences], "matches": self.matches}


def find_differences(first: Model, second: Model) -> ModelDifferences:
    """Compare two fitted models part by part; streams and phases are matched by their names."""
    found = [
        one
        for name in _PARTS
        for one in _compare(name, getattr(first, name), getattr(second, name))
    ]
    conditions = [getattr(model.provenance, "conditions", None) for model in (first, second)]
    found += _compare("provenance.conditions", *conditions)
    order: list[Basis] = ["interval", "law", "value", "no_interval"]
    differences = [one for one in found if one is not None]
    return ModelDifferences(
        differences=tuple(sorted(differences, key=lambda one: order.index(one.basis))),
        matches=len(found) - len(differences),
    )


def _compare(what: str, first: object, second: object) -> Iterator[Difference | None]:
    """Yield what differs, and None for each estimate or law that does not."""
    if isinstance(first, Estimate) and isinstance(second, Estimate):
        yield _compare_estimates(what, first, second)
    elif isinstance(first, Law) and isinstance(second, Law):
        yield _compare_laws(what, first, second)
    elif isinstance(first, Phase) and isinstance(second, Phase):
        yield from _compare_phases(what, first, second)
    elif isinstance(first, ModelPart) and type(first) is type(second):
        for name in type(first).model_fields:
            if name not in _IGNORED:
                yield from _compare(f"{what}.{name}", getattr(first, name), getattr(second, name))
    elif isinstance(first, tuple) and isinstance(second, tuple):
        if any(isinstance(one, ModelPart) for one in (*first, *second)):
            yield from _compare_members(what, name_members(first), name_members(second))
    elif isinstance(first, float) and isinstance(second, float):
        if not math.isclose(first, second):
            yield Difference(what, "no_interval", first, second)
    elif first != second:
        yield Difference(what, "value", _brief(first), _brief(second))


def _compare_phases(what: str, first: Phase, second: Phase) -> Iterator[Difference | None]:
    """Compare the fields of two phases; processes of two kinds by their mean rates and gaps."""
    for name in Phase.model_fields:
        one, other = getattr(first, name), getattr(second, name)
        if name == "process" and type(one) is not type(other):
            yield Difference(
                f"{what}.{name}", "value", _describe_rate(first), _describe_rate(second)
            )
        elif name not in _IGNORED:
            yield from _compare(f"{what}.{name}", one, other)


def _describe_rate(phase: Phase) -> str:
    """Describe a packet process by its kind, its mean rate, and its mean gap where it has sizes."""
    text = f"{phase.process.kind}: {rate_text(kbps_from_bps(phase.rate_bps))}"
    spacing_s = phase.packet_spacing_s
    return text if spacing_s is None else f"{text}, a packet every {format_duration(spacing_s)}"


def _compare_members(
    what: str, first: Mapping[str, object], second: Mapping[str, object]
) -> Iterator[Difference | None]:
    for name in dict.fromkeys((*first, *second)):
        yield from _compare(f"{what}.{name}", first.get(name), second.get(name))


def _compare_estimates(what: str, first: Estimate, second: Estimate) -> Difference | None:
    if math.isclose(first.value, second.value):
        return None
    (low, high), (other_low, other_high) = _ends(first), _ends(second)
    has_interval = low < high or other_low < other_high
    if has_interval and low <= other_high and other_low <= high:
        return None
    values, other_values = (
        {"value": one.value, "low": one.low, "high": one.high} for one in (first, second)
    )
    return Difference(what, "interval" if has_interval else "no_interval", values, other_values)


def _ends(estimate: Estimate) -> tuple[float, float]:
    """Return the ends of the interval; the value twice where it has no interval."""
    low = estimate.value if estimate.low is None else estimate.low
    return low, estimate.value if estimate.high is None else estimate.high


def _compare_laws(what: str, first: Law, second: Law) -> Difference | None:
    one, other = first.distribution(), second.distribution()
    ks, sizes = _ks_distance(one, other), (first.observations, second.observations)
    limit = KOLMOGOROV_95 * math.sqrt(sum(1 / size for size in sizes)) if all(sizes) else 0.0
    if ks <= limit:
        return None
    median, other_median = (float(law.ppf(0.5)) for law in (one, other))
    return Difference(what, "law", median, other_median, ks=ks, ks_limit=limit)


def _ks_distance(one: MixedLaw, other: MixedLaw) -> float:
    """Return how far two distribution functions are apart, small shifts of values allowed.

    Without them one atom at 66.666 ms and another at 66.667 ms would be as far apart as laws can
    be.
    """
    values = np.concatenate([law.ppf(_PROBABILITIES) for law in (one, other)])
    values = values[np.isfinite(values)]
    shifted = values + _SAME_VALUE * np.abs(values)
    above = (one.cdf(values) - other.cdf(shifted), other.cdf(values) - one.cdf(shifted))
    return max(0.0, *(float(difference.max()) for difference in above))


def _brief(value: object) -> object:
    """Return a part by its kind's key, an estimate by its value, anything else as it is."""
    if isinstance(value, Estimate):
        return value.value
    if isinstance(value, ModelPart):
        return getattr(value, "kind", None) or getattr(value, "name", None) or "there"
    return value


def describe_value(value: object) -> str:
    """Return one side of a difference as a table shows it."""
    if isinstance(value, dict):
        return f"{number(value['value'])} {interval(value['low'], value['high'])}".rstrip()
    return number(value) if isinstance(value, float) else "none" if value is None else str(value)
