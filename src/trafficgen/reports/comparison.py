"""Report of a comparison: the verdict, the metrics of both sides and baselines, and charts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from trafficgen.formatting import format_duration, number, rate_text, size_text
from trafficgen.provenance import software_version
from trafficgen.reports.page import (
    BURST,
    GAP,
    SIZE,
    SPACING,
    Axis,
    Block,
    Chart,
    Curve,
    Headline,
    Mark,
    Report,
    Role,
    Rule,
    Table,
    Text,
    build_report,
    chart_rows,
    tabulate,
)
from trafficgen.reports.samples import (
    Sample,
    Side,
    chart_distribution,
    chart_quantiles,
    chart_rates,
    chart_survival,
)
from trafficgen.units import kbps_from_bytes
from trafficgen.validation.comparison import Comparison
from trafficgen.validation.distances import rate_variances, variance_time_bins_s
from trafficgen.validation.measurement import (
    BASELINES,
    Measurement,
    Totals,
    generate_baseline,
    measure,
)
from trafficgen.validation.ranking import FEATURES, Ranking
from trafficgen.validation.verdict import Grade

_BASELINE_ROLES: dict[str, Role] = {"cbr": "baseline", "poisson": "extra", "renewal": "other"}
_KINDS_OF_DISTANCE = (".ks", ".max_abs_difference")
_DISTANCES = {
    "ks": "KS",
    "wasserstein": "Wasserstein",
    "max_abs_difference": "largest difference",
    "max_abs_log10_ratio": "largest log10 of the ratio",
}
_SUBJECTS = {
    "packet_bytes": "packet sizes",
    "gap_s": "gaps",
    "smoothness": "ratios of successive rates",
    "burst_packets": "packets in a burst",
    "burst_spacing_s": "spacing of bursts",
    "rate_acf": "autocorrelation",
    "variance_time": "variance by time scale",
    "packets.relative_difference": "packets, relative difference",
    "bytes.relative_difference": "bytes, relative difference",
    "duration.relative_difference": "duration, relative difference",
    "hurst": "Hurst parameter, difference",
    "phases.buffering_end_s": "end of buffering, difference in s",
    "phases.buffering_ratio": "buffering ratio, difference",
}
#: A candidate whose bytes differ by a larger share is not called good, whatever its shape.
_MOST_BYTES_OFF = 0.1
_RATE = re.compile(r"rate\.(?P<bin>[\d.]+?)\.(?P<kind>[a-z]+)$")
_BIN = Axis(label="IP rate in bins of 0.5 s", unit="kbit/s")
_RATIO = Axis(label="rate in 0.5 s / rate in the 0.5 s before", log=True)
#: Sample -> name, title, axis and caption of the chart of its distribution.
_SAMPLES: dict[str, tuple[str, str, Axis, str]] = {
    "rate.0.5": ("rate-distribution", "Distribution of the rate", _BIN, ""),
    "smoothness": ("smoothness", "Smoothness: ratio of successive rates", _RATIO, ""),
    "packet_bytes": ("packet-sizes", "Packet sizes", SIZE, ""),
    "gap_s": ("gaps", "Gaps between packets", GAP, "Gaps of 0 s are left out."),
    "burst_packets": ("burst-packets", "Packets in a burst", BURST, ""),
    "burst_spacing_s": ("burst-spacing", "Spacing of the bursts", SPACING, ""),
}


@dataclass(frozen=True)
class _Side:
    """One side or baseline as it is drawn."""

    name: str
    role: Role
    measured: Measurement
    is_baseline: bool = False

    def sample(self, key: str) -> Sample:
        values = self.measured.samples[key]
        return Sample(name=self.name, role=self.role, values=values, dashed=self.is_baseline)


def report_comparison(comparison: Comparison) -> Report:
    """Make the report of a comparison; without its sides it has no charts of them."""
    reference, candidate = comparison.names
    sections: dict[str, Iterable[Block | None]] = {
        "Summary": (*_overlay_rates(comparison), *_describe(comparison)),
        "Distances": (_chart_distances(comparison), _tabulate_metrics(comparison)),
        "Distinguished by a classifier": _describe_two_sample(comparison),
    }
    if comparison.sides is not None:
        sections |= _chart_sides(comparison, _measure_all(comparison, comparison.sides))
    return build_report(
        "Traffic compared with its reference",
        f"{candidate} compared with {reference}",
        _judge(comparison),
        sections,
        made_by=(
            f"trafficgen {software_version()}: trafficgen compare {reference} {candidate} --seed"
            f" {comparison.seed}"
        ),
    )


def _judge(comparison: Comparison) -> Headline:
    """Judge: bad where most metrics are worse than a baseline or on one side only."""
    counts = comparison.verdict().counts
    worse = counts.get(Grade.BEATEN, 0) + counts.get(Grade.UNLIKE, 0)
    kept = sum(counts.get(grade, 0) for grade in (Grade.MATCH, Grade.CLOSEST, Grade.MET))
    one, other = comparison.totals
    share = abs(other.ip_bytes - one.ip_bytes) / one.ip_bytes if one.ip_bytes else math.inf
    mark: Mark = "warn" if worse or share > _MOST_BYTES_OFF else "good"
    flat = comparison.flat()
    distances = {
        f"KS of {what} (chance {number(comparison.noise.get(name), digits=2)})": number(
            flat.get(name), digits=2
        )
        for what, name in (("packet sizes", "packet_bytes.ks"), ("packet gaps", "gap_s.ks"))
    }
    return Headline(
        mark="bad" if worse > kept else mark,
        sentence=comparison.verdict().summary,
        figures={
            "mean rate, reference": rate_text(_mean_kbps(one)),
            "mean rate, candidate": rate_text(_mean_kbps(other)),
            "bytes, candidate": _relative(one.ip_bytes, other.ip_bytes),
            **distances,
        },
    )


def _overlay_rates(comparison: Comparison) -> Iterator[Chart]:
    """Chart rate and bytes over time, both sides on the same axes."""
    if comparison.sides is not None:
        (reference, candidate), (one, other) = comparison.names, comparison.sides
        sides = [Side(reference, "measured", one.view), Side(candidate, "synthetic", other.view)]
        caption = (
            "A synthetic session is another draw of the same source: its peaks lie elsewhere, their"
            " size and number count."
        )
        yield from chart_rates(sides, caption=caption)


def _describe(comparison: Comparison) -> Iterator[Block | None]:
    yield Text(tuple(comparison.verdict().lines()[:-1]), kind="list")
    yield _tabulate_totals(comparison)
    yield Text(tuple(_notes(comparison)), kind="list")


def _tabulate_totals(comparison: Comparison) -> Table | None:
    one, other = comparison.totals
    quantities: dict[str, tuple[Callable[[float], str], float, float]] = {
        "media packets": (number, one.packets, other.packets),
        "IP bytes of media": (size_text, one.ip_bytes, other.ip_bytes),
        "payload bytes of media": (size_text, one.payload_bytes, other.payload_bytes),
        "first to last media packet": (format_duration, one.duration_s, other.duration_s),
        "mean rate": (rate_text, _mean_kbps(one), _mean_kbps(other)),
    }
    names = ("reference", "candidate")
    header = comparison.names if len(set(comparison.names)) == len(names) else names
    records = [
        {
            "to the client": label,
            header[0]: text(a),
            header[1]: text(b),
            "difference": _relative(a, b),
        }
        for label, (text, a, b) in quantities.items()
    ]
    return tabulate("What was compared", records)


def _mean_kbps(side: Totals) -> float:
    return kbps_from_bytes(side.ip_bytes, side.duration_s) if side.duration_s else math.nan


def _relative(one: float, other: float) -> str:
    change = (other - one) / one if one else math.nan
    return f"{change:+z.2%}" if math.isfinite(change) else "-"


def _notes(comparison: Comparison) -> Iterator[str]:
    for side, count in zip(("reference", "candidate"), comparison.resegmented_packets, strict=True):
        if count:
            yield f"{count} segmentation-offload packets of the {side} were cut to MTU size first"
    if comparison.burst_threshold_s is None:
        yield "the reference has no bursts to compare"
    else:
        longest = format_duration(comparison.burst_threshold_s)
        yield f"gaps above {longest} separate bursts on both sides"
    for metric, reason in comparison.absent.items():
        yield f"{metric_name(metric)} is left out: {reason}"


def _tabulate_metrics(comparison: Comparison) -> Table | None:
    baselines, losses = comparison.flat_baselines(), comparison.losses()
    marks: dict[int, Mark] = {}
    records = []
    grades = {one.name: one.grade for part in comparison.verdict().groups for one in part.metrics}
    computed = {name: one for name, one in comparison.flat().items() if math.isfinite(one)}
    for place, (name, value) in enumerate(computed.items()):
        wins, ties = comparison.wins.get(name, ()), comparison.ties.get(name, ())
        rivals = [key for key, one in baselines.items() if math.isfinite(one.get(name, math.nan))]
        if rivals and name in comparison.wins and grades[name] is not Grade.TOO_FEW:
            beaten = losses[name] or not {*wins, *ties} >= set(rivals)
            marks[place] = "bad" if beaten else "good"
        records.append(
            {
                "metric": metric_name(name),
                "candidate": value,
                "by chance": comparison.noise.get(name),
                **{key: metrics.get(name) for key, metrics in baselines.items()},
                "closer than": ", ".join(wins) or "-",
                "as close as": ", ".join(ties) or "-",
                "--fail-above": name,
            }
        )
    return tabulate("All metrics: 0 is equal to the reference", records, marks=marks)


def _describe_two_sample(comparison: Comparison) -> Iterator[Block | None]:
    """Tabulate how well a classifier distinguishes the sides, and by which features."""
    for of, test in comparison.two_sample.found.items():
        yield Text((test.sentence,))
        records = [
            {
                "median of": one.label,
                "reference": one.reference,
                "candidate": one.candidate,
                "AUC of it alone": f"{one.auc:.2f}",
            }
            for one in test.features
        ]
        yield tabulate(f"Features of {of}, the clearest first", records, folded=True)


def metric_name(name: str) -> str:
    """Return a metric's flat name, such as ``gap_s.ks``, for people; others stay unchanged."""
    if name in _SUBJECTS:
        return _SUBJECTS[name]
    if found := _RATE.match(name):
        return f"rate in {found['bin']} s: {_DISTANCES.get(found['kind'], found['kind'])}"
    subject, _, kind = name.rpartition(".")
    if subject in _SUBJECTS and kind in _DISTANCES:
        return f"{_SUBJECTS[subject]}: {_DISTANCES[kind]}"
    return name


