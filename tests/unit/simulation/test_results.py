"""Results: nothing is lost between what was sent, what arrived and what was dropped, and rates are
what they say.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path as FilePath

import numpy as np
import pytest
from tests.conftest import build_table

import trafficgen
from trafficgen.errors import SimulationError, SimulationWarning
from trafficgen.simulation.competitors import Competitor, participants
from trafficgen.simulation.path import Path
from trafficgen.simulation.results import SimulationResult
from trafficgen.simulation.run import run_path
from trafficgen.simulation.sources import Participant, Source


def _cbr(rate_bps: float, *, duration_s: float = 10.0, packet_bytes: int = 1000) -> Source:
    parameters = {"rate_bps": rate_bps, "packet_bytes": packet_bytes, "duration_s": duration_s}
    return Source("cbr", "cbr", parameters)


def _no_model(name: str, options: object) -> Source:
    raise AssertionError((name, options))


def _simulated(
    path: str, *compete: str, source: Source | None = None, seed: int = 1
) -> SimulationResult:
    session = Participant("media", source or _cbr(4e5), is_session=True)
    competitors = participants([Competitor.parse(text) for text in compete], _no_model)
    return SimulationResult(
        run_path(Path.parse(path), [session], competitors, seed=seed), {"seed": seed}
    )


def _columns(result: SimulationResult) -> dict[str, np.ndarray]:
    return {name: np.asarray(values) for name, values in result.run.columns.items()}


CONGESTED = "rate=500kbps,delay=30ms,queue=15p,loss=2%,loss_burst=2,access=2Mbps,reverse_loss=1%"
FLOWS = ("tcp@-2s", "tcp:reno@1s..6s", "cbr:100kbps@-1s", "ping")


def test_every_packet_that_was_sent_arrived_or_was_dropped() -> None:
    result = _simulated(CONGESTED, *FLOWS)
    columns = _columns(result)
    arrived, dropped = columns["arrived"], columns["drop"] > 0
    assert result.run.outcome.under_way == 0
    np.testing.assert_array_equal(arrived, ~dropped)
    assert dropped.any()
    for flow in range(len(result.run.flows)):
        of_flow = columns["flow"] == flow
        size_bytes = columns["ip_bytes"]
        kept = size_bytes[of_flow & arrived].sum() + size_bytes[of_flow & dropped].sum()
        assert kept == size_bytes[of_flow].sum() > 0


def test_links_pass_on_or_drop_what_they_get() -> None:
    result = _simulated(CONGESTED, *FLOWS)
    columns = _columns(result)
    for number, link in enumerate(result.links):
        dropped = (columns["drop"] > 0) & (columns["drop_link"] == number)
        assert link["packets_in"] == link["packets_out"] + int(dropped.sum())
        assert link["bytes_in"] == link["bytes_out"] + int(columns["ip_bytes"][dropped].sum())
        assert link["dropped_random"] + link["dropped_queue"] == dropped.sum()


def test_the_same_seed_gives_the_same_packets_and_another_seed_others() -> None:
    first, second, other = (
        _simulated(CONGESTED, *FLOWS, seed=seed).packets() for seed in (1, 1, 2)
    )
    assert first.packets.equals(second.packets)
    assert not first.packets.equals(other.packets)


def test_a_competitor_more_leaves_the_random_numbers_of_the_path_and_the_session_alone() -> None:
    alone = _simulated("loss=5%,delay=10ms")
    beside = _simulated("loss=5%,delay=10ms", "cbr:1kbps@9s")
    lost = [
        _columns(result)["drop"][_columns(result)["flow"] == 0][:900] for result in (alone, beside)
    ]
    np.testing.assert_array_equal(*lost)


def test_rates_are_those_of_an_idle_path() -> None:
    result = _simulated("rate=10Mbps,delay=20ms")
    (media,) = result.flows
    # n packets have n - 1 gaps.
    assert media.measure.rate_kbps == pytest.approx(400 * 500 / 499, rel=1e-6)
    assert media.measure.loss == 0
    assert media.delay_s.max == pytest.approx(0.02 + 8000 / 10e6, abs=1e-9)
    series = result.series
    np.testing.assert_allclose(
        np.asarray(series["media_offered_kbps"], dtype=np.float64), 400, atol=16.1
    )
    assert (result.silence_s, result.events.find_adaptation_s(result.run.path_rate_bps)) == (
        0.0,
        0.0,
    )


def test_a_session_without_an_end_is_cut_off_and_said_to_be() -> None:
    endless = Source("cbr", "cbr", {"rate_bps": 10.0, "packet_bytes": 100, "duration_s": None})
    with pytest.warns(SimulationWarning, match="not ended after 6 h"):
        result = _simulated("delay=1ms", source=endless)
    assert result.end_s == pytest.approx(6 * 3600, abs=80)


def test_a_mahimahi_trace_lets_a_full_packet_through_at_each_of_its_milliseconds(
    tmp_path: FilePath,
) -> None:
    (tmp_path / "trace").write_text("1\n")
    result = _simulated(
        f"trace={tmp_path}/trace,queue=10p", source=_cbr(2e7, duration_s=5.0, packet_bytes=1500)
    )
    arrived_ns = _columns(result)["arrival_ns"][_columns(result)["arrived"]]
    assert set(np.diff(arrived_ns).tolist()) == {1_000_000}
    assert result.run.path_rate_bps == 1504 * 8 * 1000


def test_competitors_do_not_set_time_zero() -> None:
    result = _simulated("rate=1Mbps,delay=20ms,loss=100%,loss_start=0", "cbr:100kbps@-4s")
    assert result.run.time_zero_ns == 0
    assert result.series["start_s"] == -4.0
    columns = _columns(result)
    before = columns["time_ns"] < 0
    assert columns["arrived"][before].all()
    assert not columns["arrived"][~before].any()


def test_a_session_of_which_nothing_arrives_has_no_rates() -> None:
    result = _simulated("rate=1Mbps,loss=1")
    found = json.loads(json.dumps(result.to_json(), default=str).replace("NaN", "null"))
    assert found["flows"][0]["mean_kbps"] is None
    assert found["flows"][0]["loss"] == 1.0
    assert found["series"]["media_kbps"] == []


def test_loss_of_a_ping_is_that_of_both_ways() -> None:
    result = _simulated(
        "loss=50%,delay=5ms", "ping(interval_s=0.01)", source=_cbr(1e5, duration_s=20)
    )
    ping = result.flows[-1]
    assert ping.unanswered == pytest.approx(0.5, abs=4 * (0.25 / 2000) ** 0.5)
    assert ping.round_trip_s is not None
    assert ping.round_trip_s.mean == pytest.approx(0.01, abs=1e-6)


def test_packets_have_addresses_of_their_own_for_each_participant() -> None:
    table = _simulated("rate=1Mbps,delay=10ms", "tcp@-1s", "cbr:50kbps").packets()
    pairs: Sequence[tuple[str, str]] = list(
        zip(
            table.flows.column("server").to_pylist(),
            table.flows.column("client").to_pylist(),
            strict=True,
        )
    )
    assert len(set(pairs)) == 3
    assert int(table.time_ns[0]) == 0
    assert bool(np.all(table.frame_bytes == table.ip_bytes + 14))
    np.testing.assert_array_equal(
        table.flows.column("packets_to_client").to_numpy(),
        np.bincount(table.flow[table.to_client], minlength=3),
    )


@pytest.mark.parametrize(
    "path", ["rate=1e-8bps", "rate=1e-9bps,burst=1500B", "rate=1e-9bps,access=1e-9bps"]
)
def test_what_a_link_cannot_send_in_a_lifetime_is_dropped(path: str) -> None:
    result = _simulated(path, source=_cbr(4e5, duration_s=1))
    media = result.flows[0]
    assert media.measure.loss >= 49 / 50  # a full bucket lets one through
    assert result.run.outcome.under_way == 0
    json.dumps(result.to_json())


def test_series_of_a_link_that_takes_months_end_where_the_simulation_is_cut_off(
    tmp_path: FilePath,
) -> None:
    (tmp_path / "trace").write_text("1000000000\n")
    result = _simulated(f"trace={tmp_path / 'trace'}", source=_cbr(4e5, duration_s=1))
    assert result.end_s > 1e7
    assert len(result.series["media_kbps"]) == 2 * 6 * 3600


def test_a_seed_of_more_than_64_bits_is_refused() -> None:
    with pytest.raises(SimulationError, match="seed"):
        _simulated("rate=1Mbps", seed=2**64)


def test_a_slow_trace_of_short_periods_is_passed_as_its_mean(tmp_path: FilePath) -> None:
    """3 kbps on the mean in periods of 1 ms: a packet of 8000 bits takes 2.667 s, and no time to
    compute.
    """
    (tmp_path / "trace").write_text("time_s,rate_bps\n0,2000\n0.0005,4000\n")
    result = _simulated(
        f"trace={tmp_path / 'trace'},trace_period=1ms,queue=2p", source=_cbr(4e5, duration_s=0.02)
    )
    columns = _columns(result)
    arrivals_s = columns["arrival_ns"][columns["arrived"]] / 1e9
    assert arrivals_s[0] == pytest.approx(8000 / 3000, abs=1e-3)


def test_one_packet_alone_has_no_rate() -> None:
    result = _simulated("rate=1e-9bps,burst=1500B", source=_cbr(4e5, duration_s=1))
    measure = result.flows[0].measure
    assert np.isnan(measure.rate_kbps)
    assert measure.offered_kbps == pytest.approx(400, rel=0.05)


@pytest.mark.long
def test_a_fitted_model_buffers_up_to_its_last_packet_not_through_the_pause_after_it() -> None:
    start_s = np.arange(0, 6, 0.004)
    bursts_s = np.add.outer(np.arange(10.0, 50, 4), 0.002 * np.arange(150)).ravel()
    fitted = trafficgen.fit(build_table(np.append(start_s, bursts_s)), buffering_end_s=6.0)
    with pytest.warns(SimulationWarning, match="response unknown"):
        result = trafficgen.simulate(fitted.model, path="rate=20Mbps,delay=5ms")
    assert result.buffering is not None
    assert result.playout is not None
    assert result.buffering.duration_s == pytest.approx(6.0, abs=0.01)
    assert result.buffering.rate_kbps == pytest.approx(2000, rel=0.01)
    assert result.playout.rate_kbps < 400
