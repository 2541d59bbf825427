"""From the link layer to the transport header: which flow a packet is of."""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from trafficgen import Inspection

Inspect = Callable[..., Inspection]


def _only_flow(found: Inspection) -> dict[str, Any]:
    flows = found.describe_flows()
    assert len(flows) == 1, flows
    return flows[0]


def _ends(flow: dict[str, Any]) -> tuple[object, ...]:
    return flow["protocol"], flow["client_port"], flow["server_port"]


_LINKS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "Ethernet": (1, lambda ip: bytes(12) + b"\x08\x00" + ip),
    "VLAN": (1, lambda ip: bytes(12) + b"\x81\x00\x00\x05\x08\x00" + ip),
    "QinQ": (1, lambda ip: bytes(12) + b"\x88\xa8\x00\x05\x81\x00\x00\x06\x08\x00" + ip),
    "three tags": (
        1,
        lambda ip: bytes(12) + b"\x91\x00\x00\x05\x81\x00\x00\x06\x81\x00\x00\x07\x08\x00" + ip,
    ),
    "MPLS": (1, lambda ip: bytes(12) + b"\x88\x47\x00\x01\x00\x40\x00\x01\x01\x40" + ip),
    "MPLS pseudowire": (
        1,
        lambda ip: bytes(12) + b"\x88\x47\x00\x01\x01\x40" + bytes(16) + b"\x08\x00" + ip,
    ),
    "PPPoE": (1, lambda ip: bytes(12) + b"\x88\x64\x11\x00\x00\x01\x00\x10\x00\x21" + ip),
    "LLC/SNAP": (1, lambda ip: bytes(12) + b"\x00\x50\xaa\xaa\x03\x00\x00\x00\x08\x00" + ip),
    "cooked v1": (113, lambda ip: bytes(14) + b"\x08\x00" + ip),
    "cooked v2": (276, lambda ip: b"\x08\x00" + bytes(18) + ip),
    "raw": (101, lambda ip: ip),
    "raw BSD": (12, lambda ip: ip),
    "raw IPv4": (228, lambda ip: ip),
    "null, little-endian": (0, lambda ip: b"\x02\x00\x00\x00" + ip),
    "null, big-endian": (0, lambda ip: b"\x00\x00\x00\x02" + ip),
    "loop": (108, lambda ip: b"\x00\x00\x00\x02" + ip),
    "PPP": (9, lambda ip: b"\xff\x03\x00\x21" + ip),
    "PPP, compressed": (9, lambda ip: b"\x21" + ip),
    "PPP in HDLC": (50, lambda ip: b"\xff\x03\x00\x21" + ip),
    "PPP with direction": (204, lambda ip: b"\x00\xff\x03\x00\x21" + ip),
    "Cisco HDLC": (104, lambda ip: b"\x0f\x00\x08\x00" + ip),
}


@pytest.mark.parametrize("name", sorted(_LINKS))
def test_every_link_layer_leads_to_the_same_flow(
    made: SimpleNamespace, inspect_bytes: Inspect, name: str
) -> None:
    link, wrap = _LINKS[name]
    found = inspect_bytes(made.pcap(made.packets([wrap(made.ipv4(made.udp()))] * 2), link=link))
    assert _ends(_only_flow(found)) == ("udp", 40_000, 5004)
    assert found.ip_packets == 2


