"""Sessions of a workload on one path: conservation, shares, seeds, and packets that are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.workloads.conftest import Load

import trafficgen
from trafficgen.errors import GenerationError, SimulationError
from trafficgen.workloads.shares import jain_index

PLAYERS = """
name: evening
sessions: 6
for: 5s
duration: 20s
groups:
  - {name: films, model: dashjs, share: 50%, clients: 10.2.0.0/24, servers: 192.0.2.0/28}
  - {name: radio, model: cbr(rate_kbps=200), share: 50%}
"""
PATH = "rate=6Mbps,delay=20ms,queue=60p"


def test_sessions_on_a_wide_path_get_what_they_send(load: Load) -> None:
    workload = load(
        "groups: [{name: a, model: cbr(rate_kbps=200), arrivals: poisson:1/s, sessions: 2},"
        " {name: b, model: cbr(rate_kbps=400), arrivals: poisson:1/s, sessions: 3}]\n"
        "duration: 10s"
    )
    result = trafficgen.simulate_workload(workload, path="rate=100Mbps,delay=5ms", seed=2)
    assert [(one.name, one.sessions) for one in result.groups] == [("a", 2), ("b", 3)]
    assert [one.rate_kbps for one in result.groups] == pytest.approx([200, 400], rel=0.02)
    assert [one.loss for one in result.groups] == [0, 0]
    assert [one.jain_index for one in result.groups] == pytest.approx([1, 1], abs=1e-3)
    expected = (2 * 200 + 3 * 400) ** 2 / (5 * (2 * 200**2 + 3 * 400**2))
    assert result.jain_index == pytest.approx(expected, rel=0.01)
    starts_s = [one.start_s for one in result.sessions]
    assert starts_s == sorted(starts_s)
    assert result.sessions[0].stalls is None


def test_what_the_link_lets_through_is_what_sessions_and_competitors_get(load: Load) -> None:
    text = "sessions: 8\nduration: 10s\ngroups: [{model: cbr(rate_kbps=300)}]"
    result = trafficgen.simulate_workload(
        load(text), path="rate=1Mbps,delay=10ms,queue=20p", compete="cbr:200kbps", seed=3
    )
    (link, _), everyone = result.links, [*result.sessions, *result.flows]
    assert sum(one.received_bytes for one in everyone) == link["bytes_out"]
    assert link["packets_in"] == link["packets_out"] + link["dropped_queue"]
    (group,), (cbr,) = result.groups, result.flows
    assert 0.3 < group.loss < 0.7
    assert group.received_share + cbr.received_share == pytest.approx(1)
    assert cbr.name == "cbr-1"
    # Packets that come together are always lost from the same sessions: some starve.
    assert sum(one.rate_kbps for one in everyone) == pytest.approx(1000, rel=0.03)
    assert min(one.rate_kbps for one in result.sessions) < 50
    assert group.delay_s > 0.1  # a queue of 20 packets


def test_players_share_a_narrow_path_and_say_what_viewers_saw(load: Load) -> None:
    result = trafficgen.simulate_workload(load(PLAYERS), path=PATH, seed=1)
    films, radio = result.groups
    assert films.sessions + radio.sessions == 6
    assert films.unstarted == 0
    assert 0 < films.startup_s < 5
    assert films.mean_rung_kbps > 300
    assert radio.unstarted is None
    assert radio.stalled_s is None
    assert films.received_share + radio.received_share == pytest.approx(1)
    ends_s = [one.start_s + one.duration_s for one in result.sessions]
    assert max(ends_s) < 5 + 20 + 2
    assert all(one.duration_s == pytest.approx(20, abs=2) for one in result.sessions)


def test_the_same_seed_gives_the_same_shares_with_or_without_packets(
    load: Load, tmp_path: Path
) -> None:
    workload = load(PLAYERS)
    alone, again, other = (
        trafficgen.simulate_workload(workload, path=PATH, seed=seed, compete="tcp@2s").to_json()
        for seed in (1, 1, 2)
    )
    assert str(alone) == str(again)
    assert str(alone) != str(other)
    out = tmp_path / "packets.parquet"
    kept = trafficgen.simulate_workload(workload, path=PATH, seed=1, compete="tcp@2s", out=out)
    for share, theirs in zip(kept.to_json()["sessions"], alone["sessions"], strict=True):
        assert share["delay_s"] == pytest.approx(theirs.pop("delay_s"))
        assert str({name: share[name] for name in theirs}) == str(theirs)
    assert kept.to_json()["links"] == alone["links"]
    table = trafficgen.read_packets(out)
    arrived = table.is_known("arrival_ns") & table.to_client
    sessions = np.asarray(table.flows.column("session"))[np.asarray(table.flow)[arrived]]
    got = np.bincount(sessions, table.ip_bytes[arrived], len(kept.sessions) + 1)
    assert got[-1] == kept.flows[0].received_bytes


def test_generate_writes_sessions_that_meet_with_addresses_of_their_groups(
    load: Load, tmp_path: Path
) -> None:
    workload, places = load(PLAYERS), [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    written = [
        trafficgen.generate_workload(workload, place, path=PATH, seed=1, compete="ping")
        for place in places
    ]
    assert written[0].sessions == 6
    assert places[0].read_bytes() == places[1].read_bytes()
    flows = trafficgen.read_packets(places[0]).flows.to_pylist()
    films = {one["client"] for one in flows if one["client"].startswith("10.2.0.")}
    result = trafficgen.simulate_workload(workload, path=PATH, seed=1, compete="ping")
    assert len(films) == result.groups[0].sessions
    assert {one["session"] for one in flows} == set(range(7))


@pytest.mark.filterwarnings("ignore:.*congestion response unknown")
def test_fitted_models_send_over_a_wide_path_what_they_send_without_one(
    load: Load, tmp_path: Path
) -> None:
    workload = load(
        "sessions: 5\nfor: 3s\ndepartures: {share: 60%}\n"
        "groups: [{model: udp.json, share: 50%}, {model: rtp.json}]"
    )
    found = []
    for name, path in (("open", None), ("closed", "delay=5ms")):
        out = tmp_path / f"{name}.parquet"
        trafficgen.generate_workload(workload, out, path=path, seed=4)
        table = trafficgen.read_packets(out)
        found.append(np.sort(table.ip_bytes[table.to_client]).tolist())
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:.*congestion response unknown")
def test_what_cannot_share_a_path_is_refused(load: Load, tmp_path: Path) -> None:
    varied = load("sessions: 2\njitter: 5ms\ngroups: [{model: udp.json}]")
    with pytest.raises(GenerationError, match="without a path; leave 'size' and 'jitter' out"):
        trafficgen.simulate_workload(varied, path=PATH)
    radio = load("sessions: 2\nduration: 5s\ngroups: [{model: cbr}]")
    with pytest.raises(SimulationError, match="opens no TCP connection"):
        trafficgen.simulate_workload(radio, path=PATH, tcp="bbr")
    trafficgen.simulate_workload(load(PLAYERS), path=PATH, tcp="bbr")
    with pytest.raises(GenerationError, match="need a path to compete on"):
        trafficgen.generate_workload(radio, tmp_path / "out.pcap", compete="ping")


def test_sessions_of_one_model_need_no_file() -> None:
    result = trafficgen.simulate_workload(
        "hlsjs", path="rate=10Mbps,delay=10ms", sessions=4, window_s=4, duration_s=20, seed=5
    )
    assert [one.model for one in result.sessions] == ["hlsjs"] * 4
    assert result.to_pandas()["stalls"].sum() >= 0
    assert result.to_json()["workload"] == "hlsjs"


def test_jains_index() -> None:
    assert jain_index(np.array([3.0, 3.0, 3.0])) == pytest.approx(1)
    assert jain_index(np.array([7.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)
    assert np.isnan(jain_index(np.zeros(3)))
