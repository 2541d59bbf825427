"""The report of one source over several paths: how its rate follows the state of the path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trafficgen.formatting import number
from trafficgen.models import FittedProvenance, Model, PathCondition, PooledResponse, ResponseCurve
from trafficgen.reports.charts import Axis, Chart, Curve, Rule
from trafficgen.reports.names import without_folder
from trafficgen.reports.page import Block, Report, Section, Table, Text
from trafficgen.units import kbps_from_bps

#: Name and unit of each condition, and whether it is drawn on a logarithmic axis.
_CONDITIONS: Mapping[PathCondition, tuple[str, str, bool]] = {
    "loss_rate": ("loss / sent packets", "", False),
    "queueing_delay_s": ("queueing delay", "s", False),
    "throughput_bps": ("rate that arrived", "bit/s", True),
    "link_rate_bps": ("rate of the narrow link", "bit/s", True),
}


def same_source_report(model: Model, *, warnings: tuple[str, ...]) -> Report:
    """Return the report of captures of one source over several paths.

    Args:
        model: The model with the pooled answer.
        warnings: What is doubtful.
    """
    response, provenance = model.same_source, model.provenance
    assert response is not None
    assert isinstance(provenance, FittedProvenance)
    sections = [Section(title="In words", blocks=tuple(_words(response, warnings)))]
    if response.curves:
        blocks: list[Block] = [_chart_curve(curve) for curve in response.curves]
        blocks += [_curve_table(curve) for curve in response.curves]
        sections.append(Section(title="Answer to congestion", blocks=tuple(blocks)))
    return Report(
        title="Fit of one source over several paths",
        subtitle=f"{len(response.captures)} captures: {', '.join(response.captures)}",
        sections=tuple(sections),
        made_by=f"{provenance.software}: trafficgen fit --same-source, seed {provenance.seed}",
    )


def _words(response: PooledResponse, warnings: tuple[str, ...]) -> Iterator[Block]:
    rate = number(kbps_from_bps(response.uncongested_rate_bps))
    kind = "not told" if response.kind == "unknown" else response.kind.replace("_", " ")
    yield Text(
        lines=(
            (
                f"Answer to congestion: {kind}. Rates are relative to {rate} kbit/s; the source"
                f" itself is that of {response.source}, the least congested capture."
            ),
        ),
        kind="lead",
    )
    yield Text(lines=response.evidence, kind="list")
    if response.absent:
        absent = tuple(
            f"{condition.replace('_', ' ')}: {why}" for condition, why in response.absent.items()
        )
        yield Text(lines=("No curve against:",))
        yield Text(lines=absent, kind="list")
    if warnings:
        yield Text(lines=("To be careful about:",))
        yield Text(lines=tuple(map(without_folder, warnings)), kind="warnings")


def _chart_curve(curve: ResponseCurve) -> Chart:
    name, unit, log = _CONDITIONS[curve.condition]
    rates = [point.relative_rate for point in curve.points]
    return Chart(
        name=f"response-{curve.condition.rpartition('_')[0].replace('_', '-')}",
        title=f"Rate against {name}",
        x=Axis(label=name, unit=unit, log=log),
        y=Axis(label="relative rate", low=0),
        layers=(
            Rule(name="without congestion", at=1.0),
            Curve(
                name="mean with 95% interval",
                x=[point.condition for point in curve.points],
                y=[rate.value for rate in rates],
                low=[rate.value if rate.low is None else max(0.0, rate.low) for rate in rates],
                high=[rate.value if rate.high is None else rate.high for rate in rates],
                role="measured",
                shape="points",
                notes=tuple(
                    f"{point.intervals} intervals of {point.captures} captures"
                    for point in curve.points
                ),
            ),
        ),
        caption=(
            "Rate an interval later / rate without congestion. From the least to the most"
            f" congested point it changes by a factor of {number(curve.end_to_end.value, digits=3)}"
            f" [{number(curve.end_to_end.low, digits=3)},"
            f" {number(curve.end_to_end.high, digits=3)}]; between captures it differs by"
            f" {curve.capture_log_deviation:.0%} besides."
            f" {curve.method[0].upper()}{curve.method[1:]}."
        ),
    )


def _curve_table(curve: ResponseCurve) -> Table:
    name, unit, _ = _CONDITIONS[curve.condition]
    return Table(
        title=f"Rate against {name}",
        header=(
            f"{name}, {unit}" if unit else name,
            "from",
            "to",
            "relative rate",
            "95% from",
            "to",
            "intervals",
            "captures",
        ),
        rows=tuple(
            (
                *map(number, (point.condition, point.low, point.high)),
                *map(
                    number,
                    (point.relative_rate.value, point.relative_rate.low, point.relative_rate.high),
                ),
                number(point.intervals),
                number(point.captures),
            )
            for point in curve.points
        ),
        numbers=tuple(range(8)),
        folded=True,
    )
