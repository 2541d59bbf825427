"""A published model on an existing mechanism costs one data file; everything else follows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trafficgen
from reference_pages.catalogue import entry_page, index_page
from trafficgen.cli.app import run
from trafficgen.explore.playable_models import list_catalogue
from trafficgen.models.published import entry_names, load_entry, registry

ENTRY = """
schema_version: "1"
name: webcam_doe2004
description: A camera that sends at a constant rate.
provenance:
  kind: published
  citations:
    - {authors: [Doe], year: 2004, title: Cameras, supports: [all]}
  limitations: [It does not respond to loss.]
transport: udp
options:
  rate_kbps: {default: 128, low: 1, unit: kbps, description: Rate of the packets., source: Doe 4.2,
              sets: [rate_bps]}
mechanism:
  kind: cbr
  parameters:
    packet_bytes: {value: 500, basis: figure, source: Doe 4.2}
    duration_s: {value: 5, basis: open, reason: any length serves}
"""


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the name of an entry that is one more file in the catalogue."""
    folder = tmp_path / "entries"
    folder.mkdir()
    for entry in registry.ENTRIES.iterdir():
        (folder / entry.name).write_text(entry.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "webcam_doe2004.yaml").write_text(ENTRY, encoding="utf-8")
    monkeypatch.setattr(registry, "ENTRIES", folder)
    monkeypatch.chdir(tmp_path)
    _forget()
    yield "webcam_doe2004"
    _forget()


def test_python_lists_loads_and_plays_it(name: str) -> None:
    assert name in [one.name for one in trafficgen.models_list()]
    assert len(trafficgen.generate(name, seed=1)) == 5 * 128_000 // (8 * 500)
    result = trafficgen.simulate(name, path="rate=1Mbps,delay=20ms", seed=1)
    assert result.flows[0].measure.loss == 0


def test_the_command_line_names_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "list"]) == 0
    assert f"{name}  (udp; provisional)" in capsys.readouterr().out
    assert run(["generate", name, "-q", "--set", "rate_kbps=64", "-o", "out.csv"]) == 0
    assert run(["generate", "webcam", "-o", "out.csv", "--force"]) == 2
    assert name in capsys.readouterr().err


def test_the_catalogue_pages_and_the_local_page_show_it(name: str) -> None:
    assert f"[`{name}`](catalogue/{name}.md)" in index_page()
    assert "A camera that sends at a constant rate." in entry_page(name)
    assert name in [one.name for one in list_catalogue()]


def _forget() -> None:
    entry_names.cache_clear()
    load_entry.cache_clear()
