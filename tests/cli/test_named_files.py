"""Files that files name: all references to files x what is not a file of a few numbers.

Devices and pipes would be read without end or waited for; files elsewhere, and large ones, are
nobody's to read. Nothing of the text of such a file is quoted.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Command

SECRET = "root:$6$secret:0:0"
GROUPS = "groups: [{model: cbr}]"
#: Where a file can be named -> the file that names it, with NAME in the place of the name.
REFERENCES = {
    "arrivals.hours": f"for: 1h\narrivals: {{hourly: {{hours: NAME, rate: 3/h}}}}\n{GROUPS}",
    "arrivals.rates": f"for: 1h\narrivals: {{rates: {{name: NAME}}}}\n{GROUPS}",
    "arrivals.file": f"for: 1h\narrivals: {{file: {{name: NAME}}}}\n{GROUPS}",
    "duration.table": f"sessions: 1\nduration: {{table: {{file: NAME}}}}\n{GROUPS}",
    "clips.popularity": "sessions: 1\ngroups: [{model: realplayer8_chung2002, "
    "clips: {popularity: {counted: {file: NAME}}}}]",
    "groups.model": "sessions: 1\ngroups: [{model: NAME}]",
    "path.trace": "links: [{trace: NAME, delay: 5ms}]",
    "path.reverse_trace": "links: [{rate: 5Mbps, reverse_trace: NAME, delay: 5ms}]",
}


def _link(to: str) -> Callable[[Path], None]:
    return lambda place: place.symlink_to(to)


def _huge(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(1 << 40)


def _unreadable(place: Path) -> None:
    place.write_text(SECRET)
    place.chmod(0)


def _socket(place: Path) -> None:
    where = os.open(place.parent, os.O_RDONLY)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(f"/proc/self/fd/{where}/{place.name}")
    os.close(where)


#: What a name leads to -> how it is made. The message names the reference and says what it is.
PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "device": (_link("/dev/zero"), "outside of the folder"),
    "pipe": (os.mkfifo, "pipe, socket or device"),
    "socket": (_socket, "socket"),
    "memory": (_link("/proc/self/mem"), "outside of the folder"),
    "directory": (Path.mkdir, "a folder, pipe, socket or device"),
    "huge": (_huge, "larger than"),
    "unreadable": (_unreadable, "cannot be read"),
    "secret elsewhere": (_link("../secret"), "outside of the folder"),
    "secret here": (lambda place: place.write_text(SECRET), ""),
    "lines without end": (lambda place: place.write_bytes(b"7" * 3_000_000), ""),
}


#: Files of any system that nobody should read, and that have no size or no end.
_ELSEWHERE = (
    *("/dev/zero", "/etc/shadow", "/proc/self/mem", "/proc/self/fd/0", "/proc/self/pagemap"),
    "/proc/self/environ",
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path) -> None:
    """Have a secret next to the folder of the files."""
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    (tmp_path / "here").mkdir()


def _play(
    command: Command, reference: str, text: str, *more: str, folder: str = "here"
) -> tuple[int, str]:
    names = str(Path(folder) / "names.yaml")
    Path(names).write_text(text)
    what = [names] if "path" not in reference else ["cbr", "--path", names]
    before = resource.getrusage(resource.RUSAGE_SELF)
    result = command("generate", *what, "-q", "-o", "out.csv", *more)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_utime - before.ru_utime < 20
    assert "Traceback" not in result.err
    return result.code, result.out + result.err


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("reference", REFERENCES)
def test_what_is_no_file_of_the_folder_is_refused_in_one_line(
    command: Command, tmp_path: Path, reference: str, place: str
) -> None:
    if place == "unreadable" and os.geteuid() == 0:
        pytest.skip("root may read every file")
    make, problem = PLACES[place]
    name = "named.json" if reference == "groups.model" else "named.csv"
    make(tmp_path / "here" / name)
    code, said = _play(command, reference, REFERENCES[reference].replace("NAME", name))
    assert code == 2, said
    assert said.count("\n") == 1
    assert problem in said
    assert "secret" not in said.replace("../secret", "")
    assert "7777" not in said
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("folder", ["here", "."])
@pytest.mark.parametrize("place", [place for place in PLACES if place != "unreadable"])
@pytest.mark.parametrize("reference", REFERENCES)
def test_names_without_an_ending_are_files_of_the_folder_too(
    command: Command, tmp_path: Path, reference: str, place: str, folder: str
) -> None:
    PLACES[place][0](tmp_path / folder / "named")
    code, said = _play(command, reference, REFERENCES[reference].replace("NAME", "named"))
    assert (code, said.count("\n")) == (2, 1)
    assert SECRET not in said
    assert "7777" not in said


@pytest.mark.parametrize("folder", ["here", "."])
@pytest.mark.parametrize("reference", REFERENCES)
def test_no_file_names_standard_input(
    command: Command, monkeypatch: pytest.MonkeyPatch, reference: str, folder: str
) -> None:
    monkeypatch.setattr(sys, "stdin", None)  # reading it fails
    text = REFERENCES[reference].replace("NAME", "'-'")
    code, said = _play(command, reference, text, folder=folder)
    assert (code, said.count("\n")) == (2, 1)
    assert "'-' is standard input, which is not taken here; name a regular file" in said


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "packets.csv", "--player-log", "-"),
        ("simulate", "cbr", "--path", "-"),
        ("simulate", "cbr", "--path", "delay=5ms,trace=-"),
        ("simulate", "cbr", "--path", "rate=5Mbps,reverse_trace=-"),
        *(
            ("generate", "cbr", "-o", "out.csv", "--for", "1h", "--arrivals", f"{kind}:-")
            for kind in ("hourly", "rates", "file")
        ),
    ],
    ids=" ".join,
)
def test_a_file_that_is_read_again_is_not_standard_input(
    command: Command, arguments: tuple[str, ...]
) -> None:
    command("generate", "cbr", "-o", "packets.csv", "--duration", "5")
    result = command(*arguments)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "not taken here" in result.err
    assert "No such file" not in result.err
    assert not Path("out.csv").exists()


@pytest.mark.parametrize("name", [*_ELSEWHERE, "../secret", "{folder}/../secret"])
@pytest.mark.parametrize("reference", REFERENCES)
def test_files_elsewhere_are_read_only_where_that_is_allowed(
    command: Command, tmp_path: Path, reference: str, name: str
) -> None:
    text = REFERENCES[reference].replace("NAME", name.format(folder=tmp_path / "here"))
    code, said = _play(command, reference, text)
    assert (code, said.count("\n")) == (2, 1)
    assert "outside of the folder of this file" in said
    assert "--outside-files" in said
    code, said = _play(command, reference, text, "--outside-files")
    assert (code, said.count("\n")) == (2, 1)
    assert "outside of the folder" not in said
    assert SECRET not in said
    assert "$6$" not in said
    assert "PATH=" not in said


def test_a_file_elsewhere_is_played_where_that_is_allowed(command: Command, tmp_path: Path) -> None:
    (tmp_path / "hours.csv").write_text("1\n" * 24)
    text = REFERENCES["arrivals.hours"].replace("NAME", "../hours.csv")
    assert _play(command, "arrivals.hours", text)[0] == 2
    assert _play(command, "arrivals.hours", text, "--outside-files")[0] == 0


@pytest.mark.parametrize("name", ["_flows.parquet", "_trafficgen.json", "part-000000.parquet"])
@pytest.mark.parametrize("make", [_link("/dev/zero"), os.mkfifo, Path.mkdir, _huge])
def test_the_files_of_a_dataset_are_regular(
    command: Command, tmp_path: Path, name: str, make: Callable[[Path], object]
) -> None:
    assert command("generate", "cbr", "-o", "dataset", "--duration", "5s").code == 0
    (tmp_path / "dataset" / name).unlink()
    make(tmp_path / "dataset" / name)
    result = command("inspect", "-q", "dataset")
    assert (result.code, result.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("make", [_link("/dev/zero"), os.mkfifo, Path.mkdir])
def test_the_flow_table_of_a_csv_is_regular(
    command: Command, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    assert command("generate", "cbr", "-o", "table.csv", "--duration", "5s").code == 0
    shutil.copy(tmp_path / "table.csv", tmp_path / "other.csv")
    make(tmp_path / "other.flows.csv")
    result = command("inspect", "other.csv")
    assert (result.code, result.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("place", [*PLACES, "named by its whole name"])
@pytest.mark.parametrize("key", ["trace", "reverse_trace"])
def test_a_trace_that_a_table_names_in_its_notes_is_a_file_of_the_folder(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, place: str
) -> None:
    if place == "unreadable" and os.geteuid() == 0:
        pytest.skip("root may read every file")
    monkeypatch.chdir(tmp_path / "here")
    assert command("generate", "cbr", "-o", "t.parquet", "--duration", "5s").code == 0
    name = "named.csv" if place in PLACES else "/dev/zero"
    make, problem = PLACES.get(place, (lambda _: None, "outside of the folder"))
    make(tmp_path / "here" / "named.csv")
    table = pq.read_table("t.parquet")
    ours = json.loads(table.schema.metadata[b"trafficgen"])
    rate = {"rate_bps": 1e6} if key == "reverse_trace" else {}
    ours["notes"]["path"] = {"links": [{**rate, "delay_s": 0.01, key: name}]}
    metadata = {b"trafficgen": json.dumps(ours).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), "t.parquet")
    result = command("export", "t.parquet", "--to", "mahimahi", "-o", "out")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert problem in result.err
    assert SECRET not in result.err
