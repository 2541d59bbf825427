"""Judge a comparison in words: what matches the reference, and what a baseline does better.

Nothing is weighed or scored. Three facts decide on a metric: its distance, the distance that chance
alone exceeds once in 20 times, and which baselines are closer by more than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from trafficgen.formatting import format_duration
from trafficgen.validation.measurement import COPIED_SAMPLES

if TYPE_CHECKING:
    from trafficgen.validation.measurement import Measurement


class _Compared(Protocol):
    """The facts of a comparison that a verdict is made of; see ``Comparison`` for each."""

    @property
    def metrics(self) -> Mapping[str, object]: ...
    @property
    def wins(self) -> Mapping[str, Sequence[str]]: ...
    @property
    def ties(self) -> Mapping[str, Sequence[str]]: ...
    @property
    def noise(self) -> Mapping[str, float]: ...
    @property
    def absent(self) -> Mapping[str, str]: ...
    @property
    def burst_threshold_s(self) -> float | None: ...
    @property
    def sides(self) -> tuple[Measurement, Measurement] | None: ...
    def flat(self) -> Mapping[str, float]: ...
    def flat_baselines(self) -> Mapping[str, Mapping[str, float]]: ...


class Grade(StrEnum):
    """Grade of a metric or of a group of metrics, best first; the value is its text."""

    MATCH = "no difference found in this sample"
    CLOSEST = "closer than every baseline"
    MET = "as close as the closest baseline"
    PARTLY_BEATEN = "partly worse than a baseline"
    BEATEN = "worse than a baseline"
    UNLIKE = "on one side only"
    NOT_RANKED = "different, with no baseline to rank it"
    TOO_FEW = "too few values to compare"
    NOT_COMPUTED = "not computed"


#: Names of the baselines for people.
BASELINE_NAMES = {"cbr": "constant rate", "poisson": "Poisson", "renewal": "resampling"}

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
#: First part of a metric's flat name -> its group; others, such as packets, are amounts.
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
#: How the summary counts the metrics of a grade, one and several; matches come first.
_COUNTED = {
    Grade.CLOSEST: ("is closer than every baseline", "are closer than every baseline"),
    Grade.MET: ("is as close as the best baseline", "are as close as the best baseline"),
    Grade.BEATEN: ("is worse than a simple baseline", "are worse than a simple baseline"),
    Grade.UNLIKE: ("exists on one side only", "exist on one side only"),
    Grade.NOT_RANKED: ("has no baseline", "have no baseline"),
    Grade.TOO_FEW: ("has too few values to compare", "have too few values to compare"),
    Grade.NOT_COMPUTED: ("was not computed", "were not computed"),
}
#: Grades that say nothing of the candidate.
_UNKNOWN = (Grade.TOO_FEW, Grade.NOT_COMPUTED)
#: Where chance alone gives a larger KS distance, which is 1 at most, only samples that hardly
#: overlap could show a difference: seven values on both sides are needed.
_MOST_CHANCE = 0.75
_RELATIVE = ".relative_difference"
#: Metric of a total -> the total.
_TOTALS = {"packets": "packets", "bytes": "ip_bytes", "duration": "duration_s"}
_BURST_END = "phases.buffering_end_s"


@dataclass(frozen=True)
class MetricVerdict:
    """Verdict on one metric, by its flat name such as ``gap_s.ks``.

    Attributes:
        distance: Distance of the candidate from the reference; NaN where it cannot be computed.
        ties: Baselines that differ from the candidate by chance at most.
        losses: Baselines that are closer by more than chance.
    """

    name: str
    distance: float
    grade: Grade
    ties: tuple[str, ...]
    losses: tuple[str, ...]


@dataclass(frozen=True)
class GroupVerdict:
    """Verdict on the metrics that look at one thing.

    Attributes:
        group: Short name, such as ``sizes``; ``label`` is for people.
        grade: The worst grade of its metrics; ``PARTLY_BEATEN`` where only some are beaten.
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
        counts: Number of metrics of each grade, in the order of :class:`Grade`; without zeros.
    """

    groups: tuple[GroupVerdict, ...]
    counts: dict[Grade, int]

    def __repr__(self) -> str:
        return f"<Verdict: {self.summary.removesuffix('.')}>"

    @property
    def summary(self) -> str:
        """How many metrics have which grade, in one sentence."""
        total, matches = sum(self.counts.values()), self.counts.get(Grade.MATCH, 0)
        parts = [f"{matches} of {total} metrics {'matches' if matches == 1 else 'match'}"]
        parts += [
            f"{count} {_COUNTED[grade][count > 1]}"
            for grade, count in self.counts.items()
            if grade in _COUNTED
        ]
        return f"{'; '.join(parts)}." if total else "There is no metric to judge."

    def lines(self) -> list[str]:
        """Return the verdict as lines of text, best first: groups with one verdict, the summary."""
        labels: dict[str, list[str]] = {}
        for group in sorted(self.groups, key=lambda one: list(Grade).index(one.grade)):
            labels.setdefault(group.sentence, []).append(group.label)
        texts = [f"{_join(found)}: {sentence}." for sentence, found in labels.items()]
        return [*(text[0].upper() + text[1:] for text in texts), self.summary]


def judge(comparison: _Compared) -> Verdict:
    """Judge a comparison in words; the same comparison gives the same words.

    A metric *matches* where its distance is 0 or below the one that chance alone exceeds once in 20
    times. Where samples are so few that almost any distance is below that one, there are *too few
    values to compare*: neither a match nor a difference. Otherwise it is *closer than every
    baseline*, *as close as the closest* (one differs from it by chance at most, none is closer) or
    *worse than a baseline*. A baseline whose metric cannot be computed does not count.
    """
    groups: dict[str, list[MetricVerdict]] = {}
    for name in comparison.flat():
        group = _GROUP_OF.get(name.split(".")[0], "amounts")
        groups.setdefault(group, []).append(_judge_metric(comparison, name))
    verdicts = tuple(_judge_group(comparison, *item) for item in groups.items())
    grades = [metric.grade for metrics in groups.values() for metric in metrics]
    counts = {grade: grades.count(grade) for grade in Grade if grade in grades}
    return Verdict(groups=verdicts, counts=counts)


def find_closer_baselines(comparison: _Compared, name: str) -> list[str]:
    """Find the baselines that are closer than the candidate in a metric, beyond chance."""
    if name not in comparison.wins:  # not computed, or a total that baselines copy
        return []
    distance = comparison.flat()[name]
    met = {*comparison.wins[name], *comparison.ties[name]}
    return [
        key
        for key, other in comparison.flat_baselines().items()
        if key not in met and other.get(name, math.nan) < distance
    ]


def _judge_metric(comparison: _Compared, name: str) -> MetricVerdict:
    distance, ties = comparison.flat()[name], tuple(comparison.ties.get(name, ()))
    closer = tuple(find_closer_baselines(comparison, name))
    if math.isnan(distance):
        grade = Grade.UNLIKE if _is_on_one_side(comparison.metrics, name) else Grade.NOT_COMPUTED
    elif distance == 0 or distance < comparison.noise.get(name, 0.0):
        can_judge = distance == 0 or not _has_too_few(comparison, name)
        grade = Grade.MATCH if can_judge else Grade.TOO_FEW
    elif closer:
        grade = Grade.BEATEN
    elif ties:
        grade = Grade.MET
    else:
        grade = Grade.CLOSEST if comparison.wins.get(name) else Grade.NOT_RANKED
    return MetricVerdict(name, distance, grade, ties, closer)


def _has_too_few(comparison: _Compared, name: str) -> bool:
    """Return whether a metric's samples are too few for their KS distance to show anything."""
    return comparison.noise.get(f"{name.rpartition('.')[0]}.ks", 0.0) > _MOST_CHANCE


