"""RealVideo 10: what the paper found, and what the mechanism does on links that the paper did not
have.
"""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.models.published import load_entry, parameters_for_engine
from trafficgen.reproduction import Experiment, run_experiments
from trafficgen.reproduction.boyden import (
    EXPERIMENTS,
    SURESTREAM,
    TCP,
    TURBOPLAY_ENTRY,
    UNASSISTED_ENTRY,
    Setup,
)

#: Rows whose value in one run depends on how full the queue happens to be.
_NEEDS_MEANS = ("loss", "lost", "then_kbps", "low_kbps", "fast_s", "gave_up", "peak_kbps")


def test_turboplay_is_all_that_the_two_entries_differ_in() -> None:
    with_it, without = (
        parameters_for_engine(load_entry(name)) for name in (TURBOPLAY_ENTRY, UNASSISTED_ENTRY)
    )
    assert {name for name in with_it if with_it[name] != without[name]} == {"turboplay"}


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_findings_that_do_not_hang_on_chance_hold_in_one_run(experiment: Experiment) -> None:
    findings = tuple(one for one in experiment.findings if not one.key.startswith(_NEEDS_MEANS))
    rows = run_experiments([(experiment, findings)], runs=1, seed=11, workers=1).rows
    assert {row.finding.quantity: row.simulated for row in rows if not row.ok} == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7001, 7002, 7003])
def test_nearly_every_finding_holds_for_seeds_that_nobody_chose(seed: int) -> None:
    chosen = [(experiment, experiment.findings) for experiment in EXPERIMENTS]
    found = run_experiments(chosen, runs=5, seed=seed, workers=1).summary()
    rows, met = (
        sum(found[f"{role}{end}"] for role in ("predicted", "calibrated")) for end in ("", "_ok")
    )
    assert met >= 0.95 * rows
    assert found["inputs_ok"] == found["inputs"]


@pytest.mark.parametrize("link_kbps", [500.0, 1000.0])
def test_turboplay_fills_links_that_the_paper_did_not_have(link_kbps: float) -> None:
    session = Setup(clip=384, link_kbps=link_kbps, turboplay=True, with_tcp=True).play(seed=3)
    rates = session.rates_kbps(start_s=session.first_s, end_s=session.first_s + 10.0)
    assert np.convolve(rates, np.full(4, 0.25), "valid").max() > 0.9 * link_kbps
    # Afterwards the stream of 360 kbps leaves the rest of the link to TCP.
    rest_kbps = session.mean_kbps(60.0, session.last_s, flow=TCP)
    assert rest_kbps > 0.85 * (link_kbps - 360.0)


@pytest.mark.parametrize("link_kbps", [500.0, 1000.0])
def test_without_turboplay_a_low_rate_with_tcp_ends_as_audio_on_any_link(link_kbps: float) -> None:
    session = Setup(clip=512, link_kbps=link_kbps, with_tcp=True).play(seed=3)
    assert session.mean_kbps(90.0, session.last_s) < 100.0
    assert session.frames_per_s(90.0, session.last_s) == 0.0


@pytest.mark.parametrize("link_kbps", [500.0, 1000.0])
def test_a_high_rate_keeps_its_video_on_any_link_below_it(link_kbps: float) -> None:
    session = Setup(clip=1500, link_kbps=link_kbps).play(seed=3)
    assert session.mean_kbps(60.0, session.last_s) > 0.85 * link_kbps
    assert session.frames_per_s(60.0, session.last_s) > 27.0


def test_a_low_rate_with_room_for_it_alone_is_left_alone() -> None:
    session = Setup(clip=384, link_kbps=500.0).play(seed=3)
    assert np.isnan(session.log.first_s("audio_only"))
    assert session.mean_kbps(60.0, session.last_s) == pytest.approx(360.0, rel=0.1)


def test_surestream_settles_on_what_each_link_carries() -> None:
    means = []
    for link_kbps in (250.0, 500.0, 1000.0, 2000.0):
        session = Setup(clip=SURESTREAM, link_kbps=link_kbps).play(seed=3)
        means.append(session.mean_kbps(60.0, session.last_s))
        assert 0.7 * min(link_kbps, 1440.0) < means[-1] <= 1.01 * link_kbps
    assert means == sorted(means)


def test_audio_only_lasts_when_the_competitor_has_gone() -> None:
    session = Setup(clip=512, link_kbps=1500.0, with_tcp=True, tcp_stop_s=60.0).play(seed=3)
    assert session.log.first_s("audio_only") < 60.0
    assert session.mean_kbps(70.0, session.last_s) < 100.0


@pytest.mark.parametrize(
    ("clip", "link_kbps", "own_kbps", "multiple"),
    [
        pytest.param(1000, 2000.0, 1028.0, 1.05, id="faster than 600 kbit/s"),
        pytest.param(256, 300.0, 230 * 373 / 345, 1.0185, id="after congestion"),
    ],
)
def test_a_player_that_fills_its_buffer_requests_a_little_more_than_the_clip(
    clip: int, link_kbps: float, own_kbps: float, multiple: float
) -> None:
    session = Setup(clip=clip, link_kbps=link_kbps).play(seed=3)
    assert session.mean_kbps(20.0, 80.0) == pytest.approx(multiple * own_kbps, rel=0.012)
