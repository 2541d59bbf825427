"""A population fitted to a corpus of known laws gives sessions that follow these laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.unit.generation.conftest import model_with, stream

import trafficgen
from trafficgen.models import Atom, BurstProcess, Law, Model, Phase
from trafficgen.tables import PacketTable
from trafficgen.units import BoolArray, FloatArray, bps_from_bytes

pytestmark = pytest.mark.slow

CAPTURES, GENERATED = 24, 200
SPACING_S, PACKET_BYTES = 0.25, 1000
#: Median and standard deviation of the logarithm of each quantity.
TRUTH = {
    "media_duration_s": (60.0, 0.4),
    "playout_rate_bps": (400e3, 0.5),
    "buffering_ratio": (3.0, 0.2),
    "buffering_duration_s": (10.0, 0.25),
    "silence_s": (0.5, 0.6),
}
#: Correlation of the logarithms of rate and duration.
DEPENDENCE = -0.6


@dataclass(frozen=True)
class Corpus:
    """Captures with what was drawn for each, quantity by quantity, shape (k,)."""

    files: list[Path]
    drawn: dict[str, FloatArray]


def drawn_sessions(count: int, seed: int) -> dict[str, FloatArray]:
    """Return sessions drawn from the true laws."""
    rng = np.random.default_rng(seed)
    scores = {name: rng.standard_normal(count) for name in TRUTH}
    scores["media_duration_s"] = (
        DEPENDENCE * scores["playout_rate_bps"]
        + np.sqrt(1 - DEPENDENCE**2) * scores["media_duration_s"]
    )
    return {name: median * np.exp(sd * scores[name]) for name, (median, sd) in TRUTH.items()}


def atom(value: float, unit: str) -> Law:
    fields = {
        "unit": unit,
        "family": "atoms",
        "atoms": (Atom(value=value, p=1.0),),
        "observations": 1,
    }
    return Law.model_validate({**fields, "integer": unit != "s"})


def bursts(rate_bps: float) -> BurstProcess:
    """Return bursts with a regular spacing and a Poisson-like number of packets that makes the
    rate.
    """
    mean = rate_bps * SPACING_S / 8 / PACKET_BYTES
    packets = Law(
        unit="packets",
        family="gamma",
        params={"a": 25.0, "loc": 0.0, "scale": mean / 25},
        minimum=1,
        maximum=10 * mean + 2,
        integer=True,
        observations=1,
    )
    return BurstProcess(
        threshold_s=0.02,
        spacing_s=Law(
            unit="s",
            family="gamma",
            params={"a": 400.0, "loc": 0.0, "scale": SPACING_S / 400},
            observations=1,
        ),
        burst_packets=packets,
        gap_within_s=Law(
            unit="s", family="expon", params={"loc": 0.0, "scale": 0.0004}, observations=1
        ),
        packet_bytes=atom(PACKET_BYTES, "bytes"),
        last_packet_bytes=atom(PACKET_BYTES, "bytes"),
    )


def session_model(one: dict[str, float]) -> Model:
    """Return a source that does what was drawn for one session."""
    change_s, end_s = one["buffering_duration_s"], one["media_duration_s"]
    rate_bps = one["playout_rate_bps"]
    phases = (
        Phase(
            name="buffering",
            start_s=0.0,
            duration_s=change_s,
            rate_bps=rate_bps * one["buffering_ratio"],
            process=bursts(rate_bps * one["buffering_ratio"]),
        ),
        Phase(
            name="playout",
            start_s=change_s,
            duration_s=end_s - change_s,
            rate_bps=rate_bps,
            process=bursts(rate_bps),
        ),
    )
    return model_with(stream(phases=phases), silence_s=one["silence_s"], rate_bps=rate_bps)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Return captures of sessions that are drawn from the true laws."""
    folder, drawn = tmp_path_factory.mktemp("corpus"), drawn_sessions(CAPTURES, seed=5)
    files = []
    for row in range(CAPTURES):
        files.append(folder / f"session{row:02d}.pcap")
        one = {name: float(values[row]) for name, values in drawn.items()}
        trafficgen.generate(session_model(one), files[-1], seed=row)
    return Corpus(files, drawn)


@pytest.fixture(scope="module")
def fitted(corpus: Corpus) -> trafficgen.PopulationFit:
    return trafficgen.fit_population([str(file) for file in corpus.files], workers=1)


def rate_bps(table: PacketTable, rows: BoolArray, length_s: float) -> float:
    return bps_from_bytes(float(table.ip_bytes[rows].sum()), length_s)


