"""Draw one chart of a result for a notebook: a chart of its report, or its rate over time."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from trafficgen.errors import SettingError, SimulationWarning
from trafficgen.extras import require
from trafficgen.flows import Exchanges
from trafficgen.formatting import suggest_name
from trafficgen.models import Model
from trafficgen.models.application import Application
from trafficgen.models.differences import ModelDifferences
from trafficgen.models.published.listing import CatalogueModels
from trafficgen.models.published_model import PublishedModel
from trafficgen.notebook import ChartView
from trafficgen.options import check_argument
from trafficgen.reports.charts import TIME, Axis, Chart, Curve, Role, Span
from trafficgen.reports.drawing import plot_chart
from trafficgen.reports.writing import report_of
from trafficgen.simulation.results import SimulationResult
from trafficgen.simulation.simulate import simulate
from trafficgen.units import FloatArray, s_from_ns
from trafficgen.workloads.plan import PlannedWorkload

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Differences of a chart, and the time for which each model of the catalogue is played for one, s.
_MOST_DIFFERENCES, _CATALOGUE_S = 30, 30.0
_ROLES: tuple[Role, ...] = ("measured", "synthetic", "law")


def plot_result(result: ChartView, name: str | None, axes: Axes | None) -> Axes:
    """Draw a chart of a result; see :meth:`~trafficgen.notebook.ChartView.plot`."""
    require("report", "matplotlib")  # before a report is made
    check_argument("chart", name, str | None)
    if isinstance(result, PublishedModel):
        result = _play(result)
    has_report = report_of.dispatch(type(result)) is not report_of.dispatch(object)
    found = report_of(result).charts if has_report else ()
    if isinstance(result, Exchanges):
        drawn = _chart_exchanges(result)
    elif isinstance(result, Application):
        drawn = _chart_rungs(result)
    elif isinstance(result, ModelDifferences):
        drawn = _chart_differences(result)
    elif isinstance(result, CatalogueModels):
        drawn = [_chart_catalogue(result)]
    elif isinstance(result, PlannedWorkload):
        drawn = [_chart_starts(result)]
    else:
        drawn = _chart_rates(result)
    charts = {chart.name: chart for chart in found or drawn}
    if not charts:
        raise SettingError(
            f"{result!r} has no chart: it holds no packets, rates or switches of rungs"
        )
    if name is not None and name not in charts:
        raise SettingError(
            f"no chart {name!r}{suggest_name(name, charts)}; charts are {', '.join(charts)}"
        )
    return plot_chart(charts[next(iter(charts)) if name is None else name], axes)


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


def _chart_catalogue(result: CatalogueModels) -> Chart:
    """Return a chart of the mean rate of each model's default, played over a wide path."""
    names = [one.name for one in result][::-1]
    rates = []
    for name in names:
        rates.append(_play(name).flows[0].measure.rate_kbps)
    return Chart(
        name="rates",
        title="Mean rates of the models by default",
        x=Axis(
            label=f"IP rate of the first {_CATALOGUE_S:g} s on a wide path", unit="kbit/s", low=0
        ),
        y=Axis(label="", categories=tuple(names)),
        layers=(
            Curve(
                name="played",
                role="synthetic",
                x=rates,
                y=np.arange(len(names), dtype=np.float64),
                shape="points",
            ),
        ),
    )


def _play(model: str | PublishedModel) -> SimulationResult:
    """Play the beginning of a published model over a wide path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        return simulate(model, path="rate=1Gbps,delay=10ms", duration_s=_CATALOGUE_S)


def _chart_starts(workload: PlannedWorkload) -> Chart:
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
    return Chart(name="starts", title=title, x=time, y=counts, layers=layers)


def _chart_rates(result: ChartView) -> list[Chart]:
    """Return the rates that a notebook shows of a result as a chart, with the phases of a model."""
    rates = result._notebook_rates()
    if rates is None:
        return []
    spans: tuple[Span, ...] = ()
    if isinstance(result, Model) and result.buffering is not None:
        end_s = result.buffering.duration_s.value
        spans = (Span(name="buffering", start=0.0, end=end_s, role="extra"),)
    curves = [
        Curve(
            name=name,
            role=role,
            x=rates.step_s * np.arange(kbps.size, dtype=np.float64),
            y=kbps,
            shape="steps",
        )
        for (name, kbps), role in zip(rates.lines, _ROLES, strict=False)
    ]
    return [
        Chart(
            name="rate",
            title="Rate over time",
            x=replace(TIME if isinstance(result, Model) else Axis(label="time", unit="s"), low=0),
            y=Axis(label="rate", unit="kbit/s", low=0),
            layers=(*spans, *curves),
        )
    ]
