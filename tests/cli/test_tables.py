"""Layout of tables and lines: exact in a log, within the width and coloured on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from trafficgen.cli._tables import print_table

_PROGRAM = [sys.executable, "-c", "from trafficgen.cli.app import main; main()"]
_HEADER = ("name", "value", "a long remark")
_ROWS = [("first.of.all", "1,234", "one two three four"), ("second", "5", "MISS")]


def _on_terminal(
    program: Sequence[str], *, columns: int, interrupt_at: str | None = None, **environment: str
) -> str:
    """Return what a program writes to a terminal of some width; interrupted once it has written
    some text.
    """
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    inherited = {
        key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")
    }
    env = {**inherited, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment}
    process = subprocess.Popen(
        program,
        stdin=child,
        stdout=child,
        stderr=child,
        env=env,
        start_new_session=True,
        # What a shell starts in the background ignores interrupts, and so would the program that it
        # starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )
    os.close(child)
    written = b""
    while piece := _piece(parent):
        written += piece
        if interrupt_at is not None and interrupt_at.encode() in written:
            process.send_signal(signal.SIGINT)
            interrupt_at = None
    os.close(parent)
    process.wait(timeout=60)
    return written.decode().replace("\r\n", "\n")


def _piece(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # nobody writes there any more
        return b""


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text)


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    table = f"print_table({_HEADER!r}, {list(rows)!r}, right=(1,), marks={{'MISS': 'red'}})"
    return [sys.executable, "-c", f"from trafficgen.cli._tables import print_table; {table}"]


def test_a_table_in_a_log_is_one_line_a_row_whatever_the_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    print_table(_HEADER, _ROWS, right=(1,), styles={0: "red"}, marks={"MISS": "red"})
    assert capsys.readouterr().out == (
        "name          value  a long remark\n"
        "first.of.all  1,234  one two three four\n"
        "second            5  MISS\n"
    )  # fmt: skip


def test_control_characters_of_a_value_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(("name",), [("a\x1b[2Jb\n",)])
    assert capsys.readouterr().out == "name\na�[2Jb�\n"


def test_a_wide_terminal_gets_colours_and_whole_cells() -> None:
    shown = _on_terminal(_table(_ROWS), columns=80)
    assert "\x1b[31mMISS" in shown
    lines = [line.rstrip() for line in _plain(shown).splitlines()]
    assert lines[0].split() == ["name", "value", "a", "long", "remark"]
    assert "first.of.all   1,234   one two three four" in lines


@pytest.mark.parametrize("columns", [20, 30, 40])
def test_a_narrow_terminal_gets_folded_cells_and_nothing_is_lost(columns: int) -> None:
    shown = _plain(_on_terminal(_table(_ROWS), columns=columns))
    assert max(map(len, shown.splitlines())) <= columns
    for word in ("first.of.all", "1,234", "one", "two", "three", "four", "second", "5", "MISS"):
        assert word in shown.split() or f"{word};" in shown.split()


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_terminals_without_colours_get_what_a_log_gets(environment: dict[str, str]) -> None:
    shown = _on_terminal(_table(_ROWS), columns=20, **environment)
    assert shown.splitlines()[1] == "first.of.all  1,234  one two three four"
    assert "\x1b" not in shown


@pytest.fixture(scope="module")
def outputs_on_terminals(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """What all commands that print tables and curves write to terminals of 80 and 40 columns."""
    folder = tmp_path_factory.mktemp("terminal")
    names = [str(folder / name) for name in ("a.parquet", "b.parquet")]
    path = ("--path", "rate=400kbps,delay=20ms")
    commands = [
        ["generate", "wmedia9_nichols2004", "-o", names[0], "--duration", "20", "--force", *path],
        [
            "generate",
            "wmedia9_nichols2004",
            "-o",
            names[1],
            "--duration",
            "20",
            "--seed",
            "2",
            "--force",
        ],
        ["inspect", names[0]],
        ["fit", names[0]],
        ["compare", *names],
        ["simulate", "wmedia9_nichols2004", "--duration", "20", "--compete", "tcp", *path],
    ]
    code = f"from trafficgen.cli.app import run\nfor command in {commands!r}: run(command)"
    return {
        columns: _on_terminal([sys.executable, "-c", code], columns=columns) for columns in (80, 40)
    }


@pytest.mark.parametrize("columns", [80, 40])
def test_nothing_that_commands_print_overflows_a_terminal(
    outputs_on_terminals: dict[int, str], columns: int
) -> None:
    shown = outputs_on_terminals[columns]
    assert "Traceback" not in shown
    results = [
        line
        for line in _plain(shown).splitlines()
        if not re.match(r"warning: |.*written to ", line)
    ]
    assert [line for line in results if len(line) > columns] == []
    for word in ("reference", "candidate", "playout", "buffer", "tcp-1", "kbit/s", "█"):
        assert word in shown
    assert "\x1b[36m" in shown, "curves are coloured"


@pytest.mark.parametrize(
    "environment", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}]
)
def test_encodings_without_block_elements_get_other_characters(
    table_file: Path, environment: dict[str, str]
) -> None:
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("LC_", "LANG", "PYTHON"))
    }
    env |= {**environment, "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [*_PROGRAM, "inspect", str(table_file)], capture_output=True, env=env, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    curve = done.stdout.decode("ascii").splitlines()[-1]
    assert re.fullmatch(r"flow 0 to client  [_.:=+*#-]{60}  .* kbit/s", curve), curve


def test_names_that_the_encoding_lacks_do_not_end_a_command(table_file: Path) -> None:
    named = table_file.rename(table_file.with_name("ünï.parquet"))
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for options, said in (
        ((), b"?n?.parquet: 1,000 packets"),
        (("--json",), b"\\u00fcn\\u00ef.parquet"),
    ):
        done = subprocess.run(
            [*_PROGRAM, "inspect", str(named), *options], capture_output=True, env=env, check=False
        )
        assert done.returncode == 0, done.stderr
        assert said in done.stdout


def test_an_interrupt_takes_the_line_of_progress_away(model_file: Path) -> None:
    out = model_file.with_name("out.csv")
    program = [
        *_PROGRAM,
        "generate",
        str(model_file),
        "-o",
        str(out),
        "--duration",
        "30000",
        "--sessions",
        "20",
    ]
    program += ["--memory", "90GB"]  # in memory: finished blocks would be kept for the next run
    began_s = time.monotonic()
    shown = _on_terminal(program, columns=60, interrupt_at="\r", TRAFFICGEN_PROGRESS="1")
    assert time.monotonic() - began_s > 2, "short work is silent"
    assert shown.endswith("\r\x1b[Ktrafficgen: interrupted\n")
    assert all(len(_plain(line)) < 60 for line in shown.split("\r"))
    assert not list(out.parent.glob("*out.csv*"))
