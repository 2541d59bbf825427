"""Values that the shell completes, and summaries of commands in the help."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from trafficgen.cli._completion import (
    complete_competitor,
    complete_model,
    complete_path,
    complete_traffic,
)
from trafficgen.cli.app import COMMANDS


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["generate", "wmedia"], ["wmedia9_nichols2004"]),
        (["export", "x.pcap", "--to", "ip"], ["iperf2", "iperf3"]),
        (["generate", "cbr", "--set", "r"], ["rate_kbps="]),
        (["export", "x.pcap", "--to", "mgen", "--set", "dest"], ["destination="]),
        (["reproduce", "BMW-T1.1"], ["BMW-T1.1"]),
        (["compare", "a", "b", "--fail-above", "gap"], ["gap_s.ks=", "gap_s.wasserstein="]),
        (
            ["simulate", "cbr", "--path", "rate=1Mbps,del"],
            ["rate=1Mbps,delay=", "rate=1Mbps,delay_jitter="],
        ),
        (["generate", "cbr", "--arrivals", "po"], ["poisson:"]),
        (["generate", "cbr", "--vary", "d"], ["duration="]),
    ],
)
def test_the_shell_completes_values(words: list[str], completed: list[str]) -> None:
    environment = {
        "COMP_WORDS": " ".join(["trafficgen", *words]),
        "COMP_CWORD": str(len(words)),
        "_TRAFFICGEN_COMPLETE": "complete_bash",
    }
    program = "from trafficgen.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    assert done.stdout.split() == completed, done.stderr


def test_models_are_completed_with_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cbr-model.json").touch()
    Path("cb").mkdir()
    Path("cbr.pcap").touch()
    Path("cbr.log").touch()
    assert complete_model("cb") == ["cbr", "cb/", "cbr-model.json"]
    assert complete_traffic("cb") == ["cb/", "cbr-model.json", "cbr.pcap"]


def test_lists_are_completed_at_their_end() -> None:
    assert "loss=" in complete_path("")
    assert complete_path("preset:lt") == ["preset:lte"]
    assert complete_path("delay=1ms,queu") == ["delay=1ms,queue="]
    assert complete_competitor("tcp") == ["tcp", "tcp:cubic", "tcp:reno", "tcp:bbr", "tcp:bbr3"]


def test_summaries_of_commands_fit_a_line(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = command("--help").out.splitlines()
    listed = lines[lines.index("Commands:") + 1 :]
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)
