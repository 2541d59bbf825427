"""What a session did, told from its exchanges: clock of segments, rungs and switches."""

from __future__ import annotations

import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen.calibration.application.likely_ladders import propose_ladders
from trafficgen.calibration.application.playback import STALLS_BY_GUESS
from trafficgen.calibration.application.recognition import recognise_application
from trafficgen.calibration.application.rungs import Explanation, Rungs, find_rungs
from trafficgen.calibration.application.segment_clock import (
    find_segment_clock,
    guess_segment_clock,
    measure_segment_clock,
)
from trafficgen.calibration.player_log.events import PlayerLog
from trafficgen.calibration.player_log.log_files import read_player_log
from trafficgen.flows import ConnectionExchanges, Exchanges
from trafficgen.models import Application, PlayerPolicy
from trafficgen.units import NS_PER_S, FloatArray

RTSP = Path(__file__).parents[3] / "examples" / "captures" / "rtsp_rtp_two_streams.pcap.gz"


def player(
    size_bytes: Any, *, segment_s: float, rate_kbps: float, buffer_s: float = 12.0
) -> tuple[FloatArray, FloatArray]:
    """Return requests and ends of responses of a player that holds so much media, s."""
    now_s = held_s = 0.0
    starts, ends = [], []
    for size in size_bytes:
        wait_s = max(held_s + segment_s - buffer_s, 0.0)
        now_s, held_s = now_s + wait_s, held_s - wait_s
        starts.append(now_s)
        length_s = size * 8 / 1000 / rate_kbps
        now_s, held_s = now_s + length_s, max(held_s - length_s, 0.0) + segment_s
        ends.append(now_s)
    return np.array(starts), np.array(ends)


def exchanges_of(
    size_bytes: Any, times: tuple[FloatArray, FloatArray], *, request_bytes: Any = 300
) -> Exchanges:
    start_ns, end_ns = ((NS_PER_S * (1.0 + part)).astype(np.int64) for part in times)
    count = len(start_ns)
    columns: dict[str, Any] = {
        "request_ns": start_ns,
        "first_byte_ns": start_ns + 1_000_000,
        "last_byte_ns": end_ns,
        "heard_ns": end_ns,
        "flow": np.zeros(count, dtype=np.uint32),
        "request_bytes": np.full(count, request_bytes, dtype=np.uint64),
        "response_bytes": np.asarray(size_bytes, dtype=np.uint64),
        "merged": np.zeros(count, dtype=np.uint32),
        "is_control": np.zeros(count, dtype=np.bool_),
        "untold": np.empty(0, dtype=np.uint32),
    }
    return ConnectionExchanges.from_core(columns, np.arange(1)).select_session([0])


def content(count: int) -> FloatArray:
    return np.exp(np.random.default_rng(3).normal(0, 0.15, count))


def idle_before(times: tuple[FloatArray, FloatArray]) -> FloatArray:
    return np.concatenate(([0.0], times[0][1:] - times[1][:-1]))


def test_a_player_that_waits_shows_how_long_its_segments_are() -> None:
    sizes = 250_000 * content(40)
    times = player(sizes, segment_s=2.0, rate_kbps=3000)
    clock = find_segment_clock(times[0], idle_before(times))
    assert clock is not None
    assert clock.value == pytest.approx(2.0, rel=1e-3)
    assert clock.low is not None
    assert clock.high is not None
    assert clock.low <= 2.0 <= clock.high


def test_requests_between_two_waits_show_how_long_segments_are() -> None:
    # A segment of an action scene takes longer than it plays, so that no three waits follow.
    sizes = np.tile([480_000, 480_000, 2_000_000], 8)
    times = player(sizes, segment_s=5.0, rate_kbps=2000, buffer_s=16.0)
    idle_s = idle_before(times)
    assert 2 < np.count_nonzero(idle_s > 1.0) < 16
    clock = find_segment_clock(times[0], idle_s)
    assert clock is not None
    assert clock.value == pytest.approx(5.0, rel=1e-3)
    # Pauses of any length are none of a full buffer.
    pauses_s = np.cumsum(np.random.default_rng(1).exponential(3.0, 24))
    assert find_segment_clock(pauses_s, np.diff(pauses_s, prepend=0.0) - 0.1) is None


