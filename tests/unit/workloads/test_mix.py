"""Sessions of a mix: shares, clips, lengths and addresses are those of the file, and blocks change
nothing.
"""

from __future__ import annotations

import ipaddress
import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.unit.workloads.conftest import Load

from trafficgen.errors import GenerationError
from trafficgen.generation.columns import superpose
from trafficgen.generation.open_loop import OpenLoopSessions
from trafficgen.models import Model, read_model
from trafficgen.models.published import load_entry
from trafficgen.tables import FLOW_SCHEMA
from trafficgen.workloads.blocks import Block, cut
from trafficgen.workloads.clips import Zipf
from trafficgen.workloads.mix import MixedSessions
from trafficgen.workloads.options import WorkloadOptions
from trafficgen.workloads.run import gather_table, make_in_memory, make_workload
from trafficgen.workloads.sessions import choose_sessions, plan_model, sessions_of_workload

MIX = """
name: mix
sessions: 24
arrivals: flash:base=0.5/s,start=5s,rise=2s,peak=10,decay=5s
duration: {exponential: 4s, least: 1s, most: 9s}
departures: {share: 50%}
groups:
  - model: udp.json
    share: 30%
    clips: {popularity: "zipf:0.8,clips=4", rate: "lognormal:1,sigma=0.4"}
  - {model: tcp.json, share: 20%}
  - {model: rtp.json, clients: 10.0.0.0/29, servers: 192.0.2.0/28}
  - {model: cbr(rate_kbps=100), share: 20%, clients: 10.7.0.0/16}
  - {model: cbr(rate_kbps=50), arrivals: poisson:0.5/s, sessions: 4}
"""

ALONE = "groups: [{model: udp.json}]"


def played(
    sessions: MixedSessions, first: int, count: int
) -> tuple[pa.Table, list[dict[str, Any]]]:
    tables, rows = sessions.block(first, count)
    return superpose(tables), rows


def everything(
    sessions: MixedSessions, blocks: tuple[Block, ...], folder: Path, *, workers: int = 1
) -> pa.Table:
    with make_workload(sessions, blocks, folder, WorkloadOptions(workers=workers)) as stream:
        packets = pa.concat_tables(stream.pieces, promote_options="default")
        flows = stream.head.flows
    return packets.select(sorted(packets.column_names)).append_column(
        "client", flows.column("client").take(packets.column("flow"))
    )


def viewings_of(sessions: MixedSessions) -> list[Any]:
    return list(sessions.viewings(0, sessions.count))


@pytest.mark.long
def test_packets_do_not_depend_on_how_sessions_are_cut_nor_on_the_workers(
    load: Load, tmp_path: Path
) -> None:
    sessions = sessions_of_workload(load(MIX), seed=5)
    one = everything(sessions, cut(sessions), tmp_path / "one")
    assert len(cut(sessions)) == 1
    blocks = cut(sessions, packets=100)
    assert len(blocks) > 5
    assert everything(sessions, blocks, tmp_path / "many").equals(one)
    assert everything(sessions, cut(sessions, packets=900), tmp_path / "two", workers=2).equals(one)


def test_the_whole_table_is_what_the_blocks_are_merged_to(load: Load, tmp_path: Path) -> None:
    sessions = sessions_of_workload(load(MIX), seed=5)
    table = gather_table(make_in_memory(sessions, workers=1))
    blocks = cut(sessions, packets=300)
    with make_workload(sessions, blocks, tmp_path / "work", WorkloadOptions()) as stream:
        packets = pa.concat_tables(stream.pieces, promote_options="default")
        assert stream.head.flows.equals(table.flows)
    assert packets.select(table.packets.column_names).equals(table.packets)
    assert table.notes == sessions.notes


def test_flow_rows_count_the_packets_of_their_flow(load: Load) -> None:
    sessions = sessions_of_workload(load(MIX), seed=5)
    packets, rows = played(sessions, 0, sessions.count)
    pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)
    assert [row["flow"] for row in rows] == list(range(len(rows)))
    assert list(dict.fromkeys(row["session"] for row in rows)) == list(range(sessions.count))
    for row in rows:
        own = packets.filter(pa.compute.equal(packets.column("flow"), row["flow"]))
        assert own.num_rows == row["packets_to_client"] + row["packets_to_server"]
        time_ns = own.column("time_ns").to_pylist()
        assert (time_ns[0], time_ns[-1]) == (row["first_time_ns"], row["last_time_ns"])
        assert time_ns[0] >= sessions.starts_ns[row["session"]]


