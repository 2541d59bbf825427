"""Web pages told from exchanges: their laws come back, and nothing else is taken for them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import trafficgen
from trafficgen.calibration.application.page_laws import find_page_visits, fit_pages, have_laws
from trafficgen.flows import ConnectionExchanges, Exchanges
from trafficgen.models import Application, Model, WebPages, describe_application
from trafficgen.models.published import load_entry, parameters_for_engine
from trafficgen.units import NS_PER_S, FloatArray

#: An interval of 95% has 1.96 standard errors to each side; 4 miss once in 16,000.
WIDER = 4 / 1.96
HOUR_S = 3600.0
#: Another web than the document's.
OTHER: dict[str, float] = {
    **{"main_mu": 9.5, "main_sigma": 0.8, "embedded_mu": 8.0, "embedded_sigma": 1.5},
    **{"objects_shape": 1.6, "objects_low_count": 4, "objects_high_count": 24},
    **{"request_bytes": 500, "parsing_s": 0.3, "reading_s": 8},
}


@cache
def web(changed: bool, seed: int) -> tuple[trafficgen.PacketTable, dict[str, float]]:
    """Return traffic of the catalogue's web pages, and the numbers that it was played with."""
    settings: dict[str, Any] = {**(OTHER if changed else {}), "duration_s": HOUR_S}
    values = parameters_for_engine(load_entry("web_3gpp2"))
    assert values["exchanges"]
    known = {
        name: float(one.value)
        for name, one in load_entry("web_3gpp2").mechanism.parameters.items()
        if isinstance(one.value, int | float)
    }
    return trafficgen.generate("web_3gpp2", settings=settings, seed=seed), known | {
        name: value for name, value in settings.items() if name != "duration_s"
    }


def pages_of(exchanges: Exchanges) -> WebPages | None:
    visits = find_page_visits(exchanges)
    return None if visits is None else fit_pages(visits)


@pytest.mark.parametrize(("changed", "seed"), [(False, 901), (True, 902), (True, 903)])
def test_all_numbers_of_played_pages_come_back_within_their_intervals(
    changed: bool, seed: int
) -> None:
    table, true = web(changed, seed)
    pages = pages_of(trafficgen.measure_exchanges(table))
    assert pages is not None
    assert have_laws(pages)
    found = pages.parameters
    assert set(found) == set(true)
    for name, estimate in found.items():
        low, high = estimate.low, estimate.high
        assert low is not None, name
        assert low - (WIDER - 1) * (estimate.value - low) <= true[name] * (1 + 1e-9), name
        if high is not None:
            assert high + (WIDER - 1) * (high - estimate.value) >= true[name] * (1 - 1e-9), name
    assert pages.overlapping_share == 0
    assert max(pages.ks.values()) < 0.15


def test_ends_that_the_capture_does_not_show_are_said_to_be_open() -> None:
    found = pages_of(trafficgen.measure_exchanges(web(changed=False, seed=901)[0]))
    assert found is not None
    # One in 4,000 embedded objects is larger than 2 MB, but one in six smaller than 50 bytes.
    assert found.high_bytes.high is None
    assert found.embedded_low_bytes.low == pytest.approx(50, abs=4)
    assert found.objects_high_count.high == found.objects_low_count.high + 53  # type: ignore[operator]


def test_it_matters_little_where_the_capture_was_made_and_over_which_path(tmp_path: Path) -> None:
    found = []
    for number, (path, at) in enumerate(
        itertools.product(
            ("rate=2Mbps,delay=40ms,queue=100p", "rate=20Mbps,delay=20ms,queue=50p"),
            ("sender", "receiver"),
        )
    ):
        out, settings = tmp_path / f"{number}.pcap", {"duration_s": HOUR_S}
        trafficgen.generate("web_3gpp2", out, settings=settings, path=path, at=at, seed=904)  # type: ignore[arg-type]
        pages = pages_of(trafficgen.measure_exchanges(out))
        assert pages is not None
        found.append(pages)
    for one in found[1:]:
        assert abs(one.pages - found[0].pages) <= 0.03 * found[0].pages
        for name in ("main_mu", "embedded_mu", "embedded_sigma", "reading_s", "parsing_s"):
            first, other = found[0].parameters[name], one.parameters[name]
            assert first.low is not None
            assert first.high is not None
            assert first.low <= other.value <= first.high, name


