"""Charts of results that have no report of their own: one for each kind of result."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import singledispatch
from typing import Literal, get_args

import numpy as np

from trafficgen.calibration.population.same_source import SameSourceFit
from trafficgen.capture.convert import Conversion
from trafficgen.capture.reading import inspect
from trafficgen.errors import SimulationWarning
from trafficgen.flows import Exchanges, rate_series
from trafficgen.flows.inspection import Inspection
from trafficgen.models import Model
from trafficgen.models.application import Application
from trafficgen.models.differences import ModelDifferences
from trafficgen.models.published.listing import CatalogueModels
from trafficgen.models.published_model import PublishedModel
from trafficgen.notebook import NotebookView
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.reports.page import TIME, Axis, Chart, Curve, Layer, Role, Rule, Span, chart_rows
from trafficgen.reports.samples import choose_bin_s
from trafficgen.reproduction.finding import Finding
from trafficgen.reproduction.results import FindingResult
from trafficgen.reproduction.sensitivity import LeaveOneOut, Sensitivity
from trafficgen.simulation.path import Path
from trafficgen.simulation.results import SimulationResult
from trafficgen.simulation.simulate import simulate
from trafficgen.simulation.traces import load_trace
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray, kbps_from_bps, megabytes, s_from_ns
from trafficgen.workloads.estimate import WorkloadEstimate
from trafficgen.workloads.plan import PlannedWorkload
from trafficgen.workloads.write import WrittenWorkload

#: Differences of a chart, and the time for which each model of the catalogue is played for one, s.
_MOST_DIFFERENCES, _CATALOGUE_S = 30, 30.0
_ROLES: tuple[Role, ...] = ("measured", "synthetic", "law")
#: Bins of a rate over time, and their smallest width, s.
_RATE_BINS, _FINEST_BIN_S = 240, 1e-9
_TIME = Axis(label="time", unit="s", low=0)


@singledispatch
def charts_of(result: NotebookView) -> list[Chart]:
    """Return charts of a result without a report; none of what nothing can be drawn of."""
    return []


def _chart_rate(
    name: str, kbps: FloatArray, bin_s: float, *, time: Axis = _TIME, behind: tuple[Layer, ...] = ()
) -> list[Chart]:
    """Return a chart of a rate in successive bins."""
    start_s = bin_s * np.arange(kbps.size, dtype=np.float64)
    rate = Curve(name=name, role=_ROLES[0], x=start_s, y=kbps, shape="steps")
    y = Axis(label="rate", unit="kbit/s", low=0)
    return [Chart(name="rate", title="Rate over time", x=time, y=y, layers=(*behind, rate))]


@charts_of.register
def _chart_packets(table: PacketTable) -> list[Chart]:
    """Return the rate of the IP packets to clients, or to servers where nothing goes to clients."""
    way, end = table.to_client, "clients"
    if not way.any():
        way, end = ~way, "servers"
    order = np.argsort(table.time_ns[way], kind="stable")
    time_ns, sizes = table.time_ns[way][order], table.ip_bytes[way][order]
    if not time_ns.size or time_ns[0] == time_ns[-1]:
        return []
    span_s = s_from_ns(int(time_ns[-1] - time_ns[0]))
    bin_s = choose_bin_s(span_s, most=_RATE_BINS, finest_s=_FINEST_BIN_S)
    rates = rate_series(time_ns, sizes, bin_s=bin_s)
    return _chart_rate(f"IP packets to {end}", rates.rate_kbps, bin_s)


@charts_of.register
def _chart_conversion(result: Conversion) -> list[Chart]:
    """Return the rate of the packets that a trace became."""
    return charts_of(result.table)


@charts_of.register
def _chart_capture(found: Inspection) -> list[Chart]:
    """Return the rate of all flows to clients."""
    rates, _ = found.measure_rates(_RATE_BINS)
    return _chart_rate("bytes on the wire to clients", rates, found.duration_s / _RATE_BINS)


@charts_of.register
def _chart_source(result: SameSourceFit) -> list[Chart]:
    """Return the mean rate of the phases of its model, where its report has no chart."""
    return charts_of(result.model)


@charts_of.register
def _chart_phases(model: Model) -> list[Chart]:
    """Return the mean rate of a model's phases, with its buffering."""
    phases = [phase for stream in model.streams for phase in stream.phases]
    bin_s = max(phase.end_s for phase in phases) / _RATE_BINS
    middles_s = (np.arange(_RATE_BINS) + 0.5) * bin_s
    rates = np.zeros(_RATE_BINS)
    for phase in phases:
        is_in = (middles_s >= phase.start_s) & (middles_s < phase.end_s)
        rates[is_in] += kbps_from_bps(phase.rate_bps)
    spans: tuple[Span, ...] = ()
    if model.buffering is not None:
        end_s = model.buffering.duration_s.value
        spans = (Span(name="buffering", start=0.0, end=end_s, role="extra"),)
    time = replace(TIME, low=0)
    return _chart_rate("mean rate of the phases", rates, bin_s, time=time, behind=spans)


