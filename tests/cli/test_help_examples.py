"""The examples in the help of every command do what they say."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

import trafficgen
from reference_pages.command_line import commands
from trafficgen.cli._help import examples_of
from trafficgen.cli.app import command_table
from trafficgen.models.published import entry_names, load_entry

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "examples" / "captures"
#: Commands that go on until somebody ends them, once they have said where they are.
SERVERS = ("trafficgen explore",)
_TIMEOUT_S = 120


COMMANDS = dict(commands())
EXAMPLES = [
    (name, line) for name, command in COMMANDS.items() for line in examples_of(command.help)
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that examples name."""
    folder = tmp_path_factory.mktemp("files")
    http = CAPTURES / "http_burst_then_paced.pcap.gz"
    (folder / "capture.pcapng").write_bytes(gzip.decompress(http.read_bytes()))
    shutil.copy(http, folder / "capture.pcapng.gz")
    model = trafficgen.fit(folder / "capture.pcapng").model
    for name in ("model.json", "other.json"):
        trafficgen.save_model(model, folder / name)
    for name in ("synthetic.parquet", "synthetic.pcap"):
        trafficgen.generate(model, folder / name, seed=1)
    for at in ("sender", "receiver"):
        path = "rate=1Mbps,delay=40ms,loss=2%"
        trafficgen.generate(
            "cbr", folder / f"{at}.pcap", path=path, duration_s=20, at=cast("Any", at)
        )
    (folder / "captures").mkdir()
    for rate in (300, 500):
        settings = {"rate_kbps": rate}
        trafficgen.generate(
            "cbr", folder / "captures" / f"{rate}.pcap", duration_s=20, settings=settings
        )
    (folder / "frames.txt").write_text("9000\n1500\n1200\n" * 50, encoding="utf-8")
    (folder / "packets.csv").write_text(
        "time_s,bytes\n0.00,1200\n0.02,1200\n0.05,400\n", encoding="utf-8"
    )
    shutil.copy(ROOT / "examples" / "workloads" / "evening.yaml", folder)
    long_session = {"rate_kbps": 50, "duration_s": 180}
    trafficgen.generate("cbr", folder / "day.pcapng", settings=long_session)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_an_example(name: str) -> None:
    assert examples_of(COMMANDS[name].help)


def test_published_models_in_help_and_pages_are_of_the_catalogue() -> None:
    # Standards' models begin with words that other names begin with too, such as video_.
    kinds = {name: load_entry(name).mechanism.kind for name in entry_names()}
    entries = {name for name in kinds if name[-1].isdigit() and kinds[name] != "streams"}
    systems = {name.partition("_")[0].rstrip("0123456789") for name in entries}
    like_an_entry = re.compile(rf"\b(?:{'|'.join(systems)})(?:\d|_)\w*")
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {page.name: page.read_text() for page in pages if "reference" not in page.parts}
    for name, command in COMMANDS.items():
        options = (getattr(one, "help", None) or "" for one in command.params)
        texts[name] = "\n".join([command.help or "", *options])
    found = {(place, word) for place, text in texts.items() for word in like_an_entry.findall(text)}
    assert len(found) > 20
    assert {one for one in found if one[1] not in entries} == set()


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "line"), EXAMPLES, ids=[line.removeprefix("trafficgen ") for _, line in EXAMPLES]
)
def test_example_in_the_help_of_a_command_runs(
    name: str, line: str, files: Path, tmp_path: Path
) -> None:
    assert any(f"{part} ".startswith(f"{name} ") for part in line.split(" | "))
    folder = tmp_path / "folder"
    shutil.copytree(files, folder)
    words = shlex.split(line)
    for option, value in pairwise(words):
        if option == "-o":  # what another example reads is made by this one
            (folder / value).unlink(missing_ok=True)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "TRAFFICGEN_PROGRESS": "0",
    }
    process = subprocess.Popen(
        ["bash", "-c", f"exec {line}"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        if name in SERVERS:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("http://127.0.0.1:")
            process.send_signal(signal.SIGTERM)
        _, messages = process.communicate(timeout=_TIMEOUT_S)
    finally:
        process.kill()
    assert process.returncode == 0, messages


@pytest.mark.parametrize(
    ("name", "line"), EXAMPLES, ids=[line.removeprefix("trafficgen ") for _, line in EXAMPLES]
)
def test_help_shows_an_example_on_one_line(
    name: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*name.split()[1:], "--help"]
    assert command_table()(args=arguments, prog_name="trafficgen", standalone_mode=False) in {
        None,
        0,
    }
    assert f"  Example: {line}\n" in capsys.readouterr().out
