"""Inputs that are not files, and arguments that nobody should give: one line and exit code 2, never
a traceback.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from trafficgen import inspect
from trafficgen.cli.app import run
from trafficgen.errors import CaptureError


@pytest.fixture
def capture(made: SimpleNamespace, tmp_path: Path) -> Path:
    """An RTP stream with a gap of its own between any two packets, enough for a fit."""
    frames = [
        made.Packet(
            made.START_NS + index * 20_000_000 + index**2 % 97 * 10_000, _frame(made, index)
        )
        for index in range(400)
    ]
    path = tmp_path / "stream.pcap"
    path.write_bytes(made.pcap(frames, magic=0xA1B23C4D))
    return path


def _frame(made: SimpleNamespace, index: int) -> bytes:
    return bytes(
        made.ethernet(made.ipv4(made.udp(made.rtp(index, index * 1800) + bytes(index * 7 % 60))))
    )


def _pcapng(times: list[int], frames: list[bytes], resolution: int) -> bytes:
    """Return a pcapng file of frames at times in units of ten to the minus ``resolution`` s."""
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    interface = struct.pack("<HHIHHB3xI", 1, 0, 0, 9, 1, resolution, 0)
    blocks = [(0x0A0D0D0A, section), (1, interface)]
    for time, frame in zip(times, frames, strict=True):
        head = struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(frame), len(frame))
        blocks.append((6, head + frame + bytes(-len(frame) % 4)))
    return b"".join(
        struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)
        for kind, body in blocks
    )


@pytest.mark.parametrize("resolution", [0, 6, 9])
@pytest.mark.parametrize("first", [0, 2**62, 2**63, 2**64 - 1_000_000_000])
def test_times_at_the_end_of_what_a_capture_can_say_end_in_no_traceback(
    made: SimpleNamespace,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    resolution: int,
    first: int,
) -> None:
    path = tmp_path / "late.pcapng"
    frames = [_frame(made, index) for index in range(20)]
    path.write_bytes(_pcapng([first + 20_000 * one for one in range(20)], frames, resolution))
    export = ["export", str(path), "--to", "mgen", "-o", str(tmp_path / "to")]
    for command in (
        ["inspect", str(path)],
        ["fit", str(path)],
        ["compare", *[str(path)] * 2],
        export,
    ):
        assert run(command) in (0, 2)
        assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["inspect", "fit"])
@pytest.mark.parametrize(
    "name", ["missing.pcap", ".", "empty.pcap", "text.txt", "/dev/null", "", "a\nb"]
)
def test_what_cannot_be_read_is_refused_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.pcap").touch()
    Path("text.txt").write_text("nothing but words", encoding="ascii")
    assert run([command, name]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_refused_in_one_line(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture.chmod(0)
    assert run(["inspect", str(capture)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("value", ["0", "-1", "nan", "word", "1e300"])
def test_impossible_timeouts_are_refused_in_one_line(
    capture: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    assert run(["inspect", str(capture), "--idle-timeout", value]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("value", ["1e9", "inf"])
def test_endless_timeouts_never_split(
    capture: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    assert run(["inspect", str(capture), "--idle-timeout", value]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("value", ["1KB", "3999kB", "0B"])
def test_memory_in_which_nothing_works_is_refused_in_one_line(
    capture: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    assert run(["inspect", str(capture), "--memory", value]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{value} of memory is too little. Use 4MB or more, such as 500MB." in said
    assert run(["inspect", str(capture), "--memory", "4MB"]) == 0


def test_standard_input_cannot_be_read_twice() -> None:
    with pytest.raises(CaptureError, match="more than once"):
        inspect(["-", "-"])


def test_a_file_named_twice_counts_twice(capture: Path) -> None:
    assert inspect([capture, capture]).packets == 800


def _feed(path: Path, content: bytes) -> threading.Thread:
    writer = threading.Thread(target=path.write_bytes, args=(content,), daemon=True)
    writer.start()
    return writer


@pytest.mark.parametrize("command", [["inspect"], ["fit"]])
def test_a_named_pipe_is_read_like_a_file(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert run([*command, str(capture), "--json", "-q"]) == 0
    expected = capsys.readouterr().out
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = _feed(pipe, capture.read_bytes())
    assert run([*command, str(pipe), "--json", "-q"]) == 0
    writer.join(timeout=10)
    assert capsys.readouterr().out.replace(str(pipe), str(capture)) == expected


@pytest.mark.parametrize("command", ["inspect", "fit"])
def test_standard_input_is_read_like_a_file(
    capture: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert run([command, str(capture), "--json", "-q"]) == 0
    expected = capsys.readouterr().out
    program = Path(sys.executable).with_name("trafficgen")
    with capture.open("rb") as stream:
        arguments = [str(program), command, "-", "--json", "-q"]
        done = subprocess.run(
            arguments, stdin=stream, capture_output=True, text=True, check=True, timeout=60
        )
    assert done.stdout.replace('"-"', f'"{capture}"') == expected