@charts_of.register
def _chart_exchanges(exchanges: Exchanges) -> list[Chart]:
    """Return a chart of the responses over time, each from its request to its last byte."""
    kinds, start_ns = exchanges.column("kind"), exchanges.column("request_ns").astype(np.float64)
    shown = (kinds != "control") & ~np.isnan(start_ns)
    if not shown.any():
        return []
    zero_ns = start_ns[shown].min()
    start_s = s_from_ns(start_ns - zero_ns)
    end_s = s_from_ns(exchanges.column("last_byte_ns").astype(np.float64) - zero_ns)
    size_kb = exchanges.column("response_bytes") / 1000

    def bars(kind: str, role: Role) -> Curve:
        rows = np.flatnonzero(shown & (kinds == kind))
        gaps = np.full(len(rows), np.nan)
        x, y = (start_s[rows], end_s[rows], gaps), (size_kb[rows], size_kb[rows], gaps)
        return Curve(name=kind, role=role, x=np.stack(x, 1).ravel(), y=np.stack(y, 1).ravel())

    present = [kind for kind in ("media", "audio", "small") if kind in kinds[shown]]
    return [
        Chart(
            name="exchanges",
            title="Responses over time",
            x=Axis(label="time after the first request", unit="s", low=0),
            y=Axis(label="response", unit="kB", low=0),
            layers=tuple(bars(kind, role) for kind, role in zip(present, _ROLES, strict=False)),
        )
    ]


@charts_of.register
def _chart_rungs(application: Application) -> list[Chart]:
    """Return a chart of the rungs that a player switched between; none where it never did."""
    switches = application.switches
    if not switches:
        return []
    rungs = Curve(
        name="rung",
        x=[min(0.0, switches[0].time_s), *(one.time_s for one in switches)],
        y=[switches[0].from_kbps, *(one.to_kbps for one in switches)],
        shape="steps",
    )
    return [
        Chart(
            name="rungs",
            title="Rungs over time",
            x=TIME,
            y=Axis(label="rate of the rung", unit="kbit/s", low=0),
            layers=(rungs,),
        )
    ]


@charts_of.register
def _chart_differences(result: ModelDifferences) -> list[Chart]:
    """Return a chart of the estimates that differ, relative to the first model."""
    pairs = [
        (one.what, one.first, one.second)
        for one in result.differences
        if isinstance(one.first, dict) and isinstance(one.second, dict) and one.first["value"]
    ]
    shown = pairs[:_MOST_DIFFERENCES][::-1]  # the first on top
    bases = np.array([first["value"] for _, first, _ in shown])

    def points(name: str, role: Role, sides: list[dict[str, float]]) -> tuple[Curve, Curve]:
        def ratios(end: str) -> FloatArray:
            known = [side["value"] if side[end] is None else side[end] for side in sides]
            relative: FloatArray = np.array(known, dtype=np.float64) / bases
            return relative

        rows = np.arange(len(shown), dtype=np.float64)
        # An interval lies along the x axis: a line from end to end, interrupted between rows.
        ends = np.stack([ratios("low"), ratios("high"), np.full(rows.size, np.nan)])
        line = Curve(name=name, role=role, x=ends.T.ravel(), y=np.repeat(rows, 3))
        return line, Curve(name=name, role=role, x=ratios("value"), y=rows, shape="points")

    if not shown:
        return []
    return [
        Chart(
            name="differences",
            title="What differs",
            x=Axis(label="relative to the value in the first model"),
            y=Axis(label="", categories=tuple(what for what, *_ in shown)),
            layers=(
                *points("first", "measured", [first for _, first, _ in shown]),
                *points("second", "synthetic", [second for _, _, second in shown]),
            ),
        )
    ]


@charts_of.register
def _chart_catalogue(result: CatalogueModels) -> list[Chart]:
    """Return a chart of the mean rate of each model's default, played over a wide path."""
    names = [one.name for one in result]
    rates = {name: play_model(name).flows[0].measure.rate_kbps for name in names}
    label = f"IP rate of the first {_CATALOGUE_S:g} s on a wide path"
    axis = Axis(label=label, unit="kbit/s", low=0)
    return [chart_rows("rates", "Mean rates of the models by default", axis, rates)]


