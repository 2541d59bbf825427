"""Files that exist are kept unless ``--force`` is given, and what is read is never replaced."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trafficgen

Command = Callable[..., Any]
#: Command -> what it writes that is there already.
WRITERS = {
    "generate model.json -o out.pcap": "out.pcap",
    "generate model.json -o out.csv": "out.csv",
    "generate model.json -o beside.csv": "beside.flows.csv",
    "fit table.parquet -o out.json": "out.json",
    "fit table.parquet --report out.html": "out.html",
    "fit table.parquet --population -o out.json": "out.json",
    "convert table.parquet -o out.pcapng": "out.pcapng",
    "simulate cbr --path rate=1Mbps --duration 5 -o out.csv": "out.csv",
    "simulate cbr --path rate=1Mbps --duration 5 --plots plots": "plots/rate.svg",
    "compare table.parquet table.parquet --report out.html": "out.html",
    "reproduce BMW-T1.1 --report out.html": "out.html",
}


@pytest.mark.usefixtures("table_file", "model_file")
@pytest.mark.parametrize("words", WRITERS)
def test_an_output_that_exists_is_kept_and_named_before_the_work(
    command: Command, words: str
) -> None:
    path = Path(WRITERS[words])
    path.parent.mkdir(exist_ok=True)
    path.write_text("old")
    done = command(*words.split())
    assert (done.code, done.out) == (2, "")
    assert done.err == f"trafficgen: {path}: exists already; give --force, or another name\n"
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("hlsj", "hlsj"),
        ("missing.json", "missing.json"),
        ("cbr --set rate=1", "rate"),
        ("cbr --set rate_kbps=-1", "rate_kbps"),
        ("cbr --path lte", "preset:lte"),
    ],
)
def test_mistakes_in_names_and_options_count_more_than_an_output_that_exists(
    command: Command, words: str, problem: str
) -> None:
    Path("out.csv").write_text("old")
    done = command("generate", *words.split(), "-o", "out.csv")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert problem in done.err
    assert "exists already" not in done.err


@pytest.mark.usefixtures("table_file")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("fit table.parquet --report page.pdf", "page.pdf: is not the name of an HTML page"),
        ("compare table.parquet table.parquet --report page.txt", "end its name in .html"),
        ("fit table.parquet --report a.html --plots a.html", "a.html: is given for two outputs"),
    ],
)
def test_names_that_a_report_cannot_have_are_refused_before_the_work(
    command: Command, monkeypatch: pytest.MonkeyPatch, words: str, problem: str
) -> None:
    for work in ("fit", "compare"):
        monkeypatch.setattr(f"trafficgen.{work}", None)
    done = command(*words.split())
    assert (done.code, done.out) == (2, "")
    assert problem in done.err


#: Mistake -> part of its message; each command also writes what is there already.
MISTAKES = {
    "simulate cbrr --path rate=1Mbps -o out.csv": "did you mean cbr",
    "simulate cbr --path lte -o out.csv": "preset:lte",
    "simulate cbr --path rate=1Mbps --set rate=1 -o out.csv": "'rate'",
    "simulate cbr --path rate=1Mbps --compete tpc -o out.csv": "did you mean tcp",
    "simulate cbr --path rate=1Mbps --compete tcp(mss=3) -o out.csv": "mss_bytes",
    "simulate cbr --path rate=1Mbps --tcp cubi -o out.csv": "did you mean cubic",
    "generate cbr --compete tpc --path rate=1Mbps -o out.csv": "did you mean tcp",
    "generate cbr --compete tcp -o out.csv": "add --path",
    "generate cbr --arrivals poison:3/s --for 1h -o out.csv": "did you mean poisson",
    "generate cbr --popularity zip --for 1h -o out.csv": "did you mean zipf",
    "generate model.json --vary duraton=3 -o out.csv": "did you mean duration",
    "generate model.json --set rate_kbps=3 -o out.csv": "has no options; leave --set out",
    "export table.parquet --to mgn -o export": "did you mean mgen",
    "export table.parquet --to mgen --set destnation=1 -o export": "did you mean destination",
    "export missing.pcap --to mgen -o export": "missing.pcap: cannot be opened",
    "convert missing.csv -o out.parquet": "missing.csv: cannot be opened",
    "convert table.parquet --from mgn -o out.csv": "did you mean mgen",
    "convert table.parquet --sizes payloads -o out.csv": "payload",
    "fit missing.pcap -o out.json": "missing.pcap: cannot be opened",
    "fit table.parquet --receiver missing.pcap -o out.json": "missing.pcap: cannot be opened",
    "fit table.parquet --player-log missing.csv -o out.json": "missing.csv: cannot be opened",
    "compare table.parquet missing.pcap --report out.html": "missing.pcap: cannot be opened",
    "compare table.parquet table.parquet --fail-above gap=0.1 --report out.html": "metric 'gap'",
    "compare table.parquet table.parquet --fail-above gap_s.ks --report out.html": "METRIC=VALUE",
    "reproduce BMW-T9.9 --report out.html": "finding 'BMW-T9.9'",
}


@pytest.mark.usefixtures("table_file", "model_file")
@pytest.mark.parametrize("words", MISTAKES)
def test_a_wrong_name_counts_more_than_an_output_that_exists(command: Command, words: str) -> None:
    for name in ("out.csv", "out.json", "out.html", "out.parquet"):
        Path(name).write_text("old")
    Path("export").mkdir()
    Path("export/mine.txt").write_text("mine")
    Path("export/manifest.json").write_text("{}")
    before = set(Path().rglob("*"))
    done = command(*words.split())
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
    assert MISTAKES[words] in done.err
    assert set(Path().rglob("*")) == before


@pytest.mark.usefixtures("table_file")
def test_a_wrong_metric_is_refused_before_the_work(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trafficgen.compare", None)
    done = command("compare", "table.parquet", "table.parquet", "--fail-above", "gap_s.kss=0.1")
    assert (done.code, done.out) == (2, "")
    assert "did you mean gap_s.ks" in done.err


@pytest.mark.usefixtures("model_file")
@pytest.mark.parametrize("out", ["out.csv", "out.pcap", "out", "file://{here}/url.parquet"])
def test_with_force_an_output_is_replaced(command: Command, out: str) -> None:
    out = out.format(here=Path.cwd())
    generate = ("generate", "model.json", "-q", "-o", out)
    assert command(*generate).code == 0
    again = command(*generate, "--seed", "1")
    assert (again.code, again.err.count("exists already; give --force")) == (2, 1)
    before = len(trafficgen.read_packets(out.removeprefix("file://")))
    assert command(*generate, "--seed", "1", "--duration", "5", "--force").code == 0
    assert len(trafficgen.read_packets(out.removeprefix("file://"))) < before


@pytest.mark.usefixtures("table_file")
def test_a_folder_with_an_export_is_kept_and_with_force_replaced_but_for_files_of_others(
    command: Command,
) -> None:
    export = ("export", "table.parquet", "--to", "csv", "-q", "-o", "out")
    assert command(*export).code == 0
    Path("out/notes.txt").write_text("mine")
    refused = command(*export)
    assert refused.code == 2
    assert (
        refused.err
        == "trafficgen: out: has an earlier output in it; give --force, or another name\n"
    )
    assert command(*export, "--force").code == 0
    assert Path("out/notes.txt").read_text() == "mine"
    Path("out/packets.pcap").write_text("mine too")
    foreign = command("export", "table.parquet", "--to", "pcap", "-q", "-o", "out", "--force")
    assert "would be overwritten, and is not of an earlier export" in foreign.err
    assert Path("out/packets.pcap").read_text() == "mine too"


@pytest.mark.usefixtures("table_file")
@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("convert table.parquet -o table.parquet", "table.parquet"),
        ("convert table.parquet -o ./table.parquet", "table.parquet"),
        ("convert link.parquet -o table.parquet", "table.parquet"),
        ("convert table.parquet -o hard.parquet", "hard.parquet"),
        ("fit table.parquet -o table.parquet", "table.parquet"),
        ("compare other.parquet table.parquet --report table.parquet", "table.parquet"),
        ("convert folder -o folder", "folder"),
        ("convert folder -o folder/_flows.parquet", "folder/_flows.parquet"),
        ("convert folder -o folder/part-000000.parquet", "folder/part-000000.parquet"),
        ("fit folder -o folder/_trafficgen.json", "folder/_trafficgen.json"),
        ("fit table.csv -o table.flows.csv", "table.flows.csv"),
        ("convert folder/part-000000.parquet -o folder", "folder"),
        ("export out/packets.parquet --to csv -o out", "out"),  # its folder is named, or the file
    ],
)
def test_what_is_read_is_not_replaced_even_with_force(
    command: Command, words: str, name: str, force: list[str]
) -> None:
    table = trafficgen.read_packets("table.parquet")
    Path("link.parquet").symlink_to("table.parquet")
    Path("hard.parquet").hardlink_to("table.parquet")
    for target in ("other.parquet", "folder", "table.csv"):
        trafficgen.convert("table.parquet", target)
    trafficgen.export(table, to="parquet", directory="out")
    done = command(*words.split(), *force)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.err.startswith((f"trafficgen: {name}: ", f"trafficgen: {name}/packets.parquet: "))
    if force:
        assert done.err.endswith("is an input too; give another name for the output\n")
    for path in ("table.parquet", "folder", "table.csv", "out/packets.parquet"):
        assert trafficgen.read_packets(path).packets.equals(table.packets)


@pytest.mark.usefixtures("table_file")
def test_two_outputs_of_one_name_are_refused(command: Command) -> None:
    done = command("fit", "table.parquet", "-o", "both", "--report", "./both")
    assert (done.code, done.err) == (
        2,
        "trafficgen: both: is given for two outputs; give two names\n",
    )
    assert not Path("both").exists()


def test_a_catalogue_entry_and_its_output_may_have_the_same_name(command: Command) -> None:
    for force in ([], ["--force"]):
        assert command("generate", "cbr", "-o", "cbr", "--duration", "5", *force).code == 0


@pytest.mark.usefixtures("table_file")
def test_functions_replace_files_as_open_does_also_after_a_command_that_kept_them(
    command: Command,
) -> None:
    command("convert", "table.parquet", "-o", "out.csv")
    assert command("convert", "table.parquet", "-o", "out.csv").code == 2
    trafficgen.convert("table.parquet", "out.csv")


@pytest.mark.usefixtures("table_file")
def test_a_pipe_is_never_refused(command: Command) -> None:
    os.mkfifo("out.json")
    reading = os.open("out.json", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert command("fit", "table.parquet", "-q", "-o", "out.json").code == 0
        assert os.read(reading, 16).startswith(b"{")
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    "name", ["two\nlines.csv", os.fsdecode(b"\xff.pcap"), f"{'x' * 247}.parquet", "y" * 255]
)
def test_runs_in_blocks_take_any_name(command: Command, model_file: Path, name: str) -> None:
    generate = (
        "generate",
        str(model_file),
        "-q",
        "-o",
        name,
        "--sessions",
        "40",
        "--memory",
        "4MB",
    )
    assert command(*generate).code == 0
    assert {path.name for path in Path().iterdir()} <= {"model.json", name, "two\nlines.flows.csv"}
    assert len(trafficgen.read_packets(name)) > 1000
    again = command(*generate)
    assert (again.code, again.err.count("\n")) == (2, 1)
