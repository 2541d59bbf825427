"""`inspect` of many flows: what they are together comes before the heaviest of them."""

from __future__ import annotations

import re

from tests.cli.conftest import Command


def test_many_flows_are_summed_up_before_they_are_listed(command: Command) -> None:
    arguments = ["--sessions", "40", "--arrival-rate", "2", "--duration", "10s"]
    command("generate", "cbr", "-o", "fleet.pcap", "--set", "rate_kbps=100", *arguments)
    lines = command("inspect", "fleet.pcap").out.splitlines()
    assert lines[1].startswith("40 flows in 40 sessions, at most ")
    assert lines[2].startswith("on average ")
    assert re.search(r", a new one every \d{3} ms$", lines[2])
    assert "Mbit/s to clients, 0 kbit/s to servers" in lines[3]
    assert lines[4].startswith("rate of all flows")
    assert lines[7].startswith("flow  session")
    assert lines[-1].endswith("more flows (--flows 0 shows all)")


def test_few_flows_are_listed_alone(command: Command) -> None:
    command("generate", "cbr", "-o", "one.pcap", "--duration", "5s")
    assert command("inspect", "one.pcap").out.splitlines()[1].startswith("flow  session")
