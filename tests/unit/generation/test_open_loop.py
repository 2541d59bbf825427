"""What a generated table must be, whatever the model."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest

import trafficgen
from trafficgen.errors import GenerationError
from trafficgen.generation import OpenLoopSessions
from trafficgen.models import BurstProcess, Estimate, Model, RenewalProcess
from trafficgen.tables import DEFAULT_ORIGIN_NS, PacketTable
from trafficgen.workloads import run

MODELS = ["udp_model", "rtp_model", "tcp_model", "mixed_model"]


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Model:
    chosen = request.getfixturevalue(request.param)
    assert isinstance(chosen, Model)
    return chosen


def table_bytes(table: PacketTable) -> bytes:
    """Return packets and flows as Arrow files, chunk boundaries removed."""
    sink = io.BytesIO()
    for part in (table.packets, table.flows):
        with pa.ipc.new_stream(sink, part.schema) as writer:
            writer.write_table(part.combine_chunks())
    return sink.getvalue()


def phases_of(table: PacketTable) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    return np.array(table.column("phase").to_pylist(), dtype=object)


@pytest.mark.parametrize("block_packets", [1, 200, 1 << 16])
def test_same_seed_gives_the_same_bytes_for_any_blocks_and_workers(
    model: Model, block_packets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_BLOCK_PACKETS", block_packets)
    at_once = table_bytes(
        OpenLoopSessions(model=model, count=5, seed=3, arrival_rate_per_s=0.2).make_table()
    )
    for workers in (1, 3):
        made = trafficgen.generate(
            model, sessions=5, seed=3, arrival_rate_per_s=0.2, workers=workers
        )
        assert table_bytes(made) == at_once


def test_putting_many_packets_in_order_tells_how_far_it_is(
    udp_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_BLOCK_PACKETS", 100)
    steps: list[trafficgen.Step] = []
    with trafficgen.following(steps.append):
        table = trafficgen.generate(udp_model, sessions=6, arrival_rate_per_s=1.0)
    assert [step.done for step in steps if step.what == "generating"][-1] == 6
    ordered = [step for step in steps if step.what == "putting packets in order"]
    assert (ordered[-1].done, ordered[-1].total) == (len(table), len(table))


def test_no_workers_at_all_are_refused(udp_model: Model) -> None:
    with pytest.raises(ValueError, match="workers must be at least 1"):
        trafficgen.generate(udp_model, workers=0)


def test_other_seed_gives_other_packets(model: Model) -> None:
    assert table_bytes(OpenLoopSessions(model=model, seed=1).make_table()) != table_bytes(
        OpenLoopSessions(model=model, seed=2).make_table()
    )


def test_a_session_is_the_same_alone_and_among_others(udp_model: Model) -> None:
    alone, among = (
        OpenLoopSessions(model=udp_model, count=1).make_table(),
        OpenLoopSessions(model=udp_model, count=3).make_table(),
    )
    first = among.select_flows([0])
    assert np.array_equal(first.time_ns, alone.time_ns)
    assert np.array_equal(first.ip_bytes, alone.ip_bytes)


def test_packets_are_in_order_of_time_and_carry_their_headers(model: Model) -> None:
    table = OpenLoopSessions(model=model, count=3, arrival_rate_per_s=1.0).make_table()
    assert np.all(np.diff(table.time_ns) >= 0)
    assert table.time_ns[0] >= 0
    assert np.array_equal(table.frame_bytes, table.ip_bytes + 14)
    headers = table.ip_bytes - table.payload_bytes
    per_flow = [stream.transport.header_bytes for stream in model.streams] * 3
    assert np.array_equal(headers, np.array(per_flow)[table.flow])


def test_flow_counters_equal_the_packets(model: Model) -> None:
    table = OpenLoopSessions(model=model, count=2, arrival_rate_per_s=1.0, seed=5).make_table()
    for row in table.flows.to_pylist():
        own = table.select_flows([row["flow"]])
        assert (row["first_time_ns"], row["last_time_ns"]) == (own.time_ns[0], own.time_ns[-1])
        for direction, wanted in (("to_client", True), ("to_server", False)):
            part = own.select(own.to_client == wanted)
            assert row[f"packets_{direction}"] == len(part)
            assert row[f"frame_bytes_{direction}"] == part.frame_bytes.sum()
            assert row[f"payload_bytes_{direction}"] == part.payload_bytes.sum()


def test_every_flow_has_addresses_of_its_own_from_the_documentation_ranges(
    mixed_model: Model,
) -> None:
    rows = (
        OpenLoopSessions(model=mixed_model, count=40, duration_s=4.0).make_table().flows.to_pylist()
    )
    tuples = {
        (r["protocol"], r["server"], r["server_port"], r["client"], r["client_port"]) for r in rows
    }
    assert len(tuples) == len(rows) == 120
    for row in rows:
        assert row["server"].startswith(("192.0.2.", "2001:db8:"))
        assert row["client"].startswith(("198.51.100.", "203.0.113.", "2001:db8:"))
    assert [row["session"] for row in rows] == [session for session in range(40) for _ in range(3)]


def test_first_media_packet_comes_exactly_when_the_silence_ends(model: Model) -> None:
    table = OpenLoopSessions(model=model, seed=2).make_table()
    media = table.select(np.isin(phases_of(table), ["buffering", "playout"]) & table.to_client)
    assert table.time_ns[0] == 0
    assert media.time_ns[0] == 2_000_000_000
    before = table.select(table.time_ns < 2_000_000_000)
    assert len(before) >= 1
    assert set(phases_of(before)) == {"signalling"}


def test_without_silence_the_first_packet_is_media(udp_model: Model) -> None:
    quick = udp_model.model_copy(update={"startup": _silence(udp_model, 0.0)})
    table = OpenLoopSessions(model=quick).make_table()
    assert (table.time_ns[0], bool(table.to_client[0])) == (0, True)
    assert "signalling" not in set(phases_of(table))


def test_phases_lie_where_the_model_puts_them(udp_model: Model) -> None:
    table = OpenLoopSessions(model=udp_model).make_table()
    names, time_s = phases_of(table), table.time_s
    assert time_s[names == "buffering"].min() == 2.0
    assert time_s[names == "buffering"].max() < 7.0 <= time_s[names == "playout"].min()
    assert time_s[names == "playout"].max() < 27.0


def test_duration_counts_from_the_first_packet_and_stretches_the_last_phase(
    udp_model: Model,
) -> None:
    longer = OpenLoopSessions(model=udp_model, duration_s=60.0).make_table()
    names = phases_of(longer)
    assert 59.0 < longer.time_s[-1] < 60.0
    assert longer.time_s[names == "buffering"].max() < 7.0
    shorter = OpenLoopSessions(model=udp_model, duration_s=6.0).make_table()
    assert set(phases_of(shorter)) == {"signalling", "buffering"}
    assert 5.5 < shorter.time_s[-1] < 6.0


def test_a_stall_is_a_gap_and_the_end_keeps_its_length_when_the_playout_is_stretched(
    stalled_model: Model,
) -> None:
    table = OpenLoopSessions(model=stalled_model, duration_s=2.0 + 52.0).make_table()
    names, media_s = phases_of(table), table.time_s - 2.0
    assert not np.any((media_s > 10) & (media_s < 15))
    assert media_s[names == "rebuffering"].min() >= 15
    assert media_s[names == "rebuffering"].max() < 20
    assert media_s[names == "playout"].max() < 50 <= media_s[names == "end"].min()
    assert media_s[names == "end"].max() < 52


def test_phase_counts_meet_the_mean_of_the_law(udp_model: Model) -> None:
    """Over 200 sessions the mean count per phase is the length over the mean gap, plus at most one
    at the start.

    The number of points of a renewal process in t has variance t cv**2 / mean; the band is five
    standard errors.
    """
    sessions = 200
    table = OpenLoopSessions(model=udp_model, count=sessions).make_table()
    names = phases_of(table)
    for name, expected in (("buffering", 1500.0), ("playout", 2000.0)):
        count = np.count_nonzero((names == name) & table.to_client) / sessions
        error = 5 * np.sqrt(expected / 0.7 / sessions)
        assert expected - error < count < expected + 1 + error


def test_burst_phase_meets_the_rate_of_its_laws(rtp_model: Model) -> None:
    """Mean bytes a session, from the means of spacing, packets and sizes; five standard errors over
    100 sessions.
    """
    process = rtp_model.streams[0].phases[0].process
    assert isinstance(process, BurstProcess)
    packets, full = process.burst_packets.distribution(), process.packet_bytes.distribution()
    burst_bytes = (packets.mean - 1) * full.mean + process.last_packet_bytes.distribution().mean
    count = 20.0 / process.spacing_s.distribution().mean
    sessions = 100
    table = OpenLoopSessions(model=rtp_model, count=sessions).make_table()
    mean_bytes = table.ip_bytes[table.to_client].sum() / sessions
    error = 5 * np.sqrt(count * packets.variance / sessions) * full.mean
    # A regular rhythm that starts with a burst has up to one burst more than length over spacing;
    # the last may be cut.
    assert (count - 1) * burst_bytes - error < mean_bytes < (count + 1) * burst_bytes + error


def test_bursts_stay_apart(rtp_model: Model) -> None:
    """The next burst waits for a long one, so bursts can be told apart by the model's threshold."""
    table = OpenLoopSessions(model=rtp_model).make_table()
    timestamp = table.values("rtp_timestamp").astype(np.int64)[table.to_client]
    gaps_s = np.diff(table.time_s[table.to_client])
    assert gaps_s[np.diff(timestamp) != 0].min() >= 0.01 - 1e-9


