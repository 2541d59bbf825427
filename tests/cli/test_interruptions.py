"""Commands that are ended at random moments: nothing incomplete has a final name, and the same
command works again.

A few moments are tried each time; ``pytest tests/cli/test_interruptions.py -m slow`` tries
hundreds. Commands run in processes that are forked from one that has loaded all libraries: what
comes before is in test_streams_and_signals.py.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import trafficgen
from trafficgen.cli.entry import main

CAPTURE = (
    Path(__file__).resolve().parents[2] / "examples" / "captures" / "http_burst_then_paced.pcap.gz"
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
MANY = 60


@dataclass(frozen=True)
class Case:
    """A command.

    Attributes:
        words: Its arguments.
        outputs: What it writes, files or folders.
        stands_already: Whether the outputs are there before, from another run.
    """

    words: str
    outputs: tuple[str, ...]
    stands_already: bool = False


CASES = {
    "fit": Case("fit table.parquet -o out.json --report out.html", ("out.json", "out.html")),
    "generate-csv": Case(
        "generate model.json -o out.csv --duration 300", ("out.csv", "out.flows.csv")
    ),
    "generate-pcap": Case("generate model.json -o out.pcap --duration 300", ("out.pcap",)),
    "generate-dataset": Case("generate model.json -o out --duration 300", ("out",)),
    "generate-dataset-anew": Case(
        "generate model.json -o out --duration 300 --force", ("out",), stands_already=True
    ),
    "generate-csv-anew": Case(
        "generate model.json -o out.csv --duration 300 --force",
        ("out.csv", "out.flows.csv"),
        stands_already=True,
    ),
    "generate-in-blocks": Case(
        "generate model.json -o out.parquet --sessions 40 --memory 4MB", ("out.parquet",)
    ),
    "convert": Case("convert table.parquet -o out.pcapng", ("out.pcapng",)),
    "export": Case("export table.parquet --to mgen -o out", ("out",)),
    "export-anew": Case(
        "export table.parquet --to mgen -o out --force", ("out",), stands_already=True
    ),
    "compare": Case("compare table.parquet other.parquet --report out.html", ("out.html",)),
    "plots": Case(
        "simulate cbr --path rate=1Mbps --duration 20 --plots out --plot-format svg", ("out",)
    ),
    "simulate": Case(
        "simulate cbr --path rate=1Mbps --duration 60 -o out.parquet --report out.html",
        ("out.parquet", "out.html"),
    ),
    "reproduce": Case("reproduce BMW-T1.1 --runs 1 --workers 1 --report out.html", ("out.html",)),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read."""
    folder = tmp_path_factory.mktemp("inputs")
    trafficgen.generate("cbr", folder / "table.parquet", duration_s=30)
    trafficgen.generate("cbr", folder / "other.parquet", duration_s=30, settings={"rate_kbps": 500})
    trafficgen.save_model(trafficgen.fit(CAPTURE).model, folder / "model.json")
    return folder


@dataclass(frozen=True)
class Reference:
    """What an undisturbed run gives.

    Attributes:
        digests: Output -> digest of what is in it.
        duration_s: Time that it takes, s.
    """

    digests: dict[str, str]
    duration_s: float


@pytest.fixture(scope="module")
def references() -> dict[str, Reference]:
    """What undisturbed runs of the cases gave; it is filled in as they are asked for."""
    FORKS.set_forkserver_preload([__name__, *LIBRARIES, *set(trafficgen._HOMES.values())])
    return {}


def reference_of(
    name: str, references: dict[str, Reference], inputs: Path, folder: Path
) -> Reference:
    if name not in references:
        place = prepared(CASES[name], inputs, folder / "reference")
        began_s = time.monotonic()
        finished(CASES[name], place)
        references[name] = Reference(digests_of(CASES[name], place), time.monotonic() - began_s)
        shutil.rmtree(place)
    return references[name]


def prepared(case: Case, inputs: Path, folder: Path) -> Path:
    """Make a folder with the inputs, and with what stands in the place of the outputs."""
    shutil.copytree(inputs, folder)
    if case.stands_already:
        words = case.words.replace("--duration 300", "--duration 200").replace(
            "table.parquet", "other.parquet"
        )
        finished(Case(words, case.outputs), folder)
    return folder


class Command:
    """A command that runs, in a process that was forked from one that has loaded all libraries."""

    def __init__(self, case: Case, folder: Path) -> None:
        self._said = folder.parent / "said.txt"
        begun, begins = FORKS.Pipe(duplex=False)
        arguments = (case.words.split(), str(folder), str(self._said), begins)
        self._process = FORKS.Process(target=run_forked, args=arguments)
        self._process.start()
        with (
            begun,
            begins,
        ):  # moments count from here: how a fork comes to be is not what is looked at
            assert begun.poll(60)
            begun.recv_bytes()

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int, /) -> None:
        if self.poll() is None and self._process.pid is not None:
            os.kill(self._process.pid, number)

    def end(self) -> str:
        """Wait for its end, and return what it said on stderr."""
        self._process.join(120)
        assert self.poll() is not None
        said = self._said.read_text() if self._said.exists() else ""
        self._said.unlink(missing_ok=True)
        return said


FORKS = multiprocessing.get_context("forkserver")
LIBRARIES = (
    "trafficgen.cli.app",
    "scipy.stats",
    "scipy.optimize",
    "matplotlib.figure",
    "jinja2",
    "plotly",
    "pyarrow.csv",
    "pyarrow.parquet",
)


