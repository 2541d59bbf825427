"""The local page in a browser: what is drawn, what reacts to clicks and keys, what a link brings
back.
"""

from __future__ import annotations

import csv
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

import trafficgen
from trafficgen import LocalPage
from trafficgen.explore import explore

pytest.importorskip("playwright.sync_api")

CAPTURE = (
    Path(__file__).resolve().parents[2] / "examples" / "captures" / "rtsp_rtp_two_streams.pcap.gz"
)
PageOpener = Callable[..., Any]
READY = "#results[aria-busy='false']"


@pytest.fixture(scope="module")
def served() -> Iterator[LocalPage]:
    """Return a page that begins with a capture."""
    with explore(CAPTURE, port=0) as page:
        yield page


@pytest.fixture
def opened(page_at: PageOpener, served: LocalPage) -> PageOpener:
    """Return a function that opens the page with settings and waits until it has simulated."""

    def open_with(query: str = "?model=chunked", **how: Any) -> Any:
        watched = page_at(served.url + query, **how)
        watched.page.wait_for_selector(READY)
        return watched

    return open_with


def _ready(page: Any) -> None:
    page.wait_for_selector(READY)


def _curves(page: Any, panel: str) -> dict[str, list[float | None]]:
    """Return the curves of a panel as they were handed to Plotly: name -> values."""
    found: dict[str, list[float | None]] = page.evaluate(
        "id => Object.fromEntries(document.getElementById(id).data.map(one => [one.name,"
        " [...one.y]]))",
        f"plot-{panel}",
    )
    return found


def _text(page: Any, selector: str) -> str:
    text: str = page.inner_text(selector)
    return text


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_page_draws_its_panels_without_errors_or_other_machines(
    opened: PageOpener, served: LocalPage, width: int, dark: bool
) -> None:
    watched = opened("?model=chunked&competitor=tcp&rate_kbps=2000", width=width, dark=dark)
    page = watched.page
    assert page.locator(".plot:visible .main-svg").count() >= 4
    assert watched.errors == []
    assert watched.requests_elsewhere(served.url) == []
    assert watched.overflowing() == []
    assert page.locator(".modebar-btn").count() == 0
    assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground.removeprefix("rgb(").removesuffix(")").split(","))) < 200) is dark


def test_results_come_first_and_on_a_phone_the_chart_before_the_controls(
    opened: PageOpener,
) -> None:
    page = opened("?model=chunked&rate_kbps=250&duration_s=60", width=400).page
    names = page.locator("#figures dt").all_inner_texts()
    assert names[:4] == ["mean rate received", "stalls", "playback starts after", "packets lost"]
    assert _text(page, "#figures .bad dd").startswith("! ")
    tops = [
        page.locator(one).bounding_box()["y"]
        for one in ("#figures", "#panel-rate", "#model-group", "#path-group", "#panel-buffer")
    ]
    assert tops == sorted(tops)


def test_there_are_no_empty_cards(opened: PageOpener) -> None:
    page = opened("?model=cbr&duration_s=20").page
    assert not page.locator("#panel-buffer").is_visible()
    assert not page.locator("#panel-loss").is_visible()
    shown = page.locator("#panels > .card:visible").count()
    assert shown == page.locator("#panels .plot:visible .main-svg").count() // 3 >= 1


def test_every_axis_has_its_unit_and_every_control_its_label(opened: PageOpener) -> None:
    page = opened("?model=wmedia9_nichols2004&competitor=cbr").page
    axes = (
        "plots => plots.flatMap(one => one.layout ? [one.layout.xaxis.title.text,"
        " one.layout.yaxis.title.text] : [])"
    )
    titles = page.eval_on_selector_all(".plot", axes)
    assert len(titles) >= 8
    assert [
        title for title in titles if not title.endswith((", s", ", kbit/s", ", %", "per second"))
    ] == []
    nameless = page.eval_on_selector_all(
        "main input, main select, main button, header select, header button",
        "all => all.filter(one => !(one.labels?.length || one.ariaLabel ||"
        " one.textContent.trim())).map(one => one.id)",
    )
    assert nameless == []