@pytest.mark.parametrize("name", ["udp", "tcp"])
def test_a_workload_of_one_model_is_what_it_plays_without_a_file(folder: Path, name: str) -> None:
    model = read_model(folder / f"{name}.json")
    assert isinstance(model, Model)
    alone = OpenLoopSessions(model=model, count=12, duration_s=4.0, seed=3, arrival_rate_per_s=0.5)
    mixed = sessions_of_workload(
        plan_model(model, WorkloadOptions(sessions=12, arrivals="poisson:0.5/s", duration_s=4.0)),
        seed=3,
    )
    np.testing.assert_array_equal(mixed.starts_ns, alone.starts_ns)
    tables, rows = alone.block(2, 7)
    packets, mixed_rows = played(mixed, 2, 7)
    assert packets.equals(superpose(tables))
    assert mixed_rows == rows


def test_groups_have_the_shares_that_were_asked_for(load: Load) -> None:
    text = """
sessions: 20000
groups:
- {model: udp.json, share: 0.25}
- {model: tcp.json}
- {model: rtp.json, share: 0.05}
"""
    groups: Any = sessions_of_workload(load(text), seed=1).notes["groups"]
    counts = [group["sessions"] for group in groups]
    assert stats.chisquare(counts, 20_000 * np.array([0.25, 0.7, 0.05])).pvalue > 0.001
    assert [group["name"] for group in groups] == ["udp", "tcp", "rtp"]


def test_groups_with_arrivals_of_their_own_are_merged_in_order_of_their_starts(
    load: Load, folder: Path
) -> None:
    text = """
for: 500s
arrivals: poisson:0.2/s
groups:
- {model: udp.json}
- {model: udp.json, arrivals: poisson:0.1/s}
- {model: udp.json, arrivals: file:starts.csv}
"""
    (folder / "starts.csv").write_text("start_s,who\n450,b\n7.5,a\n", encoding="utf-8")
    sessions = sessions_of_workload(load(text), seed=2)
    assert np.all(np.diff(sessions.starts_ns) >= 0)
    groups: Any = sessions.notes["groups"]
    assert [group["name"] for group in groups] == ["udp", "udp-2", "udp-3"]
    assert groups[2]["sessions"] == 2
    assert {7_500_000_000, 450_000_000_000} <= set(sessions.starts_ns.tolist())
    for group, rate_per_s in zip(groups[:2], (0.2, 0.1), strict=True):
        low, high = stats.poisson.interval(0.999, 500 * rate_per_s)
        assert low <= group["sessions"] <= high


def test_a_group_may_have_no_session_where_others_have(load: Load, folder: Path) -> None:
    (folder / "late.csv").write_text("400\n450\n", encoding="utf-8")
    text = """
for: 500s
arrivals: poisson:0.2/s
groups:
- {model: udp.json}
- {name: late, model: udp.json, arrivals: file:late.csv}
"""
    early = sessions_of_workload(load(text), seed=2, window_s=100.0)
    assert not early.groups.any()
    assert early.count_text.endswith(" and 0 of group late)")
    late = sessions_of_workload(load(text.replace("0.2/s", "0.000001/s")), seed=2)
    assert late.count_text == "2 sessions (0 and 2 of group late)"
    with pytest.raises(GenerationError, match="no session of workload starts; ask for a longer"):
        sessions_of_workload(load(text.replace("0.2/s", "0.000001/s")), seed=2, window_s=9.0)


