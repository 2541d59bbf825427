"""Open Traffic Generator: the configuration says packets, sizes, rates and delays of each epoch."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.export.schedules import steady, table_of

import trafficgen
from trafficgen.errors import ExportError, SettingError


def _exported(
    table: trafficgen.PacketTable, folder: Path, **settings: str | float
) -> tuple[Any, Any]:
    report = trafficgen.export(table, to="otg", directory=folder, settings=settings)
    return json.loads((folder / "config.json").read_text()), report


#: Keys that the models know, of what is written here: key of an object -> its own keys.
_KNOWN = {
    "": {"ports", "flows"},
    "ports": {"name", "location"},
    "flows": {"name", "tx_rx", "packet", "size", "rate", "duration", "metrics"},
    "tx_rx": {"choice", "port"},
    "port": {"tx_name", "rx_names"},
    "packet": {"choice", "ethernet", "ipv4", "ipv6", "udp"},
    "ethernet": {"src", "dst"},
    "ipv4": {"src", "dst"},
    "ipv6": {"src", "dst"},
    "udp": {"src_port", "dst_port"},
    "src": {"choice", "value"},
    "dst": {"choice", "value"},
    "src_port": {"choice", "value"},
    "dst_port": {"choice", "value"},
    "size": {"choice", "fixed", "weight_pairs"},
    "weight_pairs": {"choice", "custom"},
    "custom": {"size", "weight"},
    "rate": {"choice", "pps"},
    "duration": {"choice", "fixed_packets"},
    "fixed_packets": {"packets", "delay"},
    "delay": {"choice", "nanoseconds"},
    "metrics": {"enable"},
}


def _check(value: Any, name: str = "") -> None:
    """Check keys, and that of a choice exactly the chosen key is there."""
    if isinstance(value, list):
        for part in value:
            _check(part, name)
    elif isinstance(value, dict):
        assert set(value) <= _KNOWN[name], name
        if "choice" in value:
            assert set(value) == {"choice", value["choice"]}
        for key, part in value.items():
            if isinstance(part, dict | list) and key != "rx_names":
                _check(part, key)


@pytest.mark.parametrize("ipv6", [False, True])
def test_the_configuration_has_the_keys_of_the_models_alone(tmp_path: Path, ipv6: bool) -> None:
    place = np.arange(500)
    table = table_of(place * 10_000_000, 300 + place % 7, ipv6=ipv6)
    config, _ = _exported(table, tmp_path)
    _check(config)
    names = [flow["name"] for flow in config["flows"]]
    assert len(set(names)) == len(names) == 5
    ports = {port["name"] for port in config["ports"]}
    for flow in config["flows"]:
        assert {flow["tx_rx"]["port"]["tx_name"], *flow["tx_rx"]["port"]["rx_names"]} == ports


def test_an_epoch_is_a_flow_with_its_packets_rate_and_delay(tmp_path: Path) -> None:
    config, report = _exported(steady(), tmp_path)
    third = config["flows"][2]
    assert third["duration"]["fixed_packets"] == {
        "packets": 100,
        "delay": {"choice": "nanoseconds", "nanoseconds": 2_000_000_000},
    }
    assert third["rate"] == {"choice": "pps", "pps": 100}
    # frames of 14 bytes of Ethernet, 28 of IP and UDP, and 4 of check sequence
    assert third["size"]["weight_pairs"]["custom"] == [
        {"size": 646, "weight": 33},
        {"size": 1046, "weight": 67},
    ]
    assert report.packets == 1200
    assert report.bytes_before == report.bytes_after
    # the delay of the last epoch, 11 s, is 512 ns late in 32 bits: one gap of 1199
    assert report.distances == {"packet_bytes.ks": 0.0, "gap_s.ks": pytest.approx(1 / 1199)}


def test_a_mean_size_is_one_size(tmp_path: Path) -> None:
    config, report = _exported(steady(), tmp_path, sizes="mean", fcs_bytes=0)
    assert config["flows"][0]["size"] == {"choice": "fixed", "fixed": 864 + 42}
    assert report.distances["packet_bytes.ks"] == pytest.approx(2 / 3)


def test_more_sizes_than_pairs_are_joined_without_losing_bytes(tmp_path: Path) -> None:
    table = table_of(np.arange(100) * 10_000_000, np.arange(100) + 500)
    config, report = _exported(table, tmp_path, size_pairs=10)
    pairs = config["flows"][0]["size"]["weight_pairs"]["custom"]
    # ten sizes next to one another have a mean between the fifth and the sixth, which is rounded to
    # even
    assert [pair["weight"] for pair in pairs] == [10] * 10
    assert [pair["size"] for pair in pairs] == [546 + round(4.5 + 10 * k) for k in range(10)]
    assert abs(report.bytes_after - report.bytes_before) <= 100 * 0.5
    assert report.distances["packet_bytes.ks"] <= 0.1


def test_what_a_frame_cannot_hold_is_cut_or_raised_and_said(tmp_path: Path) -> None:
    table = table_of(np.array([0, 100_000_000, 1_000_000_000]), np.array([3000, 1000, 5]))
    config, report = _exported(table, tmp_path)
    assert [flow["duration"]["fixed_packets"]["packets"] for flow in config["flows"]] == [4, 1]
    assert config["flows"][1]["size"] == {"choice": "fixed", "fixed": 64}
    assert any("2 more datagrams" in text for text in report.cannot_express)
    assert "sizes below 18 bytes were raised to 18 (1 packets)" in report.cannot_express


def test_delays_are_what_32_bits_hold_and_the_report_counts_it(tmp_path: Path) -> None:
    table = table_of(np.array([0, 1001]) * 1_000_000_000, np.full(2, 500))
    config, report = _exported(table, tmp_path)
    delay_ns = config["flows"][1]["duration"]["fixed_packets"]["delay"]["nanoseconds"]
    assert delay_ns == int(np.float32(1001e9))
    assert report.timing_error_s.max == pytest.approx(abs(delay_ns - 1001e9) / 1e9)
    assert any("floating point" in text for text in report.cannot_express)


def test_snappi_takes_the_configuration(tmp_path: Path) -> None:
    try:
        snappi = importlib.import_module("snappi")
    except ImportError:
        pytest.skip("not installed: snappi")
    _exported(steady(), tmp_path)
    config = snappi.api(location="https://localhost:1").config()
    config.deserialize((tmp_path / "config.json").read_text())
    assert [flow.duration.fixed_packets.packets for flow in config.flows] == [100] * 12


@pytest.mark.parametrize("name", ["source_mac", "destination_mac"])
@pytest.mark.parametrize("text", ["eth1", "02:00:00:00:00", "01:00:5e:00:00:01"])
def test_what_is_no_address_of_a_card_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(SettingError, match=f"otg: {name}={text} cannot be set"):
        trafficgen.export(steady(), to="otg", directory=tmp_path / "out", settings={name: text})
    assert list(tmp_path.iterdir()) == []


def test_ends_without_ip_addresses_are_refused(tmp_path: Path) -> None:
    table = steady()
    for column, text, words in (
        ("client", "a.example", "'a.example' is no IP address"),
        ("client", "::1", "two versions"),
    ):
        place = table.flows.schema.get_field_index(column)
        flows = table.flows.set_column(place, table.flows.schema.field(place), pa.array([text]))
        with pytest.raises(ExportError, match=words):
            trafficgen.export(replace(table, flows=flows), to="otg", directory=tmp_path / "out")
