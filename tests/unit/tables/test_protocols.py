from __future__ import annotations

import pytest

from trafficgen.tables.protocols import protocol_name, protocol_number


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("udp", 17),
        ("TCP", 6),
        ("icmpv6", 58),
        ("gre", 47),
        ("ip-77", 77),
        ("ip-256", 253),
        ("nameless", 253),
    ],
)
def test_protocols_have_the_numbers_of_the_registry(name: str, number: int) -> None:
    assert protocol_number(name) == number


def test_every_number_comes_back_from_the_name_that_captures_give_it() -> None:
    assert [protocol_number(protocol_name(number)) for number in range(256)] == list(range(256))


def test_frames_without_ip_have_no_protocol_number() -> None:
    assert protocol_number("non-ip") is None
