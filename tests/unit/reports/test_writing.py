"""The page: whole in itself, safe against what captures bring in, the same bytes each time."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from trafficgen.errors import OutputFileError
from trafficgen.reports.page import (
    Axis,
    Chart,
    Curve,
    Headline,
    Report,
    Section,
    Span,
    Table,
    Text,
    tabulate,
)
from trafficgen.reports.writing import render_html, write_page

HOSTILE = '</script><script>alert(1)</script><img src="x" onerror="alert(2)">.pcap'


def report(name: str = "a.pcap") -> Report:
    chart = Chart(
        name="rate",
        title=f"Rate of {name}",
        x=Axis(label="time", unit="s"),
        y=Axis(label="rate", unit="kbit/s"),
        layers=(Curve(name=name, x=[0, 1], y=[2, 3], role="measured"),),
        caption=f"of {name}",
    )
    table = Table(
        title=name, header=("metric", name), rows=((name, "1"),), numbers=(1,), marks=((0, "bad"),)
    )
    text = [Text(lines=(name,), kind=kind) for kind in ("lead", "text", "list", "warnings")]
    section = Section(title=name, blocks=(*text, table, chart))
    headline = Headline(mark="warn", sentence=name, figures={name: name})
    return Report(title=name, subtitle=name, sections=(section,), made_by=name, headline=headline)


class Page(HTMLParser):
    """Collects elements and the addresses that they would load."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.addresses += [
            value or "" for key, value in attrs if key in {"src", "href", "action", "data"}
        ]
        assert not [key for key, _ in attrs if key.startswith("on")]


def test_a_page_refers_to_nothing_but_itself() -> None:
    page = Page()
    page.feed(render_html(report()))
    assert "figure" in page.elements
    assert page.addresses
    assert all(address.startswith("#") for address in page.addresses)


def test_no_address_of_another_place_stands_anywhere_in_the_file() -> None:
    assert "://" not in render_html(report())


def test_a_hostile_name_stays_text() -> None:
    page = Page()
    page.feed(render_html(report(HOSTILE)))
    assert page.elements.count("script") == 0
    assert "img" not in page.elements


def test_the_policy_of_the_page_lets_it_load_nothing() -> None:
    text = render_html(report())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none';")
    assert "http" not in policy[1]


def test_an_interactive_page_runs_its_own_script_and_no_other() -> None:
    text = render_html(report(HOSTILE), interactive=True)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"img-src data:; script-src 'sha256-{digest}'\"" in text
    assert "://" not in text.replace(HOSTILE, "")
    assert "script-src" not in render_html(report())


def test_the_same_report_gives_the_same_bytes() -> None:
    assert render_html(report()) == render_html(report())


def test_the_verdict_is_a_sign_and_a_word_before_all_else() -> None:
    page = render_html(report())
    assert page.index("! With care.") < page.index("<nav") < page.index("<section")


def test_rows_and_columns_that_know_nothing_are_left_out() -> None:
    records: list[dict[str, object]] = [
        {"what": "known", "value": 1.0, "unit": "", "p": None},
        {"what": "unknown", "value": None, "unit": "", "p": None},
        {"what": "other", "value": 2.0, "unit": "", "p": None},
    ]
    table = tabulate("T", records, marks={1: "bad", 2: "good"})
    assert table is not None
    assert table.header == ("what", "value")
    assert table.rows == (("known", "1"), ("other", "2"))
    assert table.marks == ((1, "good"),)
    assert tabulate("T", records[1:2]) is None


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputFileError, match="cannot be written"):
        write_page(report(), tmp_path / "missing" / "report.html", interactive=False)
    assert list(tmp_path.iterdir()) == []


def test_a_legend_names_each_layer_once_with_its_colour() -> None:
    curve = Curve(name="<i>a</i>", x=[0, 1], y=[2, 3], role="law", dashed=True)
    chart = replace(
        report().charts[0],
        layers=(curve, replace(curve, role="other"), Span(name="phase", start=0, end=1)),
    )
    text = render_html(
        Report(title="t", subtitle="s", sections=(Section("u", (chart,)),), made_by="m")
    )
    entries = re.findall(r'<li style="--mark: var\(--role-(\w+)\)"><span class="(\w+)"', text)
    assert entries == [("law", "dash"), ("measured", "area")]
    assert "</span>&lt;i&gt;a&lt;/i&gt;</li>" in text
    svg = text[text.index("<svg") : text.index("</svg>")]
    assert "phase" not in svg