def test_ipv4_options_and_authentication_headers_are_passed_over(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    with_options = made.ipv4(made.udp(), options=b"\x94\x04\x00\x00")
    authentication = struct.pack(">BBHII", 17, 4, 0, 1, 1) + bytes(12)
    authenticated = made.ipv4(authentication + made.udp(), protocol=51)
    found = inspect_bytes(
        made.pcap(made.packets([made.ethernet(with_options), made.ethernet(authenticated)]))
    )
    flow = _only_flow(found)
    assert (_ends(flow), flow["packets"]) == (("udp", 40_000, 5004), 2)


def test_ipv6_extension_headers_are_walked_to_the_ports(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    hop, routing, destination = (bytes([following, 0]) + bytes(6) for following in (43, 60, 17))
    packet = made.ipv6(hop + routing + destination + made.udp(), following=0)
    assert _ends(_only_flow(inspect_bytes(made.pcap(made.packets([made.ethernet(packet)]))))) == (
        "udp",
        40_000,
        5004,
    )


@pytest.mark.parametrize("port", [3478, 8801, 8810, 19_302])
def test_the_relay_of_a_call_is_its_server_though_more_is_sent_to_it(
    made: SimpleNamespace, inspect_bytes: Inspect, port: int
) -> None:
    ends = (made.CLIENT, made.SERVER)
    sent = made.ipv4(made.udp(bytes(1000), ports=(60_653, port)), ends=ends)
    back = made.ipv4(made.udp(bytes(100), ports=(port, 60_653)))
    for frames in ([sent, sent, back], [back, sent, sent]):
        found = inspect_bytes(made.pcap(made.packets([made.ethernet(one) for one in frames])))
        assert _ends(_only_flow(found)) == ("udp", 60_653, port)


def test_later_ipv4_fragments_join_the_flow_of_the_first_one(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    whole = made.udp(bytes(1600))
    first = made.ipv4(whole[:800], more=True)
    second, last = (
        made.ipv4(whole[800:1600], fragment=800, more=True),
        made.ipv4(whole[1600:], fragment=1600),
    )
    other = made.ipv4(whole[800:], fragment=800, identification=8)
    found = inspect_bytes(
        made.pcap(made.packets([made.ethernet(part) for part in (first, second, last, other)]))
    )
    flows = {flow["server_port"]: flow for flow in found.describe_flows()}
    assert flows[5004]["packets"] == 3
    # Its first fragment was never seen: a flow of its hosts without ports.
    assert flows[0]["packets"] == 1


def test_later_ipv6_fragments_join_the_flow_of_the_first_one(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    whole = made.udp(bytes(1600))

    def fragment(at: int, piece: bytes, *, more: int) -> bytes:
        head = struct.pack(">BBHI", 17, 0, at | more, 99)
        return bytes(made.ethernet(made.ipv6(head + piece, following=44)))

    frames = [fragment(0, whole[:800], more=1), fragment(800, whole[800:], more=0)]
    assert _only_flow(inspect_bytes(made.pcap(made.packets(frames))))["packets"] == 2


def test_a_total_length_of_zero_means_that_segmentation_was_left_to_the_card(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    segment = made.tcp(bytes(4000))
    found = inspect_bytes(
        made.pcap(made.packets([made.ethernet(made.ipv4(segment, protocol=6, total=0))]))
    )
    assert found.flows.column("payload_bytes_to_server").to_pylist() == [4000]
    assert any("segmentation offload" in text and "4,040" in text for text in found.warnings)


def test_lengths_are_the_original_ones_where_the_snapshot_length_cut(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    frame = made.ethernet(made.ipv4(made.udp(bytes(1000))))
    found = inspect_bytes(made.pcap([made.Packet(made.START_NS, frame[:60], len(frame))]))
    flow = _only_flow(found)
    assert flow["frame_bytes"] == len(frame)
    assert found.flows.column("payload_bytes_to_client").to_pylist() == [1000]
    assert any("1 packet captured in part (at most 60 bytes)" in text for text in found.warnings)


def test_ports_are_known_though_the_snapshot_length_cut_the_tcp_options(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    frame = made.ethernet(made.ipv4(made.tcp(options=bytes([1] * 20), flags=0x02), protocol=6))
    found = inspect_bytes(made.pcap([made.Packet(made.START_NS, frame[:58], len(frame))]))
    assert _ends(_only_flow(found)) == ("tcp", 40_000, 554)


@pytest.mark.parametrize("kind", ["gre", "vxlan", "ip in ip"])
def test_tunnels_count_for_the_outer_flow_unless_they_are_opened(
    made: SimpleNamespace, inspect_bytes: Inspect, kind: str
) -> None:
    inner = made.ipv4(made.udp(ports=(1111, 2222)), ends=("10.0.0.1", "10.0.0.2"))
    outer = {
        "gre": lambda: made.ipv4(b"\x00\x00\x08\x00" + inner, protocol=47),
        "vxlan": lambda: made.ipv4(
            made.udp(b"\x08" + bytes(7) + made.ethernet(inner), ports=(50_000, 4789))
        ),
        "ip in ip": lambda: made.ipv4(inner, protocol=4),
    }[kind]()
    content = made.pcap(made.packets([made.ethernet(outer)]))
    assert _only_flow(inspect_bytes(content))["client"] in {made.CLIENT, made.SERVER}
    opened = _only_flow(inspect_bytes(content, decapsulate=True))
    assert {opened["client"], opened["server"]} == {"10.0.0.1", "10.0.0.2"}
    assert {opened["client_port"], opened["server_port"]} == {1111, 2222}


def test_steps_back_and_jumps_of_years_are_said(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    frame = made.ethernet(made.ipv4(made.udp()))
    times = [0, 5_000_000, 3_000_000, 400 * 86_400 * 10**9]
    found = inspect_bytes(made.pcap([made.Packet(made.START_NS + time, frame) for time in times]))
    assert any(
        "1 packet earlier than one before (by up to 2 ms); sorted by time" in text
        for text in found.warnings
    )
    assert any("time jumps forward by 400 days after packet 3" in text for text in found.warnings)


def test_silence_splits_a_flow_only_when_asked(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    frame = made.ethernet(made.ipv4(made.udp()))
    content = made.pcap(
        [made.Packet(made.START_NS + second * 10**9, frame) for second in (0, 1, 20, 21, 60)]
    )
    assert len(inspect_bytes(content).describe_flows()) == 1
    split = inspect_bytes(content, idle_timeout_s=10.0).describe_flows()
    assert sorted((flow["start_s"], flow["packets"]) for flow in split) == [
        (0.0, 2),
        (20.0, 2),
        (60.0, 1),
    ]
    for never in (1e9, float("inf")):
        assert len(inspect_bytes(content, idle_timeout_s=never).describe_flows()) == 1
