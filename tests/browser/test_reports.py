"""Reports in a browser: charts are shown, nothing is fetched, nothing overflows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.conftest import PageOpener, WatchedPage

import trafficgen
from trafficgen.reports.writing import Reportable

CAPTURE = (
    Path(__file__).resolve().parents[2] / "examples" / "captures" / "http_burst_then_paced.pcap.gz"
)
WINDOWS = [(400, False), (400, True), (1400, False), (1400, True)]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write a report of a fit, of a comparison, of a simulation and of a workload."""
    folder = tmp_path_factory.mktemp("reports")
    fitted = trafficgen.fit(CAPTURE)
    synthetic = folder / "synthetic.pcap"
    trafficgen.generate(fitted.model, synthetic, seed=1)
    made: dict[str, Reportable] = {
        "fit": fitted,
        "compare": trafficgen.compare(CAPTURE, synthetic),
        "simulate": trafficgen.simulate(
            "wmedia9_nichols2004", path="rate=725kbps,delay=45ms,queue=80p", seed=1
        ),
        "workload": trafficgen.simulate_workload(
            "dashjs", path="rate=20Mbps,delay=20ms", compete="tcp", sessions=6, duration_s=20
        ),
    }
    paths = {name: folder / f"{name}.html" for name in made}
    for name, path in paths.items():
        trafficgen.save_report(made[name], path)
    paths["zoomable"] = folder / "zoomable.html"
    trafficgen.save_report(made["compare"], paths["zoomable"], interactive=True)
    return paths


@pytest.fixture(params=["fit", "compare", "simulate", "workload"])
def report(request: pytest.FixtureRequest, reports: dict[str, Path]) -> Path:
    return reports[request.param]


@pytest.mark.parametrize(("width", "dark"), WINDOWS)
def test_every_chart_is_shown_and_nothing_is_fetched_or_cut(
    page_at: PageOpener, report: Path, width: int, dark: bool
) -> None:
    watched = page_at(report, width=width, dark=dark)
    charts = watched.page.locator("figure svg")
    assert watched.page.locator("figure").count() == charts.count() >= 4
    assert all((box := one.bounding_box()) and box["height"] > 100 for one in charts.all())
    assert watched.errors == []
    assert watched.requests == [report.resolve().as_uri()]
    assert watched.overflowing() == []
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width


def test_labels_of_a_chart_do_not_lie_on_each_other(page_at: PageOpener, report: Path) -> None:
    assert page_at(report, width=400).page.evaluate(OVERLAPPING) == []


@pytest.mark.parametrize("width", [400, 1400])
def test_legends_and_labels_are_large_enough_to_read(
    page_at: PageOpener, report: Path, width: int
) -> None:
    page = page_at(report, width=width).page
    assert page.locator(".legend li").count() >= 4
    assert [one for one in page.evaluate(LETTER_SIZES) if one[1] < 11] == []
    assert page.evaluate(ON_THE_LABEL) == []


def test_a_narrow_window_shows_the_numbers_of_a_table(
    page_at: PageOpener, reports: dict[str, Path]
) -> None:
    page = page_at(reports["fit"], width=400).page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    cells = page.locator("table tbody tr:first-child td.number:nth-child(2)").all()
    ends = [box["x"] + box["width"] for cell in cells if (box := cell.bounding_box())]
    assert ends
    assert max(ends) <= 400


def test_tables_of_two_columns_fit_a_narrow_window(page_at: PageOpener, report: Path) -> None:
    page = page_at(report, width=400).page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate(WIDE_PAIRS) == []


def test_cells_of_a_narrow_table_break_between_words(page_at: PageOpener, report: Path) -> None:
    page = page_at(report, width=400).page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate(BROKEN_WORDS) == []


def test_charts_take_the_colours_of_the_theme(
    page_at: PageOpener, reports: dict[str, Path]
) -> None:
    colours = set()
    for dark in (False, True):
        text = page_at(reports["compare"], dark=dark).page.locator("figure svg text").first
        colours.add(text.evaluate("node => getComputedStyle(node).fill"))
    assert len(colours) == 2


def test_a_printed_report_has_all_its_charts(page_at: PageOpener, reports: dict[str, Path]) -> None:
    assert page_at(reports["compare"]).page.pdf(format="A4").startswith(b"%PDF")


