"""Paths: what users write is what the engine gets, and what makes no sense is refused in one
line.
"""

from __future__ import annotations

import json
from pathlib import Path as FilePath

import pytest

from trafficgen.errors import InputFileError, SimulationError
from trafficgen.simulation.links import Links
from trafficgen.simulation.path import Path, PathLink, Queue, read_path


def test_the_list_of_the_interface_is_understood() -> None:
    (link,) = Path.parse("rate=725kbps,delay=45ms,queue=80p,loss=0.03,loss_start=15s").links
    assert link == PathLink(
        rate_bps=725_000, delay_s=0.045, queue=Queue(packets=80), loss=0.03, loss_start_s=15.0
    )


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("rate=1.5Mbps", "rate_bps", 1.5e6),
        ("rate=1Gbps", "rate_bps", 1e9),
        ("delay=250us", "delay_s", 0.00025),
        ("delay=0", "delay_s", 0.0),
        ("delay_jitter=30us", "delay_jitter_s", 3e-5),
        ("rate=1Mbps,queue=10kB", "queue", Queue(size_bytes=10_000)),
        ("rate=1Mbps,burst=2MB", "burst_bytes", 2_000_000),
        ("loss=3%", "loss", 0.03),
        ("loss=1%,loss_stop=20", "loss_stop_s", 20.0),
        ("loss=1%,loss_burst=2.5", "loss_burst_packets", 2.5),
        ("rate=1Mbps,hold=in_flight", "hold_in_flight", True),
        ("rate=1Mbps,overhead=14B", "overhead_bytes", 14),
        ("rate=1Mbps,reverse_rate=64kbps", "reverse_rate_bps", 64_000.0),
        ("reorder=2%,reorder_delay=5ms", "reorder_delay_s", 0.005),
    ],
)
def test_units_are_read(text: str, field: str, value: object) -> None:
    assert getattr(Path.parse(text).links[0], field) == value


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("rate=725", ["rate=725", "725kbps"]),
        ("rate=5MBps", ["rate=5MBps", "unit"]),
        ("rate=0bps", ["rate=0", "greater than"]),
        ("delay=45", ["delay=45", "45ms"]),
        ("delay=-1ms", ["delay=-1ms"]),
        ("rate=1Mbps,queue=80", ["queue=80", "80p"]),
        ("rate=1Mbps,queue=0p", ["queue=0"]),
        ("queue=80p", ["queue needs rate"]),
        ("loss=3", ["loss=3", "less than or equal to 1"]),
        ("loss_start=3s", ["loss_start needs loss"]),
        ("loss=1%,loss_start=9s,loss_stop=3s", ["loss_stop must come after"]),
        ("rate=1Mbps,burst=100B", ["burst=100B", "1500"]),
        ("rate=1Mbps,hold=yes", ["hold=yes", "in_flight"]),
        ("rat=1Mbps", ["'rat'", "rate, steps, trace"]),
        ("rate=1Mbps,rate=2Mbps", ["rate is given twice"]),
        ("rate=1Mbps,fast", ["'fast' is not key=value"]),
        ("nothing", ["neither a file nor a list"]),
    ],
)
def test_what_makes_no_sense_is_refused_with_key_value_and_remedy(
    text: str, parts: list[str]
) -> None:
    with pytest.raises(SimulationError) as refused:
        read_path(text)
    assert "\n" not in str(refused.value)
    for part in parts:
        assert part in str(refused.value)


def test_the_way_back_is_as_the_way_forward_without_loss() -> None:
    links = Links.from_path(Path.parse("rate=1Mbps,delay=20ms,queue=30p,loss=10%,burst=3kB"))
    forward, reverse = links.configs
    for key in ("capacity", "delay_s", "queue"):
        assert reverse[key] == forward[key]
    assert (forward["loss"] is None, reverse["loss"]) == (False, None)


def test_an_unsized_queue_holds_twice_the_bandwidth_delay_product_or_fifty_packets() -> None:
    slow, fast = (
        Links.from_path(Path.parse(f"rate={rate},delay=50ms")).configs[0]
        for rate in ("1Mbps", "100Mbps")
    )
    assert slow["queue"] == {"packets": 50}
    assert fast["queue"] == {"packets": round(2 * 100e6 * 0.1 / 8 / 1500)}


def test_every_end_has_an_access_link_of_its_own() -> None:
    links = Links.from_path(Path.parse("rate=1Mbps,access=10Mbps"))
    first, second = links.route("media"), links.route("tcp-1")
    assert not {*first[0], *first[1]} & {*second[0], *second[1]} - {0, 1}
    assert [len(way) for way in first] == [3, 3]


def test_a_chain_in_a_file_runs_back_in_the_other_order(tmp_path: FilePath) -> None:
    (tmp_path / "cellular.txt").write_text("1\n2\n4\n")
    file = tmp_path / "chain.yaml"
    file.write_text(
        "access: 10Mbps\n"
        "links:\n"
        "  - {name: wan, rate: 2Mbps, delay: 30ms, queue: 40p}\n"
        "  - {trace: cellular.txt, delay: 5ms}\n"
    )
    path = read_path(str(file))
    assert [link.name for link in path.links] == ["wan", "link-2"]
    links = Links.from_path(path)
    assert [config["name"] for config in links.configs] == [
        "wan",
        "link-2",
        "link-2/reverse",
        "wan/reverse",
    ]
    assert links.configs[1]["capacity"] == {
        "opportunities": {"times_s": [0.001, 0.002, 0.004], "bytes": 1504, "period_s": 0.004}
    }
    assert links.rate_bps == 2e6


def test_json_files_say_the_same_as_yaml(tmp_path: FilePath) -> None:
    file = tmp_path / "path.json"
    file.write_text(json.dumps({"rate": "1Mbps", "loss": 0.01}))
    assert read_path(file) == Path.parse("rate=1Mbps,loss=0.01")


@pytest.mark.parametrize(
    "text", ["- 1\n", "rate: 1Mbps: 2\n", "rate: 725\n", "links: []\n", "links: [1]\n"]
)
def test_files_that_are_no_path_are_refused_by_name(tmp_path: FilePath, text: str) -> None:
    file = tmp_path / "path.yaml"
    file.write_text(text)
    with pytest.raises((InputFileError, SimulationError), match=r"path\.yaml"):
        read_path(file)


def test_a_path_has_at_most_the_links_that_an_ip_packet_passes() -> None:
    links = [{"rate": "1Mbps", "delay": "1ms"}] * 255
    assert len(Path.from_settings({"links": links}).links) == 255
    with pytest.raises(SimulationError, match="256 links are more than the 255"):
        Path.from_settings({"links": [*links, links[0]]})


def test_two_links_of_one_name_are_refused_by_their_name() -> None:
    links = [{"rate": "1Mbps", "name": "wan"}] * 200
    with pytest.raises(SimulationError, match="two links are named wan; rename one"):
        Path.from_settings({"links": links})
