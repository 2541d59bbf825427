"""The report of a comparison: the verdict in words, the metrics beside the baselines, both sides
drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np

from trafficgen.flows import SessionView
from trafficgen.formatting import number
from trafficgen.provenance import software_version
from trafficgen.reports.charts import Axis, Chart, Curve, Role
from trafficgen.reports.curves import (
    Sample,
    chart_distribution,
    chart_quantiles,
    chart_survival,
    rate_bin_s,
    rate_curve,
)
from trafficgen.reports.names import metric_name
from trafficgen.reports.page import Block, Report, Section, Table, Text
from trafficgen.units import kbps_from_bytes
from trafficgen.validation import BASELINES, ComparedSides, Comparison, Totals, verdict_of
from trafficgen.validation.baselines import baseline_view
from trafficgen.validation.measurement import Measurement, measure
from trafficgen.validation.time_scales import rate_variances, variance_time_bins_s

#: Baselines stand back behind the two sides, each in its own colour.
_BASELINE_ROLES: dict[str, Role] = {"cbr": "baseline", "poisson": "extra", "renewal": "other"}
_KINDS_OF_DISTANCE = (".ks", ".max_abs_difference")


def comparison_report(comparison: Comparison) -> Report:
    """Return the report of a comparison; without what was measured on both sides it has no charts
    of them.
    """
    reference, candidate = comparison.names
    sections = [
        Section(title="In words", blocks=_in_words(comparison)),
        Section(
            title="Distances", blocks=(_chart_distances(comparison), _metrics_table(comparison))
        ),
    ]
    if comparison.sides is not None:
        sections += list(_sides_sections(comparison, comparison.sides))
    return Report(
        title="Traffic beside its reference",
        subtitle=f"{candidate} compared with {reference}",
        sections=tuple(sections),
        made_by=(
            f"trafficgen {software_version()}: trafficgen compare {reference} {candidate} --seed"
            f" {comparison.seed}"
        ),
    )


def _rivals(comparison: Comparison, metric: str) -> tuple[list[str], set[str]]:
    """Return the baselines that have a metric at all, and those that the candidate beats or meets
    in it.
    """
    baselines = comparison.flat_baselines()
    rivals = [
        name for name, metrics in baselines.items() if math.isfinite(metrics.get(metric, math.nan))
    ]
    return rivals, {*comparison.wins.get(metric, ()), *comparison.ties.get(metric, ())}


def _in_words(comparison: Comparison) -> tuple[Block, ...]:
    *groups, summary = verdict_of(comparison).lines()
    return (
        Text(lines=(summary,), kind="lead"),
        Text(lines=tuple(groups), kind="list"),
        _totals_table(comparison),
        Text(lines=tuple(_notes(comparison)), kind="list"),
    )


def _totals_table(comparison: Comparison) -> Table:
    reference, candidate = comparison.totals
    rows: list[tuple[str, float, float]] = [
        ("media packets", reference.packets, candidate.packets),
        ("IP bytes of media", reference.ip_bytes, candidate.ip_bytes),
        ("payload bytes of media", reference.payload_bytes, candidate.payload_bytes),
        ("first to last media packet, s", reference.duration_s, candidate.duration_s),
        ("mean rate, kbit/s", _mean_kbps(reference), _mean_kbps(candidate)),
    ]
    return Table(
        title="What was compared",
        header=("to the client", comparison.names[0], comparison.names[1], "difference"),
        rows=tuple(
            (label, number(one), number(other), _difference(one, other))
            for label, one, other in rows
        ),
        numbers=(1, 2, 3),
    )


def _mean_kbps(side: Totals) -> float:
    return kbps_from_bytes(side.ip_bytes, side.duration_s) if side.duration_s else math.nan


def _difference(one: float, other: float) -> str:
    return (
        f"{(other - one) / one:+.2%}"
        if one and math.isfinite(one) and math.isfinite(other)
        else "-"
    )


def _notes(comparison: Comparison) -> Iterator[str]:
    for side, count in zip(("reference", "candidate"), comparison.resegmented_packets, strict=True):
        if count:
            yield f"{count} segmentation-offload packets of the {side} were cut to MTU size first"
    if comparison.burst_threshold_s is None:
        yield "the reference's gaps are of one kind: there are no bursts to compare"
    else:
        yield f"gaps above {number(comparison.burst_threshold_s)} s part the bursts on both sides"
    for metric, reason in comparison.absent.items():
        yield f"{metric_name(metric)} is left out: {reason}"


def _metrics_table(comparison: Comparison) -> Table:
    baselines = comparison.flat_baselines()
    flat = comparison.flat()
    rows = [
        (
            metric_name(name),
            number(value),
            number(comparison.noise.get(name, math.nan)),
            *(number(metrics.get(name, math.nan)) for metrics in baselines.values()),
            ", ".join(comparison.wins.get(name, ())) or "-",
            ", ".join(comparison.ties.get(name, ())) or "-",
        )
        for name, value in flat.items()
    ]
    return Table(
        title="All metrics: 0 is equal to the reference",
        header=("metric", "candidate", "by chance", *baselines, "closer than", "as close as"),
        rows=tuple(rows),
        numbers=tuple(range(1, 3 + len(baselines))),
        marks=tuple(_marks(comparison)),
    )


def _marks(comparison: Comparison) -> Iterator[tuple[int, Literal["good", "bad"]]]:
    """Yield the rows that stand out: as close as every baseline that has the metric, or behind one
    of them.
    """
    for place, metric in enumerate(comparison.flat()):
        rivals, met = _rivals(comparison, metric)
        if rivals and metric in comparison.wins:
            yield place, "good" if met >= set(rivals) else "bad"


def _chart_distances(comparison: Comparison) -> Chart:
    """Return the distances between 0 and 1 of all sides, one row a metric."""
    flat = comparison.flat()
    names = [
        name
        for name, value in flat.items()
        if name.endswith(_KINDS_OF_DISTANCE) and math.isfinite(value)
    ][::-1]
    places = np.arange(len(names), dtype=np.float64)

    def row(values: dict[str, float], label: str, role: Role, *, open_marks: bool) -> Curve:
        x = [values.get(name, math.nan) for name in names]
        return Curve(name=label, x=x, y=places, role=role, shape="points", dashed=open_marks)

    others = [
        row(metrics, name, _BASELINE_ROLES[name], open_marks=True)
        for name, metrics in comparison.flat_baselines().items()
    ]
    chance = row(comparison.noise, "chance alone, 1 in 20", "law", open_marks=True)
    return Chart(
        name="distances",
        title="How far from the reference",
        x=Axis(label="distance (0: equal)", low=0),
        y=Axis(label="metric", categories=tuple(metric_name(name) for name in names)),
        layers=(*others, chance, row(flat, comparison.names[1], "synthetic", open_marks=False)),
        caption=(
            "Kolmogorov-Smirnov distances, and the largest difference of autocorrelations. Left of"
            " the green ring a difference may be chance."
        ),
    )


def _sides_sections(comparison: Comparison, sides: ComparedSides) -> Iterator[Section]:
    baselines = _baseline_views(comparison, sides)
    others = {
        name: measure(view, burst_threshold_s=comparison.burst_threshold_s, seed=comparison.seed)
        for name, view in baselines.items()
    }
    time = [
        *_chart_rates(comparison, sides),
        _chart_autocorrelation(comparison, sides, others),
        _chart_variance_time(comparison, sides, baselines),
    ]
    yield Section(
        title="Rate", blocks=_present(*time, *_rate_distributions(comparison, sides, others))
    )
    yield Section(title="Packets", blocks=_present(*_chart_packets(comparison, sides, others)))
    bursts = _present(*_chart_bursts(comparison, sides, others))
    if bursts:
        yield Section(title="Bursts", blocks=bursts)


def _present(*blocks: Chart | None) -> tuple[Block, ...]:
    return tuple(block for block in blocks if block is not None)


def _baseline_views(comparison: Comparison, sides: ComparedSides) -> dict[str, SessionView]:
    """Return the first run of each baseline."""
    return {
        name: baseline_view(sides.reference_view, name=name, seed=comparison.seed, run=0)
        for name in BASELINES
    }


def _samples(
    comparison: Comparison, sides: ComparedSides, others: dict[str, Measurement], key: str
) -> list[Sample]:
    """Return a sample of both sides and of the baselines, the most important first."""
    reference, candidate = comparison.names
    return [
        Sample(name=candidate, role="synthetic", values=sides.candidate.samples[key]),
        Sample(name=reference, role="measured", values=sides.reference.samples[key]),
        *(
            Sample(name=name, role=_BASELINE_ROLES[name], values=other.samples[key], dashed=True)
            for name, other in others.items()
        ),
    ]


def _chart_rates(comparison: Comparison, sides: ComparedSides) -> tuple[Chart, Chart]:
    """Return the rate of either side over time, on equal axes: one over the other they would hide
    each other.
    """
    end_s = max(sides.reference.span_s, sides.candidate.span_s)
    bin_s = rate_bin_s(end_s)
    reference = rate_curve(
        sides.reference_view, bin_s=bin_s, name=comparison.names[0], role="measured"
    )
    candidate = rate_curve(
        sides.candidate_view, bin_s=bin_s, name=comparison.names[1], role="synthetic"
    )
    highest = 1.05 * max(
        [float(rate) for curve in (reference, candidate) for rate in curve.y], default=1.0
    )
    axis = Axis(label="time after the first media packet", unit="s", low=0, high=end_s)
    rate = Axis(label="IP rate to the client", unit="kbit/s", low=0, high=highest)
    caption = f"Means over bins of {bin_s:g} s."
    draw = (
        "A synthetic session is another draw of the same source: its peaks lie elsewhere, their"
        " size and number count."
    )
    return (
        Chart(
            name="rate-reference",
            title="Rate of the reference",
            x=axis,
            y=rate,
            layers=(reference,),
            caption=caption,
        ),
        Chart(
            name="rate-candidate",
            title="Rate of the candidate",
            x=axis,
            y=rate,
            layers=(candidate,),
            caption=f"{caption} {draw}",
        ),
    )


def _chart_autocorrelation(
    comparison: Comparison, sides: ComparedSides, others: dict[str, Measurement]
) -> Chart | None:
    if np.isnan(sides.reference.rate_acf).all():
        return None
    reference, candidate = comparison.names
    lag_s = np.linspace(0.5, 0.5 * sides.reference.rate_acf.size, sides.reference.rate_acf.size)
    rows: list[tuple[str, Role, Measurement, bool]] = [
        *((name, _BASELINE_ROLES[name], other, True) for name, other in others.items()),
        (reference, "measured", sides.reference, False),
        (candidate, "synthetic", sides.candidate, False),
    ]
    return Chart(
        name="autocorrelation",
        title="Autocorrelation of the rate",
        x=Axis(label="lag", unit="s", low=0),
        y=Axis(label="correlation of the rate with itself"),
        layers=tuple(
            Curve(name=name, x=lag_s, y=side.rate_acf, role=role, dashed=dashed)
            for name, role, side, dashed in rows
        ),
        caption="Rates in bins of 0.5 s.",
    )


def _chart_variance_time(
    comparison: Comparison, sides: ComparedSides, baselines: dict[str, SessionView]
) -> Chart | None:
    bins_s = variance_time_bins_s(
        reference_s=sides.reference.span_s, candidate_s=sides.candidate.span_s
    )
    if not bins_s:
        return None
    reference, candidate = comparison.names
    views: list[tuple[str, Role, SessionView]] = [
        *((name, _BASELINE_ROLES[name], view) for name, view in baselines.items()),
        (reference, "measured", sides.reference_view),
        (candidate, "synthetic", sides.candidate_view),
    ]
    layers = []
    for name, role, view in views:
        variance = rate_variances(view.media_time_ns, view.media_ip_bytes, bins_s=bins_s)
        shown = np.where(
            variance > 0, variance, math.nan
        )  # a constant rate has no place on a logarithmic axis
        layers.append(Curve(name=name, x=bins_s, y=shown, role=role, dashed=name in BASELINES))
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


def _rate_distributions(
    comparison: Comparison, sides: ComparedSides, others: dict[str, Measurement]
) -> Iterator[Chart | None]:
    yield chart_distribution(
        "rate-distribution",
        "Distribution of the rate",
        _samples(comparison, sides, others, "rate.0.5"),
        axis=Axis(label="IP rate in bins of 0.5 s", unit="kbit/s"),
    )
    yield chart_distribution(
        "smoothness",
        "Smoothness: ratio of successive rates",
        _samples(comparison, sides, others, "smoothness"),
        axis=Axis(label="rate in 0.5 s / rate in the 0.5 s before", log=True),
    )


def _chart_packets(
    comparison: Comparison, sides: ComparedSides, others: dict[str, Measurement]
) -> Iterator[Chart | None]:
    sizes = _samples(comparison, sides, others, "packet_bytes")
    gaps = _samples(comparison, sides, others, "gap_s")
    gap = Axis(label="gap between packets of a flow", unit="s", log=True)
    yield chart_distribution(
        "packet-sizes", "Packet sizes", sizes, axis=Axis(label="IP packet", unit="bytes")
    )
    yield chart_distribution(
        "gaps", "Gaps between packets", gaps, axis=gap, caption="Gaps of 0 s are left out."
    )
    yield chart_survival("gap-tail", "Tail of the gaps", gaps, axis=gap)
    yield chart_quantiles(
        "gap-quantiles",
        "Quantiles of the gaps",
        sides.reference.samples["gap_s"],
        [gaps[0], *gaps[2:]],
        axis=Axis(label=f"gap in {comparison.names[0]}", unit="s", log=True),
        other=Axis(label="gap on the other side", unit="s", log=True),
    )


def _chart_bursts(
    comparison: Comparison, sides: ComparedSides, others: dict[str, Measurement]
) -> Iterator[Chart | None]:
    yield chart_distribution(
        "burst-packets",
        "Packets in a burst",
        _samples(comparison, sides, others, "burst_packets"),
        axis=Axis(label="burst", unit="packets", log=True),
    )
    yield chart_distribution(
        "burst-spacing",
        "Spacing of the bursts",
        _samples(comparison, sides, others, "burst_spacing_s"),
        axis=Axis(label="start of a burst to the start of the next", unit="s", log=True),
    )
