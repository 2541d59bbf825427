"""Reports in a browser: everything is drawn, nothing is fetched, nothing sticks out, in both themes
and both widths.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.conftest import PageOpener, WatchedPage

import trafficgen

CAPTURE = (
    Path(__file__).resolve().parents[2] / "examples" / "captures" / "http_burst_then_paced.pcap.gz"
)
WINDOWS = [(400, False), (400, True), (1400, False), (1400, True)]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write a report of a fit, of a comparison and of a simulation."""
    folder = tmp_path_factory.mktemp("reports")
    fitted = trafficgen.fit(CAPTURE)
    synthetic = folder / "synthetic.pcap"
    trafficgen.generate(fitted.model, synthetic, seed=1)
    made: dict[str, object] = {
        "fit": fitted,
        "compare": trafficgen.compare(CAPTURE, synthetic),
        "simulate": trafficgen.simulate(
            "wmedia9_nichols2004", path="rate=725kbps,delay=45ms,queue=80p", seed=1
        ),
    }
    paths = {name: folder / f"{name}.html" for name in made}
    for name, path in paths.items():
        trafficgen.save_report(made[name], path)  # type: ignore[arg-type]
    return paths


def draw_all(watched: WatchedPage) -> None:
    """Scroll through the page, so that every drawing comes near the window, and wait until all are
    drawn.
    """
    page = watched.page
    for figure in page.locator("figure").all():
        figure.scroll_into_view_if_needed()
        figure.locator(".main-svg").first.wait_for(state="attached")
    page.evaluate("scrollTo(0, 0)")


@pytest.fixture(params=["fit", "compare", "simulate"])
def report(request: pytest.FixtureRequest, reports: dict[str, Path]) -> Path:
    return reports[request.param]


@pytest.mark.parametrize(("width", "dark"), WINDOWS)
def test_every_drawing_is_drawn_and_nothing_is_fetched_or_cut(
    page_at: PageOpener, report: Path, width: int, dark: bool
) -> None:
    watched = page_at(report, width=width, dark=dark)
    draw_all(watched)
    assert watched.page.locator("figure").count() >= 4
    assert watched.errors == []
    assert watched.requests == [report.resolve().as_uri()]
    assert watched.overflowing() == []
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width


def test_labels_of_an_axis_do_not_lie_on_each_other(page_at: PageOpener, report: Path) -> None:
    watched = page_at(report, width=400)
    draw_all(watched)
    assert watched.page.evaluate(OVERLAPPING) == []


def test_a_click_on_the_legend_hides_a_curve_and_brings_it_back(
    page_at: PageOpener, reports: dict[str, Path]
) -> None:
    page = page_at(reports["compare"]).page
    figure = page.locator("#drawing-gaps")
    figure.scroll_into_view_if_needed()
    curves = figure.locator(".scatterlayer .trace")
    figure.locator(".main-svg").first.wait_for(state="attached")
    before = curves.count()
    button = figure.locator(".legend button").first
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert curves.count() == before - 1
    button.click()
    assert curves.count() == before


@pytest.mark.parametrize(
    ("kind", "beginning"), [("csv", b'"layer"'), ("svg", b"<svg"), ("png", b"\x89PNG")]
)
def test_data_and_pictures_of_a_drawing_can_be_saved(
    page_at: PageOpener, reports: dict[str, Path], tmp_path: Path, kind: str, beginning: bytes
) -> None:
    page = page_at(reports["compare"]).page
    figure = page.locator("#drawing-gaps")
    figure.scroll_into_view_if_needed()
    figure.locator(".main-svg").first.wait_for(state="attached")
    with page.expect_download() as saved:
        figure.locator(f'[data-save="{kind}"]').click()
    assert saved.value.suggested_filename == f"gaps.{kind}"
    path = tmp_path / "saved"
    saved.value.save_as(path)
    assert path.read_bytes().startswith(beginning)


def test_the_button_turns_light_into_dark_and_drawings_follow(
    page_at: PageOpener, reports: dict[str, Path]
) -> None:
    page = page_at(reports["compare"], dark=False).page
    figure = page.locator("#drawing-distances")
    figure.scroll_into_view_if_needed()
    title = figure.locator(".xtitle").first
    title.wait_for(state="attached")
    light = title.evaluate("node => getComputedStyle(node).fill")
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.wait_for_timeout(200)
    assert figure.locator(".xtitle").first.evaluate("node => getComputedStyle(node).fill") != light


def test_a_printed_report_has_all_its_drawings(
    page_at: PageOpener, reports: dict[str, Path]
) -> None:
    watched = page_at(reports["compare"])
    figures = watched.page.locator("figure").count()
    watched.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    watched.page.wait_for_timeout(500)
    assert watched.page.locator("figure:has(.main-svg)").count() == figures
    assert watched.page.pdf(format="A4").startswith(b"%PDF")


#: Texts of one axis whose boxes overlap by more than a pixel.
OVERLAPPING = """() => {
  const found = [];
  for (const figure of document.querySelectorAll("figure")) {
    for (const kind of [".xtick text", ".ytick text"]) {
      const boxes = [...figure.querySelectorAll(kind)].map((node) => [node.textContent, node.getBoundingClientRect()]);
      boxes.forEach(([text, one], i) => {
        for (const [other, two] of boxes.slice(i + 1)) {
          const beside = one.right <= two.left + 1 || two.right <= one.left + 1;
          const above = one.bottom <= two.top + 1 || two.bottom <= one.top + 1;
          const apart = beside || above;
          if (!apart) found.push(`${figure.id}: ${text} on ${other}`);
        }
      });
    }
  }
  return found;
}"""
