"""Capacity traces: delivery opportunities of mahimahi, and rates over time."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from trafficgen.errors import InputFileError, SimulationWarning
from trafficgen.simulation.links import Links
from trafficgen.simulation.path import Path as NetworkPath
from trafficgen.simulation.traces import load_trace


def _file(folder: Path, text: str) -> str:
    (folder / "trace").write_text(text)
    return str(folder / "trace")


def test_a_packet_a_millisecond_is_twelve_megabits(tmp_path: Path) -> None:
    trace = load_trace(_file(tmp_path, "1\n"))
    assert trace.mean_bps == pytest.approx(1504 * 8 * 1000)
    assert trace.overhead_bytes == 4


@pytest.mark.parametrize(
    ("text", "rates_bps"),
    [
        ("time_s,rate\n0,1Mbps\n2,500kbps\n", [1e6, 5e5]),
        ("time_s,rate_kbps\n0,1000\n2,500\n", [1e6, 5e5]),
        ("rate_Mbps,time_s\n1,0\n0.5,2\n", [1e6, 5e5]),
    ],
)
def test_rates_over_time_say_their_unit(tmp_path: Path, text: str, rates_bps: list[float]) -> None:
    trace = load_trace(_file(tmp_path, text), period_s=4)
    assert trace.config == {"steps": {"times_s": [0.0, 2.0], "rates_bps": rates_bps, "period_s": 4}}
    assert trace.mean_bps == pytest.approx(7.5e5)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is empty"),
        ("0\n", "all opportunities"),
        ("5\n3\n", "line 2"),
        ("5\nx\n", "line 2"),
        ("a,b\n1,2\n", "line 1"),
        ("time_s,rate\n0,1000\n", "line 2"),
        ("time_s,rate_bps\n0,1000\n0,2000\n", "line 3"),
        ("time_s,rate_bps\n0,1000,3\n", "line 2"),
        ("time_s,rate_bps\n0,0\n", "no rate"),
        ("time_s,rate_bps\n0,5\n3,0\n", "stays"),
        ("time_s,rate_bps\n0,5\n1e300,7\n", "line 3"),
        ('time_s,rate_bps\n0,"' + "5" * 200_000 + '"\n', "not CSV"),
        ("1\n" + "9" * 20 + "\n", "line 2"),
        ("9" * 5000 + "\n", "line 1"),
    ],
)
def test_other_files_are_refused_with_the_line(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(InputFileError, match=part):
        load_trace(_file(tmp_path, text))


def test_periods_of_json_repeat_after_the_last_one(tmp_path: Path) -> None:
    text = (
        '[{"duration_ms": 500, "bandwidth_kbps": 1000}, {"duration_ms": 1500, "bandwidth_kbps":'
        ' 200, "latency_ms": 0}]'
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace = load_trace(_file(tmp_path, text))
    assert trace.config == {
        "steps": {"times_s": [0.0, 0.5], "rates_bps": [1e6, 2e5], "period_s": 2.0}
    }
    assert trace.mean_bps == pytest.approx(4e5)
    assert trace.overhead_bytes == 0


def test_a_pattern_for_each_direction_serves_its_own(tmp_path: Path) -> None:
    pattern = '{{"trace_pattern": [{{"duration": 1000, "capacity": {}}}]}}'
    both = _file(
        tmp_path, f'{{"uplink": {pattern.format(300)}, "downlink": {pattern.format(900)}}}'
    )
    assert load_trace(both).mean_bps == 9e5
    assert load_trace(both, way="to_server").mean_bps == 3e5
    one = _file(tmp_path, f'{{"type": "video", "uplink": {pattern.format(300)}, "downlink": {{}}}}')
    assert load_trace(one).mean_bps == load_trace(one, way="to_server").mean_bps == 3e5


def test_a_path_of_a_trace_with_both_directions_has_both(tmp_path: Path) -> None:
    pattern = '{{"trace_pattern": [{{"duration": 1000, "capacity": {}}}]}}'
    file = _file(
        tmp_path, f'{{"uplink": {pattern.format(300)}, "downlink": {pattern.format(900)}}}'
    )
    links = Links.from_path(NetworkPath.parse(f"trace={file},delay=5ms"))
    capacities = [links.configs[place]["capacity"] for place in (*links.forward, *links.reverse)]
    assert capacities == [
        {"steps": {"times_s": [0.0], "rates_bps": [rate], "period_s": 1.0}} for rate in (9e5, 3e5)
    ]


@pytest.mark.parametrize("rates", ['"rates_kbps": [1000, 500]', '"rates_bps": [1e6, 5e5]'])
def test_lists_of_json_do_as_csv_does(tmp_path: Path, rates: str) -> None:
    file = _file(tmp_path, f'{{"times_s": [0, 2], {rates}}}')
    assert load_trace(file).config == {
        "steps": {"times_s": [0.0, 2.0], "rates_bps": [1e6, 5e5], "period_s": None}
    }
    assert load_trace(file, period_s=4).mean_bps == pytest.approx(7.5e5)


def test_what_a_path_does_not_take_from_json_is_told(tmp_path: Path) -> None:
    text = '[{"duration_ms": 5, "bandwidth_kbps": 10, "latency_ms": 20, "loss": 0.0}, '
    text += '{"duration_ms": 5, "bandwidth_kbps": 10, "latency_ms": 40, "loss": 0.1}]'
    with pytest.warns(SimulationWarning) as told:
        load_trace(_file(tmp_path, text))
    texts = [str(warning.message) for warning in told]
    assert any(
        "latency_ms (20 to 40 ms) is not played" in text and "delay" in text for text in texts
    )
    assert any("loss (0 to 0.1) is not played" in text for text in texts)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[", "not valid JSON .line 1"),
        ("[]", "no period that lasts"),
        ("{}", "without a known form"),
        ('{"uplink": 3}', "without a known form of traces .uplink"),
        ("[3]", "entry 1 is not an object"),
        ('[{"duration_ms": 5}]', "entry 1 has no bandwidth_kbps or capacity"),
        (
            '[{"duration_ms": 5, "bandwidth_kbps": 1}, {"bandwidth_kbps": 7}]',
            "entry 2 has no duration_ms",
        ),
        ('[{"duration_ms": "5", "bandwidth_kbps": 1}]', "entry 1: duration_ms is 5, no number"),
        (
            '[{"duration_ms": 5, "bandwidth_kbps": -1}]',
            "entry 1: bandwidth_kbps is -1, no number from 0 on",
        ),
        ('[{"duration_ms": NaN, "bandwidth_kbps": 1}]', "entry 1: duration_ms is nan"),
        ('[{"duration_ms": 5, "bandwidth_kbps": 0}]', "no rate is above 0"),
        ('[{"duration_ms": 1e300, "bandwidth_kbps": 1}]', "goes on for 1e.297 s"),
        ('{"times_s": [0, 1], "rates_kbps": [5]}', "must be lists of the same length"),
        ('{"times_s": [1, 1], "rates_kbps": [5, 6]}', "entry 2: 1 s does not come after 1 s"),
        ('{"times_s": [0, 1], "rates_kbps": [5, 0]}', "stays"),
        ("[" * 100_000, "not valid JSON"),
        ('[{"duration_ms": ' + "9" * 5000 + ', "bandwidth_kbps": 1}]', "not valid JSON"),
    ],
)
def test_other_json_is_refused_with_the_entry(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(InputFileError, match=part):
        load_trace(_file(tmp_path, text))


def test_periods_take_no_trace_period(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="repeats by itself; leave trace_period out"):
        load_trace(_file(tmp_path, '[{"duration_ms": 5, "bandwidth_kbps": 1}]'), period_s=4)
