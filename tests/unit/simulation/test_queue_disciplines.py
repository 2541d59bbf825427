"""Active queue management, marks and policers of a path: keys, what they do, what is counted."""

from __future__ import annotations

import re
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen.errors import SimulationError
from trafficgen.simulation.path_keys import AQM_NAMES

#: Priorities order packets and slow nobody down.
ACTIVE = [name for name in AQM_NAMES if name != "priority"]

PATH = "rate=4Mbps,delay=20ms,queue=200p"
TCP = ("tcp@-5s", "tcp:reno@-5s")


def play(path: str, compete: tuple[str, ...]) -> trafficgen.SimulationResult:
    """Play 1 Mbit/s beside competing flows; every packet arrives or is dropped."""
    settings = {"rate_kbps": 1000, "duration_s": 20}
    result = trafficgen.simulate("cbr", path=path, compete=compete, settings=settings, seed=3)
    columns = result.run.columns
    arrived, dropped = np.asarray(columns["arrived"]), np.asarray(columns["drop"]) > 0
    assert result.run.outcome.under_way == 0
    assert np.array_equal(arrived, ~dropped)
    return result


def link_of(path: str, compete: tuple[str, ...] = TCP) -> dict[str, Any]:
    """Return the counters of the bottleneck."""
    return play(path, compete).links[0]


@pytest.mark.parametrize("name", ACTIVE)
def test_each_discipline_shortens_the_queue_of_tcp(name: str) -> None:
    tail, aqm = link_of(PATH), link_of(f"{PATH},aqm={name}")
    assert aqm["mean_queueing_ms"] < 0.4 * tail["mean_queueing_ms"]
    assert aqm["p95_queueing_ms"] < 0.6 * tail["p95_queueing_ms"]
    # RED's average lags by a second, so that it empties the queue too often at this rate.
    assert aqm["bytes_out"] > (0.65 if name == "red" else 0.85) * tail["bytes_out"]
    assert aqm["packets_in"] == aqm["packets_out"] + aqm["dropped_queue"] + aqm["dropped_random"]


@pytest.mark.parametrize("name", ACTIVE)
def test_marks_stand_in_for_drops_of_tcp(name: str) -> None:
    results = [play(path, TCP) for path in (f"{PATH},aqm={name}", f"{PATH},aqm={name},ecn=on")]
    (drops, marks), again = (
        [result.links[0] for result in results],
        [sum(flow.measure.retransmissions or 0 for flow in result.flows) for result in results],
    )
    assert drops["marked"] == 0
    assert marks["marked"] > 20
    assert again[1] < 0.7 * again[0]
    assert marks["mean_queueing_ms"] < 1.5 * drops["mean_queueing_ms"] + 5
    assert marks["bytes_out"] > 0.85 * drops["bytes_out"]


def test_a_larger_target_lets_packets_wait_longer() -> None:
    short, long = (link_of(f"{PATH},aqm=pie,aqm_target={target}") for target in ("10ms", "60ms"))
    assert long["mean_queueing_ms"] > 2 * short["mean_queueing_ms"]


def test_the_queue_stays_the_limit() -> None:
    link = link_of("rate=4Mbps,delay=20ms,queue=8p,aqm=pie")
    assert link["largest_queue_packets"] <= 8
    assert link["dropped_queue"] > 0


def test_a_fair_queue_keeps_media_from_waiting_for_tcp() -> None:
    tail, fair = (play(path, TCP).flows[0] for path in (PATH, f"{PATH},aqm=fq_codel"))
    assert fair.measure.loss == 0
    assert fair.delay_s.mean < 0.035
    assert tail.delay_s.mean > 0.1


def test_priorities_keep_media_from_waiting_for_more_than_one_packet() -> None:
    tail, first = (play(path, TCP) for path in (PATH, f"{PATH},aqm=priority"))
    media = first.flows[0]
    assert media.measure.loss == 0
    # A packet of 1,500 bytes is on the line for 3 ms; the media's own packets come one by one.
    columns = first.run.columns
    of_media = np.isin(columns["flow"], media.flows) & columns["to_client"]
    assert columns["queueing_ns"][of_media].max() <= 1.01 * 1_500 * 8 / 4e6 * 1e9
    assert first.links[0]["bytes_out"] > 0.95 * tail.links[0]["bytes_out"]


def test_quic_answers_marks_instead_of_losing_packets() -> None:
    results = [play(f"{PATH},aqm=codel,ecn={ecn}", ("quic:cubic@-5s",)) for ecn in ("off", "on")]
    drops, marks = (result.links[0] for result in results)
    again = [sum(flow.measure.retransmissions or 0 for flow in one.flows) for one in results]
    assert drops["marked"] == 0
    assert marks["marked"] > 20
    assert again[1] < 0.3 * again[0]
    assert marks["mean_queueing_ms"] < 1.5 * drops["mean_queueing_ms"] + 5
    assert marks["bytes_out"] > 0.85 * drops["bytes_out"]


