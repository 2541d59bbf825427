"""Commands as a shell runs them on files of strangers, and what must hold of each: exit code,
words, memory, files.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import typer

from trafficgen.cli.app import command_table

#: What a command may take. The processor time is far above what one of these needs: only a hang is
#: slower.
MOST_MEMORY_BYTES = 1_000_000_000
LONGEST_S = 60
_ADDRESS_SPACE_BYTES = 8_000_000_000
#: What the program itself takes, at most.
_OWN_BYTES = 250_000_000

#: What follows this word of a command comes to it by a pipe, as its standard input.
FROM = "<"

#: Commands whose exit code is 1 where what they check does not hold.
_CHECKS = ("reproduce",)
_TARGETS = (
    "pcap",
    "pcapng",
    "csv",
    "parquet",
    "mgen",
    "ns3",
    "inet",
    "iperf3",
    "tcpreplay",
    "mahimahi",
    "trex",
)


def a_command(dice: random.Random, capture: Path, other: Path, out: Path) -> list[str]:
    """Return arguments of one of the commands that read captures."""
    tunnels = ["--decapsulate"] if dice.random() < 0.3 else []
    silence = ["--idle-timeout", dice.choice(("1e-9", "0.01", "5"))] if dice.random() < 0.2 else []
    match dice.choice(("inspect", "inspect", "fit", "convert", "compare", "export")):
        case "inspect":
            more = [str(other)] if dice.random() < 0.1 else []
            return [
                "inspect",
                str(capture),
                *more,
                *tunnels,
                *silence,
                *(["--json"] if dice.random() < 0.5 else []),
            ]
        case "fit":
            more = ["--exchanges", str(out / "exchanges.csv")] if dice.random() < 0.3 else []
            if dice.random() < 0.1:
                more += [str(other), dice.choice(("--population", "--same-source"))]
            return ["fit", str(capture), *tunnels, *silence, *more, "-o", str(out / "model.json")]
        case "convert":
            ending = dice.choice(("parquet", "csv", "pcap", "pcapng"))
            return ["convert", str(capture), "-o", str(out / f"table.{ending}")]
        case "compare":
            pair = [str(capture), str(other)] if dice.random() < 0.5 else [str(other), str(capture)]
            return ["compare", *pair, *(["--all"] if dice.random() < 0.5 else []), "--json"]
        case _:
            return [
                "export",
                str(capture),
                "--to",
                dice.choice(_TARGETS),
                "-o",
                str(out / "exported"),
            ]


@cache
def limited_commands() -> set[str]:
    """Return the names of the commands that take a memory limit."""
    group: Any = typer.main.get_command(command_table())
    return {
        name
        for name, command in group.commands.items()
        if any("--memory" in parameter.opts for parameter in command.params)
    }


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        command: Name of the command.
        code: Exit code; negative: the signal that ended it.
        text: What it said on stderr.
        memory_bytes: Most resident memory.
        cpu_s: Processor time.
    """

    command: str
    code: int
    text: str
    memory_bytes: int
    cpu_s: float

    def problem(self, out: Path) -> str | None:
        """Return what is wrong with that; None where nothing is. ``out`` is the folder that it
        wrote to.
        """
        if self.code not in ((0, 1, 2) if self.command in _CHECKS else (0, 2)):
            return f"exit code {self.code}"
        if "Traceback" in self.text or "panicked" in self.text:
            return "a traceback or a panic"
        lines = self.text.strip().splitlines()
        if self.code == 2 and (not lines or not lines[-1].strip() or len(lines[-1]) > 2000):
            return "exit code 2 without a clear line"
        if self.code == 2 and any(out.iterdir()):
            return f"exit code 2, and {sorted(path.name for path in out.iterdir())} left"
        if self.memory_bytes > MOST_MEMORY_BYTES:
            return f"{self.memory_bytes / 1e6:.0f} MB"
        return None


def run_in_child(
    arguments: list[str],
    said: Path,
    run: Callable[[list[str]], int],
    *,
    longest_s: int = 20 * LONGEST_S,
) -> Ended:
    """Run a command in a process of its own that has everything imported already.

    It is ended after ``longest_s`` of waiting: the machine may be busy. Of what this process holds,
    the command is charged what the program's own takes: tests before it may have left much more.
    """
    held_bytes = _held_bytes()
    child = os.fork()
    if child == 0:
        _become_command(arguments, said, run, longest_s)
    _, status, used = os.wait4(child, 0)
    text = said.read_text(encoding="utf-8", errors="replace")
    code = os.waitstatus_to_exitcode(status)
    memory_bytes = used.ru_maxrss * 1024 - max(0, held_bytes - _OWN_BYTES)
    return Ended(arguments[0], code, text, memory_bytes, used.ru_utime + used.ru_stime)


