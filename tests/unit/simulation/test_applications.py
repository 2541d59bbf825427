"""Fitted players over paths that they were not fitted on."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen._core import replay_players
from trafficgen.errors import SimulationError, SimulationWarning
from trafficgen.models import Application, Estimate, Model, PlayerPolicy, Rung, complete_ladder
from trafficgen.models.published import load_entry, parameters_for_engine, with_settings
from trafficgen.simulation.applications import make_player
from trafficgen.simulation.ladder_draws import draw_ladder
from trafficgen.simulation.sources import sources_of

#: A player that takes what it can get, of a title whose sizes vary a little.
PLAYER: dict[str, Any] = {
    **{"policy": "throughput", "throughput_average": "smoothed", "throughput_share": 0.8},
    **{"throughput_up_steps": 1, "ladder_kbps": [300, 600, 1200, 2000], "segment_s": 2},
    **{"buffer_target_s": 10, "start_s": 2, "resume_s": 2, "duration_s": 240},
    "content_factors": np.exp(np.random.default_rng(5).normal(0, 0.04, 120)).tolist(),
}
WIDE, NARROW = "rate=2.2Mbps,delay=20ms,queue=60kB", "rate=1.1Mbps,delay=30ms,queue=40kB"
#: Its capture leaves open whether there are rungs above the highest one.
pytestmark = pytest.mark.filterwarnings("ignore:wide.*does not show")


def play(model: Any, path: str, **options: Any) -> trafficgen.SimulationResult:
    with warnings.catch_warnings(action="ignore", category=trafficgen.SimulationWarning):
        return trafficgen.simulate(model, path=path, duration_s=90, seed=2, **options)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Model:
    capture = tmp_path_factory.mktemp("fitted") / "wide.pcap"
    play("chunked", WIDE, settings=PLAYER, out=capture, at="receiver")
    return trafficgen.fit(capture).model


def test_a_fitted_player_takes_less_of_a_narrower_path(fitted: Model) -> None:
    assert fitted.application is not None
    assert fitted.application.kind == "chunked"
    there = play("chunked", NARROW, settings=PLAYER)
    found = play(fitted, NARROW)
    assert str(found.notes["plays"]).startswith("the requests of its player: policy")
    rate_kbps = there.flows[0].measure.rate_kbps
    assert found.flows[0].measure.rate_kbps == pytest.approx(rate_kbps, rel=0.25)
    assert found.end_s == pytest.approx(there.end_s, rel=0.1)
    packets = play(fitted.model_copy(update={"application": None}), NARROW)
    assert "plays" not in packets.notes
    assert packets.flows[0].measure.rate_kbps > 1.4 * rate_kbps


def test_on_its_own_path_it_does_what_it_did(fitted: Model) -> None:
    there, found = play("chunked", WIDE, settings=PLAYER), play(fitted, WIDE)
    rates = [one.flows[0].measure.rate_kbps for one in (there, found)]
    assert rates[1] == pytest.approx(rates[0], rel=0.1)
    assert play(fitted, WIDE).packets() == found.packets()


@pytest.mark.parametrize(
    ("start_media_s", "segments"), [(4.0007, 2), (3.9993, 2), (2.0, 1), (5.0, 2.5), (None, 1)]
)
def test_playback_starts_with_as_many_segments_as_it_did(
    fitted: Model, start_media_s: float | None, segments: float
) -> None:
    """The clock of the segments and their mean length differ by what was rounded."""
    found = application([500.0], start_media_s=start_media_s, policy=None)
    model = fitted.model_copy(update={"application": found})
    player = make_player(model, {}, session=0, duration_s=None, seed=1)
    assert player is not None
    assert player.settings["start_s"] == pytest.approx(2.0 * segments, abs=1e-6)
    assert float(str(player.settings["start_s"])) <= 2.0 * segments


def test_several_runs_have_intervals_that_hold_the_true_player(fitted: Model) -> None:
    there = play("chunked", NARROW, settings=PLAYER)
    found = play(fitted, NARROW, runs=20)
    answers = {one.name: one for one in found.answers}
    rate_kbps = there.flows[0].measure.rate_kbps
    assert answers["mean_kbps"].low < rate_kbps < answers["mean_kbps"].high
    assert answers["mean_kbps"].value == found.flows[0].measure.rate_kbps
    recorded = play("chunked", WIDE, settings=PLAYER)
    assert answers["mean_kbps"].recorded == pytest.approx(
        recorded.flows[0].measure.rate_kbps, rel=0.05
    )
    known_from = recorded.events.playback(recorded.end_s)
    assert known_from is not None
    assert answers["mean_rung_kbps"].recorded == pytest.approx(known_from.mean_rung_kbps, rel=0.05)
    assert play(fitted, NARROW, runs=20).answers == found.answers
    # What is likeliest is the first run, however many there are.
    single = play(fitted, NARROW)
    assert np.array_equal(single.packets().time_ns, found.packets().time_ns)
    assert single.answers == ()
    assert found.to_json()["runs"] == 20


def test_a_policy_that_is_not_known_is_drawn_among_all(fitted: Model) -> None:
    assert fitted.application is not None
    policies = (PlayerPolicy(family="throughput", weight=1.0), None)
    players = [fitted.application.model_copy(update={"policy": policy}) for policy in policies]
    given, drawn = (
        play(fitted.model_copy(update={"application": one}), NARROW, runs=20).answers
        for one in players
    )
    widths = [
        next(one.high - one.low for one in answers if one.name == "mean_rung_kbps")
        for answers in (given, drawn)
    ]
    assert widths[1] > widths[0]


def test_about_half_of_the_players_at_one_rung_alone_stay_there(fitted: Model) -> None:
    found = application([600.0], highest_throughput_kbps=620.0)
    model = fitted.model_copy(update={"application": found})
    highest_kbps = []
    for seed in range(24):
        with warnings.catch_warnings(action="ignore", category=trafficgen.SimulationWarning):
            # The first run stays, the other one is drawn.
            runs = trafficgen.simulate(model, path=WIDE, duration_s=40, seed=seed, runs=2)
        answers = {one.name: one for one in runs.answers}
        highest_kbps.append(answers["mean_rung_kbps"].high)
    stay = sum(kbps == pytest.approx(600) for kbps in highest_kbps)
    assert 8 <= stay <= 20


def test_runs_of_a_published_model_differ_by_their_seeds_alone() -> None:
    path = "rate=725kbps,delay=45ms"
    found = trafficgen.simulate("wmedia9_nichols2004", path=path, duration_s=20, runs=3)
    rate = next(one for one in found.answers if one.name == "mean_kbps")
    assert rate.recorded is None
    assert rate.value is not None
    assert rate.low <= rate.value <= rate.high
    with pytest.raises(SimulationError, match="use 100,000 at most"):
        trafficgen.simulate("wmedia9_nichols2004", path=path, runs=10**15)
    with pytest.raises(trafficgen.GenerationError, match="runs"):
        trafficgen.simulate_workload("dashjs", path=path, sessions=2, window_s=1, runs=2)


def test_settings_say_what_it_would_have_been(fitted: Model) -> None:
    found = play(fitted, NARROW, settings={"policy": "fixed", "fixed_kbps": 600})
    assert {kbps for _, kbps in found.events.facts["rung_kbps"]} == {
        kbps for _, kbps in found.events.facts["rung_kbps"][:1]
    }
    assert "policy fixed," in str(found.notes["plays"])
    small = play(fitted, WIDE, settings={"buffer_target_s": 4.0})
    assert np.nanmax(small.series["buffer_s"]) <= 6.5
    with pytest.raises(trafficgen.SettingError, match="bufer_target_s"):
        play(fitted, NARROW, settings={"bufer_target_s": 4})


def test_another_policy_than_the_fitted_one_has_the_whole_ladder(fitted: Model) -> None:
    found = application(
        [600.0],
        policy=PlayerPolicy(family="fixed", parameters={"fixed_kbps": known(600.0)}, weight=1.0),
        highest_throughput_kbps=900.0,
    )
    model = fitted.model_copy(update={"application": found})
    ladders: list[Any] = []
    wanted: dict[str, Any] = {"policy": "bola"}
    for settings in ({}, wanted, wanted | {"ladder_kbps": [300, 600]}):
        player = make_player(model, settings, session=0, duration_s=None, seed=0)
        assert player is not None
        ladders.append(player.settings["ladder_kbps"])
    assert ladders[0] == [600]
    assert len(ladders[1]) > 1
    assert ladders[2] == [300, 600]


def test_another_policy_than_the_fitted_one_has_its_buffer(fitted: Model) -> None:
    policy = PlayerPolicy(family="buffer", parameters={"buffer_target_s": known(30.0)}, weight=1.0)
    found = application([300.0, 600.0], policy=policy, highest_throughput_kbps=700.0)
    model = fitted.model_copy(
        update={"application": found.model_copy(update={"buffer_target_s": None})}
    )
    settings: dict[str, Any] = {"policy": "throughput"}
    other = make_player(model, settings, session=0, duration_s=None, seed=0)
    assert other is not None
    # What a buffer holds is the same, whatever goes by it.
    assert other.settings["buffer_target_s"] == 30


def test_ladders_are_drawn_about_the_rungs_that_were_visited() -> None:
    visited, safe_kbps = [300.0, 600.0, 1700.0], 2100.0
    generator = np.random.default_rng(3)
    ladders = [draw_ladder(visited, safe_kbps, generator, is_whole=False) for _ in range(400)]
    for ladder in ladders:
        steps = np.diff(np.log(ladder))
        assert set(visited) <= set(ladder)
        assert np.all(steps > 0)
        assert np.all(steps[ladder.index(1700.0) :] >= np.log(1.2) - 1e-9)
        # The path had room for this one.
        assert not any(1700 < kbps < safe_kbps for kbps in ladder)
        assert not any(300 < kbps < 600 for kbps in ladder)
    between = {sum(600 < kbps < 1700 for kbps in ladder) for ladder in ladders}
    above = [sum(kbps > 1700 for kbps in ladder) for ladder in ladders]
    assert between >= {1, 2}
    assert {0, 1, 2, 3, 4, 5} <= set(above)
    whole = [draw_ladder(visited, safe_kbps, generator, is_whole=True) for _ in range(20)]
    assert {max(ladder) for ladder in whole} == {1700.0}


@pytest.mark.parametrize("step", [1.5, 2.5, 6.0])
def test_no_ladder_has_more_rungs_than_the_plans_of_mpc_allow(step: float) -> None:
    visited = [100.0 * step**place for place in range(8)]
    generator = np.random.default_rng(3)
    ladders = [draw_ladder(visited, visited[-1], generator, is_whole=False) for _ in range(400)]
    assert all(set(visited) <= set(ladder) for ladder in ladders)
    assert all(np.all(np.diff(ladder) > 0) for ladder in ladders)
    longest = max(ladders, key=len)
    played: dict[str, Any] = {"ladder_kbps": longest, "policy": "mpc"}
    trafficgen.simulate("chunked", path=NARROW, settings=played, duration_s=4)


def test_a_ladder_ends_the_likelier_the_more_room_the_path_had() -> None:
    shares = []
    for safe_kbps in (1700.0, 2800.0, 4500.0):
        generator = np.random.default_rng(3)
        tops = [
            max(draw_ladder([300.0, 600.0, 1700.0], safe_kbps, generator, is_whole=False))
            for _ in range(400)
        ]
        shares.append(np.mean(np.array(tops) == 1700.0))
    assert 0.05 < shares[0] < shares[1] < shares[2]
    assert shares[2] > 0.5


def test_the_application_is_in_the_model_file(fitted: Model, tmp_path: Path) -> None:
    trafficgen.save_model(fitted, tmp_path / "model.json")
    assert trafficgen.load_model(tmp_path / "model.json") == fitted
    written = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert written["application"]["rungs"][0]["segments"] >= 1
    trafficgen.save_model(fitted.model_copy(update={"application": None}), tmp_path / "less.json")
    written = json.loads((tmp_path / "less.json").read_text(encoding="utf-8"))
    assert "application" not in written


def test_packets_over_tcp_that_do_not_fit_are_named(fitted: Model) -> None:
    packets = fitted.model_copy(update={"application": None})
    with pytest.warns(trafficgen.SimulationWarning, match="they all come, but later"):
        trafficgen.simulate(packets, path="rate=500kbps,delay=20ms", duration_s=30)


def known(value: float) -> Estimate:
    return Estimate(value=value, method="given")


def application(rungs: list[float], **more: Any) -> Application:
    return Application(
        kind="chunked",
        connections=1,
        exchanges=20,
        segment_s=known(2.0),
        rungs=tuple(Rung(rate_kbps=known(kbps), segments=5) for kbps in rungs),
        content=(1.0,) * 20,
        buffer_target_s=known(10.0),
        **more,
    )


@pytest.mark.parametrize(
    ("rungs", "throughput_kbps", "ladder"),
    [
        # The path had room for more, which was not taken.
        ([600.0, 1200.0], 4000.0, [600, 1200]),
        ([600.0, 1200.0], 1600.0, [600, 1200, 2085, 3406, 5281, 7830]),
        ([400.0, 1600.0], 4000.0, [400, 656.3, 1041.8, 1600]),
    ],
)
def test_rungs_that_were_not_visited_are_assumed(
    fitted: Model, rungs: list[float], throughput_kbps: float, ladder: list[float]
) -> None:
    found = application(rungs, highest_throughput_kbps=throughput_kbps)
    model = fitted.model_copy(update={"application": found})
    player = make_player(model, {}, session=0, duration_s=None, seed=0)
    assert player is not None
    assert player.settings["ladder_kbps"] == pytest.approx(ladder, rel=1e-3)
    assert player.settings["duration_s"] == 40
    assert len(player.assumed) == 1 + (len(ladder) > len(rungs))


@pytest.mark.parametrize(
    ("rungs", "ladder"),
    [
        # 0.79 x 0.85 x 0.93 of the path's 3 Mbit/s is a rung, above those that were visited...
        ([600.0], [600, 1057.2, 1780.9, 2825, 4297]),
        # ... or between them, if those are far apart.
        ([400.0, 9000.0], [400, 697.5, 1166.2, 1873.5, 2911, 4379, 6380, 9000]),
        ([700.0, 1900.0], [700, 1177, 1900]),
    ],
)
def test_a_rung_is_where_the_choice_of_a_player_is_on_average(
    fitted: Model, rungs: list[float], ladder: list[float]
) -> None:
    seen_kbps = 900.0 if len(rungs) == 1 else 50_000.0
    model = fitted.model_copy(
        update={"application": application(rungs, highest_throughput_kbps=seen_kbps)}
    )
    player = make_player(model, {}, session=0, duration_s=None, seed=0, unvisited=3000)
    assert player is not None
    assert player.settings["ladder_kbps"] == pytest.approx(ladder, rel=1e-2)


def test_a_player_at_one_rung_that_took_all_of_its_path_stays_there(fitted: Model) -> None:
    found = application([600.0], highest_throughput_kbps=620.0)
    model = fitted.model_copy(update={"application": found})
    player = make_player(model, {}, session=0, duration_s=None, seed=0, unvisited=3000)
    assert player is not None
    assert player.settings["policy"] == "fixed"
    assert player.settings["ladder_kbps"] == [600]


@pytest.mark.parametrize(
    ("rungs_above", "seen_kbps", "has_more"),
    # Choices by the buffer show the end of a ladder even where the path had no room for more.
    [(False, 900.0, False), (True, 900.0, True), (False, 4000.0, False), (True, 4000.0, False)],
)
def test_a_ladder_ends_where_choices_or_the_room_of_the_path_show_it(
    fitted: Model, *, rungs_above: bool, seen_kbps: float, has_more: bool
) -> None:
    policy = PlayerPolicy(family="buffer", weight=1.0, rungs_above=rungs_above)
    found = application([300.0, 1200.0], policy=policy, highest_throughput_kbps=seen_kbps)
    model = fitted.model_copy(update={"application": found})
    player = make_player(model, {}, session=0, duration_s=None, seed=0)
    assert player is not None
    ladder = player.settings["ladder_kbps"]
    assert isinstance(ladder, list)
    assert (ladder[-1] != 1200) == has_more


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        ("buffer", {"reservoir_share": 0.375, "cushion_share": 0.525}),
        ("bola", {"bola_form": "basic", "bola_gp": 5.0}),
    ],
)
@pytest.mark.parametrize("target_s", [None, 16.0])
def test_rungs_above_leave_the_choices_below_them_alone(
    fitted: Model, family: Any, settings: dict[str, Any], target_s: float | None
) -> None:
    values = {
        name: Estimate(value=value, method="set") if isinstance(value, float) else value
        for name, value in settings.items()
    }
    target = None if target_s is None else Estimate(value=target_s, method="set")
    if target is None:
        values["buffer_target_s"] = Estimate(value=16.0, method="set")
    rungs, seen_kbps = [300.0, 600.0, 1200.0], 1200.0
    found = application(
        rungs,
        policy=PlayerPolicy(family=family, weight=1.0, parameters=values, rungs_above=True),
        highest_throughput_kbps=seen_kbps,
    ).model_copy(update={"buffer_target_s": target})
    model = fitted.model_copy(update={"application": found})
    player = make_player(model, {}, session=0, duration_s=None, seed=0)
    assert player is not None
    with_one = complete_ladder(rungs, seen_kbps, most_above=1)
    played = player.settings["ladder_kbps"]
    assert isinstance(played, list)
    assert len(played) > len(with_one) or (family == "bola" and target is not None)
    below_s = np.arange(0.02, 16.0, 0.05)  # 14.4 s is where a map ends: either side of it

    def choose(options: dict[str, Any]) -> list[int]:
        names = ("ladder_kbps", "segment_s", "buffer_target_s", "policy", *settings)
        own = {name: options[name] for name in names}
        own |= {"duration_s": 4.0, "start_s": 4.0, "resume_s": 4.0}
        entry = parameters_for_engine(with_settings(load_entry("chunked"), {}))
        text = json.dumps(entry | own)
        # One decision for each buffer, from the lowest rung.
        choices = []
        for held_s in below_s:
            times = [np.array([0.0, 1.0]), np.ones(2), *np.full((2, 2), held_s), np.zeros(2)]
            sizes, levels = np.full(2, 150_000), np.zeros(2, dtype=np.int64)
            choices.append(int(replay_players([text], times, sizes, levels)[0][1]))
        return choices

    expected = choose(
        {**settings, **{"ladder_kbps": with_one, "segment_s": 4.0, "policy": family}}
        | {"buffer_target_s": 16.0}
    )
    chosen = choose(player.settings)
    assert max(expected) >= len(rungs)
    assert [min(one, len(rungs)) for one in chosen] == [min(one, len(rungs)) for one in expected]


@pytest.fixture
def fitted_over_quic(fitted: Model) -> Model:
    changes = {"protocol": "udp", "header_bytes": 28, "server_port": 443}
    datagrams = fitted.streams[0].transport.model_copy(update=changes)
    stream = fitted.streams[0].model_copy(update={"transport": datagrams})
    return fitted.model_copy(update={"streams": (stream,)})


def test_a_player_over_quic_is_played_over_quic_unless_tcp_is_wanted(
    fitted: Model, fitted_over_quic: Model
) -> None:
    def is_quic(model: Model, **options: Any) -> bool:
        result = trafficgen.simulate(model, path=NARROW, duration_s=8, **options)
        return all(flow["quic"] for flow in result.run.flows)

    assert not is_quic(fitted)
    assert is_quic(fitted, quic="bbr")
    assert is_quic(fitted_over_quic)
    assert not is_quic(fitted_over_quic, tcp="cubic")


def test_packets_over_quic_come_late_over_a_narrow_path_and_few_are_lost(
    fitted_over_quic: Model,
) -> None:
    model = fitted_over_quic.model_copy(update={"application": None})
    path = "rate=400kbps,delay=25ms,queue=30p"
    with pytest.warns(SimulationWarning, match="they all come, but later"):
        result = trafficgen.simulate(model, path=path, duration_s=30)
    assert all(flow["quic"] for flow in result.run.flows)
    dropped = sum(link["dropped_queue"] for link in result.links)
    assert 0 < dropped < 0.05 * sum(link["packets_in"] for link in result.links)
    assert all(flow["tcp"] for flow in play(model, path, tcp="reno").run.flows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quic": "vegas"}, "quic=vegas: unknown congestion control"),
        ({"quic": "cubic(datagram_bytes=5)"}, "quic=cubic.*datagram_bytes must be between"),
        ({"quic": "cubic", "tcp": "cubic"}, "tcp.* and quic.* exclude each other"),
    ],
)
def test_a_wrong_choice_of_quic_is_refused(
    fitted: Model, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(SimulationError, match=message):
        trafficgen.simulate(fitted, path=NARROW, **options)


def test_a_source_without_connections_is_not_played_over_quic() -> None:
    with pytest.raises(SimulationError, match="cbr opens no connection for QUIC"):
        trafficgen.simulate("cbr", path=NARROW, quic="cubic")


def test_sessions_draw_their_policy_by_its_weight(fitted: Model) -> None:
    policy = PlayerPolicy(family="buffer", weight=0.6, alternatives={"bola": 0.4})
    model = fitted.model_copy(update={"application": application([600.0], policy=policy)})
    families = []
    for session in range(200):
        player = make_player(model, {}, session=session, duration_s=60, seed=3)
        assert player is not None
        families.append(player.settings["policy"])
    assert families[0] == "buffer"
    assert 60 < families.count("bola") < 100


def test_sessions_with_equal_players_share_one_source(fitted: Model) -> None:
    policy = PlayerPolicy(family="buffer", weight=0.6, alternatives={"bola": 0.4})
    model = fitted.model_copy(update={"application": application([600.0], policy=policy)})
    sources = sources_of(model, {}, sessions=50, duration_s=60, seed=3)
    assert len({id(source) for source in sources}) == 2  # one a policy


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"content": [1.0] * 90_000}, "application.content"),
        ({"segment_s": 1e-300}, "application: segment_s"),
        ({"rungs": 0.0}, "rungs must ascend"),
        ({"rungs": 5e-324}, "rungs must ascend"),
        ({"policy": {"family": "bola", "weight": 1, "parameters": {"x": 1}}}, "application: "),
    ],
)
def test_a_wrong_value_of_an_application_names_the_model(
    fitted: Model, tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    data = fitted.model_dump(mode="json")
    for key, value in change.items():
        if key == "rungs":
            data["application"]["rungs"][0]["rate_kbps"].update(value=value, low=value)
        elif key == "segment_s":
            data["application"][key].update(value=value, low=value, high=value)
        else:
            data["application"][key] = value
    file = tmp_path / "model.json"
    file.write_text(json.dumps(data))
    with pytest.raises(trafficgen.TrafficgenError, match=problem) as caught:
        play(file, NARROW)
    assert not str(caught.value).startswith("chunked")


def find_numbers(part: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of numbers in JSON, of lists those of the first part only."""
    if isinstance(part, int | float) and not isinstance(part, bool):
        yield place
    elif isinstance(part, dict | list):
        for key in part if isinstance(part, dict) else range(min(len(part), 1)):
            yield from find_numbers(part[key], (*place, key))


@pytest.mark.parametrize("value", [0, 5e-324, 1e-6, 1e300, -1])
def test_every_number_of_an_application_is_played_or_refused(
    fitted: Model, tmp_path: Path, value: float
) -> None:
    data, file = fitted.model_dump(mode="json"), tmp_path / "model.json"
    places = [*find_numbers(data["application"])]
    assert {("segment_s", "value"), ("start_media_s",), ("content", 0)} <= {*places}
    for place in places:
        changed = json.loads(json.dumps(data))
        part = changed["application"]
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
        if place[-1] == "value":
            part.update(low=None, high=None)
        file.write_text(json.dumps(changed))
        with (
            warnings.catch_warnings(action="ignore", category=SimulationWarning),
            suppress(trafficgen.TrafficgenError),
        ):
            trafficgen.simulate(file, path=NARROW, duration_s=2)