def run_forked(words: list[str], folder: str, said: str, begins: Connection) -> None:
    """Run a command in this process, which ends with it, once it has said that it begins."""
    # What a shell starts in the background ignores interrupts, and so would the program that it
    # starts.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.environ["TRAFFICGEN_PROGRESS"] = "0"
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    sys.argv = ["trafficgen", *words, "-q"]
    with begins:
        begins.send_bytes(b"x")
    main()


def finished(case: Case, folder: Path) -> None:
    process = Command(case, folder)
    said = process.end()
    assert process.poll() in (0, 1), said  # reproduce: what is found with one run may lie outside


def digests_of(case: Case, folder: Path) -> dict[str, str]:
    """Return what is in the outputs that are there."""
    return {name: _digest(folder / name) for name in case.outputs if (folder / name).exists()}


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if not file.name.startswith("."):  # what is unfinished in a folder has no final name
            digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def wait_for_moment(
    process: Command, folder: Path, chance: random.Random, duration_s: float
) -> str:
    """Wait until a random moment of a command: anywhere in its time, or while it is writing."""
    began_s = time.monotonic()
    if chance.random() < 0.4:
        delay_s = chance.uniform(0.0, duration_s)
        time.sleep(delay_s)
        return f"after {delay_s:.3f} s of {duration_s:.3f} s"
    delay_s = chance.expovariate(1 / 0.01)
    while process.poll() is None and time.monotonic() < began_s + 60 and not _unfinished(folder):
        time.sleep(0.0002)
    time.sleep(delay_s)
    return f"{delay_s:.4f} s after it began to write"


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _unfinished(folder: Path) -> bool:
    """Return whether a command has begun to write."""
    hidden = [
        name for name in names_in(folder) if name.startswith(".") and not name.endswith(".work")
    ]
    return bool(hidden) or (
        (folder / "out").is_dir() and any(name[0] == "." for name in names_in(folder / "out"))
    )


def try_moment(
    name: str, seed: int, references: dict[str, Reference], inputs: Path, folder: Path
) -> None:
    """End a command at a random moment, look at what it leaves, and run it again."""
    case, chance = CASES[name], random.Random(f"{name} {seed}")
    reference = reference_of(name, references, inputs, folder)
    place = prepared(case, inputs, folder / "place")
    old, before = digests_of(case, place), names_in(place)
    number = SIGNALS[seed % len(SIGNALS)]
    process = Command(case, place)
    moment = wait_for_moment(process, place, chance, reference.duration_s)
    process.send_signal(number)
    said = process.end()
    context = f"{name}, seed {seed}, {number.name} {moment}: exit {process.poll()}, {said!r}"
    check_outputs(
        name,
        digests_of(case, place),
        old,
        reference.digests,
        killed=number == signal.SIGKILL,
        of=context,
    )
    if number != signal.SIGKILL:
        check_ended(case, process.poll(), said, number, of=context)
        left = names_in(place) - before - set(case.outputs)
        assert left <= ({".out.parquet.work"} if "blocks" in name else set()), (context, left)
        assert not _unfinished(place), context
    anew = case.stands_already or not digests_of(case, place)
    finished(case if anew else Case(f"{case.words} --force", case.outputs), place)
    assert digests_of(case, place) == reference.digests, context
    assert names_in(place) == before | set(case.outputs), context
    shutil.rmtree(place)


def check_outputs(
    name: str,
    found: dict[str, str],
    old: dict[str, str],
    whole: dict[str, str],
    *,
    killed: bool,
    of: str,
) -> None:
    """Check that what has a final name is complete: the new output, or what was there before."""
    if name == "export-anew" and killed and found and found not in (old, whole):
        return  # files of an export are whole one by one; the next export puts the folder right
    for output, digest in found.items():
        assert digest in (whole[output], old.get(output)), (output, of)
    main = next(iter(whole))
    if f"{main.removesuffix('.csv')}.flows.csv" in whole and main in found:
        assert found in (whole, old), of  # packets never stand beside flows of another run


def check_ended(
    case: Case, code: int | None, said: str, number: signal.Signals, *, of: str
) -> None:
    """Check that a command that was not killed outright says in a line how it ended."""
    if code in (0, 1):
        assert said == "" or case.words.startswith("reproduce"), of
    elif code is not None and code == -number:  # before a line of Python was run
        assert said == "", of
    else:
        assert code == 128 + number, of
        word = "interrupted" if number == signal.SIGINT else "terminated"
        kept = (
            r"(; \d+ blocks? kept in \.out\.parquet\.work .*)?" if "--memory" in case.words else ""
        )
        assert re.fullmatch(f"trafficgen: {word}{kept}\n", said), of


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("fit", 0),
        ("generate-csv", 2),
        ("generate-in-blocks", 1),
        ("export-anew", 2),
        ("compare", 0),
    ],
)
def test_a_command_that_is_ended_leaves_nothing_incomplete_and_can_be_run_again(
    name: str, seed: int, references: dict[str, Reference], inputs: Path, tmp_path: Path
) -> None:
    try_moment(name, seed, references, inputs, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_at_any_of_many_moments_a_command_leaves_nothing_incomplete(
    name: str, references: dict[str, Reference], inputs: Path, tmp_path: Path
) -> None:
    for seed in range(MANY):
        try_moment(name, seed, references, inputs, tmp_path)
