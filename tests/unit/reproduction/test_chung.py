"""Set-ups of CCZ02: which findings they cover, what they simulate, and what is read from a run."""

from __future__ import annotations

import math

import pytest

from trafficgen.reproduction import Experiment
from trafficgen.reproduction.chung.experiments import list_experiments
from trafficgen.reproduction.chung.testbed import (
    Session,
    drop_tail,
    player_of_clip,
    playlist_clips,
    scenario,
    token_bucket,
)
from trafficgen.simulation.run import run_scenario

#: Findings that are numbers or mechanisms; B1 and F1 are definitions, S1, S2, S4 and S5 set-ups.
MEASURED = {
    "CCZ-S3",
    *(f"CCZ-W{n}" for n in range(1, 9)),
    *(f"CCZ-B{n}" for n in range(2, 7)),
    *(f"CCZ-H{n}" for n in range(1, 8)),
    *("CCZ-F2", "CCZ-F3"),
    *(f"CCZ-M{n}" for n in range(1, 7)),
    "CCZ-V1",
}
CBR = {"kind": "cbr", "parameters": {"rate_bps": 80_000, "packet_bytes": 500, "duration_s": 120}}


def test_every_finding_of_the_paper_has_a_row() -> None:
    assert {
        finding.id for experiment in list_experiments() for finding in experiment.findings
    } == MEASURED


def test_rows_have_keys_of_their_own() -> None:
    for experiment in list_experiments():
        keys = [finding.key for finding in experiment.findings]
        assert len(set(keys)) == len(keys)


def test_every_row_accepts_the_figure_that_was_published() -> None:
    published = [
        finding
        for experiment in list_experiments()
        for finding in experiment.findings
        if isinstance(finding.published, float)
    ]
    assert [
        finding.key for finding in published if not finding.accepts(float(finding.published or 0))
    ] == []


def test_the_playlist_has_79_clips_of_which_55_answer_pings() -> None:
    assert [clip.number for clip in playlist_clips()] == list(range(1, 80))
    assert sum(clip.answers_ping for clip in playlist_clips()) == 55


def test_an_agent_is_told_its_own_row_of_the_playlist() -> None:
    agent = player_of_clip(playlist_clips()[64], "tcp")
    parameters = agent["parameters"]
    assert agent["kind"] == "realplayer8"
    assert parameters["transport"] == "tcp"
    assert [row["clip"] for row in parameters["playlist"]] == [65]


def test_the_bottleneck_is_the_filter_of_the_paper() -> None:
    assert token_bucket(75) == {
        "name": "bottleneck",
        "capacity": {"token_bucket": {"rate_bps": 75_000, "burst_bytes": 1600}},
        "queue": {"bytes": 10_000},
    }


def test_both_players_share_the_path_to_the_server_with_pings() -> None:
    clip = next(clip for clip in playlist_clips() if clip.answers_ping and clip.path_loss > 0)
    made = scenario(clip, ("udp", "tcp"), token_bucket(300), seed=1)
    agents = made["agents"]
    assert [agent["name"] for agent in agents] == ["udp", "tcp", "ping"]
    assert {(*agent["forward"], *agent["reverse"]) for agent in agents} == {(0, 1, 2)}
    assert made["links"][0]["loss"]["rate"] == clip.path_loss


def constant_rate_run(*, loss: float) -> Session:
    """80 kbit/s for 120 s over 50 ms each way, with pings beside it."""
    clip = playlist_clips()[0]
    made = scenario(clip, ("udp",), drop_tail(1000, 10_000), seed=4)
    for link in made["links"]:
        link.update(
            {"delay_s": 0.0} if link["name"] == "bottleneck" else {"delay_s": 0.05, "loss": None}
        )
    if loss:
        made["links"][2]["loss"] = {"rate": loss, "mean_burst_packets": 1.0}
    route = {"forward": [0, 1], "reverse": [2], "start_s": 0.0}
    agents = [
        {"name": "udp", "awaited": True, **CBR, **route},
        {"name": "ping", "kind": "ping", "parameters": {}, **route},
    ]
    return Session(run_scenario({**made, "agents": agents}))


def test_a_constant_rate_is_measured_as_what_it_is() -> None:
    played = constant_rate_run(loss=0).playout(playlist_clips()[0], "udp")
    assert played.mean_kbps == pytest.approx(80, rel=0.01)
    assert played.rates is not None
    assert (played.rates.buffering_kbps, played.ratio) == pytest.approx((80, 1), rel=0.02)
    assert played.sizes[500] == played.sizes.sum() == 120 * 80_000 // (8 * 500)
    assert set(played.ratios) == {1.0}
    assert (played.changes, played.stalls_s) == (0, ())


def test_pings_tell_the_path_and_its_loss() -> None:
    clean = constant_rate_run(loss=0).pings("ping")
    assert clean.loss == 0
    assert (
        0.1 <= clean.rtt_s <= 0.105
    )  # two ways of 50 ms, and at most one packet of 500 bytes before it
    # 120 pings, each lost with 30%: four standard errors are 17 points
    assert constant_rate_run(loss=0.3).pings("ping").loss == pytest.approx(0.3, abs=0.17)


def test_servers_that_answer_no_ping_have_no_loss() -> None:
    assert math.isnan(constant_rate_run(loss=0).pings("nobody").loss)


def _head_to_head(*clips: int) -> Experiment:
    return next(one for one in list_experiments(clips) if one.name == "chung/head-to-head")


def test_head_to_head_measures_every_row_from_a_few_clips() -> None:
    experiment = _head_to_head(5, 14, 26, 33, 50, 55, 76)
    found = experiment.combine([piece(seed) for seed, piece in enumerate(experiment.pieces)])
    assert set(found) == {finding.key for finding in experiment.findings}
    # Shares of all pairs are shares, and the filter bounds what a stream can buffer at.
    assert found["h1_equal"] + found["h1_tcp"] + found["h1_udp"] == pytest.approx(1)
    assert found["b2_bound"] <= 1.02


def test_the_same_seed_gives_the_same_playouts() -> None:
    play = _head_to_head(69).pieces[7]
    first, again, other = (play(seed)["pairs"][0] for seed in (1, 1, 2))
    assert first.udp == again.udp
    assert first.tcp != other.tcp