def test_segments_of_a_wide_ladder_are_no_responses_to_a_user() -> None:
    sizes = np.repeat([60_000, 300_000, 1_500_000, 60_000], 8) * content(32)
    times = player(sizes, segment_s=2.0, rate_kbps=2200, buffer_s=60)
    found, _ = recognise_application(exchanges_of(sizes, times), first_media_ns=NS_PER_S)
    assert found is not None
    assert found.kind == "chunked"
    assert len(found.switches) == 3
    # Requests of a user are any time apart, and other responses are of any size.
    generator = np.random.default_rng(1)
    pauses_s: FloatArray = np.cumsum(generator.exponential(3.0, 32))
    any_size = generator.normal(0, 1.5, 90)
    times_s = np.arange(0.0, 180.0, 2.0)
    for responses, when in (
        (generator.permutation(sizes), (pauses_s, pauses_s + 0.1)),
        (200_000 * np.exp(any_size), (times_s, times_s + 1.9)),
    ):
        found, _ = recognise_application(exchanges_of(responses, when), first_media_ns=NS_PER_S)
        assert found is not None
        assert found.kind == "interactive"


def test_a_player_that_never_waits_leaves_a_usual_duration_or_nothing() -> None:
    sizes = 420_000 * content(25)
    times = player(sizes, segment_s=4.0, rate_kbps=1000, buffer_s=60)
    assert find_segment_clock(times[0], idle_before(times)) is None
    guess = guess_segment_clock(times[0])
    assert guess is not None
    assert guess.value == 4.0
    assert guess.low is not None
    assert guess.high is not None
    assert guess.low < 4.0 < guess.high
    assert guess_segment_clock(times[0][:6]) is None


def test_of_usual_durations_that_explain_choices_alike_none_is_sure() -> None:
    sizes = np.repeat([400_000, 760_000, 400_000], [8, 9, 8]) * np.sqrt(content(25))
    times = player(sizes, segment_s=5.0, rate_kbps=1000, buffer_s=60)
    found, absent = recognise_application(exchanges_of(sizes, times), first_media_ns=NS_PER_S)
    assert found is not None
    assert found.segment_s is not None
    assert found.segment_s.value == 5.0
    assert found.segment_s.low is not None
    assert found.segment_s.high is not None
    assert found.segment_s.low < 5.0 < found.segment_s.high
    assert absent["application.segment_s"].endswith(" s)")
    assert len(found.switches) == 2
    assert found.stalls is None
    assert "how long segments are" in absent["application.stalls"]
    # What chose the rungs is known as far as that goes: no family is sure.
    assert found.policy is not None
    assert found.policy.alternatives


def test_rungs_that_no_policy_explains_leave_stalls_of_a_guess_unknown() -> None:
    """Content that varies looks like rungs; whether the player stalled all along is open."""
    varied = np.where(np.random.default_rng(4).random(24) < 0.5, 0.75, 1.25)
    sizes = 690_000 * varied * np.sqrt(content(24))
    times = player(sizes, segment_s=5.0, rate_kbps=800, buffer_s=60)
    found, absent = recognise_application(exchanges_of(sizes, times), first_media_ns=NS_PER_S)
    assert found is not None
    assert len(found.rungs) > 1
    assert found.stalls is None
    # 5 s of media come in 6.9 s: it stalled before each segment but the first, or seldom if they
    # are of 8 s.
    ranged, _, why = absent["application.stalls"].partition(": ")
    assert why == STALLS_BY_GUESS
    low, high, *_ = (int(one) for one in re.findall("[0-9]+", ranged))
    assert low <= 1
    assert high >= 22


@pytest.mark.parametrize("segment_s", [4.0, 5.0])
def test_choices_by_the_buffer_show_how_long_segments_are(tmp_path: Path, segment_s: float) -> None:
    content: dict[str, Any] = {
        **{"ladder_kbps": [250, 450, 800, 1400, 2500], "segment_s": segment_s, "duration_s": 240},
        **{"size_sigma": 0.06, "buffer_target_s": 20, "start_s": segment_s, "policy": "buffer"},
    }
    out = tmp_path / "played.pcap"
    trafficgen.simulate(
        "chunked",
        path="rate=1Mbps,delay=30ms,queue=50kB",
        settings=content | {"resume_s": segment_s},
        duration_s=120.0,
        seed=5,
        out=out,
        at="receiver",
    )
    found = recognise(out)
    assert found.segment_s is not None
    assert found.segment_s.value == segment_s
    assert found.stalls is not None
    assert found.policy is not None
    assert found.policy.family == "buffer"


