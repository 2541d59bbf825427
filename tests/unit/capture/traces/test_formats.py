"""Every module of trace formats declares one completely, and a new module is all that one needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from trafficgen.capture.options import ConvertOptions
from trafficgen.capture.traces import formats
from trafficgen.capture.traces.formats import FORMATS
from trafficgen.capture.traces.options import OPTION_FLAGS
from trafficgen.capture.traces.reading import read_trace
from trafficgen.options import list_options

_TOY = """
from trafficgen.capture.traces.frames import Frames, cut_frames
from trafficgen.capture.traces.trace_format import TraceFormat, most_lines

_LINE = r"^toy (?P<size>[0-9]+)$"


def read_toy(reading):
    sizes = reading.match(_LINE).integers("size")
    return cut_frames(reading, Frames.single_stream(sizes * 0, sizes))


FORMAT = TraceFormat(
    "a-toy", "A toy.", most_lines(_LINE), read_toy, place=20, line="toy", remedy="write toy"
)
"""


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_format_is_complete(name: str) -> None:
    its = FORMATS[name]
    assert its.name == name
    assert its.description.endswith(".")
    assert set(its.takes) <= set(OPTION_FLAGS)


def test_files_are_tried_in_one_order() -> None:
    places = [its.place for its in FORMATS.values()]
    assert len(set(places)) == len(places)
    assert max(FORMATS, key=lambda name: FORMATS[name].place) == "frame-sizes"


def test_help_of_convert_names_every_format() -> None:
    (text,) = (how.help for one, how in list_options(ConvertOptions) if one.name == "from_format")
    assert all(name in text for name in FORMATS)


def test_every_option_is_taken_by_a_format() -> None:
    assert {field for its in FORMATS.values() for field in its.takes} == set(OPTION_FLAGS)


def test_a_reader_is_one_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_toy.py").write_text(_TOY)
    (tmp_path / "trace").write_text("toy 100\ntoy 200\n")
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    assert "a-toy" in FORMATS
    read = read_trace(str(tmp_path / "trace"), format_name="a-toy")
    assert read.records == 2
    assert len(read.table) == 2