def _chart_distances(comparison: Comparison) -> Chart:
    """Chart the distances between 0 and 1 of the candidate and baselines, one row a metric."""
    flat = comparison.flat()
    names = [
        name
        for name, value in reversed(flat.items())
        if name.endswith(_KINDS_OF_DISTANCE) and math.isfinite(value)
    ]

    def row(values: dict[str, float], label: str, role: Role, *, hollow: bool = True) -> Curve:
        x = [values.get(name, math.nan) for name in names]
        y = np.arange(len(names))
        return Curve(name=label, x=x, y=y, role=role, shape="points", dashed=hollow)

    baselines = comparison.flat_baselines().items()
    return Chart(
        name="distances",
        title="How far from the reference",
        x=Axis(label="distance (0: equal)", low=0),
        y=Axis(label="", categories=tuple(metric_name(name) for name in names)),
        layers=(
            *(row(metrics, name, _BASELINE_ROLES[name]) for name, metrics in baselines),
            row(comparison.noise, "chance alone, 1 in 20", "law"),
            row(flat, comparison.names[1], "synthetic", hollow=False),
        ),
        caption=(
            "Kolmogorov-Smirnov distances, and the largest difference of autocorrelations. Left of"
            " the green ring a difference may be chance."
        ),
    )


def _measure_all(comparison: Comparison, sides: tuple[Measurement, Measurement]) -> list[_Side]:
    """Return candidate, reference and the first run of each baseline, the most important first."""
    reference, candidate = sides
    found = [
        _Side(comparison.names[1], "synthetic", candidate),
        _Side(comparison.names[0], "measured", reference),
    ]
    for name, role in _BASELINE_ROLES.items():
        view = generate_baseline(reference.view, name=name, seed=comparison.seed, run=0)
        threshold_s = comparison.burst_threshold_s
        measured = measure(view, burst_threshold_s=threshold_s, seed=comparison.seed)
        found.append(_Side(name, role, measured, is_baseline=name in BASELINES))
    return found


