"""Two-sample test by a classifier: can it distinguish the candidate from the reference?

A classifier is trained to distinguish reference and candidate and judged on data it has not seen
(Lopez-Paz and Oquab, "Revisiting classifier two-sample tests", ICLR 2017). Its AUC is the share of
pairs, one of each side, in which it gives the candidate's the higher score: 0.5 where it cannot
distinguish them, 1 where it always can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from scipy import special, stats

from trafficgen.flows import SessionView
from trafficgen.formatting import number
from trafficgen.randomness import random_stream
from trafficgen.units import BoolArray, FloatArray, IntArray
from trafficgen.validation.windows import (
    FEATURES,
    SESSION_FEATURES,
    Described,
    SessionRows,
    describe_sessions,
    describe_windows,
    split_sessions,
)

#: Lengths of windows, s: the longest that gives both sides enough of them.
_WINDOWS_S = (10.0, 5.0, 2.0, 1.0)
_ENOUGH, FEWEST = 12, 8
_FOLDS, _BLOCKS = 5, 10
_PERMUTATIONS = 499
#: Ridge penalty as a share of the variance of a feature.
_PENALTY = 0.3
#: A feature that is undefined in more of the windows of a side is left out.
_MOST_UNDEFINED = 0.5
#: Features that are named in the text.
_NAMED = 3
_LABELS = {**FEATURES, **SESSION_FEATURES}


@dataclass(frozen=True)
class FeatureDifference:
    """How well one feature alone distinguishes the sides.

    Attributes:
        name: Such as ``gap_acf_1``; ``label`` is for people.
        auc: AUC of the feature alone, from 0.5 on.
        reference: Median over the windows or sessions of the reference; ``candidate`` likewise.
    """

    name: str
    auc: float
    reference: float
    candidate: float

    @property
    def label(self) -> str:
        """What the feature is, in words."""
        return _LABELS[self.name]


@dataclass(frozen=True)
class TwoSampleTest:
    """A classifier's attempt to distinguish a candidate from its reference.

    Attributes:
        of: ``windows`` or ``sessions``.
        auc: Share of pairs that it orders rightly on data it has not seen; 0.5: it cannot.
        null_mean: Mean of the AUC where the labels of whole blocks are shuffled.
        null_high: AUC that shuffled labels exceed once in 20 times.
        p_value: Share of shuffles with at least this AUC, the given labels among them.
        window_s: Length of the windows, s; None for sessions.
        rows: Windows or sessions, reference and candidate.
        features: Features by how well they distinguish the sides, the best first.
        left_out: Features that one side does not have.
        baselines: AUC of the first run of each baseline in the candidate's place.
    """

    of: str
    auc: float
    null_mean: float
    null_high: float
    p_value: float
    window_s: float | None
    rows: tuple[int, int]
    features: tuple[FeatureDifference, ...]
    left_out: tuple[str, ...]
    baselines: dict[str, float] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The result in words."""
        unit = "sessions" if self.window_s is None else f"windows of {self.window_s:g} s"
        others = ", ".join(f"{name} {auc:.2f}" for name, auc in self.baselines.items())
        found = "distinguishes" if self.auc > self.null_high else "cannot distinguish"
        return (
            f"A classifier {found} {unit}: AUC {self.auc:.2f} (chance up to"
            f" {self.null_high:.2f}{f'; {others}' if others else ''})."
        )

    @property
    def reasons(self) -> str:
        """The features that differ most, with both medians; empty where none does."""
        if self.auc <= self.null_high:
            return ""
        parts = [
            f"{one.label} ({number(one.reference, digits=3)} in the reference,"
            f" {number(one.candidate, digits=3)} in the candidate)"
            for one in self.features[:_NAMED]
        ]
        return f"Largest differences: {'; '.join(parts)}."

    def to_json(self) -> dict[str, object]:
        """Return the part of `trafficgen compare --json`."""
        return {
            **asdict(self),
            "rows": dict(zip(("reference", "candidate"), self.rows, strict=True)),
            "features": [asdict(one) for one in self.features],
            "left_out": list(self.left_out),
        }


@dataclass(frozen=True)
class LabelledRows:
    """Windows or sessions of both sides; arrays have the shape (n,) or (n, f).

    Attributes:
        is_candidate: Which side each is of.
        fold: The rows of one fold are judged by a classifier trained on the others.
        block: Rows that keep their label together when labels are shuffled, within a fold.
    """

    values: FloatArray
    names: tuple[str, ...]
    is_candidate: BoolArray
    fold: IntArray
    block: IntArray


