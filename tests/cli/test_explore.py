"""`trafficgen explore` says where the page is, serves it, and ends cleanly."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_page_is_served_until_it_is_ended(tmp_path: Path, number: signal.Signals) -> None:
    command = [
        sys.executable,
        "-c",
        "from trafficgen.cli.app import main; main()",
        "explore",
        "cbr",
        "--port",
        "0",
    ]
    with subprocess.Popen(
        [*command, "--no-browser"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell starts in the background ignores interrupts, and so would the program that it
        # starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    ) as started:
        assert started.stdout is not None
        url = started.stdout.readline().strip()
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert answer.status == 200
        started.send_signal(number)
        out, said = started.communicate(timeout=60)
    assert started.returncode == 0
    assert out == ""
    assert said.splitlines() == ["Ctrl-C ends it", "stopped"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["nothing_of_this_name"], "entries are cbr"),
        (["missing.pcap"], "missing.pcap"),
        (["--port", "65536"], "--port"),
        (["--port", "x"], "--port"),
        (["--seed", "-1"], "--seed"),
        (["--seed", "4294967296"], "seed"),
        (["--flow", "0", "--session", "0"], "not both"),
    ],
)
def test_what_cannot_be_explored_is_refused_in_one_line(
    command: Command, arguments: list[str], part: str
) -> None:
    done = command("explore", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert part in done.err


def test_port_that_is_taken_is_refused_in_one_line(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = command("explore", "--port", port)
    assert done.code == 2
    assert done.err.startswith(f"trafficgen: port {port} is not available (address already in use)")
