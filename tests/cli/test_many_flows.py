"""`inspect` of many flows: what they are together comes before the heaviest of them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.cli.conftest import Command

import trafficgen
from trafficgen.cli.inspect import _render_concurrency


def test_many_flows_are_summed_up_before_they_are_listed(command: Command) -> None:
    arguments = ["--sessions", "40", "--arrival-rate", "2", "--duration", "10s"]
    command("generate", "cbr", "-o", "fleet.pcap", "--set", "rate_kbps=100", *arguments)
    lines = command("inspect", "fleet.pcap").out.splitlines()
    for line, what in zip(lines[1:3], ("flows", "sessions"), strict=True):
        assert line.startswith(f"40 {what}: at most ")
        assert re.search(r" on average, a new one every \d{3} ms$", line)
    assert "Mbit/s to clients, 0 kbit/s to servers on average; at most " in lines[3]
    assert lines[4].startswith("rate of all flows")
    # Nothing goes to the servers, so that there is no curve of it.
    assert lines[5].startswith("flows to client")
    assert lines[6].startswith("flow  session")
    assert lines[-1].endswith("more flows (--flows 0 shows all)")


def test_a_list_that_is_cut_has_the_totals_before_it(command: Command) -> None:
    command("generate", "cbr", "-o", "few.pcap", "--sessions", "9", "--duration", "2s")
    lines = command("inspect", "few.pcap", "--flows", "3").out.splitlines()
    assert lines[1].startswith("9 flows: at most 9 at once")
    assert lines[-1] == "... and 6 more flows (--flows 0 shows all)"


def test_sessions_are_there_while_one_of_their_flows_is(capsys: pytest.CaptureFixture[str]) -> None:
    owner = np.array([0, 1, 0, 0, 1])
    starts, ends = np.array([[0, 2, 6, 1, 9], [3, 4, 8, 2, 10]]) * 10**9
    _render_concurrency("session", owner, starts, ends, 10.0)
    said = "2 sessions: at most 2 at once, 0.8 on average, a new one every 2 s"
    assert capsys.readouterr().out.strip() == said
    _render_concurrency("flow", np.arange(5), starts, ends, 10.0)
    assert capsys.readouterr().out.startswith("5 flows: at most 3 at once, 0.9 on average")


def test_few_flows_are_listed_alone(command: Command) -> None:
    command("generate", "cbr", "-o", "one.pcap", "--duration", "5s")
    assert command("inspect", "one.pcap").out.splitlines()[1].startswith("flow  session")


def test_the_rate_of_all_flows_has_the_bytes_of_all(command: Command) -> None:
    """Rates over time are kept of the 1,024 heaviest flows at most."""
    command("generate", "cbr", "-o", "fleet.pcap", "--sessions", "1500", "--duration", "2s")
    found = trafficgen.inspect("fleet.pcap")
    assert len(found.rates) < found.flows.num_rows
    rates_kbps = np.sum(found.measure_rates(7), axis=0)
    sent_kbps = 8e-3 * found.frame_bytes / found.duration_s
    assert rates_kbps.mean() == pytest.approx(sent_kbps)
    np.testing.assert_allclose(rates_kbps, sent_kbps, rtol=0.1)