@dataclass(frozen=True)
class TwoSampleTests:
    """Tests of a comparison, by what they look at, and why others are absent."""

    found: dict[str, TwoSampleTest]
    absent: dict[str, str]

    def add_baselines(self, baselines: Mapping[str, TwoSampleTests]) -> TwoSampleTests:
        """Return the tests with the AUC of baselines, by their names."""
        found = {
            of: replace(
                test,
                baselines={
                    name: tests.found[of].auc
                    for name, tests in baselines.items()
                    if of in tests.found
                },
            )
            for of, test in self.found.items()
        }
        return TwoSampleTests(found, self.absent)

    def lines(self) -> list[str]:
        """Return the results as lines of text."""
        texts = [text for test in self.found.values() for text in (test.sentence, test.reasons)]
        return [text for text in texts if text]

    def to_json(self) -> dict[str, object]:
        """Return the part of `trafficgen compare --json`; null for a test that is absent."""
        found = {of: test.to_json() for of, test in self.found.items()}
        return {of: found.get(of) for of in ("windows", "sessions")}


def run_tests(
    reference: SessionView, candidate: SessionView, *, threshold_s: float | None, seed: int
) -> TwoSampleTests:
    """Test windows, and sessions where both sides have several.

    ``threshold_s`` is the largest gap within a burst, None without bursts; labels are shuffled with
    the seed.
    """
    sides = split_sessions(reference), split_sessions(candidate)
    found: dict[str, TwoSampleTest] = {}
    absent: dict[str, str] = {}
    window_s, fewest = _choose_window_s(*sides)
    if fewest < FEWEST:
        absent["two_sample.windows"] = (
            f"the shorter side has {fewest} whole windows of {window_s:g} s, {FEWEST} are needed"
        )
    else:
        described = [
            describe_windows(side, window_s=window_s, threshold_s=threshold_s) for side in sides
        ]
        rows = label_sides(*described)
        found["windows"] = distinguish(rows, of="windows", window_s=window_s, seed=seed)
    lasting = [[rows for rows in side if rows.length_s > 0] for side in sides]
    several = min(map(len, lasting))
    if several >= FEWEST:
        described = [describe_sessions(side, threshold_s=threshold_s) for side in lasting]
        rows = label_sides(*described)
        found["sessions"] = distinguish(rows, of="sessions", window_s=None, seed=seed)
    elif max(map(len, sides)) > 1:
        absent["two_sample.sessions"] = f"one side has {several} sessions, {FEWEST} are needed"
    return TwoSampleTests(found, absent)


def distinguish(rows: LabelledRows, *, of: str, window_s: float | None, seed: int) -> TwoSampleTest:
    """Train and judge a classifier, and do the same with shuffled labels.

    Features become normal scores of their ranks, with their squares, so that a difference of spread
    is seen too. The classifier is Fisher's linear discriminant with a ridge penalty: least squares
    on the labels, whose scores of the rows that were held out are linear in the labels, so that
    hundreds of shuffles cost a product of matrices. Scores are compared within a fold only.
    """
    kept, left_out = _usable(rows)
    values = rows.values[:, kept]
    names = [name for name, keep in zip(rows.names, kept, strict=True) if keep]
    labels = np.column_stack([rows.is_candidate, *_shuffles(rows, seed=seed)]).astype(np.float64)
    ranks = _ranks(values)
    scores = np.asarray(special.ndtri(ranks))
    features = np.hstack((scores, scores**2))
    auc = auc_in_folds(_held_out_scores(features, rows.fold, labels), labels, rows.fold)
    alone = auc_in_folds(ranks, labels[:, :1], rows.fold)
    null = auc[1:]
    order = np.argsort(-np.abs(alone - 0.5), kind="stable")
    return TwoSampleTest(
        of=of,
        auc=float(auc[0]),
        null_mean=float(null.mean()),
        null_high=float(np.quantile(null, 0.95)),
        p_value=float(np.mean(auc >= auc[0])),
        window_s=window_s,
        rows=(int((~rows.is_candidate).sum()), int(rows.is_candidate.sum())),
        features=tuple(
            FeatureDifference(
                name=names[at],
                auc=0.5 + abs(float(alone[at]) - 0.5),
                reference=float(np.nanmedian(values[~rows.is_candidate, at])),
                candidate=float(np.nanmedian(values[rows.is_candidate, at])),
            )
            for at in order
        ),
        left_out=left_out,
    )


