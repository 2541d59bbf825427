"""All commands x a process that may open few files: one line says so, and what helps."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from tests.cli.test_disks_without_room import WRITERS, write_inputs
from tests.mutated.campaign import import_all
from tests.mutated.commands import run_in_child

import trafficgen
from trafficgen.cli.app import run

COMMANDS = {
    **{name: line for name, line in WRITERS.items() if "link" not in name},
    "inspect": "inspect packets.pcap",
    "inspect-table": "inspect table.parquet",
    "fit-receiver": "fit packets.pcap --receiver packets.pcap -o disk/out.json",
    "population": "fit packets.pcap table.parquet --population -o disk/out.json --workers 2",
    "same-source": "fit packets.pcap packets.pcap --same-source -o disk/out.json",
    "player-log": "fit packets.pcap --player-log log.csv -o disk/out.json",
    "rank": "compare packets.pcap --against catalogue",
    "path-file": "simulate cbr --path path.yaml",
    "workers": "generate cbr --sessions 4 --workers 2 -o disk/out.parquet",
    "models-list": "models list",
    "models-diff": "models diff model.json model.json",
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read; what they import is, whichever tests ran before."""
    import_all()
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    trafficgen.generate("cbr", folder / "packets.pcap", duration_s=20)
    (folder / "path.yaml").write_text("links: [{trace: rates.csv, delay: 5ms}]")
    (folder / "rates.csv").write_text("time_s,rate\n0,1Mbps\n")
    (folder / "log.csv").write_text("time_s,buffer_s\n0,1\n1,2\n")
    return folder


def _with_few_files(arguments: Sequence[str] | None = None, *, more: int) -> int:
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + more, lowest + more))
    return run(arguments)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_may_open_few_files_says_what_helps(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for path in inputs.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    for more in range(5):
        disk = tmp_path / "disk"
        disk.mkdir()
        few = partial(_with_few_files, more=more)
        ended = run_in_child(COMMANDS[name].split(), tmp_path / f"said-{more}", few)
        if ended.code == 0:
            return
        assert ended.code == 2, ended.text
        last = ended.text.splitlines()[-1]
        assert last.startswith("trafficgen: "), ended.text
        assert "Traceback" not in ended.text
        assert "ulimit -n" in last, (more, ended.text)
        if name == "demo":  # it has made some of its files whole
            assert not list(disk.rglob(".*"))
            shutil.rmtree(disk)
        else:
            disk.rmdir()