def play_model(model: str | PublishedModel) -> SimulationResult:
    """Play the beginning of a published model over a wide path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        return simulate(model, path="rate=1Gbps,delay=10ms", duration_s=_CATALOGUE_S)


@charts_of.register
def _chart_starts(workload: PlannedWorkload) -> list[Chart]:
    """Return a chart of how many sessions have started by a time, by group if colours suffice."""
    sessions, roles = workload.to_pandas(), get_args(Role)
    by_group = len(workload.groups) <= len(roles)
    starts = dict(list(sessions.groupby("group")["start_s"])) if by_group else {}
    starts = starts or {"all groups": sessions["start_s"]}
    layers = tuple(
        Curve(
            name=name,
            role=role,
            x=np.sort(start_s.to_numpy(dtype=np.float64)),
            y=np.arange(1.0, start_s.size + 1),
            shape="steps",
        )
        for (name, start_s), role in zip(starts.items(), roles, strict=False)
    )
    time = Axis(label="time after the start of the workload", unit="s", low=0)
    counts = Axis(label="sessions", low=0)
    title = "Sessions that have started"
    return [Chart(name="starts", title=title, x=time, y=counts, layers=layers)]


@charts_of.register
def _chart_finding(finding: Finding) -> list[Chart]:
    """Return a chart of what a paper published, and of the range that is accepted."""
    published = finding.published if isinstance(finding.published, int | float) else np.nan
    y = Axis(label="", categories=(finding.id,))
    x = Axis(label=finding.quantity, unit=finding.unit)
    point = Curve(name="published", role="measured", x=[published], y=[0.0], shape="points")
    rules = _accepted_range(finding, "x")
    return [Chart(name="published", title=finding.id, x=x, y=y, layers=(*rules, point))]


@charts_of.register
def _chart_finding_result(result: FindingResult) -> list[Chart]:
    """Return a chart of what the runs gave, and of the range that is accepted."""
    finding, runs = result.finding, np.arange(1.0, len(result.values) + 1)
    points = Curve(name="simulated", role="synthetic", x=runs, y=result.values, shape="points")
    y = Axis(label=finding.quantity, unit=finding.unit)
    layers = (*_accepted_range(finding, "y"), points)
    return [Chart(name="runs", title=finding.id, x=Axis(label="run"), y=y, layers=layers)]


def _accepted_range(finding: Finding, axis: Literal["x", "y"]) -> tuple[Layer, ...]:
    limits = (one for one in (finding.low, finding.high) if one is not None)
    return tuple(Rule(name="accepted range", at=at, axis=axis) for at in limits)


@charts_of.register
def _chart_sections(result: LeaveOneOut) -> list[Chart]:
    """Return a chart of the share of quantities within range, by section."""
    shares = {one.section: one.met / max(1, len(one.rows)) for one in result.sections}
    axis = Axis(label="share of quantities within range", low=0, high=1)
    return [chart_rows("sections", "Predicted with one section left out", axis, shares)]


@charts_of.register
def _chart_flips(result: Sensitivity) -> list[Chart]:
    """Return a chart of how many verdicts each open value changes."""
    counts = dict.fromkeys(result.values, 0)
    for flip in result.flips:
        counts[flip.value] += 1
    axis = Axis(label="verdicts that a move of the value changes", low=0)
    return [chart_rows("flips", "What the open values decide", axis, counts)]


@charts_of.register
def _chart_links(path: Path) -> list[Chart]:
    """Return a chart of the capacity of each link over time; a trace by its mean."""
    rates = {link.name: link.rate_bps for link in path.links}
    for link in path.links:
        if link.trace is not None:
            rates[link.name] = load_trace(link.trace, period_s=link.trace_period_s).mean_bps
    known = {name: kbps_from_bps(rate) for name, rate in rates.items() if rate is not None}
    axis = Axis(label="capacity to the client", unit="kbit/s", low=0)
    return [chart_rows("links", "Capacity of the links", axis, known)] if known else []


@charts_of.register
def _chart_shares(result: WorkloadEstimate) -> list[Chart]:
    """Return a chart of the bytes of each group, or of all sessions."""
    parts = {name: float(group["bytes_share"]) for name, group in result.groups.items()}
    sizes = {name: megabytes(result.ip_bytes * share) for name, share in parts.items()}
    axis = Axis(label="IP bytes", unit="MB", low=0)
    sizes = sizes or {"all sessions": megabytes(result.ip_bytes)}
    return [chart_rows("groups", "What the groups will send", axis, sizes)]


@charts_of.register
def _chart_written(result: WrittenWorkload) -> list[Chart]:
    """Return the rate over time of the file that was written, which is read for it."""
    return charts_of(inspect(result.path))


@charts_of.register
def _chart_projection(report: ProjectionReport) -> list[Chart]:
    """Return a chart of how far laws are from those of the input, or of bytes before and after."""
    if report.distances:
        axis = Axis(label="KS distance to the input", low=0)
        return [chart_rows("distances", "What the export changed", axis, report.distances)]
    sizes = {"before": report.bytes_before, "after": report.bytes_after}
    known = {name: megabytes(size) for name, size in sizes.items() if size is not None}
    axis = Axis(label="IP bytes", unit="MB", low=0)
    return [chart_rows("bytes", "What the export wrote", axis, known)] if known else []
