"""Draw one chart of a result for a notebook: a chart of its report, or its rate over time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from trafficgen.errors import SettingError
from trafficgen.extras import require
from trafficgen.formatting import suggest_name
from trafficgen.models import Model
from trafficgen.notebook import ChartView
from trafficgen.reports.charts import TIME, Axis, Chart, Curve, Role, Span
from trafficgen.reports.drawing import plot_chart
from trafficgen.reports.writing import report_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROLES: tuple[Role, ...] = ("measured", "synthetic", "law")


def plot_result(result: ChartView, name: str | None, axes: Axes | None) -> Axes:
    """Draw a chart of a result; see :meth:`~trafficgen.notebook.ChartView.plot`."""
    require("report", "matplotlib")  # before a report is made
    has_report = report_of.dispatch(type(result)) is not report_of.dispatch(object)
    found = report_of(result).charts if has_report else ()
    charts = {chart.name: chart for chart in found or _chart_rates(result)}
    if not charts:
        raise SettingError(f"{result!r} has no chart: it holds no packets and no rates")
    if name is not None and name not in charts:
        raise SettingError(
            f"no chart {name!r}{suggest_name(name, charts)}; charts are {', '.join(charts)}"
        )
    return plot_chart(charts[next(iter(charts)) if name is None else name], axes)


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
