"""Runs many commands and reads in one child process, and measures each: no start, no fork."""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

from tests.mutated.commands import (
    LONGEST_S,
    Ended,
    call_in_process,
    limit_process,
    run_in_child,
    start,
)
from tests.mutated.readers import READ, read

from trafficgen.cli.app import run

#: This command is ended by a signal: it has a process of its own.
_NEEDS_A_PROCESS = "explore"


@dataclass(frozen=True)
class Task:
    """What is run next.

    Attributes:
        arguments: Words of a command, or ``read``, a reader and its file.
        out: The empty folder that it writes to.
        starts: Whether it is started as a shell starts it.
    """

    arguments: list[str]
    out: Path
    starts: bool = False


def run_in_process(tasks: Callable[[], Iterator[Task]], said: Path) -> Iterator[tuple[Task, Ended]]:
    """Run tasks in a child process; yield how each ended before the files of the next are written.

    A task in which the child dies has ended with its signal, and another child goes on behind it.

    Args:
        tasks: Gives the same tasks whenever it is called, and writes the files of each.
        said: File of what they say on stderr.
    """
    begun = 0
    while True:
        before = begun
        for task, ended in _run_in_child(tasks, before, said):
            begun += 1
            yield task, ended
        if begun == before or ended.code >= 0:
            return


def _run_in_child(
    tasks: Callable[[], Iterator[Task]], skipped: int, said: Path
) -> Iterator[tuple[Task, Ended]]:
    """Yield what a child reports of the tasks after the first ones, until one kills it."""
    reports, to_report = os.pipe()
    waits, to_go_on = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reports)
        os.close(to_go_on)
        with os.fdopen(os.dup(2), "w", encoding="utf-8") as errors:  # tasks take the usual one
            try:
                _report_all(tasks(), skipped, said, to_report, waits)
            except BaseException:
                traceback.print_exc(file=errors)
                errors.flush()
                os._exit(99)
            os._exit(0)
    os.close(to_report)
    os.close(waits)
    begun: Task | None = None
    with os.fdopen(reports, encoding="utf-8") as lines, os.fdopen(to_go_on, "wb", 0) as go_on:
        for line in lines:
            (arguments, out, starts), ended = json.loads(line)
            begun = Task(arguments, Path(out), starts)
            if ended is not None:
                yield begun, Ended(*ended)
                begun = None
                with suppress(BrokenPipeError):
                    go_on.write(b"\n")
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    text = said.read_text(encoding="utf-8", errors="replace")
    if begun is not None:
        spent_s = used.ru_utime + used.ru_stime
        yield begun, Ended(begun.arguments[0], code, text, used.ru_maxrss * 1024, spent_s)
    elif code:
        raise RuntimeError(f"the child process ended with {code} between two tasks")


def _report_all(
    tasks: Iterator[Task], skipped: int, said: Path, to_report: int, waits: int
) -> None:
    """Run tasks; report each when it begins and when it has ended, and wait for the parent."""
    with os.fdopen(to_report, "w", encoding="utf-8") as report, os.fdopen(waits, "rb", 0) as go_on:
        for number, task in enumerate(tasks):
            if number < skipped:
                continue
            what = task.arguments, str(task.out), task.starts
            print(json.dumps((what, None)), file=report, flush=True)
            print(json.dumps((what, astuple(_end(task, said)))), file=report, flush=True)
            go_on.read(1)


def _end(task: Task, said: Path) -> Ended:
    """Run a task to its end."""
    if task.starts:
        return start(task.arguments)
    if task.arguments[0] == _NEEDS_A_PROCESS:
        return run_in_child(task.arguments, said, run)
    limit_process(20 * LONGEST_S)  # the machine may be busy
    _forget_peak()
    began_s = time.process_time()
    reads = task.arguments[0] == READ
    code = call_in_process(
        task.arguments[1:] if reads else task.arguments,
        said,
        read if reads else run,
        os.open(os.devnull, os.O_WRONLY),
    )
    spent_s = time.process_time() - began_s
    text = said.read_text(encoding="utf-8", errors="replace")
    return Ended(task.arguments[0], code, text, _peak_bytes(), spent_s)


def _forget_peak() -> None:
    """Let the highest memory of this process begin anew, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak_bytes() -> int:
    with suppress(OSError), Path("/proc/self/status").open(encoding="ascii") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    return 0
