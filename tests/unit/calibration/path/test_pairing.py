from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from trafficgen.calibration.path.conditions import find_loss
from trafficgen.calibration.path.pairing import (
    match_numbers,
    match_sizes,
    pair_arrivals,
    pair_sessions,
)
from trafficgen.errors import CalibrationError
from trafficgen.flows import choose_session
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]


def test_losses_are_found_one_by_one_and_delays_without_the_clocks(
    congested_pair: Callable[..., Any],
) -> None:
    # the second clock is an hour ahead and gains 50 ppm
    pair = congested_pair(offset_s=3600.0, skew=5e-5)
    found = pair_sessions(choose_session(pair.sender), pair.receiver)
    assert (found.swapped, found.reordered) == (False, 0)
    np.testing.assert_array_equal(found.is_lost, pair.is_lost)
    assert found.skew == pytest.approx(5e-5, abs=1e-6)
    # the least delay is the link's 20 ms and 2 ms for a small packet, offset and skew at the first
    # packet included
    assert found.least_delay_s == pytest.approx(3600.022, abs=0.001)
    # the larger packets need up to 11 ms more on the link than the least delay has
    error_s = (found.delay_s - pair.queueing_s)[~pair.is_lost]
    assert error_s.min() > -0.001
    assert error_s.max() < 0.0115


def test_the_sender_is_found_whichever_is_given_first(congested_pair: Callable[..., Any]) -> None:
    pair = congested_pair()
    found = pair_sessions(choose_session(pair.receiver), pair.sender)
    assert found.swapped
    assert found.lost == int(pair.is_lost.sum())
    np.testing.assert_array_equal(found.sent_ns, pair.sender.time_ns)


def test_without_loss_the_delay_tells_the_sender(congested_pair: Callable[..., Any]) -> None:
    pair = congested_pair(rate_bps=1e7, cross_bps=0.0)
    assert not pair.is_lost.any()
    assert not pair_sessions(choose_session(pair.sender), pair.receiver).swapped
    assert pair_sessions(choose_session(pair.receiver), pair.sender).swapped


def test_translated_addresses_do_not_matter(congested_pair: Callable[..., Any]) -> None:
    pair = congested_pair()
    flows = pair.receiver.flows
    place = flows.schema.get_field_index("client")
    elsewhere = pa.array(["10.0.0.9"] * flows.num_rows)
    translated = replace(
        pair.receiver, flows=flows.set_column(place, flows.schema.field(place), elsewhere)
    )
    found = pair_sessions(choose_session(pair.sender), translated)
    np.testing.assert_array_equal(found.is_lost, pair.is_lost)


def test_arrival_times_tell_loss_and_queueing_of_one_table(
    congested_pair: Callable[..., Any],
) -> None:
    pair = congested_pair()
    view = choose_session(pair.sender)
    both_ends = pair_sessions(view, pair.receiver)
    arrival_ns = np.full(len(pair.sender), -1)
    arrival_ns[~pair.is_lost] = np.sort(
        pair.receiver.time_ns + pair.receiver.origin_ns - pair.sender.origin_ns
    )
    column = pa.array(arrival_ns, mask=pair.is_lost)
    table = replace(pair.sender, packets=pair.sender.packets.append_column("arrival_ns", column))
    found = pair_arrivals(choose_session(table))
    assert found is not None
    assert (found.source, found.are_distinguishable) == ("arrival times", True)
    np.testing.assert_array_equal(found.is_lost, both_ends.is_lost)
    np.testing.assert_allclose(found.delay_s, both_ends.delay_s)
    loss = find_loss(view, pairing=found)
    assert loss is not None
    assert loss.source == "arrival"
    assert loss.rate == pytest.approx(pair.is_lost.mean())


def test_packets_that_all_arrived_tell_no_loss_unless_a_path_was_simulated(
    make_table: TableMaker,
) -> None:
    time_s = np.arange(50) / 10
    received = make_table(
        time_s, arrival_ns=[round(1e9 * at) + 20_000_000 for at in time_s]
    )  # a receiver's log
    assert pair_arrivals(choose_session(received)) is None
    simulated = pair_arrivals(choose_session(replace(received, notes={"path": {}})))
    assert simulated is not None
    assert simulated.lost == 0
    assert simulated.least_delay_s == pytest.approx(0.02)
    at_receiver = make_table(time_s, arrival_ns=[round(1e9 * at) for at in time_s])
    assert pair_arrivals(choose_session(replace(at_receiver, notes={"path": {}}))) is None
    assert pair_arrivals(choose_session(make_table(time_s))) is None


def test_of_a_simulated_path_that_loses_all_everything_is_lost(make_table: TableMaker) -> None:
    view = choose_session(replace(make_table(np.arange(50) / 10), notes={"path": {}}))
    loss = find_loss(view, pairing=pair_arrivals(view))
    assert loss is not None
    assert (loss.rate, loss.source) == (1.0, "arrival")


def test_packets_without_numbers_are_matched_by_the_order_of_their_sizes(
    make_table: TableMaker,
) -> None:
    generator = np.random.default_rng(4)
    sizes = generator.integers(60, 1500, 3000)
    time_s = np.cumsum(generator.exponential(0.01, 3000))
    lost = generator.random(3000) < 0.05
    flows = [{"flow": 0, "payload_bytes_to_client": 1}]
    sender = make_table(time_s, ip_bytes=sizes, flows=flows)
    receiver = make_table(time_s[~lost] + 0.05, ip_bytes=sizes[~lost], flows=flows)
    found = pair_sessions(choose_session(sender), receiver)
    # where several of six packets in a row are lost the order of sizes may not tell which
    assert np.mean(found.is_lost != lost) < 0.01
    assert np.nanquantile(found.delay_s, 0.99) < 1e-6


def test_of_equal_packets_without_numbers_only_the_loss_is_known(make_table: TableMaker) -> None:
    flows = [{"flow": 0, "payload_bytes_to_client": 1}]
    sender = make_table(np.arange(1000) * 0.01, flows=flows)
    receiver = make_table(np.delete(np.arange(1000), [10, 500, 501]) * 0.01 + 0.05, flows=flows)
    found = pair_sessions(choose_session(sender), receiver)
    assert (found.lost, found.are_distinguishable) == (3, False)
    assert np.isnan(found.delay_s).all()


def test_captures_of_different_sessions_are_refused(
    congested_pair: Callable[..., Any], make_table: TableMaker
) -> None:
    other = make_table(
        np.arange(100) * 0.01, ip_bytes=77, flows=[{"flow": 0, "payload_bytes_to_client": 1}]
    )
    with pytest.raises(CalibrationError, match="share 0 media packets"):
        pair_sessions(choose_session(congested_pair().sender), other)


def test_a_number_sent_again_is_matched_from_its_last_sending() -> None:
    np.testing.assert_array_equal(
        match_numbers(np.array([1, 2, 3, 2, 4]), np.array([1, 3, 2, 4])), [0, -1, 1, 2, 3]
    )
    np.testing.assert_array_equal(match_numbers(np.array([5, 6]), np.array([6, 5])), [1, 0])


def test_sizes_that_were_never_sent_are_passed_over() -> None:
    sent = np.array([10, 20, 30, 40, 50, 60, 70, 80, 90])
    np.testing.assert_array_equal(
        match_sizes(sent, np.array([10, 999, 20, 30, 40, 50, 60, 70, 80, 90]))[:3], [0, 2, 3]
    )