def test_capacity_slider_changes_the_rate_and_the_link(opened: PageOpener) -> None:
    page = opened("?model=chunked&rate_kbps=1000").page
    before = max(filter(None, _curves(page, "rate")["received by the client"]))
    page.focus("#rate_kbps-slider")
    for _ in range(3):
        page.keyboard.press("PageUp")
    _ready(page)
    after = _curves(page, "rate")
    assert page.input_value("#rate_kbps") != "1000"
    assert f"rate_kbps={page.input_value('#rate_kbps')}" in page.url
    assert max(filter(None, after["received by the client"])) > 1.2 * before
    assert after["capacity of the path"] == [float(page.input_value("#rate_kbps"))] * 2


def test_another_model_brings_its_own_options(opened: PageOpener) -> None:
    page = opened("?model=chunked").page
    assert page.locator("#set-ladder_kbps").is_visible()
    page.select_option("#model", "realvideo10_boyden2005")
    _ready(page)
    assert page.locator("#set-ladder_kbps").count() == 0
    page.select_option("#set-encoding_rate_kbps", "1000")
    _ready(page)
    assert "model=realvideo10_boyden2005" in page.url
    assert "set.encoding_rate_kbps=1000" in page.url
    assert "--set encoding_rate_kbps=1000" in _text(page, "#command")
    page.select_option("#set-encoding_rate_kbps", "512")
    _ready(page)
    assert "set.encoding_rate_kbps" not in page.url


def test_competitor_brings_its_controls_and_its_curve(opened: PageOpener) -> None:
    page = opened("?model=chunked").page
    assert not page.locator("#compete_start_s").is_visible()
    page.select_option("#competitor", "cbr")
    _ready(page)
    assert page.locator("#compete_kbps").is_visible()
    assert max(filter(None, _curves(page, "rate")["cbr-1, received"])) > 0
    page.select_option("#competitor", "tcp:reno")
    _ready(page)
    assert not page.locator("#compete_kbps").is_visible()
    assert "tcp-1" in _text(page, "#flows")


def test_preset_sets_the_path(opened: PageOpener) -> None:
    page = opened("?model=chunked").page
    page.get_by_role("button", name="TCP comes and goes").click()
    _ready(page)
    assert page.input_value("#competitor") == "tcp"
    assert "tcp@30s..60s" in _text(page, "#command")


def test_link_brings_everything_back(opened: PageOpener) -> None:
    query = (
        "?model=wmedia9_nichols2004&competitor=tcp%3Areno&rate_kbps=900&delay_ms=30"
        "&queue_packets=40&loss_percent=1.5&loss_burst_packets=2&loss_start_s=5&compete_kbps=300"
        "&compete_start_s=10&compete_stop_s=40&duration_s=50&seed=9"
        "&set.ladder_kbps=340%2C1128"
    )
    page = opened(query).page
    assert page.input_value("#model") == "wmedia9_nichols2004"
    assert page.input_value("#loss_percent") == "1.5"
    assert page.is_checked("input[value='1128']")
    command = _text(page, "#command")
    assert shlex.split(command) == [
        *("trafficgen", "simulate", "wmedia9_nichols2004"),
        *("--path", "rate=900kbps,delay=30ms,queue=40p,loss=1.5%,loss_burst=2,loss_start=5s"),
        *("--compete", "tcp:reno@10s..40s", "--set", "ladder_kbps=340,1128"),
        *("--duration", "50", "--seed", "9", "--json"),
    ]
    page.fill("#seed", "8")
    page.fill("#seed", "9")
    _ready(page)
    assert sorted(parse_qsl(urlsplit(page.url).query)) == sorted(parse_qsl(query.removeprefix("?")))


def test_curves_are_those_of_the_command(opened: PageOpener) -> None:
    path = "rate_kbps=600&delay_ms=45&queue_packets=50"
    page = opened(f"?model=wmedia9_nichols2004&{path}&competitor=tcp&duration_s=60").page
    result = trafficgen.simulate(
        "wmedia9_nichols2004",
        path="rate=600kbps,delay=45ms,queue=50p",
        compete="tcp@30s..60s",
        duration_s=60,
    )
    shown = _curves(page, "rate")
    assert shown["received by the client"] == result.series["media_kbps"].tolist()
    assert shown["tcp-1, received"] == result.series["tcp-1_kbps"].tolist()


