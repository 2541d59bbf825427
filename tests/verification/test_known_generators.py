"""What known generators sent, written by a writer of the test's own and read by `fit`, comes back.

Generators and writer share no code with trafficgen. Tolerances are those of the sampling error
unless said.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import trafficgen

Floats = npt.NDArray[np.float64]

LEVELS_KBPS = [80, 150, 260, 450]
JUMPS = np.array(
    [[0, 0.8, 0.15, 0.05], [0.5, 0, 0.4, 0.1], [0.1, 0.5, 0, 0.4], [0.05, 0.25, 0.7, 0]]
)
DWELL_S = [12, 18, 25, 40]


def write_capture(
    path: Path, time_s: Floats, ip_bytes: npt.NDArray[np.int64], lost: Any = None
) -> Path:
    """Write UDP packets, RTP where ``lost`` says which sequence numbers are missing: microseconds,
    60 bytes of each.
    """
    kept = np.flatnonzero(~lost) if lost is not None else np.arange(time_s.size)
    with path.open("wb") as stream:
        stream.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 60, 1))
        for number in kept:
            ticks, size = round(float(time_s[number]) * 1e6), int(ip_bytes[number])
            ip = struct.pack(">BBHHHBBH", 0x45, 0, size, number & 0xFFFF, 0, 64, 17, 0)
            udp = struct.pack(">HHHH", 5004, 40000, size - 20, 0)
            rtp = (
                struct.pack(">BBHII", 0x80, 96, number & 0xFFFF, int(number) * 900, 77)
                if lost is not None
                else b""
            )
            frame = (
                bytes(12)
                + b"\x08\x00"
                + ip
                + bytes([192, 0, 2, 1, 198, 51, 100, 2])
                + udp
                + rtp
                + bytes(60)
            )[:60]
            stream.write(
                struct.pack("<IIII", 1_700_000_000 + ticks // 10**6, ticks % 10**6, 60, size + 14)
                + frame
            )
    return path


def fitted(path: Path) -> dict[str, Any]:
    return trafficgen.fit(path).to_json()


def mixed_sizes(rng: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
    body = np.clip(rng.lognormal(np.log(500), 0.45, count), 60, 1499)
    return np.where(rng.random(count) < 0.35, 1500, np.rint(body)).astype(np.int64)


#: scipy.stats name -> gaps, parameters that matter and by how much the estimate may differ (5% to
#: 12%).
FAMILIES: dict[
    str, tuple[Callable[[np.random.Generator, int], Floats], dict[str, float], float]
] = {
    "expon": (lambda rng, n: rng.exponential(0.004, n), {"scale": 0.004}, 0.05),
    "lognorm": (
        lambda rng, n: rng.lognormal(np.log(0.003), 1.0, n),
        {"s": 1.0, "scale": 0.003},
        0.05,
    ),
    "gamma": (lambda rng, n: rng.gamma(0.6, 0.006, n), {"a": 0.6, "scale": 0.006}, 0.06),
    "weibull_min": (lambda rng, n: 0.004 * rng.weibull(0.7, n), {"c": 0.7, "scale": 0.004}, 0.05),
    "pareto": (lambda rng, n: 0.001 * (1 + rng.pareto(1.8, n)), {"b": 1.8, "scale": 0.001}, 0.05),
    "genpareto": (
        lambda rng, n: 0.003 * ((1 - rng.random(n)) ** -0.25 - 1) / 0.25,
        {"c": 0.25, "scale": 0.003},
        0.12,
    ),
    "fisk": (
        lambda rng, n: 0.003 * (1 / rng.random(n) - 1) ** (-1 / 2.5),
        {"c": 2.5, "scale": 0.003},
        0.05,
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_renewal_gaps_of_a_family_come_back_as_that_family(family: str, tmp_path: Path) -> None:
    draw, truth, tolerance = FAMILIES[family]
    rng = np.random.default_rng(11)
    gaps = draw(rng, 12_000)
    summary = fitted(
        write_capture(tmp_path / "a.pcap", np.cumsum(gaps), mixed_sizes(rng, gaps.size))
    )
    law = summary["gap_s"]
    assert law["family"] == family
    for name, value in truth.items():
        assert law["params"][name] == pytest.approx(value, rel=tolerance)
    assert law["p_value"] >= 0.01
    assert summary["phases"]["buffering"] is None
    assert summary["levels"] is None
    assert [atom["value"] for atom in summary["packet_bytes"]["atoms"]] == [1500]


def test_hyperexponential_gaps_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    gaps = np.where(
        rng.random(20_000) < 0.8, rng.exponential(0.001, 20_000), rng.exponential(0.02, 20_000)
    )
    law = fitted(write_capture(tmp_path / "a.pcap", np.cumsum(gaps), mixed_sizes(rng, gaps.size)))[
        "gap_s"
    ]
    assert law["family"] == "hyperexpon"
    scales = sorted(law["params"][name] for name in ("scale1", "scale2"))
    assert scales == pytest.approx([0.001, 0.02], rel=0.1)


def two_phases(rng: np.random.Generator, *, change_s: float, end_s: float) -> Floats:
    """Return bursts of 41 packets every 0.3 s, then of 22 every 0.5 s."""
    times: list[Floats] = []
    now_s = 0.0
    while now_s < end_s:
        spacing_s, packets = (0.3, 41) if now_s < change_s else (0.5, 22)
        times.append(now_s + np.cumsum(rng.exponential(0.0015, max(1, rng.poisson(packets)))))
        now_s += spacing_s * rng.gamma(100, 0.01)
    joined = np.sort(np.concatenate(times))
    return joined[joined < end_s]


@pytest.mark.parametrize(("seed", "change_s"), [(0, 11.0), (1, 11.0), (2, 20.0)])
def test_bursts_in_two_phases_come_back_with_their_change_point(
    seed: int, change_s: float, tmp_path: Path
) -> None:
    time_s = two_phases(np.random.default_rng(seed), change_s=change_s, end_s=90.0)
    summary = fitted(write_capture(tmp_path / "a.pcap", time_s, np.full(time_s.size, 1200)))
    buffering, bursts = summary["phases"]["buffering"], summary["bursts"]
    assert buffering["end_s"] == pytest.approx(change_s, rel=0.1)
    assert buffering["low"] <= change_s <= buffering["high"]
    # 41 / 0.3 over 22 / 0.5; Poisson numbers of packets and the spacings give it a standard error
    # of 4%.
    assert summary["phases"]["buffering_ratio"] == pytest.approx(3.1, rel=0.12)
    assert bursts["buffering"]["spacing_s"] == pytest.approx(0.3, rel=0.05)
    assert bursts["playout"]["spacing_s"] == pytest.approx(0.5, rel=0.05)
    assert bursts["buffering"]["packets"] == pytest.approx(41, rel=0.1)
    assert bursts["playout"]["packets"] == pytest.approx(22, rel=0.1)


def switching(
    rng: np.random.Generator, *, end_s: float, shape: float
) -> tuple[Floats, list[tuple[int, float]]]:
    """Return packets of 600 bytes at four levels with gamma dwells, and the levels with their
    dwells.
    """
    times, path = [], []
    now_s, level = 0.0, int(rng.integers(4))
    while now_s < end_s:
        dwell_s = float(rng.gamma(shape, DWELL_S[level] / shape))
        gap_s = 600 * 8 / LEVELS_KBPS[level] / 1000
        gaps = rng.gamma(4, gap_s / 4, int(dwell_s / gap_s * 1.3) + 20)
        inside = now_s + np.cumsum(gaps)
        times.append(inside[inside < min(now_s + dwell_s, end_s)])
        path.append((level, dwell_s))
        now_s += dwell_s
        level = int(rng.choice(4, p=JUMPS[level]))
    return np.concatenate(times), path


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
def test_four_level_semi_markov_switching_comes_back(seed: int, tmp_path: Path) -> None:
    time_s, path = switching(np.random.default_rng(seed), end_s=1500.0, shape=3.0)
    summary = fitted(write_capture(tmp_path / "a.pcap", time_s, np.full(time_s.size, 600)))
    levels = summary["levels"]
    assert levels["kbps"] == pytest.approx(LEVELS_KBPS, rel=0.08)
    assert abs(levels["switches"] - (len(path) - 1)) <= 0.06 * len(path) + 1
    for level, mean_s in enumerate(levels["mean_dwell_s"]):
        own = [dwell_s for at, dwell_s in path[:-1] if at == level]
        # Against the dwells that were drawn: what is left is the error of finding them.
        assert mean_s == pytest.approx(np.mean(own), rel=0.15)
    for row, counted in zip(levels["transition"], jump_shares(path), strict=True):
        assert row == pytest.approx(counted, abs=0.12)
    assert summary["dependence"]["model"] == "semi_markov"


def jump_shares(path: list[tuple[int, float]]) -> Floats:
    counts = np.zeros((4, 4))
    for (level, _), (following, _) in itertools.pairwise(path):
        counts[level, following] += 1
    return np.asarray(counts / counts.sum(axis=1, keepdims=True), dtype=np.float64)


def modulated_poisson(
    rng: np.random.Generator, *, rates: tuple[float, float], sojourns_s: tuple[float, float]
) -> Floats:
    times, now_s, state = [], 0.0, 0
    while now_s < 150.0:
        stay_s = float(rng.exponential(sojourns_s[state]))
        times.append(
            np.sort(rng.uniform(now_s, now_s + stay_s, rng.poisson(stay_s * rates[state])))
        )
        now_s, state = now_s + stay_s, 1 - state
    return np.concatenate(times)


def test_a_two_state_modulated_poisson_process_comes_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    time_s = modulated_poisson(rng, rates=(400.0, 50.0), sojourns_s=(2.0, 5.0))
    summary = fitted(write_capture(tmp_path / "a.pcap", time_s, mixed_sizes(rng, time_s.size)))
    assert summary["dependence"]["model"] == "mmpp"
    found = summary["dependence"]["mmpp"]
    rates = sorted(found["rates_per_s"], key=lambda rate: float(rate["value"]))
    for rate, truth in zip(rates, [50, 400], strict=True):
        assert rate["value"] == pytest.approx(truth, rel=0.12)
        assert rate["low"] <= truth <= rate["high"]


def fractional_noise(rng: np.random.Generator, count: int, hurst: float) -> Floats:
    """Return fractional Gaussian noise by circulant embedding (Davies and Harte 1987)."""
    lag = np.arange(count + 1)
    covariance = 0.5 * (
        (lag + 1) ** (2 * hurst) - 2 * lag ** (2 * hurst) + np.abs(lag - 1.0) ** (2 * hurst)
    )
    eigenvalues = np.fft.fft(np.concatenate((covariance, covariance[-2:0:-1]))).real.clip(0)
    noise = rng.standard_normal(eigenvalues.size) + 1j * rng.standard_normal(eigenvalues.size)
    return np.asarray(
        np.fft.fft(np.sqrt(eigenvalues / eigenvalues.size) * noise).real[:count], dtype=np.float64
    )


@pytest.mark.long
@pytest.mark.parametrize("hurst", [0.6, 0.75, 0.9])
def test_the_hurst_parameter_of_a_fractional_gaussian_rate_comes_back(
    hurst: float, tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    counts = np.maximum(np.rint(30 + 8 * fractional_noise(rng, 4000, hurst)), 1).astype(np.int64)
    place = np.concatenate([(np.arange(count) + 0.5) / count for count in counts])
    time_s = 0.1 * (np.repeat(np.arange(counts.size), counts) + place)
    summary = fitted(write_capture(tmp_path / "a.pcap", time_s, np.full(time_s.size, 1000)))
    dependence = summary["dependence"]
    assert dependence["hurst_low"] <= hurst <= dependence["hurst_high"]
    assert dependence["hurst"] == pytest.approx(hurst, abs=0.08)
    assert summary["phases"]["buffering"] is None


@pytest.mark.parametrize(("rate", "mean_run"), [(0.02, 1.0), (0.05, 3.0), (0.03, 6.0)])
def test_loss_comes_back_with_the_length_of_its_runs(
    rate: float, mean_run: float, tmp_path: Path
) -> None:
    rng = np.random.default_rng(8)
    count = 30_000
    draws, lost, bad = rng.random(count), np.zeros(count, dtype=np.bool_), False
    into_bad = rate / mean_run / (1 - rate) if mean_run > 1 else rate
    for number in range(1, count - 1):
        bad = draws[number] >= 1 / mean_run if bad and mean_run > 1 else draws[number] < into_bad
        lost[number] = bad
    summary = fitted(
        write_capture(
            tmp_path / "a.pcap",
            0.01 * np.arange(count, dtype=np.float64),
            np.full(count, 1000),
            lost,
        )
    )
    loss = summary["loss"]
    assert loss["source"] == "rtp"
    assert loss["rate"] == pytest.approx(float(lost.mean()), abs=1e-9)
    edges = np.diff(np.concatenate(([0], lost.astype(np.int8), [0])))
    runs = np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
    assert loss["mean_burst_packets"] == pytest.approx(float(runs.mean()), rel=1e-9)
    assert loss["low"] <= rate <= loss["high"]