def exchanges_of(
    waits_s: FloatArray, sizes: FloatArray, *, takes_s: float = 0.02, request_bytes: int = 400
) -> Exchanges:
    """Return exchanges on a connection, each requested so long after the end of the one before."""
    start_s = np.cumsum(np.concatenate(([1.0], waits_s[1:] + takes_s)))
    start_ns = (start_s * NS_PER_S).astype(np.int64)
    end_ns = start_ns + int(takes_s * NS_PER_S)
    columns: dict[str, Any] = {
        "request_ns": start_ns,
        "first_byte_ns": start_ns + 1_000_000,
        "last_byte_ns": end_ns,
        "heard_ns": end_ns,
        "flow": np.zeros(len(sizes), dtype=np.uint32),
        "request_bytes": np.full(len(sizes), request_bytes, dtype=np.uint64),
        "response_bytes": np.asarray(sizes, dtype=np.uint64),
        "merged": np.zeros(len(sizes), dtype=np.uint32),
        "is_control": np.zeros(len(sizes), dtype=np.bool_),
        "untold": np.empty(0, dtype=np.uint32),
    }
    return ConnectionExchanges.from_core(columns, np.arange(1)).select_session([0])


def others() -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Yield sessions of requests that are not pages: waits before each, s, and sizes."""
    rng, count = np.random.default_rng(6), 300
    wide = np.exp(rng.normal(8, 2, count)) + 1
    yield "messages at any time", rng.exponential(20, count), wide
    yield "polls", np.full(count, 5.0) + rng.normal(0, 0.05, count), wide
    yield "files in a row", np.zeros(count), wide
    in_turn = np.tile([0.0, 4.0], count // 2)
    yield (
        "video and audio in turn",
        in_turn,
        np.tile([900_000.0, 64_000.0], count // 2) * (np.exp(rng.normal(0, 0.2, count))),
    )
    rungs = np.repeat(np.exp(rng.normal(12, 1.2, count // 10)), 10)
    yield "segments of any rungs", np.where(rng.random(count) < 0.5, 0.0, 4.0), rungs
    blocks = np.where(np.arange(count) % 8 == 0, rng.normal(10, 0.5, count), 0.0)
    yield "blocks of a paced server", blocks, np.full(count, 65_536.0)
    yield "too few", np.tile([30.0, 0.1, 0.0], 3), np.exp(rng.normal(8, 2, 9))
    late = np.where(np.arange(count) % 4 == 0, rng.exponential(0.4, count), 0.002)
    yield "bursts of an application", late, wide


@pytest.mark.parametrize(
    ("waits_s", "sizes"), [one[1:] for one in others()], ids=[one[0] for one in others()]
)
def test_what_is_no_web_session_becomes_none(waits_s: FloatArray, sizes: FloatArray) -> None:
    pages = pages_of(exchanges_of(waits_s, sizes))
    assert pages is None or not have_laws(pages)


@pytest.mark.parametrize("entry", ["chunked", "dashjs", "ftp_3gpp_model1"])
def test_players_and_files_of_the_catalogue_are_no_pages(entry: str) -> None:
    table = trafficgen.generate(entry, settings={"duration_s": 300}, seed=905)
    assert pages_of(trafficgen.measure_exchanges(table)) is None


def visited(count: int, *, parsing_s: float = 0.2) -> tuple[FloatArray, FloatArray]:
    """Return waits and sizes of pages with three objects each, or none."""
    rng = np.random.default_rng(8)
    waits, sizes = [], []
    for _ in range(count):
        objects = int(rng.choice([0, 1, 3, 8]))
        waits += [rng.exponential(15), *[rng.exponential(parsing_s)][:objects]]
        waits += [0.0] * (objects - 1)
        sizes += [*np.exp(rng.normal(9, 1, 1)), *np.exp(rng.normal(7, 2, objects))]
    return np.array(waits), np.ceil(sizes)


def test_requests_of_a_page_may_overlap() -> None:
    waits_s, sizes = visited(80)
    waits_s = np.where((waits_s == 0) & (np.arange(waits_s.size) % 3 > 0), -0.015, waits_s)
    pages = pages_of(exchanges_of(waits_s, sizes))
    assert pages is not None
    assert pages.overlapping_share == pytest.approx(np.mean(waits_s < 0), abs=0.01)
    assert abs(pages.pages - 80) <= 3


def test_a_law_that_does_not_hold_makes_no_pages() -> None:
    waits_s, sizes = visited(120)
    assert have_laws(pages_of(exchanges_of(waits_s, sizes)) or pytest.fail("no pages"))
    two_sizes = np.where(sizes < np.median(sizes), 60, 500_000)
    pages = pages_of(exchanges_of(waits_s, two_sizes))
    assert pages is None or not have_laws(pages)


@pytest.fixture(scope="module")
def fitted() -> Model:
    return trafficgen.fit(web(changed=True, seed=902)[0]).model


def test_fitted_pages_are_played_over_another_path(fitted: Model) -> None:
    path = "rate=10Mbps,delay=15ms"
    there = trafficgen.generate(
        "web_3gpp2", settings={**OTHER, "duration_s": HOUR_S}, path=path, seed=906
    )
    played = trafficgen.generate(fitted, path=path, duration_s=HOUR_S, seed=907)
    mine, theirs = (trafficgen.measure_exchanges(one).to_pandas() for one in (played, there))
    assert set(mine.request_bytes) == {500}
    for name in ("response_bytes", "think_s"):
        sizes = [one[name].dropna().to_numpy(dtype=float) for one in (mine, theirs)]
        assert stats.ks_2samp(*sizes).statistic < 0.08, name
    result = trafficgen.simulate(fitted, path=path, seed=1)
    assert str(result.notes["plays"]).startswith("the requests of its browser: ")
    # As long as the capture.
    captured_s = fitted.playout.duration_s.value + (
        fitted.buffering.duration_s.value if fitted.buffering else 0.0
    )
    assert result.end_s == pytest.approx(captured_s, rel=0.05)


def test_fitted_pages_take_settings_of_the_catalogue(fitted: Model) -> None:
    short = {"reading_s": 0.5, "duration_s": 60}
    path = "delay=5ms"
    usual, often = (
        trafficgen.generate(fitted, path=path, settings=one, seed=3)
        for one in ({"duration_s": 60}, short)
    )
    assert len(often) > 2 * len(usual)
    with pytest.raises(trafficgen.TrafficgenError, match=r"its player: .*segment_s"):
        trafficgen.simulate(fitted, path=path, settings={"segment_s": 2})


def test_fitted_pages_can_be_repeated_as_uncertain_as_they_are(fitted: Model) -> None:
    result = trafficgen.simulate(fitted, path="rate=10Mbps,delay=15ms", seed=1, runs=4)
    rate = next(one for one in result.answers if one.name == "mean_kbps")
    assert rate.value is not None
    assert rate.low < rate.high
    assert rate.low > 0.5 * rate.value
    assert rate.high < 2 * rate.value


def test_fitted_pages_are_exported_as_packets(fitted: Model, tmp_path: Path) -> None:
    table = trafficgen.generate(fitted, path="delay=10ms", duration_s=120, seed=4)
    for target, how in (("ns3", {"mode": "exact"}), ("mgen", {}), ("inet", {}), ("trex", {})):
        report = trafficgen.export(table, to=target, directory=tmp_path / target, settings=how)
        assert report.files


def test_pages_are_in_the_file_the_summary_and_the_table(fitted: Model, tmp_path: Path) -> None:
    trafficgen.save_model(fitted, tmp_path / "web.json")
    again = trafficgen.load_model(tmp_path / "web.json")
    assert again == fitted
    application = fitted.application
    assert isinstance(application, Application)
    assert application.kind == "interactive"
    assert "embedded objects each" in describe_application(application)["pages"]
    rows = fitted.to_pandas().set_index("parameter")
    assert rows.loc["pages.reading_s", "estimate"] == pytest.approx(8, rel=0.2)
    assert rows.loc["pages.reading_s", "unit"] == "s"
    assert application.to_json()["pages"]["main_mu"]["low"] < 9.5  # type: ignore[index]
