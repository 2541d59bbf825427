"""Paths by name: all of them are paths, keys change them, and a wrong name gets a remedy."""

from pathlib import Path

import numpy as np
import pytest

import trafficgen
from trafficgen.errors import SimulationError
from trafficgen.simulation.path import Queue, read_path
from trafficgen.simulation.path_keys import load_presets


@pytest.mark.parametrize("name", load_presets())
def test_each_preset_is_a_path_with_a_source(name: str) -> None:
    preset = load_presets()[name]
    assert read_path(f"preset:{name}") == trafficgen.Path.parse(preset.text)
    assert preset.source
    assert preset.description


def test_the_round_trip_is_that_of_the_source() -> None:
    path = trafficgen.Path.parse("preset:cable")
    assert path.links[0].rate_bps == 5e6
    assert path.links[0].reverse_rate_bps == 1e6
    assert path.round_trip_s == pytest.approx(0.028)


def test_satellites_change_every_15_s_and_lose_what_the_source_says() -> None:
    result = trafficgen.simulate(
        "cbr", path="preset:starlink", settings={"rate_kbps": 4000, "duration_s": 300}, seed=2
    )
    media, columns = result.flows[0], result.run.columns
    assert 0.01 < media.measure.loss < 0.02
    sent_s = columns["time_ns"] / 1e9
    later_s = (columns["arrival_ns"] - columns["time_ns"]) / 1e9 - 0.025
    waits = columns["arrived"] & columns["to_client"] & (later_s > 0.005)
    handovers_s = sent_s[waits][np.diff(sent_s[waits], prepend=-1.0) > 1]
    assert len(handovers_s) in (20, 21)
    assert np.diff(handovers_s) == pytest.approx(15, abs=0.01)
    assert 0.03 < later_s[waits].max() < 0.05


#: Severity -> delay of the regional core, s, share of packets it loses, time from one failure of
#: the link to the next, s, and length of each, s: ITU-T G.1050 (11/2007) as in SpanDSP's g1050.c.
_G1050 = {
    "a": (0.004, 0.0, 0.0, 0.0),
    "b": (0.008, 1e-4, 3600.0, 0.064),
    "c": (0.016, 2e-4, 1800.0, 0.128),
    "d": (0.032, 4e-4, 900.0, 0.256),
    "e": (0.064, 1e-3, 480.0, 0.4),
    "f": (0.128, 2e-3, 240.0, 0.8),
    "g": (0.256, 5e-3, 120.0, 1.6),
    "h": (0.512, 1e-2, 60.0, 3.0),
}


def _play_long(path: str) -> tuple[float, float, int]:
    """Return mean delay, s, share lost and count of packets in five flows of 20,000 s."""
    settings = {"rate_kbps": 80, "duration_s": 20_000}
    runs = [
        trafficgen.simulate("cbr", path=path, settings=settings, seed=seed) for seed in range(5)
    ]
    parts = [run.run.columns for run in runs]
    arrived = np.concatenate([part["arrived"] for part in parts])
    later_s = np.concatenate([part["arrival_ns"] - part["time_ns"] for part in parts]) / 1e9
    return later_s[arrived].mean(), 1 - arrived.mean(), len(arrived)


@pytest.mark.parametrize("severity", _G1050)
def test_a_severity_of_g1050_has_delay_loss_and_failures_of_its_source(severity: str) -> None:
    delay_s, loss, every_s, lasts_s = _G1050[severity]
    whole, failures = f"preset:g1050-{severity}", f"preset:g1050-{severity},loss=0"
    mean_s, lost, packets = _play_long(whole)
    assert mean_s == pytest.approx(delay_s + 1000 * 8 / 1536e3, abs=1e-6)  # and its transmission
    if not loss:
        assert lost == 0
        return
    down, count = lasts_s / (every_s + lasts_s), 1e5 / (every_s + lasts_s)
    # exponential lengths have a mean square of twice their squared mean; a packet sees 0.1 s
    error = down * np.sqrt((2 + 0.1 / lasts_s) / count)
    assert _play_long(failures)[1] == pytest.approx(down, abs=4 * error)
    random_error = np.sqrt(loss / packets)
    expected = loss + (1 - loss) * down
    assert lost == pytest.approx(expected, abs=4 * np.hypot(error, random_error))
    path = read_path(whole).links[0]
    assert path.reverse_loss == path.loss
    assert path.reverse_delay_s is None  # as forward


def test_keys_change_a_preset(tmp_path: Path) -> None:
    (tmp_path / "radio.csv").write_text("time_s,rate_kbps\n0,900\n1,300\n")
    slower = trafficgen.Path.parse(" preset:lte ,rate=3Mbps,queue=80p").links[0]
    assert (slower.rate_bps, slower.delay_s, slower.queue) == (3e6, 0.035, Queue(packets=80))
    file = tmp_path / "path.yaml"
    file.write_text("links:\n- {preset: dsl, name: home}\n- {preset: lte, trace: radio.csv}\n")
    home, radio = trafficgen.Path.load(file).links
    assert (home.name, home.rate_bps) == ("home", 1.5e6)
    assert radio.rate_bps is None
    assert radio.trace == str(tmp_path / "radio.csv")
    assert trafficgen.Path.from_settings({"preset": "lte", "access": "1Gbps"}).access_bps == 1e9


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("preset:lt", r"unknown preset 'lt' \(did you mean lte\?\); presets are dial,"),
        ("preset:", "unknown preset ''"),
        ("preset:lte,delay=soon", "delay=soon"),
        ("rate=1Mbps,preset:lte", "'preset:lte' is not key=value"),
    ],
)
def test_a_wrong_preset_is_one_line(text: str, problem: str) -> None:
    with pytest.raises(SimulationError, match=problem) as caught:
        read_path(text)
    assert "\n" not in str(caught.value)