def test_a_policer_drops_what_a_shaper_queues() -> None:
    shaper = link_of("rate=1500kbps,delay=20ms,burst=20kB", ("cbr:1Mbps",))
    policer = link_of("rate=1500kbps,delay=20ms,burst=20kB,policer=on", ("cbr:1Mbps",))
    assert policer["mean_queueing_ms"] == 0
    assert shaper["mean_queueing_ms"] > 100
    assert policer["bytes_out"] == pytest.approx(shaper["bytes_out"], rel=0.05)
    assert policer["dropped_queue"] > 1000


@pytest.mark.parametrize(
    ("rate", "burst"),
    [("1500kbps", "46875B"), ("30kbps", "1500B"), ("30kbps,overhead=9B", "1509B")],
)
def test_a_policer_without_burst_has_a_quarter_of_a_second_or_a_packet(
    rate: str, burst: str
) -> None:
    keys = f"rate={rate},delay=20ms,policer=on"
    assert link_of(keys, ("cbr:1Mbps",)) == link_of(f"{keys},burst={burst}", ("cbr:1Mbps",))
    assert link_of(keys, ("cbr:1Mbps",)) != link_of(f"{keys},burst=90kB", ("cbr:1Mbps",))


def test_drop_tail_counts_waits_too() -> None:
    link = link_of("rate=800kbps,delay=20ms,queue=10p", ())
    # 1 Mbit/s into 800 kbit/s: the queue of ten packets is full from the first seconds on.
    packet_ms = 8 * link["bytes_out"] / link["packets_out"] / 800
    assert link["p95_queueing_ms"] == pytest.approx(9 * packet_ms, rel=0.12)
    assert link["mean_queueing_ms"] == pytest.approx(1e3 * link["queueing_s"] / link["packets_out"])
    assert link["marked"] == 0


@pytest.mark.parametrize(
    "keys",
    [
        "aqm=fq_codel",
        "aqm=codel,aqm_target=0.01s,aqm_interval=0.2s,ecn=on",
        "aqm=dualpi2,ecn=on",
        "burst=20000B,policer=on",
        "aqm=priority",
        "fade_every=10s,fade=0.5s,fade_loss=0.3",
        "harq=0.1,harq_delay=0.004s",
        "handover_every=15s,handover=0.04s",
    ],
)
def test_keys_are_written_as_they_are_read(keys: str) -> None:
    path = trafficgen.Path.parse(f"rate=4000000bps,{keys}")
    assert sorted(path.text().split(",")) == sorted(f"rate=4000000bps,{keys}".split(","))
    assert trafficgen.Path.parse(path.text()) == path


def test_a_file_has_the_same_keys(tmp_path: FilePath) -> None:
    file = tmp_path / "path.yaml"
    file.write_text("{rate: 4Mbps, aqm: pie, aqm_target: 20ms, ecn: on}", encoding="utf-8")
    assert trafficgen.Path.load(file) == trafficgen.Path.parse(
        "rate=4Mbps,aqm=pie,aqm_target=20ms,ecn=on"
    )


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("rate=1Mbps,aqm=codle", "aqm=codle: not understood (did you mean codel?)"),
        ("rate=1Mbps,aqm_tarhet=5ms,aqm=codel", "did you mean aqm_target"),
        ("rate=1Mbps,aqm=codel,aqm_target=5", "aqm_target=5"),
        ("rate=1Mbps,aqm=codel,aqm_target=0s", "aqm_target"),
        ("rate=1Mbps,aqm=codel,ecn=yes", "write on or off"),
        ("aqm=codel", "aqm needs rate, steps or trace"),
        ("rate=1Mbps,ecn=on", "ecn needs aqm"),
        ("rate=1Mbps,aqm_interval=1s", "aqm_interval needs aqm"),
        ("policer=on", "policer needs rate; add rate=..."),
        ("rate=1Mbps,aqm=priority,aqm_target=5ms", "priority has no aqm_target; leave it out"),
        ("rate=1Mbps,fade=1s", "fade needs fade_loss"),
        ("rate=1Mbps,fade_every=1s", "fade_every needs fade"),
        ("rate=1Mbps,harq_delay=1ms", "harq_delay needs harq"),
        ("rate=1Mbps,harq=2", "harq=2"),
        ("handover=1s", "handover needs handover_every"),
        ("handover=2s,handover_every=1s", "handover must be shorter than handover_every"),
        ("rate=1Mbps,burst=20kB,policer=on,queue=9p", "a policer has no queue"),
    ],
)
def test_wrong_keys_say_what_to_write(path: str, words: str) -> None:
    with pytest.raises(SimulationError, match=re.escape(words)):
        trafficgen.Path.parse(path)


def test_generate_plays_over_an_active_queue(tmp_path: FilePath) -> None:
    out = tmp_path / "packets.parquet"
    trafficgen.generate(
        "cbr", out, settings={"duration_s": 5}, path=f"{PATH},aqm=fq_codel", compete=["tcp"]
    )
    assert out.stat().st_size > 0
