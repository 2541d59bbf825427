"""Rankings of the catalogue: traffic whose model is known comes from that model."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import trafficgen
from trafficgen.errors import SelectionError
from trafficgen.models.published import entry_names
from trafficgen.validation import ranking as ranking_module

_PLAY = ranking_module._play


@cache
def _play_as_it_is(name: str, seed: int) -> ranking_module._Traffic:
    return _PLAY(name, {}, seed)


@pytest.fixture(autouse=True)
def play_each_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(name: str, settings: dict[str, float], seed: int) -> ranking_module._Traffic:
        return _PLAY(name, settings, seed) if settings else _play_as_it_is(name, seed)

    monkeypatch.setattr(ranking_module, "_play", play)


#: Entries that are not the same model under another name, or another half of one.
KNOWN = (
    "voip_ngmn2008",
    "voip_tgax",
    "game_ngmn2008",
    "game_rta_lockstep_ul",
    "speech_itup59",
    "vdi_tgax",
    "video_tgax_bv2",
    "video_tgax_mc1",
    "xr_3gpp38838_pose",
    "xr_3gpp38838_ar_session",
    "vr_lecci2021_minecraft",
)


@pytest.mark.parametrize("name", KNOWN)
def test_traffic_of_a_model_is_nearest_to_it_from_a_file_of_any_run(
    name: str, tmp_path: Path
) -> None:
    trafficgen.generate(name, tmp_path / "a.pcap", seed=99)
    ranking = trafficgen.rank_catalogue(tmp_path / "a.pcap", every=True)
    first, second = ranking.models[:2]
    assert first.name == name, ranking.to_pandas().head(4).to_string()
    assert second.distance > first.distance
    assert first.distance < 0.2  # a call of a minute has some twenty spurts
    assert set(ranking.to_pandas().index) == set(entry_names())


def test_a_web_session_is_nearest_to_the_web() -> None:
    table = trafficgen.generate("web_3gpp2", settings={"duration_s": 1800}, seed=98)
    first, second = trafficgen.rank_catalogue(table).models[:2]
    assert first.name == "web_3gpp2"
    assert first.distance < 0.5 * second.distance  # sizes of some sixty pages have a long tail


def test_the_rate_of_a_model_is_set_to_what_was_measured() -> None:
    settings = {"rate_mbps": 12, "fps": 90}
    table = trafficgen.generate("xr_3gpp38838_vr_session", settings=settings, seed=5)
    first = trafficgen.rank_catalogue(table).models[0]
    assert first.name in {"xr_3gpp38838_vr_session", "xr_3gpp38838_cg_session"}
    assert first.settings == {"rate_mbps": pytest.approx(12, rel=0.03), "fps": 90}
    assert first.distance < 0.05


def test_a_ranking_is_the_same_each_time_and_refuses_what_is_not_there() -> None:
    table = trafficgen.generate("voip_tgax", seed=5)
    first, second = (trafficgen.rank_catalogue(table, seed=3).to_json() for _ in range(2))
    assert first == second
    with pytest.raises(SelectionError):
        trafficgen.rank_catalogue(table, session=7)