def _is_on_one_side(metrics: object, name: str) -> bool:
    """Return whether a metric is a pair of values of which one side lacks its own."""
    return len({math.isnan(side) for side in _pair_of(metrics, name)}) > 1


def _pair_of(metrics: object, name: str) -> list[float]:
    """Return a metric's values of reference and candidate; nothing where it is not a pair."""
    for key in name.split("."):
        metrics = metrics[key] if isinstance(metrics, Mapping) and key in metrics else None
    pair = list(metrics.values()) if isinstance(metrics, Mapping) else metrics
    is_pair = isinstance(pair, list) and all(isinstance(side, float) for side in pair)
    return pair if isinstance(pair, list) and is_pair else []


def _judge_group(
    comparison: _Compared, group: str, metrics: Sequence[MetricVerdict]
) -> GroupVerdict:
    known = [metric for metric in metrics if metric.grade not in _UNKNOWN]
    missing = [metric.name for metric in _of(metrics, Grade.NOT_COMPUTED)]
    parts = [_describe(comparison, known)] if known else []
    if few := _of(metrics, Grade.TOO_FEW):
        names = _name_metrics([metric.name for metric in few], metrics) if known else ""
        parts.append(_describe_few(comparison, few[0].name, names))
    if missing and known:
        parts.append(f"{_join(missing)} could not be computed")
    sentence = "; ".join(parts) or _explain_absence(comparison, group, missing)
    if copies := _copying_baselines(group, known):
        verb = "copies" if len(copies) == 1 else "copy"
        sentence += f" ({_name_baselines(copies)} {verb} them from the reference)"
    grade = _worst({metric.grade for metric in known or metrics})
    return GroupVerdict(group, _LABELS[group], grade, tuple(metrics), sentence)