def _choose_window_s(one: list[SessionRows], other: list[SessionRows]) -> tuple[float, int]:
    """Return the length of the windows, s, and how many the shorter side has."""
    for window_s in _WINDOWS_S:
        counts = [sum(int(rows.length_s / window_s) for rows in side) for side in (one, other)]
        if min(counts) >= _ENOUGH:
            break
    return window_s, min(counts)


def label_sides(one: Described, other: Described) -> LabelledRows:
    """Put both sides together, with sessions as blocks, or stretches of time of a few."""
    # Sessions without a row have no number, so that each fold has rows of both sides.
    blocks = [np.unique(side.session, return_inverse=True)[1] for side in (one, other)]
    if min(int(numbers.max()) for numbers in blocks) + 1 < _FOLDS:
        blocks = [_stretches(side.session.size) for side in (one, other)]
    return LabelledRows(
        values=np.concatenate((one.values, other.values)),
        names=one.names,
        is_candidate=np.repeat((False, True), (one.session.size, other.session.size)),
        fold=np.concatenate(blocks) % _FOLDS,
        block=np.concatenate((blocks[0], blocks[1] + blocks[0].max() + 1)),
    )


def _stretches(count: int) -> IntArray:
    blocks = max(_FOLDS, min(_BLOCKS, count // 2))
    return np.arange(count) * blocks // count


def _usable(rows: LabelledRows) -> tuple[BoolArray, tuple[str, ...]]:
    """Return which features both sides have, and the names of those that one side lacks."""
    known = np.isfinite(rows.values)
    shares = np.array(
        [known[side].mean(axis=0) for side in (rows.is_candidate, ~rows.is_candidate)]
    )
    kept = np.all(shares > _MOST_UNDEFINED, axis=0)
    one_side = ~kept & np.any(shares > _MOST_UNDEFINED, axis=0)
    return kept, tuple(name for name, lacks in zip(rows.names, one_side, strict=True) if lacks)


def _shuffles(rows: LabelledRows, *, seed: int) -> list[BoolArray]:
    """Return labels that are shuffled among the blocks of each fold."""
    generator = random_stream(seed, session=0, purpose="compare/two_sample")
    blocks, first = np.unique(rows.block, return_index=True)
    place = np.searchsorted(blocks, rows.block)
    label, fold = rows.is_candidate[first], rows.fold[first]
    shuffled = []
    for _ in range(_PERMUTATIONS):
        order = np.lexsort((generator.random(blocks.size), fold))
        drawn = np.empty_like(label)
        drawn[np.argsort(fold, kind="stable")] = label[order]
        shuffled.append(drawn[place])
    return shuffled


def _ranks(values: FloatArray) -> FloatArray:
    """Return the mean ranks of each column, from 0 to 1; undefined values are in the middle."""
    ranks = np.asarray(stats.rankdata(values, axis=0, nan_policy="omit"), dtype=np.float64)
    places = np.nan_to_num((ranks - 0.5) / np.isfinite(values).sum(axis=0), nan=0.5)
    return np.asarray(places, dtype=np.float64)


def _held_out_scores(features: FloatArray, fold: IntArray, labels: FloatArray) -> FloatArray:
    """Return the scores of each fold by a discriminant that is trained on the others."""
    scores = np.empty(labels.shape)
    for one in np.unique(fold):
        held, rest = features[fold == one], features[fold != one]
        centre, known = rest.mean(axis=0), labels[fold != one]
        rest = rest - centre
        gram = rest.T @ rest
        gram[np.diag_indices_from(gram)] += _PENALTY * rest.shape[0]
        weights = np.linalg.solve(gram, rest.T @ (known - known.mean(axis=0)))
        scores[fold == one] = (held - centre) @ weights
    return scores


def auc_in_folds(scores: FloatArray, labels: FloatArray, fold: IntArray) -> FloatArray:
    """Compute the share of pairs of one fold in which the candidate has the higher score.

    Ties count half. Scores have the shape (n, k), labels (0 or 1) the same or (n, 1).

    Returns:
        A share for each column, shape (k,).
    """
    ordered = np.zeros(scores.shape[1])
    pairs = np.zeros(labels.shape[1])
    for one in np.unique(fold):
        label, ranks = labels[fold == one], stats.rankdata(scores[fold == one], axis=0)
        ones = label.sum(axis=0)
        ordered += (ranks * label).sum(axis=0) - ones * (ones + 1) / 2
        pairs += ones * (label.shape[0] - ones)
    return np.asarray(ordered / np.where(pairs > 0, pairs, math.nan), dtype=np.float64)
