"""Addresses in names of files are masked, and what only looks a little like one stays."""

from __future__ import annotations

import ipaddress
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trafficgen.redaction import MASK, redact_addresses

#: What may stand beside an address in a file's name.
BESIDE = st.sampled_from(["", "a_", "clip-", "to ", "(", "x=", "[", "session."])
BEHIND = st.sampled_from(["", ".pcap", "_1.pcapng", " b", ")", "]", ".5004.pcap", ", session 3"])

LIGHT = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@LIGHT
@given(BESIDE, st.ip_addresses(v=4).map(str), BEHIND)
def test_addresses_of_version_4_are_masked_wherever_they_stand(
    before: str, address: str, behind: str
) -> None:
    assert address not in redact_addresses(before + address + behind)


@LIGHT
@given(BESIDE, st.ip_addresses(v=6).filter(lambda one: int(one) > 1 << 16), BEHIND)
def test_addresses_of_version_6_are_masked_in_each_of_their_forms(
    before: str, address: ipaddress.IPv6Address, behind: str
) -> None:
    for form in (
        str(address),
        address.exploded,
        address.exploded.upper(),
        address.exploded.replace(":", "-"),
    ):
        assert form not in redact_addresses(before + form + behind)


@LIGHT
@given(BESIDE, st.binary(min_size=6, max_size=6).map(lambda octets: octets.hex(":")), BEHIND)
def test_addresses_of_network_cards_are_masked(before: str, address: str, behind: str) -> None:
    assert address not in redact_addresses(before + address + behind)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("192-168-1-20.pcap", f"{MASK}.pcap"),
        ("home_10_0_0_7_evening.pcap", f"home_{MASK}_evening.pcap"),
        ("192.0.2.1.5004-198.51.100.2.40000.pcap", f"{MASK}.5004-{MASK}.40000.pcap"),
        ("00-1A-2B-3C-4D-5E.pcap", f"{MASK}.pcap"),
        ("001a.2b3c.4d5e.pcap", f"{MASK}.pcap"),
        ("alice@example.org, evening.pcap", f"{MASK}, evening.pcap"),
    ],
)
def test_forms_that_file_names_take(name: str, expected: str) -> None:
    assert redact_addresses(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "rtsp_rtp_two_streams.pcap.gz",
        "capture-2026-11-22-10-30-00.pcap",
        "2026_11_22_10_30_00.pcap",
        "26-11-22-10-30-00.pcapng",
        "clip 12:30:45.pcap",
        "v1.2.3.pcap",
        "rate_300_400.parquet",
        "999.1.1.1.pcap",
        "deadbeef.pcap",
        "a-b-c.pcap",
        "12 sessions of 3 captures; the typical one is Session 0 of dash-0001.pcap.",
    ],
)
def test_other_names_stay(name: str) -> None:
    assert redact_addresses(name) == name


def test_no_name_takes_long() -> None:
    for part in ("1.", "1-", "a:", "0:", "aa-", "x@", "a.b@c.", "_"):
        masked = redact_addresses(part * 100_000)
        assert len(masked) <= 4096
        assert re.search(r"\d{5}", masked) is None