def test_error_stands_beside_its_control_and_goes_when_it_is_mended(opened: PageOpener) -> None:
    page = opened("?model=realplayer8_chung2002").page
    page.fill("#set-clip", "99")
    page.wait_for_selector("#set-clip-error:visible")
    assert "one of the 79" in _text(page, "#set-clip-error")
    assert page.get_attribute("#set-clip", "aria-invalid") == "true"
    assert "Not simulated" in _text(page, "#status")
    page.fill("#set-clip", "12")
    page.wait_for_selector("#set-clip-error", state="hidden")
    _ready(page)
    assert "Simulated" in _text(page, "#status")


@pytest.mark.parametrize(
    ("query", "place", "part"),
    [
        ("?model=nothing", "#model-error", "unknown model 'nothing'"),
        ("?model=cbr&rate_kbps=1", "#rate_kbps-error", "below 20"),
        ("?model=cbr&colour=red", "#problem", "colour=red"),
    ],
)
def test_link_that_is_wrong_is_told(opened: PageOpener, query: str, place: str, part: str) -> None:
    page = opened(query).page
    assert part in _text(page, place)


def test_pinned_run_stays_in_grey_behind_the_next(opened: PageOpener) -> None:
    page = opened("?model=chunked&rate_kbps=3000").page
    before = _curves(page, "rate")["received by the client"]
    page.click("#pin")
    page.fill("#rate_kbps", "500")
    _ready(page)
    curves = _curves(page, "rate")
    assert curves["pinned: received"] == before
    assert curves["received by the client"] != before
    page.click("#pin")
    assert "pinned: received" not in _curves(page, "rate")


def test_capture_stands_beside_the_model_that_was_fitted_to_it(opened: PageOpener) -> None:
    page = opened("").page
    assert page.input_value("#model") == CAPTURE.name
    curves = _curves(page, "rate")
    measured = list(filter(None, curves["measured in the capture"]))
    simulated = list(filter(None, curves["offered by the source"]))
    assert sum(simulated) / len(simulated) == pytest.approx(sum(measured) / len(measured), rel=0.1)
    assert (
        _text(page, "#command").splitlines()[0]
        == f"trafficgen fit {shlex.quote(str(CAPTURE))} -o model.json"
    )


def test_series_and_pictures_can_be_saved(opened: PageOpener, tmp_path: Path) -> None:
    page = opened("?model=chunked&duration_s=30").page
    with page.expect_download() as saved:
        page.click("#csv")
    saved.value.save_as(tmp_path / "series.csv")
    assert saved.value.suggested_filename == "chunked.csv"
    with (tmp_path / "series.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["media_kbps"]) for row in rows] == _curves(page, "rate")[
        "received by the client"
    ]
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as saved:
            page.get_by_role("button", name=f"Player buffer as {kind}").click()
        saved.value.save_as(tmp_path / "picture")
        assert (tmp_path / "picture").read_bytes().startswith(start)


def test_theme_can_be_chosen(opened: PageOpener) -> None:
    page = opened("?model=cbr").page
    page.select_option("#theme", "dark")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("document.getElementById('plot-rate').layout.paper_bgcolor") == "#181d24"


def test_texts_of_a_model_are_no_markup(page_at: PageOpener) -> None:
    evil = "<img src=x onerror=document.title='taken'>"
    model = trafficgen.load_model("cbr").model_copy(
        update={"name": f"cbr{evil}", "description": evil}
    )
    with explore(model, port=0) as served:
        watched = page_at(served.url)
        page = watched.page
        _ready(page)
        assert evil in _text(page, "#model-about")
        assert page.locator("main img").count() == 0
        assert page.title() == "trafficgen explore"
        assert watched.errors == []


#: By how many pixels charts are wider than their cards.
BEYOND_CARDS = """() => Math.max(...[...document.querySelectorAll(".card:not([hidden]) .plot")].map(
    (plot) => plot.querySelector(".main-svg").getBoundingClientRect().right
        - plot.closest(".card").getBoundingClientRect().right))"""


def test_charts_stay_within_their_cards_when_the_window_narrows(opened: PageOpener) -> None:
    page = opened("?model=cbr&duration_s=20", width=1400).page
    assert page.evaluate(BEYOND_CARDS) <= 0
    page.set_viewport_size({"width": 400, "height": 900})
    page.wait_for_timeout(500)
    assert page.evaluate(BEYOND_CARDS) <= 0
