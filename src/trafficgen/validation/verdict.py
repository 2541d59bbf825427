"""A comparison in words: what is like the reference, what no baseline does better, and what one
does.

Nothing is weighed or scored. A metric is judged by three facts of the comparison: its distance, the
distance that chance alone gives once in 20 times, and which baselines come closer by more than
that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from trafficgen.validation.baselines import COPIED_SAMPLES
from trafficgen.validation.compare import Comparison


class Grade(StrEnum):
    """What can be said of one metric or of a group of them; the value is how it reads."""

    WITHIN_CHANCE = "within chance of the reference"
    CLOSEST = "closer than every baseline"
    MET = "as close as the closest baseline"
    PARTLY_BEATEN = "partly farther than a baseline"
    BEATEN = "farther than a baseline"
    UNLIKE = "on one side only"
    NOT_RANKED = "different, and no baseline ranks it"
    NOT_COMPUTED = "not computed"


#: How a baseline is called in a sentence.
BASELINE_WORDS = {"cbr": "constant rate", "poisson": "Poisson", "renewal": "resampling"}

_LABELS = {
    "sizes": "packet sizes",
    "gaps": "packet gaps",
    "rates": "rates",
    "smoothness": "rate changes",
    "bursts": "bursts",
    "dependence": "dependence over time",
    "phases": "start-up",
    "amounts": "amounts",
}
#: First part of a metric's flat name -> its group; what is not named here is an amount, such as
#: packets or bytes.
_GROUP_OF = {
    "packet_bytes": "sizes",
    "gap_s": "gaps",
    "rate": "rates",
    "smoothness": "smoothness",
    "burst_packets": "bursts",
    "burst_spacing_s": "bursts",
    "rate_acf": "dependence",
    "variance_time": "dependence",
    "hurst": "dependence",
    "phases": "phases",
}
_RELATIVE = ".relative_difference"


@dataclass(frozen=True)
class MetricVerdict:
    """What can be said of one metric.

    Attributes:
        name: Flat name, such as ``gap_s.ks``.
        distance: Distance of the candidate from the reference; NaN where it cannot be computed.
        grade: How it stands, never ``PARTLY_BEATEN``.
        ties: Baselines that differ from the candidate by no more than chance.
        losses: Baselines that come closer by more than chance.
    """

    name: str
    distance: float
    grade: Grade
    ties: tuple[str, ...]
    losses: tuple[str, ...]


@dataclass(frozen=True)
class GroupVerdict:
    """What can be said of the metrics that look at one thing.

    Attributes:
        group: Short name, such as ``sizes``.
        label: What is looked at, in words.
        grade: That of all its metrics together: the worst of them, and ``PARTLY_BEATEN`` where only
            some are beaten.
        metrics: The verdict on each metric.
        sentence: The verdict in words, without the label.
    """

    group: str
    label: str
    grade: Grade
    metrics: tuple[MetricVerdict, ...]
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """A comparison in words.

    Attributes:
        groups: A verdict for each group of metrics, in the order of the comparison.
        counts: Metrics by grade, largest first in the order of :class:`Grade`; grades that no
            metric has are left out.
    """

    groups: tuple[GroupVerdict, ...]
    counts: dict[Grade, int]

    @property
    def summary(self) -> str:
        """One sentence over all metrics: how many stand how."""
        judged = sum(self.counts.values())
        parts = [f"{count} {_counted(grade, count)}" for grade, count in self.counts.items()]
        return f"Of {judged} metrics {_listed(parts)}." if parts else "There is no metric to judge."

    def lines(self) -> list[str]:
        """Return the verdict as lines of text: groups of one grade together, then the summary."""
        sentences = [
            f"{_listed([group.label for group in found])}: {text}"
            for text, found in self._by_sentence()
        ]
        return [sentence[0].upper() + sentence[1:] + "." for sentence in sentences] + [self.summary]

    def _by_sentence(self) -> list[tuple[str, list[GroupVerdict]]]:
        found: dict[str, list[GroupVerdict]] = {}
        for group in sorted(self.groups, key=lambda one: list(Grade).index(one.grade)):
            found.setdefault(group.sentence, []).append(group)
        return list(found.items())


def verdict_of(comparison: Comparison) -> Verdict:
    """Return what a comparison says, in words; the same comparison gives the same words.

    A metric is *within chance* where its distance is 0 or below that which chance alone gives once
    in 20 times; else it is *closer than every baseline*, *as close as the closest* (one differs
    from it by no more than chance, none is closer) or *farther than a baseline*. A baseline whose
    metric cannot be computed is not counted against it.
    """
    flat, baselines = comparison.flat(), comparison.flat_baselines()
    metrics: dict[str, list[MetricVerdict]] = {}
    for name in flat:
        group = _GROUP_OF.get(name.split(".")[0], "amounts")
        metrics.setdefault(group, []).append(_judged(comparison, name, flat, baselines))
    groups = tuple(
        _group_verdict(comparison, group, tuple(parts)) for group, parts in metrics.items()
    )
    grades = [metric.grade for group in groups for metric in group.metrics]
    counts = {grade: grades.count(grade) for grade in Grade if grade in grades}
    return Verdict(groups=groups, counts=counts)


def losses(comparison: Comparison) -> dict[str, list[str]]:
    """Return by flat name of a metric the baselines that come closer than the candidate by more
    than chance.
    """
    baselines = comparison.flat_baselines()
    return {
        name: _closer(comparison, name, value, baselines)
        for name, value in comparison.flat().items()
    }


def _closer(
    comparison: Comparison, name: str, value: float, baselines: Mapping[str, Mapping[str, float]]
) -> list[str]:
    if (
        name not in comparison.wins
    ):  # nothing to rank: not computed, or a total that baselines take from the reference
        return []
    met = {*comparison.wins[name], *comparison.ties[name]}
    return [
        key
        for key, other in baselines.items()
        if key not in met and other.get(name, math.nan) < value
    ]


def _judged(
    comparison: Comparison,
    name: str,
    flat: Mapping[str, float],
    baselines: Mapping[str, Mapping[str, float]],
) -> MetricVerdict:
    value, ties = flat[name], tuple(comparison.ties.get(name, ()))
    closer = tuple(_closer(comparison, name, value, baselines))
    if math.isnan(value):
        grade = Grade.UNLIKE if _on_one_side(comparison.metrics, name) else Grade.NOT_COMPUTED
    elif value == 0 or value < comparison.noise.get(name, 0.0):
        grade = Grade.WITHIN_CHANCE
    elif closer:
        grade = Grade.BEATEN
    elif ties:
        grade = Grade.MET
    else:
        grade = Grade.CLOSEST if comparison.wins.get(name) else Grade.NOT_RANKED
    return MetricVerdict(name, value, grade, ties, closer)


def _on_one_side(metrics: object, name: str) -> bool:
    """Return whether one side has a value that the other lacks, where the metric is a pair of
    values.
    """
    for key in name.split("."):
        metrics = metrics[key] if isinstance(metrics, Mapping) and key in metrics else None
    pair = list(metrics.values()) if isinstance(metrics, Mapping) else metrics
    if not isinstance(pair, list) or not all(isinstance(side, float) for side in pair):
        return False
    return len({math.isnan(side) for side in pair}) > 1


def _group_verdict(
    comparison: Comparison, group: str, metrics: tuple[MetricVerdict, ...]
) -> GroupVerdict:
    known = [metric for metric in metrics if metric.grade is not Grade.NOT_COMPUTED]
    grade = _worst({metric.grade for metric in known})
    sentence = _sentence(known) if known else _why_not_computed(comparison, group, metrics)
    if known and len(known) < len(metrics):
        missing = [metric.name for metric in metrics if metric.grade is Grade.NOT_COMPUTED]
        sentence += f"; {_listed(missing)} cannot be computed"
    if copies := _copies(group, known):
        sentence += (
            f" ({_baselines(copies)} {_verb('takes', 'take', copies)} them from the reference)"
        )
    return GroupVerdict(group, _LABELS[group], grade, metrics, sentence)


def _worst(grades: set[Grade]) -> Grade:
    """Return the grade of a group from those of its metrics that are known."""
    if not grades:
        return Grade.NOT_COMPUTED
    if Grade.BEATEN in grades and grades != {Grade.BEATEN}:
        return Grade.PARTLY_BEATEN
    return max(grades, key=list(Grade).index)


def _sentence(metrics: Sequence[MetricVerdict]) -> str:
    """Return the verdict on the known metrics of a group: what is wrong by name, then what holds of
    the others.
    """
    parts = []
    beaten: dict[tuple[str, ...], list[str]] = {}
    for metric in _of(metrics, Grade.BEATEN):
        beaten.setdefault(metric.losses, []).append(metric.name)
    parts += [
        f"farther than {_baselines(others)} in {_named(names, metrics)}"
        for others, names in beaten.items()
    ]
    if unlike := _of(metrics, Grade.UNLIKE):
        parts.append(f"only one side has {_listed(metric.name for metric in unlike)}")
    if alone := _of(metrics, Grade.NOT_RANKED):
        parts.append(_not_ranked_words(alone))
    rest = _of(metrics, Grade.MET, Grade.CLOSEST, Grade.WITHIN_CHANCE)
    if rest:
        parts.append(("otherwise " if parts else "") + _unbeaten_words(rest))
    return "; ".join(parts)


def _named(names: Sequence[str], metrics: Sequence[MetricVerdict]) -> str:
    """Return metrics in few words: what all distances of a thing share is said once, a whole group
    by its number.
    """
    if len(names) == len(metrics) > 1:
        return "both metrics" if len(names) == 2 else f"all {len(names)} metrics"
    every: dict[str, list[str]] = {}
    for metric in metrics:
        every.setdefault(metric.name.rpartition(".")[0], []).append(metric.name)
    shown: dict[str, None] = {}
    for name in names:
        stem = name.rpartition(".")[0]
        whole = len(every[stem]) > 1 and set(every[stem]) <= set(names)
        shown[stem if whole else name] = None
    return _listed(shown)


def _not_ranked_words(metrics: Sequence[MetricVerdict]) -> str:
    relative = [metric for metric in metrics if metric.name.endswith(_RELATIVE)]
    parts = [
        f"{metric.name.removesuffix(_RELATIVE)} {metric.distance:.2%} off" for metric in relative
    ]
    others = [
        f"{metric.name} off by {metric.distance:.3g}"
        for metric in metrics
        if metric not in relative
    ]
    return _listed([*parts, *others]) + (", where no baseline has a value" if others else "")


def _unbeaten_words(metrics: Sequence[MetricVerdict]) -> str:
    """Return what holds of metrics of which none is beaten."""
    if met := _of(metrics, Grade.MET):
        return f"as close as {_baselines(tie for metric in met for tie in metric.ties)}"
    if not (closest := _of(metrics, Grade.CLOSEST)):
        return Grade.WITHIN_CHANCE.value
    if len(closest) == len(metrics):
        return Grade.CLOSEST.value
    return f"{Grade.CLOSEST.value} or {Grade.WITHIN_CHANCE.value}"


def _why_not_computed(comparison: Comparison, group: str, metrics: Sequence[MetricVerdict]) -> str:
    if group == "phases":
        return "neither side has a buffering phase"
    if group == "bursts" and comparison.burst_threshold_s is None:
        return "the reference has none"
    names = [f"{metric.name}." for metric in metrics]
    reasons = {
        why
        for key, why in comparison.absent.items()
        if any(name.startswith(f"{key}.") for name in names)
    }
    return "; ".join(sorted(reasons)) or "too few packets to tell"


def _copies(group: str, metrics: Sequence[MetricVerdict]) -> list[str]:
    """Return the baselines that are met or closer because they resample just this from the
    reference.
    """
    samples = {name for name, its_group in _GROUP_OF.items() if its_group == group}
    rivals = _of(metrics, Grade.MET, Grade.BEATEN)
    named = {other for metric in rivals for other in (*metric.ties, *metric.losses)}
    return [name for name, copied in COPIED_SAMPLES.items() if name in named and samples & copied]


def _of(metrics: Sequence[MetricVerdict], *grades: Grade) -> list[MetricVerdict]:
    return [metric for metric in metrics if metric.grade in grades]


def _counted(grade: Grade, count: int) -> str:
    if grade is Grade.UNLIKE:
        return f"{_verb('has', 'have', range(count))} a value on one side only"
    if grade is Grade.NOT_RANKED:
        return (
            f"{_verb('differs', 'differ', range(count))} without a baseline to rank"
            f" {_verb('it', 'them', range(count))}"
        )
    return f"{_verb('is', 'are', range(count))} {grade.value}"


def _verb(one: str, many: str, things: Sequence[object]) -> str:
    return one if len(things) == 1 else many


def _baselines(names: Iterable[str]) -> str:
    return _listed(BASELINE_WORDS.get(name, name) for name in dict.fromkeys(names))


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