def _chart_sides(comparison: Comparison, sides: list[_Side]) -> dict[str, tuple[Chart | None, ...]]:
    charts = {key: _chart_samples(sides, key) for key in _SAMPLES}
    return {
        "Rate": (
            _chart_autocorrelation(sides),
            _chart_variance_time(sides),
            charts["rate.0.5"],
            charts["smoothness"],
        ),
        "Packets": (charts["packet_bytes"], charts["gap_s"], *_chart_gaps(comparison, sides)),
        "Bursts": (charts["burst_packets"], charts["burst_spacing_s"]),
    }


def _chart_autocorrelation(sides: list[_Side]) -> Chart | None:
    if np.isnan(sides[1].measured.rate_acf).all():
        return None
    lag_s = 0.5 * np.arange(1, sides[1].measured.rate_acf.size + 1)
    return Chart(
        name="autocorrelation",
        title="Autocorrelation of the rate",
        x=Axis(label="lag", unit="s", low=0),
        y=Axis(label="autocorrelation of the rate"),
        layers=tuple(_curve(side, lag_s, side.measured.rate_acf) for side in reversed(sides)),
        caption="Rates in bins of 0.5 s.",
    )


def _chart_variance_time(sides: list[_Side]) -> Chart | None:
    candidate, reference = (side.measured.span_s for side in sides[:2])
    bins_s = variance_time_bins_s(reference_s=reference, candidate_s=candidate)
    if not bins_s:
        return None
    layers = []
    for side in reversed(sides):
        view = side.measured.view
        variance = rate_variances(view.media_time_ns, view.media_ip_bytes, bins_s=bins_s)
        layers.append(_curve(side, bins_s, np.where(variance > 0, variance, math.nan)))
    return Chart(
        name="variance-time",
        title="Variance of the rate by time scale",
        x=Axis(label="width of the bins", unit="s", log=True),
        y=Axis(label="variance of the rate", unit="(bit/s)²", log=True),
        layers=tuple(layers),
        caption=(
            "Independent packets fall with slope -1; bursts, levels and long memory fall more"
            " slowly."
        ),
    )