def test_sessions_of_a_clip_have_its_length_and_rate(load: Load) -> None:
    text = """
sessions: 3000
groups:
- model: udp.json
  clips:
    popularity: "zipf:1,clips=20"
    length: "lognormal:20s,sigma=0.5"
    rate: "lognormal:1,sigma=0.3"
"""
    viewings = [viewing for _, viewing in viewings_of(sessions_of_workload(load(text), seed=1))]
    by_clip: dict[int, set[tuple[float, float]]] = {}
    for viewing in viewings:
        by_clip.setdefault(viewing.clip, set()).add((viewing.length_s, viewing.rate_factor))
    assert all(len(found) == 1 for found in by_clip.values())
    assert len({next(iter(found)) for found in by_clip.values()}) == 20
    counts = np.bincount([viewing.clip for viewing in viewings], minlength=20)
    share = 1 / np.arange(1, 21)
    assert stats.chisquare(counts, 3000 * share / share.sum()).pvalue > 0.001


def test_a_session_is_as_long_as_its_clip_or_its_own_length_whichever_is_shorter(
    load: Load,
) -> None:
    text = """
sessions: 400
duration: exponential:30s
groups:
- {model: udp.json, clips: {count: 1, length: 20s}}
"""
    lengths_s = np.array(
        [viewing.length_s for _, viewing in viewings_of(sessions_of_workload(load(text), seed=1))]
    )
    assert lengths_s.max() == 20.0
    whole = np.count_nonzero(lengths_s == 20.0)
    low, high = stats.binom.interval(0.999, 400, np.exp(-20 / 30))
    assert low <= whole <= high


def test_as_many_viewers_leave_as_was_asked_for_and_when(load: Load) -> None:
    text = (
        "sessions: 4000\ndepartures: {share: 30%, after: exponential:60s}\ngroups: [{model:"
        " udp.json}]"
    )
    leaves_s = [
        viewing.leaves_after_s
        for _, viewing in viewings_of(sessions_of_workload(load(text), seed=1))
    ]
    leaving = [time_s for time_s in leaves_s if time_s is not None]
    low, high = stats.binom.interval(0.999, 4000, 0.3)
    assert low <= len(leaving) <= high
    assert stats.kstest(leaving, "expon", args=(0, 60)).pvalue > 0.001


def test_a_viewer_of_a_published_source_leaves_at_a_share_of_what_it_would_play(load: Load) -> None:
    text = "sessions: 3\n{}groups: [{{model: cbr(duration_s=20)}}]"
    staying = played(sessions_of_workload(load(text.format("")), seed=1), 0, 3)[1]
    leaving = played(
        sessions_of_workload(load(text.format("departures: {share: 1, watched: 0.25}\n")), seed=1),
        0,
        3,
    )[1]
    for stayed, left in zip(staying, leaving, strict=True):
        assert left["packets_to_client"] == pytest.approx(0.25 * stayed["packets_to_client"], abs=1)


def test_clips_of_a_playlist_are_played_by_popularity(load: Load) -> None:
    text = """
sessions: 200
groups:
- {model: realplayer8_chung2002, clips: {popularity: zipf:1.2}}
"""
    sessions = sessions_of_workload(load(text), seed=1)
    player, _ = viewings_of(sessions)[0]
    variants = player.variants
    assert variants.option == "clip"
    assert sorted(variants.values) == list(range(1, 80))
    assert list(variants.values) != list(range(1, 80))  # which is popular is drawn
    other, _ = viewings_of(sessions_of_workload(load(text), seed=2))[0]
    assert other.variants.values != variants.values
    clips = [viewing.clip for _, viewing in viewings_of(sessions)]
    assert np.bincount(clips, minlength=79).argmax() == 0


def test_published_clips_differ_by_the_values_that_are_listed(load: Load) -> None:
    text = """
sessions: 12
groups:
- {model: cbr(duration_s=2), clips: {option: rate_kbps, values: [100, 400], popularity: zipf:0}}
"""
    sessions = sessions_of_workload(load(text), seed=1)
    rows = played(sessions, 0, 12)[1]
    clips = [viewing.clip for _, viewing in viewings_of(sessions)]
    assert set(clips) == {0, 1}
    for row, clip in zip(rows, clips, strict=True):
        # 1000-byte packets for 2 s.
        assert row["packets_to_client"] == pytest.approx((100, 400)[clip] * 2 / 8, abs=1)