def _worst(grades: set[Grade]) -> Grade:
    if Grade.BEATEN in grades and grades != {Grade.BEATEN}:
        return Grade.PARTLY_BEATEN
    return max(grades, key=list(Grade).index)


def _describe(comparison: _Compared, metrics: Sequence[MetricVerdict]) -> str:
    """Describe the computed metrics of a group: problems by name first, then the others."""
    beaten: dict[tuple[str, ...], list[str]] = {}
    for metric in _of(metrics, Grade.BEATEN):
        beaten.setdefault(metric.losses, []).append(metric.name)
    parts = [
        f"worse than {_name_baselines(others)} in {_name_metrics(names, metrics)}"
        for others, names in beaten.items()
    ]
    if unlike := _of(metrics, Grade.UNLIKE):
        parts += _describe_one_sided(comparison, [metric.name for metric in unlike])
    if alone := _of(metrics, Grade.NOT_RANKED):
        parts.append(_describe_unranked(comparison, alone))
    if rest := _of(metrics, Grade.MET, Grade.CLOSEST, Grade.MATCH):
        parts.append(("otherwise " if parts else "") + _describe_unbeaten(rest))
    return "; ".join(parts)


def _describe_one_sided(comparison: _Compared, names: Sequence[str]) -> list[str]:
    """Say which side has what the other one lacks; a start-up burst with its end."""
    ends, parts = _pair_of(comparison.metrics, _BURST_END), []
    if _BURST_END in names:
        sides = ("reference", "candidate") if math.isnan(ends[1]) else ("candidate", "reference")
        end_s = min(ends, key=math.isnan)
        until = format_duration(end_s)
        parts = [f"the {sides[0]} has a start-up burst (until {until}), the {sides[1]} has none"]
        if comparison.sides is not None:
            reference, candidate = (each.share_until(end_s) for each in comparison.sides)
            parts[0] += (
                f" that a test confirms (bytes until then: reference {reference:.0%}, candidate"
                f" {candidate:.0%})"
            )
        names = [name for name in names if not name.startswith("phases.")]
    for name in names:
        has = "candidate" if math.isnan(_pair_of(comparison.metrics, name)[0]) else "reference"
        parts.append(f"only the {has} has {name}")
    return parts


