from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.generation.conftest import bursts, model_with, phase, renewal, stream

import trafficgen
from trafficgen.errors import ExportError
from trafficgen.export import model_laws
from trafficgen.models import Law, Phase, RenewalProcess, Stream


def model_of(*, gap: Law, size: Law) -> trafficgen.Model:
    process = RenewalProcess(gap_s=gap, packet_bytes=size)
    return model_with(stream(phases=(phase("playout", 3.0, 60.0, process),)))


SIZE = Law(
    unit="bytes", family="gamma", params={"a": 3.0, "loc": 28.0, "scale": 200.0}, observations=1
)


@pytest.mark.parametrize(
    ("family", "params", "option"),
    [
        ("expon", {"loc": 0.0, "scale": 0.02}, ("-E", 50.0)),
        (
            "weibull_min",
            {"c": 2.0, "loc": 0.0, "scale": 0.03},
            ("-W", 30.0, 2.0),
        ),  # scale and shape, in this order
        ("gamma", {"a": 4.0, "loc": 0.0, "scale": 0.005}, ("-G", 4.0, 5.0)),
        ("pareto", {"b": 6.0, "loc": 0.0, "scale": 0.02}, ("-V", 6.0, 20.0)),
        ("norm", {"loc": 0.04, "scale": 0.005}, ("-N", 40.0, 5.0)),
    ],
)
def test_laws_that_ditg_draws_are_handed_over_in_its_units(
    tmp_path: Path, family: str, params: dict[str, float], option: tuple[str, ...]
) -> None:
    gap = Law(unit="s", family=family, params=params, observations=1)
    report = trafficgen.export(model_of(gap=gap, size=SIZE), to="ditg", directory=tmp_path)
    words = (tmp_path / "video-playout.script").read_text().split()
    at = words.index(option[0])
    values = [float(word) for word in words[at + 1 : at + len(option)]]
    assert values == pytest.approx(
        [float(value) for value in option[1:]], rel=0.15
    )  # by the moments of 20 000 gaps
    assert report.distances["video-playout gap_s.ks"] < 0.03
    assert words[words.index("-d") + 1] == "4000"
    assert words[words.index("-t") + 1] == "60000"
    assert [float(word) for word in words[words.index("-g") + 1 :][:2]] == pytest.approx(
        [3.0, 200.0], rel=0.1
    )


def test_sizes_that_no_law_comes_close_to_are_read_from_a_file(tmp_path: Path) -> None:
    two = Law(
        unit="bytes",
        family="atoms",
        atoms=({"value": 128, "p": 0.5}, {"value": 1428, "p": 0.5}),  # type: ignore[arg-type]
        observations=1,
    )
    gap = Law(unit="s", family="expon", params={"loc": 0.0, "scale": 0.02}, observations=1)
    report = trafficgen.export(model_of(gap=gap, size=two), to="ditg", directory=tmp_path / "a")
    assert report.distances["video-playout packet_bytes.ks"] < 0.01
    assert set((tmp_path / "a" / "video-playout.ps").read_text().split()) == {"100", "1400"}
    with pytest.raises(ExportError, match="ditg cannot draw video-playout packet_bytes"):
        trafficgen.export(
            model_of(gap=gap, size=two),
            to="ditg",
            directory=tmp_path / "b",
            settings={"size_files": "off"},
        )


def test_bursts_are_on_and_off_times_at_the_end_of_the_line(tmp_path: Path) -> None:
    model = model_with(stream(phases=(phase("playout", 0.0, 60.0, bursts(spacing_s=0.5)),)))
    report = trafficgen.export(model, to="ditg", directory=tmp_path, settings={"largest_ks": 0.5})
    words = (tmp_path / "video-playout.script").read_text().split()
    at = words.index("-B")
    assert set(words[at + 1 :]) & set("UENGWV")
    assert not [word for word in words[at + 1 :] if word.startswith("-")]
    assert report.distances["video-playout burst_packets.ks"] < 0.1
    assert any("last packet of a burst" in text for text in report.cannot_express)


def test_a_law_that_ditg_cannot_draw_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    model = model_with(stream(phases=(phase("playout", 0.0, 60.0, renewal(mean_s=0.01)),)))
    with pytest.raises(
        ExportError, match=r"ditg cannot draw .*\(KS\), more than 0; .*'approximate': 'on'"
    ):
        trafficgen.export(model, to="ditg", directory=tmp_path / "out", settings={"largest_ks": 0})
    assert list(tmp_path.iterdir()) == []


def test_the_first_law_that_cannot_be_drawn_is_refused_before_others_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    play = model_laws._played

    def record(played: Stream, part: Phase, name: str, *, target: str) -> model_laws.PlayedPhase:
        tried.append(name)
        return play(played, part, name, target=target)

    monkeypatch.setattr(model_laws, "_played", record)
    phases = tuple(phase("playout", 0.0, 60.0, renewal(mean_s=0.01)) for _ in range(3))
    model = model_with(*(stream(phases=(one,), name=f"s{n}") for n, one in enumerate(phases)))
    with pytest.raises(ExportError, match="ditg cannot draw s0-playout"):
        trafficgen.export(model, to="ditg", directory=tmp_path / "x", settings={"largest_ks": 0})
    assert tried == ["s0-playout"]