def test_addresses_lie_in_the_ranges_of_the_group(load: Load) -> None:
    text = """
sessions: 40
groups:
- {model: udp.json, share: 0.5, clients: 10.1.0.0/28, servers: 192.0.2.0/30}
- {model: six.json, clients: ["10.9.0.0/16", "2001:db8:7::/64"]}
"""
    _, rows = played(sessions_of_workload(load(text), seed=1), 0, 40)
    ends = {(row["client"], row["client_port"], row["server"], row["server_port"]) for row in rows}
    assert len(ends) == len(rows)
    for row in rows:
        client = ipaddress.ip_address(str(row["client"]))
        if client.version == 4:
            assert client in ipaddress.ip_network("10.1.0.0/28")
            assert ipaddress.ip_address(str(row["server"])) in ipaddress.ip_network("192.0.2.0/30")
        else:
            assert client in ipaddress.ip_network("2001:db8:7::/64")


def test_a_million_sessions_are_drawn_without_playing_any(load: Load) -> None:
    text = (
        "sessions: 1000000\narrivals: poisson:100/s\ngroups: [{model: udp.json, share: 0.5},"
        " {model: tcp.json}]"
    )
    sessions = sessions_of_workload(load(text), seed=1)
    sent = pickle.dumps(sessions)
    assert sessions.starts_ns.size == 1_000_000
    assert len(pickle.dumps(sessions)) == len(sent) < 100_000
    tail = pickle.loads(sent).block(999_990, 10)
    assert tail[1] == sessions.block(999_990, 10)[1]
    assert sessions.expected_packets(range(1_000_000)) == pytest.approx(1e6 * 100, rel=0.5)


def test_arrivals_are_left_out_beside_sessions_that_know_none(load: Load) -> None:
    alone = "sessions: 2\ngroups: [{model: cbr(duration_s=1)}]"
    beside = "sessions: 9\ngroups: [{model: cbr(duration_s=1), share: 0.5}, {model: udp.json}]"
    assert "arrival_ns" in played(sessions_of_workload(load(alone), seed=1), 0, 2)[0].column_names
    assert (
        "arrival_ns" not in played(sessions_of_workload(load(beside), seed=1), 0, 9)[0].column_names
    )


def test_what_is_asked_for_beside_the_file_goes_before_it(load: Load) -> None:
    workload = load("for: 100s\narrivals: poisson:1/s\nduration: 3s\ngroups: [{model: udp.json}]")
    assert sessions_of_workload(workload, seed=1, sessions=7).count == 7
    assert sessions_of_workload(workload, seed=1, sessions=7, window_s=5.0).starts_ns[-1] < 5e9
    spread_ns = sessions_of_workload(workload, seed=1, sessions=500).starts_ns
    assert 90e9 < spread_ns[-1] < 100e9  # within the time of the file, not at its rate
    assert sessions_of_workload(workload, seed=1, window_s=50.0).count < 80
    lengths_s = {
        viewing.length_s
        for _, viewing in viewings_of(sessions_of_workload(workload, seed=1, duration_s=4.5))
    }
    assert lengths_s == {4.5}


def test_a_shorter_time_is_the_first_part_of_the_same_run(load: Load, folder: Path) -> None:
    (folder / "ramp.csv").write_text("time_s,rate_per_s\n0,1\n600,2\n", encoding="utf-8")
    text = """
sessions: 500
for: 600s
arrivals: rates:ramp.csv
groups:
- {model: udp.json}
- {name: flash, model: tcp.json, arrivals: poisson:0.2/s}
- {name: few, model: tcp.json, arrivals: poisson:0.1/s, sessions: 30}
"""
    workload = load(text)
    whole = sessions_of_workload(workload, seed=3)
    first = sessions_of_workload(workload, seed=3, window_s=60.0)
    inside = whole.starts_ns < 60e9
    np.testing.assert_array_equal(first.starts_ns, whole.starts_ns[inside])
    np.testing.assert_array_equal(first.groups, whole.groups[inside])
    # Sessions that start in the window are the same to the byte, but for the end of the run.
    assert played(first, 0, 5)[0].equals(played(whole, 0, 5)[0])
    scaled = "rates of ramp.csv scaled by 0.5556 to make 500 sessions in 10 min 0 s"
    few = "group few: arrival rates scaled by 0.5 to make 30 sessions in 10 min 0 s"
    assert whole.remarks == (scaled, few)
    assert first.remarks == tuple(f"{text}; the first 1 min 0 s of them" for text in (scaled, few))
    flash = np.count_nonzero(whole.groups == 1)
    assert whole.count_text == (
        f"{530 + flash} sessions (500 and {flash} of group flash and 30 of group few)"
    )
    with pytest.raises(
        GenerationError, match=r"window_s='20 min 0 s' is longer than the 10 min 0 s"
    ):
        sessions_of_workload(workload, seed=3, window_s=1200.0)


