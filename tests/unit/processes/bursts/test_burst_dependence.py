"""Bursts that hang together keep the law of each quantity and take the order of the model."""

from __future__ import annotations

import numpy as np
from scipy import stats

from trafficgen.flows import Bursts, segment_bursts
from trafficgen.models import Atom, BurstDependence, BurstProcess, Law
from trafficgen.processes.autocorrelated_series import sample_autocorrelation
from trafficgen.processes.base import PlayedPackets, Span, playable
from trafficgen.processes.bursts.fit import fit_dependence
from trafficgen.processes.fitting import PhasePackets
from trafficgen.randomness import random_stream
from trafficgen.units import ns_array_from_s, ns_from_s

THRESHOLD_S = 0.1
SPAN_S = 400.0
BYTES = Law(unit="bytes", family="atoms", atoms=(Atom(value=1000, p=1.0),), observations=1)
STRONG = BurstDependence(
    packets_autocorrelation=tuple(0.7**lag for lag in range(1, 13)),
    packets_to_spacing=0.6,
    gap_correlation=0.5,
    packets_to_gap=-0.5,
)


def process(dependence: BurstDependence | None) -> BurstProcess:
    """Return bursts of 5 to 40 packets, 1 ms apart or so, every 0.9 to 1.9 s: no burst reaches into
    the next.
    """
    return BurstProcess(
        threshold_s=THRESHOLD_S,
        spacing_s=Law(
            unit="s", family="gamma", params={"a": 4.0, "loc": 0.9, "scale": 0.12}, observations=1
        ),
        burst_packets=Law(
            unit="packets",
            family="gamma",
            params={"a": 4.0, "scale": 5.0},
            minimum=5,
            maximum=40,
            integer=True,
            observations=1,
        ),
        gap_within_s=Law(
            unit="s", family="gamma", params={"a": 2.0, "scale": 0.0005}, observations=1
        ),
        packet_bytes=BYTES,
        last_packet_bytes=BYTES,
        dependence=dependence,
    )


def play(dependence: BurstDependence | None, *, seed: int = 0) -> tuple[PlayedPackets, Bursts]:
    packets = playable(process(dependence)).play(
        Span(0.0, SPAN_S), lambda quantity: random_stream(seed, session=0, purpose=quantity)
    )
    times = ns_array_from_s(packets.time_s)
    return packets, segment_bursts(
        times, packets.ip_bytes.astype(np.int64), threshold_s=THRESHOLD_S
    )


def rank_correlation(bursts: Bursts) -> float:
    return float(stats.spearmanr(bursts.packets[:-1], bursts.spacing_s).statistic)


def test_burst_sizes_follow_one_another_as_the_model_says() -> None:
    _, bursts = play(STRONG)
    # The ends of the law are rounded to whole packets; a free realisation of 290 bursts would be
    # off by 0.12.
    measured = sample_autocorrelation(bursts.packets.astype(np.float64), 3)
    assert np.max(np.abs(measured - [0.7, 0.49, 0.343])) < 0.1
    _, apart = play(None)
    assert abs(sample_autocorrelation(apart.packets.astype(np.float64), 1)[0]) < 3.5 / np.sqrt(
        apart.packets.size
    )


def test_larger_bursts_have_longer_spacings() -> None:
    # Two standard errors of a rank correlation of 290 bursts, times the variance of a dependent
    # series.
    assert abs(rank_correlation(play(STRONG)[1]) - 0.6) < 0.2
    assert abs(rank_correlation(play(None)[1])) < 3.5 / np.sqrt(290)


def test_each_quantity_keeps_its_own_law() -> None:
    (dependent, with_order), (apart, without) = play(STRONG), play(None)
    assert stats.ks_2samp(with_order.packets, without.packets).statistic < 0.03
    assert stats.ks_2samp(with_order.spacing_s, without.spacing_s).statistic < 0.03
    gaps = [np.diff(one.time_s)[np.diff(one.time_s) < THRESHOLD_S] for one in (dependent, apart)]
    # Gaps of one burst resemble one another, so they are worth fewer than their number: a third of
    # 5,500.
    assert stats.ks_2samp(gaps[0], gaps[1]).statistic < 1.63 * np.sqrt(2 / (gaps[0].size / 3))


def test_what_was_played_is_found_again() -> None:
    packets, bursts = play(STRONG)
    found = fit_dependence(
        bursts,
        PhasePackets(
            time_ns=ns_array_from_s(packets.time_s),
            ip_bytes=packets.ip_bytes.astype(np.int64),
            span_ns=(0, ns_from_s(SPAN_S)),
            tick_s=1e-9,
            threshold_s=THRESHOLD_S,
        ),
    )
    assert found is not None
    assert abs(found.packets_autocorrelation[0] - 0.7) < 0.12
    assert abs(found.packets_to_spacing - 0.6) < 0.2
    # Of gap_correlation the share that the packets do not explain varies with the draw; 290 bursts
    # give it to 0.1.
    assert abs(found.gap_correlation - 0.5) < 0.12
    assert abs(found.packets_to_gap + 0.5) < 0.2


def test_independent_bursts_hardly_look_dependent() -> None:
    kinds = []
    for seed in range(10):
        packets, bursts = play(None, seed=seed)
        found = fit_dependence(
            bursts,
            PhasePackets(
                time_ns=ns_array_from_s(packets.time_s),
                ip_bytes=packets.ip_bytes.astype(np.int64),
                span_ns=(0, ns_from_s(SPAN_S)),
                tick_s=1e-9,
                threshold_s=THRESHOLD_S,
            ),
        )
        kinds.append(
            0.0 if found is None else max(abs(found.packets_to_spacing), found.gap_correlation)
        )
    assert max(kinds) < 0.2