def test_responses_of_a_few_bytes_are_no_segments() -> None:
    sizes = 40.0 * content(40) ** 0.1
    times = player(sizes, segment_s=2.0, rate_kbps=3)
    found, absent = recognise_application(exchanges_of(sizes, times), first_media_ns=NS_PER_S)
    assert found is None
    assert "too small" in absent["application"]


def test_ranges_of_bytes_of_any_size_show_no_rungs() -> None:
    sizes = 100_000.0 * np.tile([2.0, 9.0, 3.5, 18.0, 6.0, 13.0, 1.2], 3)[:18]
    times = player(sizes, segment_s=5.0, rate_kbps=1100, buffer_s=60)
    found, absent = recognise_application(exchanges_of(sizes, times), first_media_ns=NS_PER_S)
    assert found is None
    assert absent["application"].endswith("show no rungs")


def ranges_of(video_kbps: list[float]) -> Exchanges:
    """Return ranges of video at rates, each with one of 25 s of audio of 128 kbit/s.

    The first ones are shorter, as players begin; none has more than 2 MB.
    """
    lengths_s = np.minimum(5.0 * 1.5 ** np.arange(len(video_kbps)), 25.0)
    video = np.array(video_kbps) / 8e-3 * lengths_s * content(len(video_kbps)) ** 0.3
    sizes = np.column_stack([np.minimum(video, 2e6), 128 / 8e-3 * lengths_s]).ravel()
    starts = np.column_stack([np.cumsum(lengths_s), np.cumsum(lengths_s) + 2]).ravel()
    asked = np.tile([660, 597], len(video_kbps))
    return exchanges_of(sizes, (starts, starts + 1), request_bytes=asked)


def test_audio_is_a_clock_of_the_media_in_ranges_of_video() -> None:
    rates = [250.0] * 8 + [600.0] * 12 + [250.0] * 6
    found, absent = recognise_application(ranges_of(rates), first_media_ns=NS_PER_S)
    assert found is not None
    assert [one.segments for one in found.rungs] == [14, 12]
    assert [one.rate_kbps.value for one in found.rungs] == pytest.approx([250, 600], rel=0.1)
    assert [one.to_kbps > one.from_kbps for one in found.switches] == [True, False]
    assert found.audio_kbps is not None
    assert found.audio_kbps.value == pytest.approx(128, rel=0.05)
    assert found.segment_s is None
    assert "ranges of bytes" in absent["application.segment_s"]