def test_poisson_arrivals_have_exponential_gaps(udp_model: Model) -> None:
    table = OpenLoopSessions(
        model=udp_model, count=400, duration_s=2.1, arrival_rate_per_s=2.0
    ).make_table()
    starts_s = np.array(table.flows.column("first_time_ns").to_pylist()) / 1e9
    gaps_s = np.diff(starts_s)
    assert abs(gaps_s.mean() - 0.5) < 5 * 0.5 / np.sqrt(399)
    assert abs(gaps_s.std() - 0.5) < 5 * 0.5 * np.sqrt(
        2 / 399
    )  # var of a sample's std of an exponential, about 2/n


def test_notes_say_what_was_generated(udp_model: Model) -> None:
    table = OpenLoopSessions(model=udp_model, seed=9, count=2).make_table()
    assert table.notes == {"model": "by_hand", "seed": 9, "sessions": 2}
    assert table.origin_ns == DEFAULT_ORIGIN_NS


def test_impossible_requests_say_what_to_change(udp_model: Model) -> None:
    with pytest.raises(GenerationError, match="ask for at least 1"):
        OpenLoopSessions(model=udp_model, count=0).make_table()
    with pytest.raises(GenerationError, match="longer duration"):
        OpenLoopSessions(model=udp_model, duration_s=2.0).make_table()
    with pytest.raises(ValueError, match="arrival_rate_per_s"):
        OpenLoopSessions(model=udp_model, arrival_rate_per_s=0.0).make_table()
    with pytest.raises(ValueError, match="seed"):
        OpenLoopSessions(model=udp_model, seed=-1).make_table()


def test_gaps_that_never_advance_are_refused(udp_model: Model) -> None:
    stream = udp_model.streams[0]
    process = stream.phases[0].process
    assert isinstance(process, RenewalProcess)
    still = process.gap_s.model_validate(
        {"unit": "s", "family": "atoms", "atoms": [{"value": 0.0, "p": 1.0}], "observations": 1}
    )
    phase = stream.phases[0].model_copy(
        update={"process": process.model_copy(update={"gap_s": still})}
    )
    broken = udp_model.model_copy(
        update={"streams": (stream.model_copy(update={"phases": (phase,)}),)}
    )
    with pytest.raises(GenerationError, match="correct gap_s"):
        OpenLoopSessions(model=broken).make_table()


def _silence(model: Model, silence_s: float) -> object:
    return model.startup.model_copy(
        update={"silence_s": Estimate(value=silence_s, method="by hand")}
    )
