"""What is RTP and what is counted of it, against an implementation that keeps every packet and
thinks slowly.
"""

from __future__ import annotations

import itertools
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from trafficgen import Inspection, inspect

Inspect = Callable[..., Inspection]


def _frames(made: SimpleNamespace, payloads: list[bytes]) -> list[bytes]:
    return [made.ethernet(made.ipv4(made.udp(payload))) for payload in payloads]


def _capture(made: SimpleNamespace, payloads: list[bytes]) -> bytes:
    return bytes(made.pcap(made.packets(_frames(made, payloads), every_ns=20_000_000)))


def _counts(found: Inspection) -> list[tuple[int, int, int, int]]:
    return [(s.expected, s.lost, s.reordered, s.duplicates) for s in found.rtp_streams]


def _slow_counts(numbers: list[int]) -> tuple[int, int, int, int]:
    """Extended numbers without wrap-around: what is between the lowest and the highest was
    expected.
    """
    seen: set[int] = set()
    duplicates = reordered = 0
    for number in numbers:
        if number in seen:
            duplicates += 1
        elif seen and number < max(seen):
            reordered += 1
        seen.add(number)
    expected = max(seen) - min(seen) + 1
    return expected, expected - len(seen), reordered, duplicates


@st.composite
def _disturbed(draw: st.DrawFn) -> list[int]:
    """Extended sequence numbers of a stream that loses, repeats and swaps some packets."""
    start = draw(st.integers(0, 65_535))
    count = draw(st.integers(20, 120))
    fates = draw(st.lists(st.sampled_from("kkkkkkkkldms"), min_size=count, max_size=count))
    numbers: list[int] = []
    for index, fate in enumerate(fates):
        if fate == "l" and index:
            continue
        numbers.append(start + index)
        if fate == "d":
            numbers.append(start + index)
        if fate == "s" and len(numbers) > 1:
            numbers[-2:] = reversed(numbers[-2:])
        if fate == "m" and len(numbers) > 5:
            numbers.insert(-5, numbers.pop())
    return numbers


@given(numbers=_disturbed())
@settings(max_examples=60, deadline=None)
def test_losses_reordering_and_repeats_are_those_of_a_slow_count(
    made: SimpleNamespace, numbers: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.pcap"
        path.write_bytes(_capture(made, [made.rtp(number, number * 160) for number in numbers]))
        assert _counts(inspect(path)) == [_slow_counts(numbers)]


@given(payloads=st.lists(st.binary(min_size=12, max_size=40), min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_random_bytes_are_not_rtp(made: SimpleNamespace, payloads: list[bytes]) -> None:
    # The worst case: every payload has RTP's version, and all the same source.
    payloads = [bytes([0x80, 96]) + payload[2:8] + b"same" + payload for payload in payloads]
    progress = [struct.unpack(">H", payload[2:4])[0] for payload in payloads]
    steps = [(after - before) % 65_536 for before, after in itertools.pairwise(progress)]
    consistent = sum(step < 3000 or step >= 64_536 for step in steps)
    # The reader counts from the highest number, not from the last one: a step may be progress to
    # one of them alone.
    if len(payloads) >= 5 and consistent >= 0.5 * len(steps):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "random.pcap"
        path.write_bytes(_capture(made, payloads))
        assert inspect(path).rtp_streams == ()


def test_a_restart_begins_a_new_count(made: SimpleNamespace, inspect_bytes: Inspect) -> None:
    numbers = [*range(100, 150), *range(40_000, 40_050)]
    found = inspect_bytes(_capture(made, [made.rtp(number, number * 160) for number in numbers]))
    assert _counts(found) == [(100, 0, 0, 0)]


def test_a_change_of_source_begins_a_new_stream(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    payloads = [made.rtp(number, number * 160, ssrc=1 + number // 50) for number in range(100)]
    found = inspect_bytes(_capture(made, payloads))
    assert _counts(found) == [(50, 0, 0, 0), (50, 0, 0, 0)]
    assert {stream.ssrc for stream in found.rtp_streams} == {1, 2}


def test_stun_dtls_and_rtcp_on_the_same_ports_do_not_disturb_the_stream(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    stun, dtls = b"\x00\x01\x00\x00\x21\x12\xa4\x42" + bytes(12), b"\x16\xfe\xfd" + bytes(60)
    rtcp = struct.pack(">BBHI", 0x80, 200, 6, 7) + bytes(20)
    payloads = [stun, dtls, *(made.rtp(number, number * 160) for number in range(60)), rtcp, stun]
    found = inspect_bytes(_capture(made, payloads))
    assert _counts(found) == [(60, 0, 0, 0)]
    assert found.describe_flows()[0]["packets"] == 64


def test_an_rtp_flow_is_from_its_heavier_sender_and_rtcp_follows_it(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    media = _frames(made, [made.rtp(number, number * 160) for number in range(50)])
    report = struct.pack(">BBHI", 0x81, 201, 7, 9) + bytes(24)
    ends = (made.CLIENT, made.SERVER)
    reports = [made.ethernet(made.ipv4(made.udp(report, ports=(40_001, 5005)), ends=ends))] * 5
    found = inspect_bytes(made.pcap(made.packets([*reports, *media])))
    flows = found.describe_flows()
    assert [(flow["server"], flow["server_port"]) for flow in flows] == [
        (made.SERVER, 5004),
        (made.SERVER, 5005),
    ]
    assert [flow["media"] for flow in flows] == ["unknown", "control"]
    assert {flow["session"] for flow in flows} == {0}


def test_dns_messages_that_begin_as_rtcp_are_no_control(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    question = struct.pack(">BBHHHHH", 0x80, 200, 0x0100, 1, 0, 0, 0) + bytes(20)
    found = inspect_bytes(made.pcap(made.packets(_frames(made, [question] * 3))))
    (flow,) = found.describe_flows()
    assert flow["media"] == "unknown"
