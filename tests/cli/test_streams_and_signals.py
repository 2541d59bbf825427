"""Standard streams that take nothing, and signals while a command is still being loaded."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-c", "from trafficgen.cli.entry import main; main()"]
#: One that says so when its own first line is run: before it a signal is met by Python, which has a
#: traceback for it.
TELLING = "import os; from trafficgen.cli import _signals; _signals.watch(); os.write(1, b'!'); "


def _shell(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f'"$0" "$@" {command}', *PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("redirected", "problem"),
    [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")],
)
@pytest.mark.parametrize("words", ["inspect table.parquet", "models schema"])
def test_results_that_cannot_be_printed_are_told_in_a_line(
    redirected: str, problem: str, words: str, table_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(table_file.parent)
    done = _shell(redirected, *words.split())
    assert done.returncode == 2
    said = (
        f"trafficgen: standard output: cannot be written ({problem}); make room, or redirect it"
        " elsewhere\n"
    )
    assert done.stderr == said


@pytest.mark.parametrize("redirected", ["2>/dev/full", "<&- >&- 2>&-"])
def test_messages_that_cannot_be_said_are_no_reason_to_fail(
    redirected: str, model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model_file.parent)
    done = _shell(redirected, "generate", "model.json", "-o", "out.csv")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert Path("out.csv").read_text().startswith('"time_ns"')


@pytest.mark.parametrize(
    ("number", "times"), [(signal.SIGINT, 3), (signal.SIGTERM, 2), (signal.SIGHUP, 1)]
)
def test_a_signal_while_libraries_are_loaded_is_told_in_a_line(
    number: signal.Signals, times: int
) -> None:
    chance = random.Random(number)
    word = "interrupted" if number == signal.SIGINT else "terminated"
    for _ in range(times):
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                TELLING + "from trafficgen.cli.entry import main; main()",
                "reproduce",
                "BMW",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # What a shell starts in the background ignores interrupts, and so would the program
            # that it starts.
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
        )
        assert process.stdout is not None
        assert process.stdout.read(1) == b"!"
        # Sooner, it may meet this test's own lines, before the command has begun.
        time.sleep(chance.uniform(0.05, 0.3))
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said.decode()) == (128 + number, f"trafficgen: {word}\n")


@pytest.mark.parametrize(
    "command", [["models", "schema"], ["generate", "model.json", "-o", "out.csv"]]
)
def test_a_signal_that_a_library_swallowed_ends_the_command_all_the_same(
    command: list[str], model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model_file.parent)
    program = (
        "import contextlib, os, signal; from trafficgen.cli import _signals; _signals.watch()\n"
        "with contextlib.suppress(KeyboardInterrupt):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "from trafficgen.cli.entry import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "trafficgen: terminated\n")
    assert not Path("out.csv").exists()


def test_a_signal_that_comes_where_nothing_can_be_raised_ends_the_command_all_the_same(
    model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model_file.parent)
    program = (
        "import importlib, os, signal\n"
        "csv = importlib.import_module('trafficgen.packet_files.table_files')\n"
        "class Deaf:\n"
        "    def __del__(self): os.kill(os.getpid(), signal.SIGTERM)\n"
        "write = csv._write_packets\n"
        "def deaf(*given):\n"
        "    write(*given)\n"
        "    Deaf()\n"
        "    raise AssertionError('the signal is lost')\n"
        "csv._write_packets = deaf\n"
        "from trafficgen.cli.entry import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "generate", "model.json", "-o", "out.csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (143, "trafficgen: terminated\n")
    assert {path.name for path in Path().iterdir()} == {"model.json"}


def test_an_interrupted_run_with_workers_says_what_it_has_left(model_file: Path) -> None:
    words = "generate model.json -o out.pcap --sessions 4000 --memory 4MB --workers 2"
    process = subprocess.Popen(
        [*PROGRAM, *words.split()],
        stderr=subprocess.PIPE,
        text=True,
        cwd=model_file.parent,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )
    work = model_file.parent / ".out.pcap.work"
    deadline = time.monotonic() + 60
    while not list(work.rglob("block-*.json")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    kept = r"\d+ blocks? kept in \.out\.pcap\.work \(.*\): the same command continues from there"
    assert re.fullmatch(f"trafficgen: interrupted; {kept}\n", said)


def test_what_was_printed_before_a_signal_is_printed_once() -> None:
    """The signal comes as soon as the line is read, when the program may not have returned."""
    program = (
        "import sys, threading, os, signal\n"
        "from contextlib import suppress\n"
        "from trafficgen.cli.app import open_streams\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in the background
        "reader, writer = os.pipe()\n"
        "os.dup2(writer, 1); os.close(writer); open_streams()\n"
        "seen = bytearray()\n"
        "def answer():\n"
        "    while data := os.read(reader, 1 << 20):\n"
        "        seen.extend(data)\n"
        "        if data.endswith(b'\\n'):\n"
        "            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)\n"
        "thread = threading.Thread(target=answer); thread.start()\n"
        "for number in range(300):\n"
        "    with suppress(KeyboardInterrupt):\n"
        "        print(number, flush=True)\n"
        "        threading.Event().wait(60)\n"
        "sys.stdout.flush(); os.close(1); thread.join()\n"
        "sys.exit(seen.decode().split() != [str(number) for number in range(300)])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
