"""Packets under a slowly varying rate: bins keep their law, their order and their bytes; gaps keep
their law.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trafficgen.errors import GenerationError
from trafficgen.models import Atom, Law, ModulatedProcess, QuantilePoint, RateClass
from trafficgen.processes.autocorrelated_series import sample_autocorrelation
from trafficgen.processes.base import PlayedPackets, Span, playable
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray

BIN_S = 0.5
SIZES = Law(
    unit="bytes",
    family="atoms",
    atoms=(Atom(value=200, p=0.3), Atom(value=1200, p=0.7)),
    observations=1,
)


def gaps(mean_s: float) -> Law:
    return Law(unit="s", family="gamma", params={"a": 2.0, "scale": mean_s / 2}, observations=1)


def process(
    autocorrelation: tuple[float, ...] = (0.8, 0.64, 0.512),
    *,
    idle: float = 0.0,
    bursts: bool = False,
) -> ModulatedProcess:
    """Return bins of 9 to 90 kB; their packets have 900 bytes on average, so a class of 50 kB has
    gaps of 9 ms.
    """
    atoms = (Atom(value=0.0, p=idle),) if idle else ()
    law = Law(
        unit="bytes",
        family="quantiles",
        quantiles=(QuantilePoint(p=0, value=9000), QuantilePoint(p=1, value=90_000)),
        atoms=atoms,
        integer=True,
        observations=1,
    )
    extra: dict[str, Any] = (
        {
            "idle_s": gaps(0.03),
            "burst_packets": Law(
                unit="packets", family="atoms", atoms=(Atom(value=4, p=1.0),), observations=1
            ),
        }
        if bursts
        else {}
    )
    slow = RateClass(
        up_to_bytes=49_500, gap_s=gaps(0.002 if bursts else 0.0154), packet_bytes=SIZES, **extra
    )
    fast = RateClass(
        up_to_bytes=None, gap_s=gaps(0.002 if bursts else 0.0065), packet_bytes=SIZES, **extra
    )
    return ModulatedProcess(
        bin_s=BIN_S, bin_bytes=law, autocorrelation=autocorrelation, classes=(slow, fast)
    )


def play(
    model: ModulatedProcess, *, span_s: float = 200.0, seed: int = 0, first: bool = True
) -> PlayedPackets:
    return playable(model).play(
        Span(3.0, 3.0 + span_s, first_at_start=first),
        lambda quantity: random_stream(seed, session=0, purpose=quantity),
    )


def binned(packets: PlayedPackets, *, span_s: float = 200.0) -> FloatArray:
    rows = ((packets.time_s - 3.0) / BIN_S).astype(np.int64)
    return np.bincount(rows, weights=packets.ip_bytes, minlength=round(span_s / BIN_S)).astype(
        np.float64
    )


def test_bins_have_the_law_and_the_autocorrelation_of_the_model() -> None:
    bins = np.sort(binned(play(process())))
    expected = 9000 + 81_000 * (np.arange(bins.size) + 0.5) / bins.size
    # A packet may fall into the bin next to its own, a tenth of a bin off: some 5 kB of 50 kB.
    assert np.mean(np.abs(bins - expected)) < 5000
    measured = sample_autocorrelation(binned(play(process())), 3)
    assert np.max(np.abs(measured - [0.8, 0.64, 0.512])) < 0.1


def test_gaps_keep_the_laws_of_their_classes() -> None:
    packets = play(process())
    gap_s = np.diff(packets.time_s)
    # Both classes have about as many packets as bytes: 27 of 72 shares in the slow one.
    slow, fast = 29.25 / 99, 69.75 / 99
    grid = np.array([0.002, 0.005, 0.01, 0.02])
    law = slow * gaps(0.0154).distribution().cdf(grid) + fast * gaps(0.0065).distribution().cdf(
        grid
    )
    empirical = np.searchsorted(np.sort(gap_s), grid, side="right") / gap_s.size
    assert np.max(np.abs(empirical - law)) < 0.05


def test_idle_bins_stay_empty_and_the_first_one_does_not() -> None:
    packets = play(process(idle=0.4))
    bins = binned(packets)
    assert packets.time_s[0] == 3.0
    # A packet that comes a tenth of a bin late may fall into an idle bin.
    assert 0.25 < np.mean(bins < 1500) <= 0.41


def test_bursts_within_bins_keep_their_packets() -> None:
    gap_s = np.diff(play(process(bursts=True)).time_s)
    runs = np.diff(np.flatnonzero(gap_s > 0.012))
    assert np.median(runs) == 4


def test_all_bytes_of_the_bins_are_sent() -> None:
    sent = float(play(process()).ip_bytes.sum())
    # Up to a packet is cut off at the end of either class, and what is late at the very end.
    assert abs(sent - 400 * 49_500) < 0.01 * 400 * 49_500


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 1000),
    span_s=st.floats(0.3, 60.0),
    idle=st.floats(0.05, 0.9),
    bursts=st.booleans(),
    first=st.booleans(),
)
def test_packets_come_in_order_and_within_the_span(
    seed: int, span_s: float, idle: float, bursts: bool, first: bool
) -> None:
    packets = play(process(idle=idle, bursts=bursts), span_s=span_s, seed=seed, first=first)
    assert np.all(np.diff(packets.time_s) >= 0)
    assert np.all((packets.time_s >= 3.0) & (packets.time_s < 3.0 + span_s))
    assert packets.ip_bytes.size == packets.time_s.size


def test_a_law_of_bins_without_bytes_is_refused() -> None:
    empty = Law(unit="bytes", family="atoms", atoms=(Atom(value=0.0, p=1.0),), observations=1)
    model = process().model_copy(update={"bin_bytes": empty})
    with pytest.raises(GenerationError, match="bin_bytes"):
        playable(model).expected_packets(10.0, place="phase 'playout'")


def test_classes_have_to_ascend() -> None:
    part = process().classes[0]
    with pytest.raises(ValueError, match="ascend"):
        ModulatedProcess(
            bin_s=0.5, bin_bytes=process().bin_bytes, autocorrelation=(), classes=(part, part)
        )