def _describe_few(comparison: _Compared, metric: str, names: str) -> str:
    """Say that there are too few values, in the named metrics alone, and how many if known."""
    stem = metric.rpartition(".")[0]
    values = "bursts" if _GROUP_OF.get(stem) == "bursts" else "values"
    text = f"too few {values}{f' in {names}' if names else ''} to compare"
    if comparison.sides is None:
        return text
    one, other = (side.samples[stem].size for side in comparison.sides)
    return f"{text} ({one} in the reference, {other} in the candidate)"


def _name_metrics(names: Sequence[str], metrics: Sequence[MetricVerdict]) -> str:
    """Name metrics in few words: a whole group by its number, all distances of a thing once."""
    if len(names) == len(metrics) > 1:
        return "both metrics" if len(names) == 2 else f"all {len(names)} metrics"
    every: dict[str, set[str]] = {}
    for metric in metrics:
        every.setdefault(metric.name.rpartition(".")[0], set()).add(metric.name)
    stems = {name: name.rpartition(".")[0] for name in names}
    whole = {stem for stem in stems.values() if len(every[stem]) > 1 and every[stem] <= set(names)}
    return _join(dict.fromkeys(stem if stem in whole else name for name, stem in stems.items()))


def _describe_unranked(comparison: _Compared, metrics: Sequence[MetricVerdict]) -> str:
    parts, others = [], []
    for metric in metrics:
        if metric.name.endswith(_RELATIVE):
            name = metric.name.removesuffix(_RELATIVE)
            share = f"{metric.distance:.2%}"
            sign = _sign(comparison, name) if float(share[:-1]) else ""
            parts.append(f"{name} {sign}{share} off")
        else:
            others.append(f"{metric.name} {metric.distance:.3g} off")
    return _join([*parts, *others]) + (" (no baseline to compare with)" if others else "")


def _sign(comparison: _Compared, total: str) -> str:
    """Return + where the candidate has more of a total than the reference, - where it has less."""
    if comparison.sides is None or total not in _TOTALS:
        return ""
    one, other = (getattr(each.totals, _TOTALS[total]) for each in comparison.sides)
    return "+" if other > one else "-"


def _describe_unbeaten(metrics: Sequence[MetricVerdict]) -> str:
    if met := _of(metrics, Grade.MET):
        return f"as close as {_name_baselines(tie for metric in met for tie in metric.ties)}"
    if not (closest := _of(metrics, Grade.CLOSEST)):
        return Grade.MATCH.value
    if len(closest) == len(metrics):
        return Grade.CLOSEST.value
    return f"{Grade.CLOSEST.value}, or {Grade.MATCH.value}"


def _explain_absence(comparison: _Compared, group: str, names: Sequence[str]) -> str:
    if group == "phases":
        return "no start-up burst was detected in either capture"
    if group == "bursts" and comparison.burst_threshold_s is None:
        return "the reference has none"
    reasons = {
        why
        for key, why in comparison.absent.items()
        if any(f"{name}.".startswith(f"{key}.") for name in names)
    }
    return "; ".join(sorted(reasons)) or "too few packets"


def _copying_baselines(group: str, metrics: Sequence[MetricVerdict]) -> list[str]:
    """Return the tied or closer baselines that resample just this group from the reference."""
    samples = {name for name, its_group in _GROUP_OF.items() if its_group == group}
    rivals = _of(metrics, Grade.MET, Grade.BEATEN)
    named = {other for metric in rivals for other in (*metric.ties, *metric.losses)}
    return [name for name, copied in COPIED_SAMPLES.items() if name in named and samples & copied]


def _of(metrics: Sequence[MetricVerdict], *grades: Grade) -> list[MetricVerdict]:
    return [metric for metric in metrics if metric.grade in grades]


def _name_baselines(names: Iterable[str]) -> str:
    return _join(BASELINE_NAMES.get(name, name) for name in dict.fromkeys(names))


def _join(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