def _curve(side: _Side, x: np.ndarray | list[float], y: np.ndarray) -> Curve:
    return Curve(name=side.name, x=x, y=y, role=side.role, dashed=side.is_baseline)


def _chart_samples(sides: list[_Side], key: str) -> Chart | None:
    name, title, axis, caption = _SAMPLES[key]
    samples = [side.sample(key) for side in sides]
    return chart_distribution(name, title, samples, axis=axis, caption=caption)


def _chart_gaps(comparison: Comparison, sides: list[_Side]) -> Iterator[Chart | None]:
    gaps = [side.sample("gap_s") for side in sides]
    yield chart_survival("gap-tail", "Tail of the gaps", gaps, axis=GAP)
    yield chart_quantiles(
        "gap-quantiles",
        "Quantiles of the gaps",
        gaps[1].values,
        [gaps[0], *gaps[2:]],
        axis=Axis(label=f"gap in {comparison.names[0]}", unit="s", log=True),
        other=Axis(label="gap on the other side", unit="s", log=True),
    )


#: Models that are drawn.
_MODELS_DRAWN = 15
_ABOUT_RANKING = (
    "Both directions are compared by packet sizes, gaps, bytes and spacing of bursts, and rates"
    " over 1 s. A distance is 0 for equal traffic and 0.5 where samples differ by a factor of two"
    " on the average. Options of rate and frame rate are set to what was measured where that is"
    " nearer.",
)


def report_ranking(ranking: Ranking) -> Report:
    """Make the report of a ranking."""
    first, second = ranking.models[:2]
    near = first.distance <= 2 * ranking.own_distance + 0.1
    mark: Mark = "good" if near else "warn" if first.distance <= 0.5 else "bad"
    headline = Headline(
        mark=mark,
        sentence=ranking.verdict(),
        figures={
            first.name: number(first.distance, digits=2),
            f"next: {second.name}": number(second.distance, digits=2),
            "two runs of the nearest": number(ranking.own_distance, digits=2),
        },
    )
    records = [
        {
            "model": one.command,
            "distance": one.distance,
            **{label: one.features[name] for name, label in FEATURES.items()},
        }
        for one in ranking.models
    ]
    return build_report(
        "The catalogue, ranked",
        ranking.name,
        headline,
        {
            "Summary": (Text(_ABOUT_RANKING, kind="lead"), _chart_rank_distances(ranking)),
            "All models": (tabulate("Distances by feature", records),),
        },
        made_by=f"{software_version()}: trafficgen compare {ranking.name} --against catalogue"
        f" --seed {ranking.seed}",
    )


def _chart_rank_distances(ranking: Ranking) -> Chart:
    distances = {one.name: one.distance for one in ranking.models[:_MODELS_DRAWN]}
    axis = Axis(label="distance", low=0)
    own = Rule(name="two runs of the nearest", at=ranking.own_distance, axis="x")
    return chart_rows("distances", "Distance of the nearest models", axis, distances, own)
