"""Report of one source over several paths: how its rate follows the state of the path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trafficgen.calibration.population.same_source import SameSourceFit
from trafficgen.formatting import number
from trafficgen.models import FittedProvenance, PathCondition, ResponseCurve
from trafficgen.reports.charts import Axis, Chart, Rule
from trafficgen.reports.page import Block, Report, Section, Table, Text, keep, tabulate, warn
from trafficgen.reports.samples import points_with_intervals
from trafficgen.units import kbps_from_bps

#: Name and unit of each condition, and whether its axis is logarithmic.
_CONDITIONS: Mapping[PathCondition, tuple[str, str, bool]] = {
    "loss_rate": ("loss / sent packets", "", False),
    "queueing_delay_s": ("queueing delay", "s", False),
    "throughput_bps": ("rate that arrived", "bit/s", True),
    "link_rate_bps": ("rate of the narrow link", "bit/s", True),
}


def report_same_source(fitted: SameSourceFit) -> Report:
    """Make the report of captures of one source over several paths."""
    response, provenance = fitted.response, fitted.model.provenance
    assert isinstance(provenance, FittedProvenance)
    sections = [Section(title="Summary", blocks=tuple(_describe(fitted)))]
    if response.curves:
        charts = (_chart_response(curve) for curve in response.curves)
        tables = keep(*(_tabulate_response(curve) for curve in response.curves))
        sections.append(Section(title="Congestion response", blocks=(*charts, *tables)))
    return Report(
        title="Fit of one source over several paths",
        subtitle=f"{len(response.captures)} captures: {', '.join(response.captures)}",
        sections=tuple(sections),
        made_by=f"{provenance.software}: trafficgen fit --same-source, seed {provenance.seed}",
    )


def _describe(fitted: SameSourceFit) -> Iterator[Block]:
    response = fitted.response
    rate_kbps = number(kbps_from_bps(response.uncongested_rate_bps))
    text = (
        f"Congestion response: {response.kind.replace('_', ' ')}. Rates are relative to"
        f" {rate_kbps} kbit/s; packets follow {response.source}, the least congested capture."
    )
    yield Text(lines=(text,), kind="lead")
    yield Text(lines=response.evidence, kind="list")
    if response.absent:
        absent = (f"{name.replace('_', ' ')}: {why}" for name, why in response.absent.items())
        yield Text(lines=("No curve against:",))
        yield Text(lines=tuple(absent), kind="list")
    yield from warn(fitted.warnings)


def _chart_response(curve: ResponseCurve) -> Chart:
    name, unit, log = _CONDITIONS[curve.condition]
    rates = [point.relative_rate for point in curve.points]
    low, factor, high = (
        number(value, digits=3)
        for value in (curve.end_to_end.low, curve.end_to_end.value, curve.end_to_end.high)
    )
    return Chart(
        name=f"response-{curve.condition.rpartition('_')[0].replace('_', '-')}",
        title=f"Rate against {name}",
        x=Axis(label=name, unit=unit, log=log),
        y=Axis(label="relative rate", low=0),
        layers=(
            Rule(name="without congestion", at=1.0),
            points_with_intervals(rates, [point.condition for point in curve.points]),
        ),
        caption=(
            "Rate an interval later / rate without congestion. From the least to the most"
            f" congested point it changes by a factor of {factor} [{low}, {high}]; between captures"
            f" it differs by {curve.capture_log_deviation:.0%} besides."
            f" {curve.method[0].upper()}{curve.method[1:]}."
        ),
    )


def _tabulate_response(curve: ResponseCurve) -> Table | None:
    name, unit, _ = _CONDITIONS[curve.condition]
    records = [
        {
            f"{name}, {unit}" if unit else name: point.condition,
            "from": point.low,
            "to": point.high,
            "relative rate": point.relative_rate.value,
            "95% from": point.relative_rate.low,
            "95% to": point.relative_rate.high,
            "intervals": point.intervals,
            "captures": point.captures,
        }
        for point in curve.points
    ]
    return tabulate(f"Rate against {name}", records, folded=True)
