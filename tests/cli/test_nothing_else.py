"""What commands open, connect to and start, by Python's audit events: only what was named."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutated.other_inputs import CAPTURE, named_files

#: Notes what a command opens, connects to and starts, but for what belongs to the program: its
#: packages, the interpreter, and what the system says of itself.
_PROGRAM = """
import json, os, sys, sysconfig
import trafficgen
from trafficgen.cli.app import run

ours = [os.path.dirname(trafficgen.__file__), sys.prefix, sys.base_prefix, "/proc", "/sys"]
ours += [sysconfig.get_path("stdlib"), "/dev/null", "/usr/share/zoneinfo", "/etc/localtime"]
ours = [os.path.realpath(one) for one in ours]
seen = []
_STARTS = ("socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.exec")
_STARTS += ("os.posix_spawn", "os.fork", "pty.spawn", "webbrowser.open", "urllib.Request")

def note(event, arguments):
    if event in _STARTS:
        seen.append([event, repr(arguments)[:200]])
    elif event == "open" and isinstance(arguments[0], (str, bytes)):
        place = os.path.realpath(os.fsdecode(arguments[0]))
        if not any(place == one or place.startswith(one + os.sep) for one in ours):
            seen.append([event, place])

sys.addaudithook(note)
code = run(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    json.dump(seen[:], file)
sys.exit(code)
"""
_EVIL_YAML = "!!python/object/apply:os.system ['touch {folder}/ran']"
_EVIL_FORMULA = "= __import__('os').system('touch ran')"
_COMMANDS = (
    ("inspect", "{capture}", "--json"),
    ("fit", "{capture}", "-o", "out/model.json"),
    ("fit", "player.pcap", "--player-log", "log.json", "-o", "out/model.json"),
    ("convert", "{capture}", "-o", "out/table.csv"),
    ("convert", "table.parquet", "-o", "out/table.pcap"),
    ("compare", "{capture}", "table.csv", "--json"),
    ("compare", "player.pcap", "--against", "catalogue", "--json"),
    ("export", "table.parquet", "--to", "mgen", "-o", "out/mgen"),
    ("export", "model.json", "--to", "ns3", "-o", "out/ns3"),
    ("generate", "workload.yaml", "-q", "-o", "out/out.csv", "--for", "20s"),
    ("generate", "model.json", "-q", "-o", "out/out.pcap", "--duration", "5s"),
    ("simulate", "player.json", "--path", "path.yaml", "--duration", "5s"),
    ("simulate", "cbr", "--path", "rate=1Mbps,trace=rates.csv", "--duration", "5s"),
    ("models", "show", "model.json"),
    ("models", "show", "evil.yaml"),
    ("models", "show", "formula.yaml"),
    ("generate", "formula.yaml", "-o", "out/out.csv", "--duration", "5s"),
    ("simulate", "cbr", "--path", "evil.yaml"),
    ("generate", "evil-groups.yaml", "-o", "out/out.csv"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with inputs of all kinds, some of which want to run something."""
    for name, data in named_files().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    evil = _EVIL_YAML.format(folder=tmp_path)
    (tmp_path / "log.json").write_text('{"samples": [{"unix_time_s": 1, "buffer_s": 4}]}')
    (tmp_path / "evil.yaml").write_text(f"name: {evil}\n")
    (tmp_path / "evil-groups.yaml").write_text(f"sessions: 1\ngroups: [{{model: {evil}}}]\n")
    entries = Path(__file__).resolve().parents[2] / "src" / "trafficgen" / "models" / "published"
    entry = next(entries.rglob("video_tgax_bv1.yaml")).read_text()
    changed, count = re.subn(r": = [^,}\n]+", f': "{_EVIL_FORMULA}"', entry, count=1)
    assert count == 1
    (tmp_path / "formula.yaml").write_text(changed)
    (tmp_path / "out").mkdir()
    return tmp_path


@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
def test_a_command_opens_what_was_named_and_starts_nothing(
    folder: Path, command: tuple[str, ...]
) -> None:
    events = folder / "events.json"
    words = [word.format(capture=CAPTURE) for word in command]
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(events), *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    assert ended.returncode in (0, 2), ended.stderr
    assert not (folder / "ran").exists()
    seen = json.loads(events.read_text())
    opened = {Path(what).name for event, what in seen if event == "open"}
    assert opened >= {word for word in words if word.endswith((".json", ".yaml", "rates.csv"))} - {
        word for word in words if "/" in word or "=" in word
    }
    for event, what in seen:
        assert event == "open", (event, what)
        assert Path(what) == CAPTURE or Path(what).is_relative_to(folder), what