def test_charts_over_time_are_zoomed_together_by_mouse_and_keys(
    page_at: PageOpener, reports: dict[str, Path]
) -> None:
    watched = page_at(reports["zoomable"])
    page, times = watched.page, [f"#chart-{name} svg" for name in ("rate", "cumulative-bytes")]
    whole = [_tick_texts(watched, one) for one in times]
    page.locator(times[0]).scroll_into_view_if_needed()
    box = page.locator(times[0]).bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 3
    page.mouse.move(box["x"] + 0.4 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], middle)
    page.mouse.up()
    zoomed = [_tick_texts(watched, one) for one in times]
    assert zoomed[0] == zoomed[1] != whole[0]
    assert 3 <= len(zoomed[0]) <= 8
    ends = [float(text) for text in zoomed[0]]
    assert 0 < ends[0] < ends[-1] < float(whole[0][-1])
    page.locator("#chart-rate .plot").press("0")
    assert [_tick_texts(watched, one) for one in times] == whole
    page.locator("#chart-rate .plot").press("+")
    assert _tick_texts(watched, times[0]) != whole[0]
    assert watched.errors == []
    assert watched.requests == [reports["zoomable"].resolve().as_uri()]


def _tick_texts(watched: WatchedPage, chart: str) -> list[str]:
    """Return the labels of the time axis that are shown, from left to right."""
    found: list[str] = watched.page.eval_on_selector(chart, _TICK_TEXTS)
    return found


_TICK_TEXTS = """svg => [...svg.querySelectorAll(".xtick text")]
  .filter((one) => one.getBoundingClientRect().width).map((one) => one.textContent)"""


#: Upright texts of one chart whose boxes overlap by more than a pixel.
OVERLAPPING = """() => {
  const found = [];
  for (const figure of document.querySelectorAll("figure")) {
    const upright = [...figure.querySelectorAll("svg text")].filter((node) => {
      const turned = /rotate\\(-?(\\d+)/.exec(node.getAttribute("transform") ?? "");
      return !turned || Number(turned[1]) === 0;
    });
    const boxes = upright.map((node) => [node.textContent, node.getBoundingClientRect()]);
    boxes.forEach(([text, one], i) => {
      for (const [other, two] of boxes.slice(i + 1)) {
        const apart = one.right <= two.left + 1 || two.right <= one.left + 1
          || one.bottom <= two.top + 1 || two.bottom <= one.top + 1;
        if (!apart) found.push(`${figure.id}: ${text} on ${other}`);
      }
    });
  }
  return found;
}"""


#: Tables of two columns that are wider than the window.
WIDE_PAIRS = """() => [...document.querySelectorAll('table')]
    .filter(one => one.rows[0].cells.length === 2 &&
        one.getBoundingClientRect().right > document.documentElement.clientWidth)
    .map(one => one.innerText.slice(0, 80))"""
#: Words of cells that lie on two lines; names may break at underscores, digests anywhere.
BROKEN_WORDS = """() => {
  const found = [];
  for (const cell of document.querySelectorAll("td, th")) {
    for (const node of cell.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE) continue;
      for (const word of node.data.matchAll(/[A-Za-z0-9]+/g)) {
        if (word[0].length === 64) continue;
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = [...range.getClientRects()].map((box) => Math.round(box.top));
        if (new Set(tops).size > 1) found.push(word[0]);
      }
    }
  }
  return found;
}"""


#: Texts of legends and charts with their size on the screen, pixels; powers are smaller.
LETTER_SIZES = """() => {
  const texts = [...document.querySelectorAll(".legend li, figure svg text")];
  return texts.map((node) => {
  const scale = node.closest("svg")?.getScreenCTM().a ?? 1;
  return [node.textContent, scale * parseFloat(getComputedStyle(node).fontSize)];
});}"""

#: Numbers that lie on the upright label of a y axis.
ON_THE_LABEL = """() => {
  const found = [];
  for (const figure of document.querySelectorAll("figure")) {
    const texts = [...figure.querySelectorAll("svg text")];
    const isUpright = (node) => /rotate\\(-90/.test(node.getAttribute("transform") ?? "");
    const boxOf = (node) => node.getBoundingClientRect();
    const label = texts.filter(isUpright).map(boxOf).find((box) => box.height > 30);
    for (const node of texts.filter((one) => !isUpright(one))) {
      const box = boxOf(node);
      if (label && box.left < label.right - 1 && box.top < label.bottom && box.bottom > label.top) {
        found.push(`${figure.id}: ${node.textContent}`);
      }
    }
  }
  return found;
}"""
