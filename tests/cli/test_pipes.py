"""Standard input and output as files: `-` takes and gives captures, tables and models."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.cli.conftest import Command
from tests.mutated.commands import run_in_child

import trafficgen
from trafficgen.cli.app import run
from trafficgen.errors import ExportError
from trafficgen.export.exporting import MANIFEST
from trafficgen.export.targets import TARGETS

COMMAND = f'{sys.executable} -c "from trafficgen.cli.entry import main; main()"'


def _shell(line: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of a shell, in which ``tg`` is the command; a failed part fails the line."""
    script = f'set -o pipefail; tg() {{ {COMMAND} "$@"; }}; {line}'
    return subprocess.run(["bash", "-c", script], capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize("name", ["pcap", "pcapng", "csv", "parquet"])
def test_packets_through_a_pipe_are_those_of_the_file(
    command: Command, rtp_model_file: Path, name: str
) -> None:
    command("generate", str(rtp_model_file), "-o", f"packets.{name}", "--seed", "3")
    piped = _shell(f"tg generate - -o - --to {name} --seed 3 < {rtp_model_file}")
    assert piped.stdout == Path(f"packets.{name}").read_bytes()
    assert b"packets in" in piped.stderr
    assert not list(Path().glob("-*"))


def test_a_capture_is_fitted_played_and_compared_without_a_file(
    command: Command, table_file: Path
) -> None:
    line = (
        f"tg fit - -o - < {table_file} | tg generate - -o - --to pcap"
        f" | tg convert - -o - --to parquet | tg compare {table_file} - --json"
    )
    done = _shell(line)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"]["gap_s"]["ks"] < 0.2


def test_what_would_be_printed_goes_to_stderr(command: Command, table_file: Path) -> None:
    command("fit", str(table_file), "-o", "model.json")
    fitted = _shell(f"tg fit {table_file} -o -")
    assert fitted.stdout == Path("model.json").read_bytes()
    assert b"packet gap" in fitted.stderr


def test_an_export_of_one_file_goes_through_a_pipe(command: Command, table_file: Path) -> None:
    command("export", str(table_file), "--to", "pcap", "-o", "folder")
    piped = _shell(f"tg export - --to pcap -o - < {table_file}")
    assert piped.stdout == Path("folder/packets.pcap").read_bytes()
    refused = _shell(f"tg export - --to ns3 -o - < {table_file}")
    assert refused.returncode == 2
    assert b"give -o a folder" in refused.stderr
    assert refused.stdout == b""


@pytest.mark.parametrize("target", [name for name in TARGETS if TARGETS[name].several_files])
def test_several_files_are_refused_before_anything_is_made(target: str, tmp_path: Path) -> None:
    workload = tmp_path / "long.yaml"
    workload.write_text("groups: [{model: cbr, duration: 1h}]\nsessions: 1000000\n")
    with pytest.raises(
        ExportError, match="several files, and /dev/fd/2 takes one; give directory= a"
    ):
        trafficgen.export(workload, to=target, directory="/dev/fd/2")


def test_a_workload_comes_through_a_pipe_and_finds_its_files_in_the_folder(
    command: Command, model_file: Path
) -> None:
    groups = f"groups: [{{model: {model_file.name}}}]\nfor: 1min\narrivals: {{poisson: 0.1/s}}\n"
    Path("evening.yaml").write_text(groups)
    by_name = _shell("tg generate evening.yaml -o - --to csv")
    assert by_name.returncode == 0, by_name.stderr
    assert _shell("tg generate - -o - --to csv < evening.yaml").stdout == by_name.stdout


def test_a_reader_that_goes_away_ends_the_writing_quietly(
    command: Command, model_file: Path
) -> None:
    done = _shell(f"tg generate {model_file} -q -o - --to pcap --sessions 40 | head -c 24")
    assert done.returncode == 0
    assert len(done.stdout) == 24
    assert done.stderr == b""


def test_a_socket_takes_output_too(command: Command, model_file: Path) -> None:
    ours, theirs = socket.socketpair()
    program = [sys.executable, "-c", "from trafficgen.cli.entry import main; main()"]
    arguments = ["generate", str(model_file), "-q", "-o", "-", "--to", "csv", "--duration", "3s"]
    with ours, theirs:
        subprocess.run([*program, *arguments], stdout=theirs.fileno(), check=True, timeout=60)
        theirs.shutdown(socket.SHUT_WR)
        text = b"".join(iter(lambda: ours.recv(1 << 16), b""))
    command("generate", str(model_file), "-o", "packets.csv", "--duration", "3s")
    assert text == Path("packets.csv").read_bytes()


def test_a_file_called_minus_is_written_and_read(command: Command) -> None:
    command("generate", "cbr", "-o", "./-", "--to", "pcap", "--duration", "2s")
    assert Path("-").is_file()
    assert command("inspect", "./-", "--json").json["packets"] > 0


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["generate", "cbr", "-o", "-"], ["has no ending", "add --to pcap"]),
        (["generate", "cbr", "-o", "-", "--to", "hdf5"], ["Unknown format 'hdf5'", "parquet"]),
        (["compare", "-", "-"], ["standard input (-) is named twice"]),
        (["models", "diff", "-", "-"], ["standard input (-) is named twice"]),
        (["models", "diff", "pipe", "pipe"], ["pipe is a pipe, and is named twice"]),
        (["inspect", "pipe", "cbr.pcap", "pipe"], ["pipe is a pipe, and is named twice"]),
        (["fit", "x.pcap", "-o", "-", "--json"], ["--json and -o -", "name a file"]),
        (["fit", "x.pcap", "-o", "-", "--report", "-"], ["two outputs", "name a file"]),
    ],
)
def test_what_cannot_go_through_a_pipe_is_refused(
    command: Command, arguments: list[str], parts: list[str]
) -> None:
    os.mkfifo("pipe")
    result = command(*arguments)
    assert result.code == 2
    assert all(part in result.err for part in parts), result.err
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("content", [b"", b"\x7fELF\0\0", b"no,packets\n1,2\n"])
def test_unsuitable_input_is_one_line_that_names_standard_input(
    command: Command, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    Path("input").write_bytes(content)
    for arguments in (["inspect", "-"], ["generate", "-", "-o", "out.pcap"]):
        with Path("input").open() as stream:
            monkeypatch.setattr("sys.stdin", stream)
            # A capture is read from the descriptor itself.
            before = os.dup(0)
            os.dup2(stream.fileno(), 0)
            try:
                result = command(*arguments)
            finally:
                os.dup2(before, 0)
                os.close(before)
        assert result.code == 2
        assert result.err.startswith("trafficgen: standard input: "), result.err
        assert "/trafficgen-" not in result.err


def test_a_model_is_loaded_from_standard_input_by_the_function_as_well(
    model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    os.write(writer, model_file.read_bytes())
    os.close(writer)
    with os.fdopen(reader) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert trafficgen.load_model("-") == trafficgen.load_model(model_file)


#: Every argument that names a file, with an ending that its reader knows.
_PIPED = [
    *(
        f"{what}{{pipe}}{ending}{rest}"
        for ending in ("", ".pcap", ".csv", ".parquet", ".txt")
        for what, rest in (("inspect ", ""), ("fit ", " -o m.json"), ("convert ", " -o c.pcap"))
    ),
    "convert {pipe}.csv -o c.pcap --from packet-list",
    "convert {pipe}.parquet -o c.pcap --from packet-list",
    *(f"{what} {{pipe}}.csv" for what in ("fit cbr.csv --player-log", "fit cbr.csv --receiver")),
    "compare {pipe}.csv cbr.csv",
    "compare cbr.csv {pipe}.pcap",
    "compare {pipe}.pcap {pipe}.pcap",
    *(f"generate {{pipe}}{ending} -o g.csv" for ending in ("", ".json", ".yaml")),
    "generate cbr -o g.csv --path {pipe}.yaml",
    "generate cbr -o g.csv --path trace={pipe}.txt",
    "generate cbr -o g.csv --for 1min --arrivals file:{pipe}.txt",
    "generate cbr -o g.csv --for 1min --arrivals hourly:{pipe}.txt",
    *(f"simulate cbr --path {keys}" for keys in ("{pipe}.yaml", "trace={pipe}.txt,delay=5ms")),
    *(f"export {{pipe}}{ending} --to mgen -o e" for ending in (".json", ".csv", ".pcap", ".yaml")),
    "export cbr.csv --to mahimahi -o e --set path={pipe}.yaml",
    "export cbr.csv --to mgen -o {pipe} --force",  # the list of an earlier export
    *(f"models {what} {{pipe}}.json" for what in ("show", "diff cbr", "diff {pipe}.json")),
    "explore {pipe}.csv --no-browser",
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("content", [b"", b"1.5,100\n" * 9], ids=["empty", "numbers"])
def test_a_pipe_in_the_place_of_any_file_is_read_once_or_refused(
    command: Command, tmp_path: Path, content: bytes
) -> None:
    assert command("generate", "cbr", "-o", "cbr.csv", "--duration", "3s", "-q").code == 0
    for number, line in enumerate(_PIPED):
        arguments = line.format(pipe=f"p{number}").split()
        pipe = tmp_path / next(word.split("=")[-1] for word in arguments if f"p{number}" in word)
        pipe = pipe.with_name(pipe.name.removeprefix("file:").removeprefix("hourly:").split(",")[0])
        if "--force" in arguments:
            pipe.mkdir()
            pipe /= MANIFEST
        os.mkfifo(pipe)
        writing = threading.Thread(target=_write_once, args=(pipe, content), daemon=True)
        writing.start()
        ended = run_in_child(arguments, tmp_path / "said.txt", run, longest_s=60)
        pipe.unlink()
        assert ended.code in (0, 2), (line, ended)
        assert "Traceback" not in ended.text, line


def _write_once(pipe: Path, content: bytes) -> None:
    with contextlib.suppress(OSError), pipe.open("wb") as file:
        file.write(content)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
@pytest.mark.parametrize(
    "words",
    [
        ("inspect", "{}"),
        ("fit", "{}"),
        ("fit", "{table}", "{}", "--same-source"),
        ("fit", "{table}", "--receiver", "{}"),
        ("fit", "{table}", "--player-log", "{}"),
        ("compare", "{table}", "{}"),
        ("convert", "{}", "-o", "converted.csv"),
        ("export", "{}", "--to", "mgen", "-o", "exported"),
        ("generate", "{}", "-o", "made.csv"),
        ("simulate", "cbr", "--path", "{}"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_not_read_without_end(
    command: Command, table_file: Path, words: tuple[str, ...], device: str
) -> None:
    result = command(*(word.replace("{table}", str(table_file)).format(device) for word in words))
    if "--same-source" in words:  # the other capture is fitted
        assert f"{device}: is a device" in result.err
        return
    assert result.code == 2
    assert result.err.count("\n") == 1, result.err
    assert device in result.err


#: They read a capture as it comes, however long it is.
_STREAMED = [
    ("inspect", "-"),
    ("fit", "{table}", "--receiver", "-"),
    ("convert", "-", "-o", "converted.parquet"),
]
_READ_FROM_STDIN = [
    *_STREAMED,
    ("fit", "-"),
    ("fit", "-", "--receiver", "{table}"),
    ("compare", "-", "{table}"),
    ("compare", "{table}", "-"),
    ("compare", "-", "--against", "catalogue"),
    ("convert", "-", "-o", "converted.csv", "--from", "packet-list"),
    ("export", "-", "--to", "mgen", "-o", "exported"),
    ("generate", "-", "-o", "made.csv"),
    ("generate", "-", "--dry-run"),
    ("simulate", "-", "--path", "rate=1Mbps"),
    ("models", "show", "-"),
    ("models", "diff", "-", "cbr"),
    ("explore", "-", "--no-browser"),
]
_ENDLESS = {
    "zeros": (b"", bytes(1 << 16)),
    "noise": (b"", np.random.default_rng(1).bytes(1 << 16)),
    "lines": (b"", b"1.5,100\n" * 8192),
    "keys": (b"", b'{"a": 1,\n' * 8192),
    "empty records": (struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1), bytes(1 << 16)),
    "table": (b"PAR1", bytes(1 << 16)),
}
#: What a pipe, a few pieces and the text that is allowed here hold, bytes.
_MOST_READ_BYTES, _MOST_LEFT_BYTES = 20_000_000, 7_000_000


@pytest.mark.parametrize(
    ("words", "content"),
    [
        pytest.param(words, content, id=f"{' '.join(words)}, {content}")
        for words in _READ_FROM_STDIN
        for content in _ENDLESS
        if content != "empty records" or words not in _STREAMED
    ],
)
def test_a_stream_without_end_is_left_with_one_line(
    command: Command,
    table_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    content: str,
) -> None:
    for reader in ("standard_streams", "capture.traces.text"):
        monkeypatch.setattr(f"trafficgen.{reader}.LARGEST_TEXT_BYTES", 4_000_000)
    room = Path("room").absolute()
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10_000_000))
    written: list[int] = []
    reader_end, writer_end = os.pipe()
    begun = threading.Thread(
        target=_write_on, args=(writer_end, *_ENDLESS[content], written), daemon=True
    )
    before = os.dup(0)
    begun.start()
    try:
        os.dup2(reader_end, 0)
        os.close(reader_end)
        with os.fdopen(0, closefd=False) as stream:
            monkeypatch.setattr("sys.stdin", stream)
            result = command(*(word.format(table=table_file) for word in words))
    finally:
        os.dup2(before, 0)
        os.close(before)
    begun.join(timeout=60)
    assert result.code == 2
    assert result.err.count("\n") == 1, result.err
    assert "standard input" in result.err or " -" in result.err, result.err
    assert sum(written) < _MOST_READ_BYTES
    left = sum(file.stat().st_size for file in room.iterdir())
    assert left < _MOST_LEFT_BYTES  # until the program ends


def _write_on(pipe: int, first: bytes, piece: bytes, written: list[int]) -> None:
    """Write until nobody reads any more."""
    with contextlib.suppress(OSError):
        written.append(os.write(pipe, first))
        while True:
            written.append(os.write(pipe, piece))
    os.close(pipe)
