"""What the soak looks for is found: a loop that takes everything for good would run for ever."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.soak.road import FEWEST_SIZES, Soak, Worker, faults_of, judged
from tests.soak.steps import Step, captures_in, run_of
from tests.soak.worker import heap_bytes

CAPTURES = Path(__file__).resolve().parents[2] / "examples" / "captures"
MB = 1_000_000


def _soak(rss_bytes: list[int], **others: list[int]) -> Soak:
    soak = Soak(rss_bytes=rss_bytes)
    for name in ("open_files", "heap_bytes", "objects"):
        setattr(soak, name, others.get(name, [7] * len(rss_bytes)))
    return soak


def test_an_interpreter_that_grows_with_every_run_is_a_fault() -> None:
    leaking = _soak([(300 + 2 * number) * MB for number in range(60)])
    assert judged(leaking, warm_up=10)[0].startswith("FAULT: resident memory, bytes: 335,")


@pytest.mark.parametrize(
    ("name", "grown", "fault"),
    [
        ("open_files", list(range(60)), "open files"),
        ("heap_bytes", [number * MB for number in range(60)], "living bytes of the C heap"),
        ("objects", [number * 1000 for number in range(60)], "living blocks of the Python heap"),
    ],
)
def test_what_lives_on_after_every_run_is_a_fault_though_memory_is_flat(
    name: str, grown: list[int], fault: str
) -> None:
    found = [
        sentence
        for sentence in judged(_soak([300 * MB] * 60, **{name: grown}), warm_up=10)
        if sentence.startswith("FAULT")
    ]
    assert len(found) == 1
    assert found[0].startswith(f"FAULT: {fault}")


def test_one_that_goes_up_and_down_or_has_loaded_something_once_is_none() -> None:
    wavering = _soak([(300 + 40 * (number % 7)) * MB for number in range(60)])
    loaded = _soak([(200 if number < 10 else 330) * MB for number in range(60)])
    for soak in (wavering, loaded):
        assert not any(sentence.startswith("FAULT") for sentence in judged(soak, warm_up=10))


def test_few_runs_are_not_judged() -> None:
    assert "too few to judge" in judged(_soak([MB] * (FEWEST_SIZES + 9)), warm_up=10)[0]


@pytest.mark.parametrize(
    ("answer", "made", "fault"),
    [
        ({"code": 0, "error": "warning: a\n"}, ["o.pcap"], None),
        ({"code": 2, "error": "trafficgen: no such file; give another\n"}, [], None),
        ({"code": -11, "error": ""}, [], "exit code -11"),
        ({"code": 1, "error": ""}, [], "exit code 1 without a check"),
        ({"code": 2, "error": "Traceback (most recent call last)\n  x\n"}, [], "a traceback"),
        ({"code": 2, "error": "trafficgen: a\nb\n"}, [], "2 lines of error"),
        ({"code": 2, "error": "trafficgen: a\n"}, ["o.pcap"], "failed and left o.pcap"),
        ({"code": 0, "error": ""}, [".o.pcap.71.part"], "left .o.pcap.71.part"),
        ({"code": 0, "error": ""}, ["other.pcap"], "left other.pcap"),
        ({"code": 0, "error": ""}, ["../tmp/tmpabc"], "left TMPDIR/tmpabc"),
    ],
)
def test_codes_errors_and_leftovers_are_faults(
    tmp_path: Path, answer: dict[str, object], made: list[str], fault: str | None
) -> None:
    folder, temporary = tmp_path / "run", tmp_path / "tmp"
    folder.mkdir()
    temporary.mkdir()
    for name in made:
        (folder / name).touch()
    found = faults_of(Step(("generate", "cbr"), ("o.pcap",)), answer, folder, temporary, set())
    assert (fault in found) if fault else found == []


def test_runs_are_drawn_from_their_seed_and_take_every_command(tmp_path: Path) -> None:
    captures = captures_in(CAPTURES, largest_bytes=20 * MB)
    assert len(captures) == 3
    runs = [
        [step.arguments for step in run_of(captures, seed=seed, folder=tmp_path)]
        for seed in range(100)
    ]
    assert runs[3] == [step.arguments for step in run_of(captures, seed=3, folder=tmp_path)]
    counted = Counter(arguments[0] for run in runs for arguments in run)
    every = {"inspect", "fit", "generate", "compare", "convert", "export", "simulate", "models"}
    assert set(counted) == every
    words = {word for run in runs for arguments in run for word in arguments}
    assert {
        "--population",
        "--same-source",
        "--receiver",
        "--memory",
        "--compete",
        "--report",
    } <= words


def test_the_interpreter_that_lives_on_answers_and_tells_its_size(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    worker = Worker(tmp_path / "tmp")
    try:
        good = worker.do(
            Step(("inspect", str(CAPTURES / "rtsp_rtp_two_streams.pcap.gz"))), tmp_path
        )
        bad = worker.do(Step(("inspect", "none.pcap")), tmp_path)
    finally:
        worker.close()
    assert (good["code"], bad["code"]) == (0, 2)
    assert bad["error"].startswith("trafficgen: none.pcap: cannot be opened")
    assert good["rss_bytes"] > good["heap_bytes"] > MB
    assert good["objects"] > 100_000
    assert bad["open_files"] == good["open_files"]


def test_what_lives_in_the_heap_is_counted() -> None:
    before = heap_bytes()
    if not before:
        pytest.skip("this C library does not tell what it has given out")
    living = [bytes(200_000) for _ in range(100)]
    assert heap_bytes() - before == pytest.approx(20 * MB, rel=0.02)
    del living
    assert abs(heap_bytes() - before) < MB
