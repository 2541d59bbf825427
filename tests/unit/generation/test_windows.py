"""Long sessions are played in windows: flat memory, and one session for whoever looks at it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.generation.conftest import bursts, model_with, phase, renewal, stream

from trafficgen import generate_workload, read_packets
from trafficgen.generation import OpenLoopSessions, timeline
from trafficgen.generation.columns import superpose
from trafficgen.generation.timeline import session_timeline
from trafficgen.models import Model
from trafficgen.processes.base import PlayableProcess

WINDOW = 150
MODELS = ["udp_model", "stalled_model", "rtp_model", "tcp_model", "mixed_model"]


@pytest.fixture(params=MODELS)
def any_model(request: pytest.FixtureRequest) -> Model:
    found: Model = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def _short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "_WINDOW_PACKETS", WINDOW)


def test_usual_sessions_are_played_at_once(any_model: Model) -> None:
    assert len(session_timeline(any_model, duration_s=None).windows) == 1


@pytest.mark.usefixtures("_short_windows")
def test_windows_have_about_as_many_packets_each(stalled_model: Model) -> None:
    played = session_timeline(stalled_model, duration_s=None)
    windows = played.windows
    assert len(windows) > 10
    assert [one.end_s for one in windows[:-1]] == [one.start_s for one in windows[1:]]
    rows: list[dict[str, object]] = []
    pieces = OpenLoopSessions(model=stalled_model).windows(0, rows)
    counts = [piece.num_rows for piece in pieces]
    assert len(counts) == len(windows)
    assert max(counts) < 1.5 * WINDOW < 2.5 * min(counts)


@pytest.mark.usefixtures("_short_windows")
@pytest.mark.parametrize("jitter_s", [0.0, 0.05])
def test_windows_one_after_the_other_are_the_session_in_order(
    any_model: Model, jitter_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = OpenLoopSessions(model=any_model, count=2, seed=3, arrival_rate_per_s=0.1)
    usual = sessions.viewing
    monkeypatch.setattr(
        OpenLoopSessions,
        "viewing",
        lambda _, session: type(usual(session))(session=session, jitter_s=jitter_s),
    )
    rows: list[dict[str, object]] = []
    pieces = list(sessions.windows(1, rows))
    tables, whole_rows = sessions.block(1, 1)
    assert rows == whole_rows
    assert len({tuple(piece.column_names) for piece in pieces}) == 1
    found, whole = pa.concat_tables(pieces), superpose(tables)
    assert found.select(sorted(found.column_names)).equals(whole.select(sorted(whole.column_names)))
    assert np.all(np.diff(found.column("time_ns").to_numpy()) >= 0)


@pytest.mark.usefixtures("_short_windows")
def test_header_fields_go_on_from_window_to_window(mixed_model: Model, rtp_model: Model) -> None:
    audio = OpenLoopSessions(model=mixed_model).make_table().select_flows([0])
    audio = audio.select(audio.to_client)
    ticks = np.mod(np.diff(audio.values("rtp_timestamp").astype(np.int64)), 1 << 32)
    np.testing.assert_allclose(
        np.cumsum(ticks) / 8000, audio.time_s[1:] - audio.time_s[0], atol=1 / 8000
    )
    video = OpenLoopSessions(model=rtp_model, duration_s=100.0).make_table()
    media = video.select(video.to_client)
    assert np.all(np.diff(media.values("rtp_sequence").astype(np.int64)) % (1 << 16) == 1)
    timestamp = media.values("rtp_timestamp").astype(np.int64)
    steps = np.mod(np.diff(timestamp[np.append(True, np.diff(timestamp) != 0)]), 1 << 32)
    assert not np.any(np.mod(steps, 3600))
    assert np.all((steps > 0) & (steps < 10 * 3600))


@pytest.mark.usefixtures("_short_windows")
def test_a_connection_is_opened_and_closed_once(tcp_model: Model) -> None:
    table = OpenLoopSessions(model=tcp_model).make_table()
    flags = table.values("tcp_flags").astype(np.int64)
    assert np.count_nonzero(flags & 0x02) == 2
    assert np.count_nonzero(flags & 0x01) == 2
    data = table.select(table.to_client & (table.payload_bytes > 0))
    sequence = data.values("tcp_sequence").astype(np.int64)
    lengths = data.payload_bytes.astype(np.int64)
    np.testing.assert_array_equal(np.mod(np.diff(sequence), 1 << 32), lengths[:-1])
    answers = table.select(~table.to_client)
    acknowledged = answers.values("tcp_acknowledgement")[4:].astype(np.int64)
    assert np.all(np.mod(np.diff(acknowledged), 1 << 32) < 1 << 31)


def test_the_rate_is_that_of_sessions_in_one_window(
    any_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = OpenLoopSessions(model=any_model, count=40)
    whole = len(sessions.make_table())
    monkeypatch.setattr(timeline, "_WINDOW_PACKETS", 400)
    assert len(sessions.make_table()) == pytest.approx(whole, rel=0.03)


@pytest.mark.usefixtures("_short_windows")
def test_schedules_on_a_path_are_the_packets_without_one(mixed_model: Model) -> None:
    sessions = OpenLoopSessions(model=mixed_model, seed=4)
    table = sessions.make_table()
    for flow, schedule in enumerate(sessions.schedules(0)):
        own = table.select((table.flow == flow) & table.to_client)
        own = own.select(own.payload_bytes > 0)
        np.testing.assert_array_equal(own.time_ns, schedule.time_ns)
        np.testing.assert_array_equal(own.ip_bytes, schedule.ip_bytes)


@pytest.mark.usefixtures("_short_windows")
def test_what_cannot_be_divided_is_not(udp_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlayableProcess, "is_divisible", False)
    assert len(session_timeline(udp_model, duration_s=None).windows) == 1


@pytest.mark.usefixtures("_short_windows")
def test_the_largest_burst_comes_first_once() -> None:
    process = bursts(spacing_s=0.2).model_copy(update={"largest_first": True})
    model = model_with(stream(phases=(phase("playout", 0.0, 60.0, process),)), silence_s=0.0)
    rows: list[dict[str, object]] = []
    first: list[int] = []
    for piece in OpenLoopSessions(model=model).windows(0, rows):
        time_s = piece.column("time_ns").to_numpy() / 1e9
        runs = np.flatnonzero(np.diff(time_s, append=np.inf) > 0.05)
        first.append(int(np.diff(runs, prepend=-1)[0] - np.diff(runs, prepend=-1).max()))
    assert first[0] == 0
    assert sum(one == 0 for one in first[1:]) < len(first) / 2


@pytest.mark.usefixtures("_short_windows")
def test_files_are_the_same_from_the_memory_and_from_blocks(
    any_model: Model, tmp_path: Path
) -> None:
    for name, memory_bytes in (("memory", 10**9), ("blocks", 450_000)):
        generate_workload(
            any_model,
            tmp_path / f"{name}.parquet",
            sessions=1,
            duration_s=40.0,
            memory_bytes=memory_bytes,
        )
    content = [(tmp_path / f"{name}.parquet").read_bytes() for name in ("memory", "blocks")]
    assert content[0] == content[1]
    assert len(read_packets(tmp_path / "blocks.parquet")) > 10 * WINDOW


def test_a_long_session_needs_no_more_memory_than_a_part_of_it() -> None:
    model = model_with(stream(phases=(phase("playout", 0.0, 20.0, renewal(mean_s=1e-4)),)))
    packets = OpenLoopSessions(model=model, duration_s=1e6)
    assert packets.expected_packets(range(1)) > 9e9
    assert packets.packets_at_once(0) < 1 << 20
