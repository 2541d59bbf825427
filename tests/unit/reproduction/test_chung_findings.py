"""Quantities of CCZ02 from playouts whose numbers are chosen by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from trafficgen.flows.measures import DataRates
from trafficgen.reproduction.chung import measures
from trafficgen.reproduction.chung.measures import RATES_KBPS
from trafficgen.reproduction.chung.testbed import Pair, Pings, PlaylistClip, Playout
from trafficgen.units import FloatArray, IntArray

CLIP = PlaylistClip(
    number=1,
    ladder_kbps=(34.0, 80.0),
    length_s=180,
    multiple=4,
    preselect=False,
    tcp_response="steps",
    base_rtt_s=0.1,
    path_loss=0.0,
    answers_ping=True,
)


_SIZES = np.eye(1501, dtype=np.int64)


def playout(
    *,
    clip: PlaylistClip = CLIP,
    mean_kbps: float = 80.0,
    rates: tuple[float, float] | None = None,
    stalls_s: tuple[float, ...] = (),
    encodings: tuple[tuple[float, float], ...] = ((0.0, 80.0),),
    written: tuple[tuple[float, float], ...] = (),
    ratios: FloatArray | None = None,
    sizes: IntArray = 1000 * _SIZES[640],
    **others: float,
) -> Playout:
    return Playout(
        clip=clip,
        mean_kbps=mean_kbps,
        span_s=others.get("span_s", 180.0),
        rates=DataRates(*rates) if rates else None,
        rise_s=others.get("rise_s", 1.0),
        accelerated_s=others.get("accelerated_s", 40.0),
        stalls_s=stalls_s,
        has_left=bool(others.get("has_left", False)),
        encodings=encodings,
        written=written,
        ratios=np.ones(1) if ratios is None else ratios,
        sizes=sizes,
    )


def pair(
    rate_kbps: int,
    *,
    udp: float = 50.0,
    tcp: float = 50.0,
    pings: Pings | None = None,
    clip: PlaylistClip = CLIP,
) -> Pair:
    return Pair(
        clip,
        rate_kbps,
        playout(clip=clip, mean_kbps=udp),
        playout(clip=clip, mean_kbps=tcp, sizes=400 * _SIZES[1500] + _SIZES[52]),
        pings or Pings(),
    )


def at_every_rate(**of_one: float) -> dict[int, list[Pair]]:
    return {rate: [pair(rate, **of_one)] for rate in RATES_KBPS}  # type: ignore[arg-type]


def test_pairs_are_equal_within_a_hundredth_of_the_bottleneck() -> None:
    pairs = at_every_rate()
    pairs[600] = [pair(600, udp=100, tcp=tcp) for tcp in (100, 105, 107, 400, 93)]
    found = measures.compare_bandwidth(pairs)
    assert (found["h1_equal"], found["h1_tcp"], found["h1_udp"]) == pytest.approx((0.4, 0.4, 0.2))
    assert found["h1_largest"] == pytest.approx(0.5)


def test_pairs_are_less_equal_the_slower_the_bottleneck() -> None:
    pairs = at_every_rate()
    pairs[600] = [pair(600, udp=rate, tcp=1.1 * rate) for rate in (50, 100, 400)]
    pairs[150] = [pair(150), pair(150, tcp=90)]
    found = measures.compare_bandwidth(pairs)
    assert (found["h7_300"], found["h7_150"], found["h7_75"]) == pytest.approx((-2 / 3, 0.5, -0.5))
    assert found["h7_rank"] == pytest.approx(1)


def test_starved_pairs_are_also_those_with_twice_the_rate() -> None:
    pairs = at_every_rate()
    pairs[150] = [
        pair(150, udp=140, tcp=10),
        pair(150, udp=100, tcp=50),
        pair(150, udp=60, tcp=60),
        pair(150, udp=40),
    ]
    found = measures.compare_bandwidth(pairs)
    assert (found["h2_150"], found["h3_twice_150"], found["h3_starved_150"]) == (0.5, 0.5, 0.25)
    assert found["h3_tcp_150"] == 1


def test_distributions_separate_as_the_rate_falls() -> None:
    pairs = at_every_rate()
    pairs[300] = [pair(300, udp=udp, tcp=udp - 20) for udp in (40, 60, 80, 100)]
    found = measures.compare_bandwidth(pairs)
    assert found["h6_ks_600"] == 0
    assert (found["h6_growth_300"], found["h6_growth_150"]) == (0.25, -0.25)
    assert found["h6_quartiles_300"] == pytest.approx(20)


def test_correlations_leave_out_servers_that_answer_no_ping() -> None:
    lengths_s = (0.1, 0.2, 0.3)
    pairs = {
        rate: (
            [pair(rate, tcp=50 - slope * rtt, pings=Pings(rtt, 0.01 * rtt)) for rtt in lengths_s]
            + [pair(rate)]
        )
        for rate, slope in zip(RATES_KBPS, (0.0, 10.0, 20.0, -30.0), strict=True)
    }
    pairs[600][0] = replace(pairs[600][0], tcp=playout(mean_kbps=50.1))
    found = measures.correlate_with_pings(pairs)
    assert (found["rtt_300"], found["rtt_75"]) == pytest.approx((-1, 1))
    assert found["rtt_order"] == pytest.approx(1 - found["rtt_600"])
    assert found["loss_150"] == pytest.approx(-1)


def test_a_flow_is_unfriendly_above_the_bound_and_never_without_loss() -> None:
    # 1.5 sqrt(2/3) 1500 B x 8 / (0.1 s sqrt(0.01)) = 1470 kbit/s
    lossy = pair(600, udp=1500, tcp=1400, pings=Pings(0.1, 0.01))
    assert measures.is_unfriendly(lossy.udp, lossy)
    assert not measures.is_unfriendly(lossy.tcp, lossy)
    lossless = pair(600, udp=1500, pings=Pings(0.1, 0.0))
    assert not measures.is_unfriendly(lossless.udp, lossless)


def test_flows_without_a_level_on_both_sides_of_the_fair_share_are_left_out_after() -> None:
    high, low = replace(CLIP, ladder_kbps=(225.0,)), replace(CLIP, ladder_kbps=(20.0, 34.0))
    pings, none = Pings(1.0, 0.25), Pings(0.1, 0.0)  # the bound is 29.4 kbit/s
    some = [
        *(pair(75, udp=60, pings=pings), pair(75, udp=20, pings=none)),
        *(pair(75, udp=70, clip=high, pings=none), pair(75, udp=25, clip=low, pings=pings)),
        pair(75),
    ]
    found = measures.measure_friendliness(dict.fromkeys(RATES_KBPS, some))
    assert found["f2_udp_75"] == 0.5  # of the two with ping loss
    assert found["f3_before_75"] == 0.25  # of the four whose servers answer
    assert found["f3_after_75"] == 0.5  # of the two that can scale
    assert found["f3_growth"] == 0.25


def test_buffering_is_judged_by_all_streams_of_all_rates() -> None:
    pairs = at_every_rate()
    for rate, udp, tcp in ((75, (120.0, 20.0), (60.0, 40.0)), (600, (500.0, 250.0), None)):
        pairs[rate] = [
            replace(
                pairs[rate][0], udp=playout(rates=udp, stalls_s=(3.0, 7.0)), tcp=playout(rates=tcp)
            )
        ]
    pairs[300] = [replace(pairs[300][0], tcp=playout(rates=(90.0, 1.0), has_left=True))]
    found = measures.measure_competing(pairs)
    assert (found["b2_largest"], found["b2_bound"]) == pytest.approx((6, 120 / 75))
    assert found["b2_rank"] == pytest.approx(
        -0.5
    )  # ranks 1, 2, 3 of the rate against 3, 1, 2 of the ratio
    assert (found["b5_longest"], found["b5_75"]) == (7, 7)


def test_ratios_on_the_lan_are_compared_clip_by_clip() -> None:
    ratios = ((2.0, 2.1), (4.0, 2.0), (3.0, 2.2), (2.0, None))
    pairs = [
        Pair(
            CLIP,
            15_000,
            playout(rates=(udp * 10, 10), rise_s=0.5, accelerated_s=12.0),
            playout(rates=None if tcp is None else (tcp * 10, 10), rise_s=3.0),
            Pings(),
        )
        for udp, tcp in ratios
    ]
    found = measures.measure_unconstrained(pairs)
    assert (found["b3_tcp"], found["b3_equal"], found["b3_higher"]) == pytest.approx(
        (2.1, 1 / 3, 2 / 3)
    )
    assert (found["b4_longest"], found["b4_rise"]) == (40, 2.5)


def scaled(number: int, *encodings: tuple[float, float], span_s: float = 180) -> Playout:
    return playout(clip=replace(CLIP, number=number), encodings=encodings, span_s=span_s)


def test_scaling_counts_changes_and_the_time_to_the_first_level_that_fits() -> None:
    udp = [
        scaled(65, (0, 80), (3, 45), (6, 34), (50, 45)),
        scaled(78, (0, 80), (1, 45), (2, 34)),
        scaled(3, (0, 20)),
    ]
    tcp = [
        scaled(65, (0, 80), (20, 45), (30, 34), span_s=310),
        scaled(78, (0, 80), (25, 34)),
        scaled(3, (0, 20)),
    ]
    found = measures.measure_scaling(udp, tcp)
    assert (found["m1_udp"], found["m1_tcp"], found["m1_only"]) == pytest.approx((1 / 3, 1 / 3, 0))
    assert found["m1_more"] == pytest.approx(5 / 3 - 1)
    assert (found["m2_udp_2"], found["m2_tcp_2"], found["m2_udp_10"]) == pytest.approx(
        (2 / 3, 1 / 3, 1)
    )
    assert found["m2_behind"] == pytest.approx(1 / 3)
    assert found["m2_later"] == 23  # second smallest of 0, 2, 6 against 0, 25, 30
    assert (found["m3_udp_steps"], found["m3_tcp_steps"], found["m3_times"]) == (2, 2, 5)
    assert (found["m3_levels"], found["m3_leaps"], found["m3_leap_s"]) == (3, 1, 25)
    assert (found["b6_udp"], found["b6_tcp"]) == (180, 310)


def test_the_lag_runs_from_the_servers_switch_down_to_its_first_packet() -> None:
    def of(lag_s: float) -> list[Playout]:
        got = ((0.0, 80.0), (5 + lag_s, 34.0), (60.0, 80.0))
        written = ((-0.1, 80.0), (5.0, 34.0), (40.0, 80.0))
        return [
            playout(clip=replace(CLIP, number=n), encodings=got, written=written) for n in (65, 78)
        ]

    assert measures.measure_scaling(of(0.5), of(15.0))["m4_lag"] == pytest.approx(30)
    assert math.isnan(
        measures.measure_scaling([scaled(65, (0, 80)), scaled(78, (0, 80))], of(1))["m4_lag"]
    )


def test_steps_up_that_follow_steps_down_beat_chance() -> None:
    udp = playout(encodings=((0, 80), (20, 34), (100, 80)), span_s=200)
    tcp = playout(encodings=((0, 80), (70, 34), (130, 80)))
    pairs = at_every_rate()
    pairs[75] = [Pair(CLIP, 75, udp, tcp, Pings())]
    found = measures.measure_switching(pairs)
    assert found["m6_both"] == 1
    assert found["m6_follows"] == pytest.approx(1 - 45 / 200)


def test_a_cleared_stream_has_gone_down_in_time_and_up_after() -> None:
    answers = playout(encodings=((0, 80), (65, 34), (150, 80)))
    late = playout(encodings=((0, 80), (125, 34), (150, 80)))
    stuck = playout(encodings=((0, 80), (65, 34)))
    found = measures.measure_clearing([answers, late], [stuck, answers], from_s=60, until_s=120)
    assert (found["m5_udp"], found["m5_tcp"]) == (0.5, 0.5)


def test_spreads_are_those_of_the_pooled_ratios() -> None:
    def spread_by(factor: float) -> list[Pair]:
        ratios = np.exp(np.linspace(-1, 1, 101) * factor)
        udp, tcp = playout(ratios=ratios), playout(ratios=ratios**2)
        return [Pair(CLIP, 600, udp, tcp, Pings())]

    pairs = {600: spread_by(1), 300: spread_by(2), 150: spread_by(1), 75: spread_by(1)}
    found = measures.measure_smoothness(pairs)
    decile = math.exp(1.6)  # 90% over 10% quantile of exp(u), u uniform on -1..1
    assert (found["v1_600"], found["v1_300"]) == pytest.approx((decile, decile**2))
    assert (found["v1_udp_300"], found["v1_tcp_300"], found["v1_udp_75"]) == pytest.approx(
        (decile, decile**2, 1)
    )


def test_delays_are_compared_by_rate_and_by_what_the_queue_adds() -> None:
    far, near = replace(CLIP, number=2, base_rtt_s=0.3), CLIP  # 0.1 s
    added_s = {600: 0.0, 300: 0.01, 150: 0.03, 75: 0.5}
    pairs = {
        rate: [
            pair(rate, pings=Pings(near.base_rtt_s + queued_s, 0.0), clip=near),
            pair(rate, pings=Pings(far.base_rtt_s + 0.01, 0.0), clip=far),
            pair(rate, clip=far),
        ]
        for rate, queued_s in added_s.items()
    }
    found = measures.measure_delays(pairs)
    assert (found["w8_300"], found["w8_150"], found["w8_75"]) == pytest.approx((0.005, 0.01, 0.235))
    assert found["w8_same"] == 0.5


def test_traffic_has_low_clips_lossless_pings_and_packet_sizes() -> None:
    fast, slow = replace(CLIP, number=2), CLIP
    pairs = {
        rate: [
            pair(rate, udp=90, pings=Pings(0.1, loss), clip=slow),
            pair(rate, udp=min(0.9 * rate, 200), pings=Pings(0.1, 0.0), clip=fast),
            pair(rate, clip=slow),
        ]
        for rate, loss in zip(RATES_KBPS, (0.0, 0.002, 0.004, 0.006), strict=True)
    }
    found = measures.measure_traffic(pairs)
    assert (found["w2"], found["w3_600"], found["w3_75"]) == (0.5, 1, 0.5)
    assert found["w3_median"] == pytest.approx(0.1)
    assert (found["w4_udp"], found["w4_tcp"]) == (640, 1500)
    assert found["w4_full"] == pytest.approx(400 / 401)
    assert found["w4_packets"] == pytest.approx(401 / (400 * 1500 + 52) * 640)