def test_sessions_without_arrivals_start_at_random_times_in_a_window(load: Load) -> None:
    both = sessions_of_workload(load("sessions: 400\nfor: 60s\n" + ALONE), seed=1)
    assert stats.kstest(both.starts_ns / 1e9, "uniform", args=(0, 60)).pvalue > 0.001
    first = sessions_of_workload(load("sessions: 400\nfor: 60s\n" + ALONE), seed=1, window_s=9.0)
    np.testing.assert_array_equal(first.starts_ns, both.starts_ns[both.starts_ns < 9e9])
    assert first.remarks == ("the first 9 s of 400 sessions in 1 min 0 s",)
    together = load("sessions: 400\n" + ALONE)
    assert not sessions_of_workload(together, seed=1).starts_ns.any()
    spread = sessions_of_workload(together, seed=1, window_s=60.0)
    np.testing.assert_array_equal(spread.starts_ns, both.starts_ns)


def test_options_replace_arrivals_and_popularity_of_a_file(
    load: Load, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.chdir(folder)
    Path("ramp.csv").write_text("time_s,rate_per_s\n0,1\n60,2\n", encoding="utf-8")

    def chosen(text: str, **given: Any) -> MixedSessions:
        sessions = choose_sessions(load(text), WorkloadOptions(seed=1, **given))
        assert isinstance(sessions, MixedSessions)
        return sessions

    text = "for: 60s\narrivals: poisson:0.1/s\n" + ALONE
    busy = text.replace("0.1/s", "2/s")
    assert chosen(text).request != chosen(text, arrivals="poisson:2/s").request
    for given in ({"arrivals": "poisson:2/s"}, {"arrival_rate_per_s": 2.0}):
        np.testing.assert_array_equal(chosen(text, **given).starts_ns, chosen(busy).starts_ns)
    many = chosen("sessions: 40\nfor: 60s\n" + ALONE, arrivals="rates:ramp.csv")
    assert many.count == 40
    assert many.remarks[0].startswith("rates of ramp.csv scaled by 0.4444")
    own = f"for: 60s\n{ALONE}".replace("udp.json", "udp.json, arrivals: poisson:1/s")
    with pytest.raises(GenerationError, match=r"change 'groups.0.arrivals'"):
        chosen(own, arrivals="poisson:2/s")
    with pytest.raises(GenerationError, match=r"no group of workload has clips; write 'clips'"):
        chosen(text, popularity="zipf:0.8")
    clips = "sessions: 9\ngroups: [{model: realplayer8_chung2002, clips: {popularity: zipf:0.1}}]"
    changed = chosen(clips, popularity="zipf:2,clips=5")
    assert changed.workload.groups[0].clips is not None
    assert changed.workload.groups[0].clips.popularity == Zipf(5, 2.0)
    assert changed.request != chosen(clips).request
    with pytest.raises(
        GenerationError, match=r"leave settings=... out, and write options in its file"
    ):
        chosen(text, settings={"rate_kbps": 3})


def test_a_rate_that_is_given_counts_more_than_numbers_of_the_file(load: Load) -> None:
    def chosen(**given: Any) -> MixedSessions:
        workload = load("sessions: 500\nfor: 100s\narrivals: poisson\n" + ALONE)
        sessions = choose_sessions(workload, WorkloadOptions(seed=1, **given))
        assert isinstance(sessions, MixedSessions)
        return sessions

    alone = chosen(arrival_rate_per_s=20.0)
    assert alone.count == pytest.approx(2000, rel=0.1)
    assert alone.remarks == (
        "the arrival rate that is given replaces the 500 sessions of the file",
    )
    few = chosen(arrival_rate_per_s=1.0, sessions=400)
    assert few.count == 400
    assert few.starts_ns[-1] > 300e9
    assert few.remarks == ("the arrival rate that is given replaces the 1 min 40 s of the file",)
    assert chosen(arrival_rate_per_s=1.0, window_s=400.0).count == pytest.approx(400, rel=0.2)
    assert chosen(arrival_rate_per_s=5.0, sessions=50, window_s=10.0).count == 50
    for given in ({"arrival_rate_per_s": 1.0}, {"arrivals": "poisson:60/min"}):
        with pytest.raises(GenerationError, match=r"about 10 sessions start in that time; leave"):
            chosen(sessions=20, window_s=10.0, **given)
    with pytest.raises(GenerationError, match=r"sessions=20 in 10 s does not fit"):
        choose_sessions(
            load_entry("cbr"), WorkloadOptions(sessions=20, window_s=10.0, arrival_rate_per_s=1.0)
        )


def test_a_number_of_sessions_says_which_groups_it_leaves_out(load: Load) -> None:
    text = """
for: 60s
groups:
- {model: udp.json}
- {name: own, model: tcp.json, arrivals: poisson:1/s}
"""
    remarks = sessions_of_workload(load(text), seed=1, sessions=20).remarks
    assert any("leaves out group own, with arrivals of its own" in one for one in remarks)
    with pytest.raises(GenerationError, match="sessions=20 in 1 min 0 s does not fit"):
        choose_sessions(load(text), WorkloadOptions(sessions=20, arrival_rate_per_s=1.0))


def test_rates_of_a_file_cover_their_own_time(load: Load, folder: Path) -> None:
    (folder / "ramp.csv").write_text("time_s,rate_per_s\n0,1\n600,2\n", encoding="utf-8")
    text = "arrivals: rates:ramp.csv\n" + ALONE
    starts_ns = sessions_of_workload(load(text), seed=1).starts_ns
    np.testing.assert_array_equal(
        starts_ns, sessions_of_workload(load("for: 600s\n" + text), seed=1).starts_ns
    )


def test_requests_differ_where_packets_do(load: Load, folder: Path) -> None:
    base = "sessions: 5\ngroups: [{model: udp.json}]"
    requests = [
        sessions_of_workload(load(base), seed=1).request,
        sessions_of_workload(load(base), seed=2).request,
    ]
    requests.append(sessions_of_workload(load(base), seed=1, duration_s=3.0).request)
    requests.append(sessions_of_workload(load(base), seed=1, sessions=6).request)
    requests.append(
        sessions_of_workload(
            load(base.replace("sessions: 5", "sessions: 5\nduration: 3s")), seed=1
        ).request
    )
    (folder / "udp.json").write_text(
        (folder / "tcp.json").read_text(encoding="utf-8"), encoding="utf-8"
    )
    requests.append(sessions_of_workload(load(base), seed=1).request)
    assert all(one != two for one, two in itertools.combinations(requests, 2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "for: 10s\ngroups: [{model: udp.json}]",
            "need a number; give sessions=.* .*sessions.* arrivals=",
        ),
        (
            "arrivals: poisson\nsessions: 5\ngroups: [{model: udp.json}]",
            "both sessions=... and window_s=...",
        ),
        ("sessions: 5\nduration: 1s\ngroups: [{model: udp.json}]", "before its first media packet"),
        (
            (
                "sessions: 50000\ngroups: [{model: udp.json, clients: 10.0.0.1/32, servers:"
                " 10.1.0.1/32}]"
            ),
            "larger range",
        ),
        (
            (
                "sessions: 5\ngroups: [{model: udp.json, share: 0.5, clients: 10.0.0.0/8},"
                " {model: udp.json, clients: 10.1.0.0/16}]"
            ),
            "overlap in part",
        ),
    ],
)
def test_sessions_that_cannot_be_are_refused_before_any_is_played(
    load: Load, text: str, message: str
) -> None:
    with pytest.raises(GenerationError, match=message):
        sessions_of_workload(load(text), seed=1)
