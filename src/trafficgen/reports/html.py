"""A report as one HTML file that needs nothing else: style, script and data are inside.

plotly.js draws: the best kept library for scientific plots in a browser, and it comes with its
Python package, so that nothing is fetched. Everything that a capture could have brought in (names,
addresses, warnings) passes jinja2's escaping or, in the data, JSON without ``<``; the page's own
policy forbids it to load or to send anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from trafficgen.outputs import whole_files
from trafficgen.reports.charts import Chart
from trafficgen.reports.page import Block, Report, Text
from trafficgen.reports.palette import DARK, LIGHT, css_variables


def render_html(report: Report) -> str:
    """Return the file's text; the same report gives the same text."""
    import jinja2  # noqa: PLC0415 - commands that write no report start without it

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.globals.update(groups_of=_groups)
    return environment.from_string(_asset("report.html.j2")).render(
        report=report,
        style=_asset("report.css"),
        light=css_variables(LIGHT),
        dark=css_variables(DARK),
        plotly=plotly_script(),
        script=_asset("report.js"),
        charts=_as_script_data([chart.to_json() for chart in report.charts]),
    )


def save_html(report: Report, path: str | Path) -> None:
    """Write a report, whole or not at all.

    Raises:
        OutputFileError: If the file cannot be written.
    """
    text = render_html(report)
    with whole_files([Path(path)]) as parts:
        parts[0].write_text(text, encoding="utf-8")


def plotly_script() -> str:
    r"""Return plotly.js as its package brings it, its addresses spelt ``https:\/\/``.

    They are those of maps and of its makers, and nothing here asks for them. To JavaScript the
    spelling is the same; to who searches a report for addresses it shows that there is none.
    """
    script = (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    return script.replace("://", r":\/\/")


def _asset(name: str) -> str:
    return (files("trafficgen.reports") / "assets" / name).read_text(encoding="utf-8")


def _as_script_data(value: object) -> str:
    """Return JSON that cannot end the script element it stands in (HTML standard, 4.12.1.3)."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _groups(blocks: tuple[Block, ...]) -> Iterator[tuple[str, list[Block]]]:
    """Yield runs of blocks of one kind: charts side by side, the rest one below the other."""
    run: list[Block] = []
    for block in blocks:
        if run and not (isinstance(block, Chart) and isinstance(run[0], Chart)):
            yield _kind(run[0]), run
            run = []
        run.append(block)
    if run:
        yield _kind(run[0]), run


def _kind(block: Block) -> str:
    if isinstance(block, Chart):
        return "charts"
    return block.kind if isinstance(block, Text) else "table"
