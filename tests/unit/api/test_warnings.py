"""Warnings: which come, and that they point at the line of the user."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import trafficgen
from trafficgen.models.published import entry_names, load_entry

CAPTURE = "examples/captures/http_burst_then_paced.pcap.gz"
PATH = "rate=1Mbps,delay=10ms"
RTP_CAPTURE = "examples/captures/rtsp_rtp_two_streams.pcap.gz"
#: Family of models -> how long its sources are silent at first, s.
_SILENCES_S = {"wmedia9": 5, "realvideo10": 2.3}
ENDS = "cbr: a session ends by itself after 60 s, before its duration of 90 s; set duration_s"


@pytest.fixture(scope="module")
def rtp_model() -> trafficgen.Model:
    """Return a model whose response to congestion is unknown."""
    return trafficgen.fit(RTP_CAPTURE).model


@pytest.mark.parametrize("options", [{}, {"sessions": 3}, {"path": PATH}])
def test_a_duration_that_a_model_does_not_reach_is_said_once(options: dict[str, Any]) -> None:
    with pytest.warns(trafficgen.SimulationWarning, match=ENDS) as caught:
        trafficgen.generate("cbr", duration_s=90, **options)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_simulation_and_a_fleet_say_it_too(tmp_path: Path) -> None:
    with pytest.warns(trafficgen.SimulationWarning, match=ENDS):
        trafficgen.simulate("cbr", path=PATH, compete="tcp@-5s", duration_s=90)
    with pytest.warns(trafficgen.SimulationWarning, match=r"after 73.5 s.*set clip_s"):
        trafficgen.generate_workload(
            "wmedia9_nichols2004", tmp_path / "fleet.parquet", sessions=2, duration_s=90
        )


#: Of the standards' models, which are data on one mechanism, some.
_ENTRIES = [
    *(name for name in entry_names() if load_entry(name).mechanism.kind != "streams"),
    *("xr_3gpp38838_pose", "vr_lecci2021_minecraft", "game_rta_lockstep_ul"),
]


@pytest.mark.parametrize("options", [{}, {"sessions": 2}, {"path": PATH}])
@pytest.mark.parametrize("duration_s", [0.01, 10, 60, 300])
@pytest.mark.parametrize("model", _ENTRIES)
def test_media_that_end_well_before_what_was_asked_are_said(
    model: str, duration_s: float, options: dict[str, Any]
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = trafficgen.generate(model, duration_s=duration_s, **options)
    is_media = pc.and_(
        pc.not_equal(pc.take(table.flows.column("media"), table.packets.column("flow")), "control"),
        pc.and_(
            pc.greater(table.packets.column("payload_bytes"), 0),
            pc.not_equal(pc.cast(table.packets.column("phase"), "string").fill_null(""), "probe"),
        ),
    )
    if load_entry(model).mechanism.kind != "streams":  # whose clients send media too
        is_media = pc.and_(is_media, table.packets.column("to_client"))
    media = table.packets.filter(is_media)
    last_s = max(media.column("time_ns").to_pylist(), default=0) / 1e9
    texts = [str(one.message) for one in caught]
    if media.num_rows == 0:
        silence_s = _SILENCES_S.get(model.partition("_")[0])
        after = f", which comes after about {silence_s} s" if silence_s else ""
        assert f"ends before its first media packet{after}; ask for a longer" in texts[0]
    elif last_s < 0.94 * duration_s:
        assert f"before its duration of {duration_s:g} s" in texts[0]
    elif last_s > 0.96 * duration_s:
        assert texts == []
    assert len(texts) <= 1


def test_a_model_that_is_set_to_last_so_long_says_nothing() -> None:
    table = trafficgen.generate("cbr", duration_s=90, settings={"duration_s": 90})
    assert table.time_s[-1] > 89
    trafficgen.generate("cbr", duration_s=60)
    trafficgen.generate("cbr", duration_s=5)


def test_a_warning_points_at_the_line_of_the_user() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trafficgen.read_packets(CAPTURE)
        trafficgen.simulate("cbr", path="rate=1Mbps,loss=100%", duration_s=5)
    assert {one.filename for one in caught} == {__file__}
    assert len({one.lineno for one in caught}) == 2


@pytest.mark.parametrize("function", ["fit_population", "fit_same_source"])
def test_a_capture_that_cannot_be_opened_is_a_warning(function: str, tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("one.parquet", "two.parquet")]
    for seed, file in enumerate(files):
        trafficgen.generate("cbr", file, duration_s=20, seed=seed)
    with pytest.warns(trafficgen.CaptureWarning, match=r"gone\.pcap: .*; it is left out") as caught:
        fitted = getattr(trafficgen, function)([*files, "gone.pcap"])
    assert str(caught[0].message) in fitted.warnings
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "options",
    [
        *({"compete": "nonsense"}, {"compete": ("ping", "tpc")}, {"compete": "cbr(rte=1)"}),
        *({"tcp": "foo"}, {"quic": "foo"}, {"tcp": "cubic", "quic": "cubic"}),
    ],
)
@pytest.mark.parametrize("function", ["simulate", "generate", "simulate_workload"])
def test_an_error_of_an_option_comes_without_warnings_of_the_model(
    function: str, options: dict[str, Any], rtp_model: trafficgen.Model
) -> None:
    if options.keys() & {"tcp", "quic"} and function == "generate":
        pytest.skip("packets of a path have the transport of their model")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(trafficgen.TrafficgenError, match=r"nonsense|tpc|rte|foo|exclude"):
            getattr(trafficgen, function)(rtp_model, path=PATH, **options)
    assert not caught
