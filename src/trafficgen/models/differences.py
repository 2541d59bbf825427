"""What differs between two fitted models by more than the uncertainty of their estimates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from trafficgen.critical_values import KOLMOGOROV_95
from trafficgen.data_frames import frame_rows
from trafficgen.distributions import MixedLaw
from trafficgen.distributions.law import Law
from trafficgen.formatting import (
    format_count,
    format_duration,
    format_quantity,
    interval,
    number,
    rate_text,
)
from trafficgen.model_parts.estimate import Estimate, ModelPart
from trafficgen.models.parameters import name_members
from trafficgen.models.response import describe_capacity
from trafficgen.models.schema import Model
from trafficgen.models.stream import Phase, Stream
from trafficgen.notebook import NotebookView
from trafficgen.processes.trains.model import Trains
from trafficgen.units import kbps_from_bps

if TYPE_CHECKING:
    import pandas as pd

#: Parts of a model that are compared; the others say where it comes from.
_PARTS = ("startup", "buffering", "playout", "streams", "response", "same_source")
#: Fields that say how a model was made, and ports, which the client's system chooses.
_IGNORED = {"choice", "evidence", "captures", "client_port", "server_port"}
#: What a stream carries where that is not known for certain.
_UNSURE_MEDIA = {"mixed", "unknown"}
#: Parts of a measured quantity, which have its unit.
_STATISTICS = ("median", "p95", "largest")
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
        ks: Kolmogorov-Smirnov distance of two laws; None for what is not a law.
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
        pairs: Names, in the first and the second model, of streams that are compared though their
            names differ.

    Example:
        >>> import trafficgen
        >>> capture = "examples/captures/rtsp_rtp_two_streams.pcap.gz"
        >>> model = trafficgen.fit(capture).model
        >>> trafficgen.models_diff(model, model).differences
        ()
    """

    differences: tuple[Difference, ...]
    matches: int
    pairs: tuple[tuple[str, str], ...] = ()

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
        for one, other in self.pairs:
            text += f"; stream {one} is compared with {other}, the nearest by role and rate"
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
                row[name] = describe_value(one.what, getattr(one, name))
            rows.append(row)
        texts = ("what", "basis", *names)
        return frame_rows(
            rows, dict.fromkeys(texts, str) | dict.fromkeys((*numbers, "ks", "ks_limit"), float)
        )

    def to_json(self) -> dict[str, object]:
        """Return the differences as `trafficgen models diff --json` prints them."""
        return {
            "differences": [asdict(one) for one in self.differences],
            "matches": self.matches,
            "pairs": [list(pair) for pair in self.pairs],
        }


def find_differences(first: Model, second: Model) -> ModelDifferences:
    """Compare two fitted models part by part; streams and phases are matched by their names.

    Streams without a partner of their name are matched by what they carry and by their rates.
    """
    pairs = _pair_streams(first, second)
    names = {other: one for one, other in pairs}
    streams = [
        one.model_copy(update={"name": names[one.name]}) if one.name in names else one
        for one in second.streams
    ]
    second = second.model_copy(update={"streams": tuple(streams)}) if pairs else second
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
        pairs=pairs,
    )


def _pair_streams(first: Model, second: Model) -> tuple[tuple[str, str], ...]:
    """Return the names of streams that only one model has, with what comes nearest in the other.

    One that is known as audio is not a partner of one that is known as video.
    """
    names = [{one.name for one in model.streams} for model in (first, second)]
    alone = [one for one in first.streams if one.name not in names[1]]
    left = [one for one in second.streams if one.name not in names[0]]
    pairs = []
    for one in sorted(alone, key=_mean_rate_bps, reverse=True):
        partners = [
            other
            for other in left
            if one.media == other.media or {one.media, other.media} & _UNSURE_MEDIA
        ]
        if partners:
            other = min(
                partners, key=lambda other: (one.media != other.media, _rate_distance(one, other))
            )
            left.remove(other)
            pairs.append((one.name, other.name))
    return tuple(pairs)


def _mean_rate_bps(stream: Stream) -> float:
    lengths_s = [phase.end_s - phase.start_s for phase in stream.phases]
    sizes = [s * phase.rate_bps for s, phase in zip(lengths_s, stream.phases, strict=True)]
    return sum(sizes) / max(1e-9, sum(lengths_s))


def _rate_distance(one: Stream, other: Stream) -> float:
    rates_bps = [max(1.0, _mean_rate_bps(stream)) for stream in (one, other)]
    return abs(math.log(rates_bps[0] / rates_bps[1]))


def _compare(what: str, first: object, second: object) -> Iterator[Difference | None]:
    """Yield what differs, and None for each estimate or law that does not."""
    if isinstance(first, Trains) and isinstance(second, Trains):
        return  # stretches of two captures, which never are the same
    if isinstance(first, Estimate) and isinstance(second, Estimate):
        yield _compare_estimates(what, first, second)
    elif isinstance(first, Law) and isinstance(second, Law):
        yield _compare_laws(what, first, second)
    elif isinstance(first, Phase) and isinstance(second, Phase):
        yield from _compare_phases(what, first, second)
    elif isinstance(first, ModelPart) and type(first) is type(second):
        for name in type(first).model_fields:
            if name not in _IGNORED:
                sides = [_in_words(name, getattr(one, name)) for one in (first, second)]
                yield from _compare(f"{what}.{name}", *sides)
    elif isinstance(first, tuple) and isinstance(second, tuple):
        if any(isinstance(one, ModelPart) for one in (*first, *second)):
            yield from _compare_members(what, name_members(first), name_members(second))
    elif isinstance(first, float) and isinstance(second, float):
        if not math.isclose(first, second):
            yield Difference(what, "no_interval", first, second)
    elif first != second:
        yield Difference(what, "value", _brief(first), _brief(second))


def _in_words(name: str, value: object) -> object:
    """Describe the capacity over time, whose steps are at other times in each capture."""
    if name == "capacity" and isinstance(value, tuple) and value:
        return describe_capacity(value)
    return value


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


def describe_value(what: str, value: object) -> str:
    """Return one side of a difference as a table shows it, in the unit of its name."""
    if value is None:
        return "none"
    whole, _, part = what.rpartition(".")
    text = partial(format_quantity, whole if part in _STATISTICS else what)
    if isinstance(value, dict):
        ends = interval(value["low"], value["high"], text)
        return f"{text(value['value'])} {ends}".rstrip()
    return text(value) if isinstance(value, int | float) else str(value)
