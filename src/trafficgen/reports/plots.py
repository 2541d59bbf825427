"""Draw one chart of a result for a notebook: a chart of its report, or of what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trafficgen.errors import SettingError
from trafficgen.extras import require
from trafficgen.formatting import suggest_name
from trafficgen.models.published_model import PublishedModel
from trafficgen.notebook import NotebookView
from trafficgen.options import check_argument
from trafficgen.reports.drawing import plot_chart
from trafficgen.reports.result_charts import charts_of, play_model
from trafficgen.reports.writing import report_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_result(result: NotebookView, name: str | None, axes: Axes | None) -> Axes:
    """Draw a chart of a result; see :meth:`~trafficgen.notebook.NotebookView.plot`."""
    require("report", "matplotlib")  # before a report is made
    check_argument("chart", name, str | None)
    if isinstance(result, PublishedModel):
        result = play_model(result)
    has_report = report_of.dispatch(type(result)) is not report_of.dispatch(object)
    found = report_of(result).charts if has_report else ()
    charts = {chart.name: chart for chart in found or charts_of(result)}
    if not charts:
        raise SettingError(f"{result!r} has no chart: it holds nothing that can be drawn")
    if name is not None and name not in charts:
        raise SettingError(
            f"no chart {name!r}{suggest_name(name, charts)}; charts are {', '.join(charts)}"
        )
    return plot_chart(charts[next(iter(charts)) if name is None else name], axes)