def test_ranges_of_the_most_bytes_are_of_a_rung_by_what_is_behind() -> None:
    """A player requests what is behind: 25 s or 2 MB, and less as it begins."""
    asked: list[int] = []
    sizes: list[float] = []
    rates: list[float] = []
    video_s, audio_s = 0.0, 0.0
    while video_s < 500:
        kbps = 380.0 if 150 < video_s < 300 else 900.0
        length_s = min(25.0, 2.0 * 1.5 ** (len(sizes) // 2))
        if video_s <= audio_s:
            size = min(2e6, kbps / 8e-3 * length_s)
            asked.append(660)
            rates.append(kbps)
            video_s += size / kbps * 8e-3
        else:
            size = 128 / 8e-3 * length_s
            asked.append(597)
            audio_s += length_s
        sizes.append(size)
    times_s = np.linspace(1.0, 10.0 * len(sizes), len(sizes), dtype=np.float64)
    exchanges = exchanges_of(np.array(sizes), (times_s, times_s + 1), request_bytes=np.array(asked))
    found, _ = recognise_application(exchanges, first_media_ns=NS_PER_S)
    assert found is not None
    low = sum(kbps < 500 for kbps in rates)
    assert [one.segments for one in found.rungs] == pytest.approx([low, len(rates) - low], abs=2)
    assert [one.rate_kbps.value for one in found.rungs] == pytest.approx([380, 900], rel=0.15)


def test_a_player_that_had_nothing_to_play_begins_anew_at_another_rung() -> None:
    """Its first ranges are too short to show a rung: that it changes there is likely."""
    sizes: list[float] = []
    asked: list[int] = []
    times_s: list[float] = []
    for begins_s, kbps in ((1.0, 900.0), (400.0, 380.0)):
        media_s = {kbps: 0.0, 128.0: 0.0}
        for number in range(24):
            fetched = kbps if media_s[kbps] <= media_s[128.0] else 128.0
            length_s = min(25.0, 1.5 * 1.2**number)
            media_s[fetched] += length_s
            sizes.append(fetched / 8e-3 * length_s)
            asked.append(660 if fetched == kbps else 597)
            times_s.append(begins_s + 4.0 * number)
    times = np.array(times_s), np.array(times_s) + 0.1
    exchanges = exchanges_of(sizes, times, request_bytes=np.array(asked))
    found, _ = recognise_application(exchanges, first_media_ns=NS_PER_S)
    assert found is not None
    assert [one.rate_kbps.value for one in found.rungs] == pytest.approx([380, 900], rel=0.15)
    assert [one.time_s for one in found.switches] == [400.0]


def test_hours_of_ranges_have_rungs_in_bounded_memory() -> None:
    rates = np.repeat([250.0, 600.0], 125).tolist()
    tracemalloc.start()
    found, _ = recognise_application(ranges_of(rates), first_media_ns=NS_PER_S)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most_bytes < 45e6
    assert found is not None
    assert [one.segments for one in found.rungs] == pytest.approx([125, 125], abs=2)
    assert len(found.switches) == 1


def test_ranges_of_one_rung_are_told_from_none_by_their_sizes() -> None:
    """The first ones are a fifth of the later ones, as they are of less media."""
    found, _ = recognise_application(ranges_of([500.0] * 20), first_media_ns=NS_PER_S)
    assert found is not None
    assert [one.segments for one in found.rungs] == [20]
    assert not found.switches


def test_a_player_of_one_rung_that_never_waits_may_have_stalled() -> None:
    sizes = 560_000 * np.sqrt(content(25))
    times = player(sizes, segment_s=4.0, rate_kbps=1000, buffer_s=60)
    found, _ = recognise_application(exchanges_of(sizes, times), first_media_ns=NS_PER_S)
    assert found is not None
    assert len(found.rungs) == 1
    assert found.stalls is None


def test_rungs_are_told_apart_by_sizes_that_stay() -> None:
    rates = np.repeat([1, 2, 4, 2], [3, 12, 20, 10])
    found = find_rungs(75_000.0 * rates * np.sqrt(content(45)))
    assert found.of_segment.tolist() == np.repeat([0, 1, 2, 1], [3, 12, 20, 10]).tolist()
    assert find_rungs(300_000 * content(40)).of_segment.max() == 0


def test_rungs_that_change_often_are_found_by_what_a_player_chooses() -> None:
    true = np.array([0, 1, 2, 3, 2, 3, 1, 2, 3, 3, 2, 1, 2, 3, 2, 3, 3, 2, 3, 1, 2, 3, 2, 2, 3, 2])
    ladder = np.log(100_000 * 1.6 ** np.arange(4))
    sizes = np.exp(ladder[true] + np.random.default_rng(5).normal(0, 0.13, len(true)))

    def explain(rungs: Rungs) -> Explanation:
        # Of three players one chose the rungs, whichever of them are told apart already.
        right = np.array_equal(rungs.of_segment, true)
        players = np.array([true, 3 - true, np.full(len(true), 2)])
        return Explanation(-2.0 if right else -15.0, ladder, players, np.log([0.2, 0.4, 0.4]))

    assert find_rungs(sizes).of_segment.max() < 3
    assert find_rungs(sizes, explain).of_segment.tolist() == true.tolist()


def test_a_larger_first_segment_is_no_rung_of_its_own() -> None:
    others = 800_000 * np.exp(np.random.default_rng(5).normal(0, 0.12, 20))
    found = find_rungs(np.array([320_000, 200_000, *others]))
    assert found.of_segment.tolist() == [0, 0, *[1] * 20]


def test_rungs_of_one_segment_are_found_while_a_player_climbs() -> None:
    rates = np.repeat([300, 600, 1200, 2000], [1, 1, 2, 40])
    right = 0
    for seed in range(60):
        sizes = 250.0 * rates * np.exp(np.random.default_rng(seed).normal(0, 0.2, 44))
        right += find_rungs(sizes).of_segment[:5].tolist() == [0, 1, 2, 2, 3]
    # 21 where the first changes are as likely to any rung.
    assert right >= 30


def test_the_interval_of_a_rung_with_one_segment_says_how_contents_vary() -> None:
    rates = np.repeat([300, 600, 1200, 2000], [3, 1, 9, 40])
    covered = []
    for seed in range(20):
        sizes = 250.0 * rates * np.exp(np.random.default_rng(seed).normal(0, 0.08, 53))
        times = player(sizes, segment_s=2.0, rate_kbps=8000)
        found, _ = recognise_application(exchanges_of(sizes, times), first_media_ns=NS_PER_S)
        assert found is not None
        if [rung.segments for rung in found.rungs][:3] == [3, 1, 9]:
            rate = found.rungs[1].rate_kbps
            assert rate.low is not None
            assert rate.high is not None
            covered.append(rate.low <= 600 <= rate.high)
    # The interval of one segment was empty; of 17, fewer than 14 are covered once in 600 tries.
    assert len(covered) >= 10
    assert np.mean(covered) >= 0.75


def test_a_session_of_segments_is_chunked_with_its_switches() -> None:
    sizes = 125 * 2.0 * np.repeat([600, 1200, 600], [10, 20, 20]) * content(50)
    times = player(sizes, segment_s=2.0, rate_kbps=3000)
    found, _ = recognise_application(exchanges_of(sizes, times), first_media_ns=NS_PER_S)
    assert found is not None
    assert (found.kind, found.connections, found.exchanges) == ("chunked", 1, 50)
    assert [rung.rate_kbps.value for rung in found.rungs] == pytest.approx([600, 1200], rel=0.1)
    assert [switch.time_s for switch in found.switches] == pytest.approx(
        times[0][[10, 30]], abs=2.1
    )
    # Rungs are not sure, so that no policy is.
    assert found.policy is not None
    assert found.policy.weight < 0.6
    assert len(found.policy.alternatives) >= 2
    assert found.stalls == ()
    assert found.startup_s is not None
    assert found.startup_s.value == pytest.approx(times[1][0], abs=0.01)
    assert found.buffer_target_s is not None
    assert found.buffer_target_s.value == pytest.approx(10.0, abs=0.1)
    shown: Any = found.to_json()
    assert shown["segment_s"]["value"] == pytest.approx(2.0, rel=0.01)
    assert shown["policy"]["weight"] == found.policy.weight


def test_media_that_end_within_a_segment_show_no_rung_there() -> None:
    sizes = 125 * 2.0 * np.repeat([600, 1200], [10, 40]) * content(50)
    whole, shorter = (
        recognise_application(
            exchanges_of(played, player(played, segment_s=2.0, rate_kbps=3000)),
            first_media_ns=NS_PER_S,
        )[0]
        for played in ([*sizes, 200_000], [*sizes, 60_000, 200_000])
    )
    assert whole is not None
    assert shorter is not None
    assert (shorter.rungs, shorter.switches) == (whole.rungs, whole.switches)


def test_one_long_response_is_bulk_and_none_is_nothing() -> None:
    bulk = exchanges_of([5_000_000], (np.array([0.0]), np.array([20.0])))
    found, _ = recognise_application(bulk, first_media_ns=0)
    assert found is not None
    assert found.kind == "bulk"
    nothing = exchanges_of([0], (np.array([0.0]), np.array([0.0])))
    assert recognise_application(nothing, first_media_ns=0) == (
        None,
        {"application": "no request with a response was found"},
    )


def test_a_capture_from_within_a_session_has_no_buffer() -> None:
    sizes = 250_000 * content(60)
    times = player(sizes, segment_s=2.0, rate_kbps=3000)
    later = (times[0][20:] - times[0][20], times[1][20:] - times[0][20])
    found, absent = recognise_application(exchanges_of(sizes[20:], later), first_media_ns=NS_PER_S)
    assert found is not None
    assert (found.stalls, found.startup_s, found.buffer_target_s) == (None, None, None)
    assert "begins within the session" in absent["application.stalls"]


@pytest.mark.parametrize(
    ("start_s", "resume_s", "target_s"), [(4.0, 4.0, 14.0), (2.0, 4.0, 10.0), (2.0, 2.0, 12.0)]
)
def test_stalls_are_those_of_a_simulated_player(
    tmp_path: Path, start_s: float, resume_s: float, target_s: float
) -> None:
    steps = [(40, 4000), (22, 100), (90, 2500)]
    trace = [{"duration_ms": 1000 * s, "bandwidth_kbps": kbps} for s, kbps in steps]
    (tmp_path / "trace.json").write_text(json.dumps(trace), encoding="utf-8")
    settings: dict[str, Any] = {
        **{"ladder_kbps": [300, 600, 1200, 2000], "segment_s": 2, "duration_s": 120},
        **{"policy": "throughput", "buffer_target_s": target_s},
        **{"start_s": start_s, "resume_s": resume_s},
    }
    path = f"trace={tmp_path}/trace.json,delay=40ms,queue=100p"
    out = tmp_path / "played.pcap"
    result = trafficgen.simulate("chunked", path=path, settings=settings, out=out, at="receiver")
    truth = result.events.stalls
    assert truth
    found = recognise(out)
    assert found.stalls is not None
    for seen, stall in zip(found.stalls, truth, strict=True):
        assert seen.start_s == pytest.approx(stall.start_s, abs=0.2)
        assert seen.duration_s == pytest.approx(stall.duration_s, abs=0.2)
    assert found.buffer_target_s is not None
    assert found.buffer_target_s.value == pytest.approx(target_s, abs=0.1)


def recognise(capture: Path) -> Application:
    """Recognise the application of a capture, with the first media packet at zero."""
    exchanges = trafficgen.measure_exchanges(capture)
    media = exchanges.column("kind") == "media"
    first_ns = int(np.nanmin(exchanges.column("first_byte_ns")[media]))
    found, _ = recognise_application(exchanges, first_media_ns=first_ns)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "settings",
    [
        {"policy": "buffer"},
        {"policy": "throughput", "throughput_average": "smoothed", "throughput_share": 0.8},
    ],
)
def test_the_policy_of_simulated_players_is_found(tmp_path: Path, settings: dict[str, Any]) -> None:
    # One session may show too few decisions to tell two policies apart: four do.
    found = [_policy_of_played(tmp_path, settings, seed=seed) for seed in range(4, 8)]
    family = settings["policy"]
    weights = [one.weight if one.family == family else one.alternatives[family] for one in found]
    assert sum(one.family == family for one in found) >= 3
    assert np.mean(weights) > 0.6
    for policy in found:
        assert sum(policy.alternatives.values()) <= 1 - policy.weight + 1e-9
        shown: Any = policy.to_json()
        assert set(shown) == {"family", "parameters", "weight", "alternatives"}


def _policy_of_played(tmp_path: Path, settings: dict[str, Any], *, seed: int) -> PlayerPolicy:
    rng = np.random.default_rng(seed)
    trace = [
        {"duration_ms": int(rng.uniform(8e3, 25e3)), "bandwidth_kbps": rng.uniform(700, 3500)}
        for _ in range(12)
    ]
    file = tmp_path / f"trace-{seed}.json"
    file.write_text(json.dumps(trace), encoding="utf-8")
    content: dict[str, Any] = {
        **{"ladder_kbps": [300, 600, 1200, 2000, 3000], "segment_s": 2, "duration_s": 160},
        **{"size_sigma": 0.04, "buffer_target_s": 16, "start_s": 4, "resume_s": 4},
    }
    out = tmp_path / f"played-{seed}.pcap"
    trafficgen.simulate(
        "chunked",
        path=f"trace={file},delay=20ms,queue=100p",
        settings=content | settings,
        out=out,
        at="receiver",
    )
    policy = recognise(out).policy
    assert policy is not None
    return policy


@pytest.mark.parametrize(("kbps", "is_fixed"), [(1200, True), (300, False)])
def test_one_rung_is_the_only_one_unless_players_begin_there(
    kbps: float, *, is_fixed: bool
) -> None:
    sizes = 250.0 * kbps * content(40) ** 0.1
    times = player(sizes, segment_s=2.0, rate_kbps=1.5 * kbps)
    found, _ = recognise_application(exchanges_of(sizes, times), first_media_ns=NS_PER_S)
    assert found is not None
    assert found.policy is not None
    assert (found.policy.family == "fixed") == is_fixed
    assert found.policy.weight > 0.2
    assert len(found.policy.alternatives) > 1


def test_a_player_that_climbs_far_visits_no_pages() -> None:
    # The first third of the segments makes the standard deviation of log sizes more than 1.
    rates = [145, 365, 730, 1100, 2000, 3000, *[4500] * 4, *[6000] * 10]
    sizes = 750.0 * np.array(rates) * content(20) ** 0.3
    times = player(sizes, segment_s=6.0, rate_kbps=8000)
    found, _ = recognise_application(exchanges_of(sizes, times), first_media_ns=NS_PER_S)
    assert found is not None
    assert found.kind == "chunked"


def test_a_player_that_goes_by_the_buffer_may_have_several_rungs_above() -> None:
    ladders = propose_ladders([300, 600, 1200], 1100, most_above=3)
    assert [one.above for one in ladders] == [0, 1, 2, 3]
    assert sum(one.weight for one in ladders) == pytest.approx(1)
    assert all(one.rungs_kbps[:3] == [300, 600, 1200] for one in ladders)
    # The path had room for more: whether there are any is not seen, and all are one.
    (only,) = propose_ladders([300, 600, 1200], 9000, most_above=3)
    assert only.rungs_kbps == [300, 600, 1200]
    # A wide step has rungs in it or not.
    wide = propose_ladders([145, 365, 730], 700, most_above=0)
    assert [len(one.rungs_kbps) for one in wide] == [3, 4]
    assert 0.5 < wide[0].weight < 0.7


def test_requests_that_control_rtp_are_no_application() -> None:
    fitted = trafficgen.fit(RTSP)
    assert fitted.exchanges is not None
    assert len(fitted.exchanges) > 0
    assert fitted.application is None
    assert fitted.model.application is None
    assert "RTP carries the media" in fitted.absent["application"]


def log_of(
    folder: Path, samples: list[tuple[float, float, bool]], *, level_kbps: float = 600
) -> PlayerLog:
    """Return a log of times and buffers, s, and whether the player stalls."""
    entries = [
        {"time_s": at, "buffer_s": held, "stalled": stalled, "level_kbps": level_kbps}
        for at, held, stalled in samples
    ]
    (folder / "log.json").write_text(json.dumps(entries), encoding="utf-8")
    return read_player_log(folder / "log.json")


def test_a_player_log_decides_start_and_stalls(tmp_path: Path) -> None:
    times = player(np.full(40, 150_000) * content(40), segment_s=2.0, rate_kbps=1500)
    exchanges = exchanges_of(np.full(40, 150_000) * content(40), times)
    alone, _ = recognise_application(exchanges, first_media_ns=NS_PER_S)
    assert alone is not None
    assert alone.stalls == ()
    log = log_of(
        tmp_path, [(0, 0, True), (3, 6, False), (30, 0, True), (32, 4, False), (70, 10, False)]
    )
    found, absent = recognise_application(exchanges, first_media_ns=NS_PER_S, log=log)
    assert found is not None
    assert found.startup_s is not None
    assert (found.startup_s.value, found.startup_s.method) == (3, "player log")
    assert found.stalls is not None
    assert [(stall.start_s, stall.duration_s) for stall in found.stalls] == [(30, 2)]
    assert "application.stalls" not in absent


def test_the_buffer_of_a_log_is_the_clock_of_a_player_that_never_waits(tmp_path: Path) -> None:
    # 40 segments of 2 s in 60 s, a quarter of them fetched again: 60 s of media, or 1.5 s in each.
    sizes = np.full(40, 190_000) * content(40)
    times = player(sizes, segment_s=2.0, rate_kbps=1000, buffer_s=1e9)
    length_s = float(times[1][-1])
    log = log_of(tmp_path, [(0, 0, True), (1, 2, False), (length_s, 61 - length_s, False)])
    clock = measure_segment_clock(times[0], log)
    assert clock is not None
    assert clock.value == 2
    assert clock.low is not None
    assert clock.high is not None
    assert clock.low <= 1.5 * 1.05 <= 2 <= clock.high
    nothing = log_of(tmp_path, [(0, 0, True), (length_s, 0.0, False)])
    assert measure_segment_clock(times[0], nothing) is None
