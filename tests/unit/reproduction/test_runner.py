"""Experiments are run by any number of processes with the same result, and interrupted ones leave
nothing behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from trafficgen.errors import SelectionError
from trafficgen.models.published import entry_digest, load_entry
from trafficgen.progress import following
from trafficgen.reproduction import Reproduction, run_experiments, select_findings
from trafficgen.reproduction.finding import average_pieces
from trafficgen.reproduction.reproduce import run_settings

HERE = Path(__file__).parent


@pytest.fixture
def dice(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module of the dice, imported as other processes import it."""
    monkeypatch.syspath_prepend(str(HERE))
    return import_module("dice_experiment")


def _run(dice: Any, **options: Any) -> Reproduction:
    return run_experiments(select_findings([dice.Dice()], []), **options)


@pytest.mark.long
def test_the_number_of_processes_changes_nothing(dice: Any) -> None:
    assert _run(dice, seed=3, workers=2).to_json() == _run(dice, seed=3, workers=1).to_json()


def test_pieces_runs_and_seeds_have_random_numbers_of_their_own(dice: Any) -> None:
    seen: list[int] = []

    def record(seed: int) -> dict[str, Any]:
        seen.append(seed)
        return {"mean": 0.0, "six": 0.0}

    recorded = dice.Dice(pieces=(record,) * 3, combine=average_pieces)
    for seed in (0, 1):
        run_experiments([(recorded, recorded.findings)], runs=4, seed=seed, workers=1)
    assert len(set(seen)) == len(seen) == 2 * 4 * 3


def test_fewer_runs_are_the_first_of_more(dice: Any) -> None:
    few, many = _run(dice, runs=2, workers=1), _run(dice, runs=5, workers=1)
    assert many.rows[0].values[:2] == few.rows[0].values


def test_an_experiment_is_repeated_in_each_run_that_has_the_mean(dice: Any) -> None:
    chosen = select_findings([dice.Dice(repeats=4)], ["DICE-1"])
    once = select_findings([dice.Dice()], ["DICE-1"])
    row = run_experiments(chosen, runs=2, workers=1).rows[0]
    each = run_experiments(once, runs=8, workers=1).rows[0].values
    assert row.values == pytest.approx((sum(each[:4]) / 4, sum(each[4:]) / 4))
    assert (row.to_json()["runs"], row.to_json()["repeats"]) == (2, 4)


def test_moves_of_open_values_do_an_experiment_once(dice: Any) -> None:
    chosen = select_findings([dice.Dice(repeats=4)], ["DICE-1"])
    ((row,),) = run_settings(chosen, [{}], runs=2, seed=0, workers=1)
    assert row.repeats == 1
    assert row.values == _run(dice, runs=2, workers=1).rows[0].values


def test_progress_counts_every_piece(dice: Any) -> None:
    seen: list[tuple[float, float | None]] = []
    with following(lambda step: seen.append((step.done, step.total))):
        _run(dice, runs=2, workers=1)
    assert seen == [(done, 6) for done in range(7)]


def test_rows_carry_the_digest_of_their_entry(dice: Any) -> None:
    digests = {row.entry_digest for row in _run(dice, runs=1, workers=1).rows}
    assert digests == {entry_digest(load_entry("cbr"))}


@pytest.mark.parametrize("options", [{"runs": 0}, {"workers": 0}])
def test_runs_and_workers_are_positive(dice: Any, options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        _run(dice, **options)


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ([], ["DICE-1", "DICE-10"]),
        (["DICE-1"], ["DICE-1"]),
        (["dice"], ["DICE-1", "DICE-10"]),
        (["DICE-10", "DICE-10"], ["DICE-10"]),
    ],
)
def test_a_beginning_selects_many_and_a_number_is_taken_whole(
    dice: Any, wanted: list[str], ids: list[str]
) -> None:
    [(_, findings)] = select_findings([dice.Dice()], wanted)
    assert [finding.id for finding in findings] == ids


def test_an_id_that_names_nothing_is_refused(dice: Any) -> None:
    with pytest.raises(
        SelectionError, match=r"no finding 'DICE-2' .* ids look like DICE-1 and begin with DICE"
    ):
        select_findings([dice.Dice()], ["DICE-1", "DICE-2"])


# Two processes write at once, and print() writes the end of a line apart where Python's output is
# unbuffered.
SLOW = """
import os, sys, time
if __name__ == "__mp_main__":
    os.write(1, b"starting\\n")
    time.sleep(2)
sys.path.insert(0, {folder!r})
import dice_experiment

def sleep(seed):
    os.write(1, b"started\\n")
    time.sleep(60)

if __name__ == "__main__":
    from trafficgen.reproduction import run_experiments
    slow = dice_experiment.Dice(pieces=(sleep,) * 3)
    run_experiments([(slow, slow.findings)], workers=2)
"""


def _heeds_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.long
@pytest.mark.parametrize("moment", ["starting", "started"])
def test_an_interrupt_ends_the_processes_at_once_without_tracebacks_of_theirs(
    tmp_path: Path, moment: str
) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SLOW.format(folder=str(HERE)), encoding="utf-8")
    command = [sys.executable, str(script)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    # A shell's background job ignores interrupts, and so would the program that it starts.
    with subprocess.Popen(  # type: ignore[call-overload]
        command,
        text=True,
        preexec_fn=_heeds_interrupts,  # noqa: PLW1509 - no threads here
        **pipes,
    ) as program:
        while program.stdout.readline() != f"{moment}\n":
            assert program.poll() is None, program.stderr.read()
        os.killpg(program.pid, signal.SIGINT)
        # The workers would sleep for a minute.
        _, error = program.communicate(timeout=50)
    assert error.count("KeyboardInterrupt") == 1