@pytest.fixture(scope="module")
def generated(fitted: trafficgen.PopulationFit) -> dict[str, FloatArray]:
    """Return what is measured of each session that the fitted population gives."""
    table = trafficgen.generate(fitted.model, sessions=GENERATED, seed=1)
    columns = table.flows.to_pydict()
    session = np.array(columns["session"])[table.flow]
    found: dict[str, list[float]] = {name: [] for name in TRUTH}
    phases = np.array(table.column("phase").to_pylist(), dtype=object)
    for number in range(GENERATED):
        mine = session == number
        media = mine & (table.payload_bytes > 0) & table.to_client
        start_s, end_s = table.time_s[media][[0, -1]].tolist()
        fast = media & (phases == "buffering")
        change_s = float(table.time_s[media & (phases == "playout")][0])
        slow_bps = rate_bps(table, media & ~fast, end_s - change_s)
        found["media_duration_s"].append(end_s - start_s)
        found["playout_rate_bps"].append(slow_bps)
        found["silence_s"].append(start_s - float(table.time_s[mine][0]))
        if fast.any():
            found["buffering_ratio"].append(rate_bps(table, fast, change_s - start_s) / slow_bps)
            found["buffering_duration_s"].append(change_s - start_s)
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize("quantity", TRUTH)
def test_laws_across_sessions_cover_the_truth(
    fitted: trafficgen.PopulationFit, quantity: str
) -> None:
    median, deviation = TRUTH[quantity]
    law = fitted.population.laws[quantity]  # type: ignore[index]  # a name of the table above
    # 99.9% of what 24 sessions show: the 95% interval about 1.7 times as wide.
    assert law.median.low is not None
    assert law.median.high is not None
    half = np.log(law.median.high / law.median.low) / 2 * 1.7
    assert abs(np.log(law.median.value / median)) < half
    assert law.log_deviation.value == pytest.approx(deviation, rel=3.3 / np.sqrt(2 * law.sessions))


@pytest.mark.parametrize("quantity", TRUTH)
def test_generated_sessions_follow_the_true_laws(
    generated: dict[str, FloatArray], quantity: str
) -> None:
    found = np.log(generated[quantity])
    median, deviation = TRUTH[quantity]
    # Both the corpus and the run are samples: their errors add up; 3.3 standard errors.
    error = np.sqrt(1 / CAPTURES + 1 / found.size)
    assert found.mean() == pytest.approx(np.log(median), abs=3.3 * deviation * error)
    assert np.log(found.std() / deviation) == pytest.approx(0, abs=3.3 * error / np.sqrt(2))


def test_generated_sessions_are_those_of_the_corpus(
    corpus: Corpus, generated: dict[str, FloatArray]
) -> None:
    for quantity, values in corpus.drawn.items():
        assert stats.ks_2samp(generated[quantity], values).pvalue > 0.001, quantity


def test_dependence_across_sessions_is_kept(
    fitted: trafficgen.PopulationFit, generated: dict[str, FloatArray]
) -> None:
    (pair,) = (
        pair
        for pair in fitted.population.dependence
        if {pair.first, pair.second} == {"playout_rate_bps", "media_duration_s"}
    )
    low, high = pair.normal_correlation.low, pair.normal_correlation.high
    assert low is not None
    assert high is not None
    assert low < DEPENDENCE < high
    found = stats.spearmanr(generated["playout_rate_bps"], generated["media_duration_s"]).statistic
    # Spearman's coefficient of a Gaussian copula (Pearson 1907); 3.3 standard errors of 200 pairs.
    wanted = 6 / np.pi * np.arcsin(pair.normal_correlation.value / 2)
    assert found == pytest.approx(wanted, abs=3.3 / np.sqrt(GENERATED))


def test_measured_sessions_come_back_in_the_middle(shared_capture: Callable[[str], Path]) -> None:
    """YouTube over QUIC: sessions drawn from five captures are about as long and as fast as
    these.
    """
    names = (
        "A_baseline_Mar19_exp_229",
        "B1_baseline_apartment_exp_306",
        *(f"C_baseline_May14_exp_{n}" for n in (320, 330, 340)),
    )
    files = [shared_capture(f"streaming/requet_{name}.pcap") for name in names]
    fitted = trafficgen.fit_population(files, workers=1)
    assert fitted.population.sessions == len(files)
    count = 40
    table = trafficgen.generate(fitted.model, sessions=count, seed=1)
    session = np.array(table.flows.to_pydict()["session"])[table.flow]
    playout = np.array(table.column("phase").to_pylist(), dtype=object) == "playout"
    lengths, rates = [], []
    for number in range(count):
        media = (session == number) & table.to_client
        lengths.append(float(np.ptp(table.time_s[media])))
        rows = media & playout
        rates.append(rate_bps(table, rows, float(np.ptp(table.time_s[rows]))))
    for values, quantity in ((lengths, "media_duration_s"), (rates, "playout_rate_bps")):
        law = fitted.population.laws[quantity]  # type: ignore[index]  # a name of the table above
        # 3.3 standard errors of a median of 40, and a tenth for what a session's own bursts do to
        # its rate.
        allowed = 3.3 * 1.25 * law.log_deviation.value / count**0.5 + 0.1
        assert np.log(np.median(values)) == pytest.approx(np.log(law.median.value), abs=allowed), (
            quantity
        )