def _held_bytes() -> int:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def _become_command(
    arguments: list[str], said: Path, run: Callable[[list[str]], int], longest_s: int
) -> None:
    code = 99
    try:
        limit_process(longest_s)
        heard = _visited_page() if arguments[0] == "explore" else _nowhere()
        code = call_in_process(arguments, said, run, heard)
    finally:
        os._exit(code)


def limit_process(longest_s: int) -> None:
    """Bound the memory of this process, and the processor time and waiting of its next command."""
    warnings.resetwarnings()  # tests make errors of them
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE_BYTES, _ADDRESS_SPACE_BYTES))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    spent_s = math.ceil(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (spent_s + LONGEST_S, resource.RLIM_INFINITY))
    signal.alarm(longest_s)


def call_in_process(
    arguments: list[str], said: Path, run: Callable[[list[str]], int], heard: int
) -> int:
    """Run a command in this process; its stderr goes to a file, its stdout to ``heard``.

    The standard streams of the process are not restored.
    """
    code = 99
    try:
        errors = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        words, given = split_input(arguments)
        for place, to in ((2, errors), (1, heard), (0, _pipe_from(given))):
            os.dup2(to, place)
            os.close(to)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout, sys.stderr = (
            os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2)
        )
        code = run(words)
        sys.stdout.flush()
    except BaseException:
        import traceback  # noqa: PLC0415

        traceback.print_exc()
    sys.stderr.flush()
    return code


def empty(folder: Path) -> None:
    """Have an empty folder."""
    if not folder.exists() or any(folder.iterdir()):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()


def start(arguments: list[str]) -> Ended:
    """Run a command as a shell does; its memory and time are not told apart from those of
    others.
    """
    program = Path(sys.executable).with_name("trafficgen")
    words, given = split_input(arguments)
    done = subprocess.run(
        [program, *words],
        check=False,
        input=given,
        capture_output=True,
        timeout=20 * LONGEST_S,  # the machine may be busy
    )
    return Ended(words[0], done.returncode, done.stderr.decode(errors="replace"), 0, 0.0)


def split_input(arguments: list[str]) -> tuple[list[str], bytes]:
    """Return the words of a command, and what comes by its standard input."""
    if FROM not in arguments:
        return arguments, b""
    at = arguments.index(FROM)
    return arguments[:at], Path(arguments[at + 1]).read_bytes()


def _pipe_from(data: bytes) -> int:
    """Return a pipe from which data comes."""
    reading, writing = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as pipe:
            pipe.write(data)

    if data:
        threading.Thread(target=write, daemon=True).start()
    else:
        os.close(writing)
    return reading


def _nowhere() -> int:
    return os.open(os.devnull, os.O_WRONLY)


#: Requests to the page: what it plays, and what a stranger may send instead.
_REQUESTS: tuple[object, ...] = (
    {"model": "chunked", "duration_s": 3},
    {"model": "chunked", "duration_s": 1e308, "rate_kbps": -1},
    {"model": ["chunked"], "settings": {"\ud800": "\ud800"}},
    {"model": "chunked", "competitor": {"a": [{}]}, "duration_s": 3},
    [],
)


def _visited_page() -> int:
    """Return a file for the words of `explore`: a visitor reads the address there, and ends it."""
    words, heard = os.pipe()

    def visit() -> None:
        with os.fdopen(words, encoding="utf-8") as lines:
            address = urlsplit(next((line.strip() for line in lines if "://" in line), ""))
            if address.hostname is None:
                return
            try:
                for request in _REQUESTS:
                    asked = http.client.HTTPConnection(address.netloc, timeout=LONGEST_S)
                    head = {"Content-Type": "application/json"}
                    asked.request("POST", "/api/simulate", json.dumps(request), head)
                    if (answer := asked.getresponse()).status >= http.client.INTERNAL_SERVER_ERROR:
                        sys.stderr.write(f"Traceback? {answer.status} for {request}\n")
            finally:
                os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=visit, daemon=True).start()
    return heard
