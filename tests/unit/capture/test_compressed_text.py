"""Text that is compressed is read as what it expands to, within the bounds of captures."""

from __future__ import annotations

import gzip
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import trafficgen
from trafficgen.input_files import expand_beginning, open_expanded, strip_packed_ending

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": lambda data: bytes(pa.compress(data, "zstd", asbytes=True)),
}
LIST = b"time_s,ip_bytes\n" + b"".join(b"%d.5,%d\n" % (row, 100 + row) for row in range(2000))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", PACKERS)
def test_a_list_reads_as_it_does_uncompressed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("list.csv").write_bytes(LIST)
    Path("name.csv").write_bytes(PACKERS[kind](LIST))  # the content decides, not the name
    Path(f"list.csv.{kind}").write_bytes(PACKERS[kind](LIST))
    plain = trafficgen.read_packets("list.csv")
    assert len(plain) == 2000
    for name in ("name.csv", f"list.csv.{kind}"):
        assert trafficgen.read_packets(name).packets.equals(plain.packets)
    with io.TextIOWrapper(Path("name.csv").open("rb")) as standard_input:
        monkeypatch.setattr(sys, "stdin", standard_input)
        assert trafficgen.read_packets("-").packets.equals(plain.packets)


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("memory_bytes", [None, 5_000_000])
def test_a_packet_table_keeps_its_flows(kind: str, memory_bytes: int | None) -> None:
    trafficgen.generate("twostream_latecki2003", "table.csv", duration_s=5)
    for name in ("table.csv", "table.flows.csv"):
        Path(f"{name}.{kind}").write_bytes(PACKERS[kind](Path(name).read_bytes()))
    plain = trafficgen.inspect("table.csv", memory_bytes=memory_bytes)
    packed = trafficgen.inspect(f"table.csv.{kind}", memory_bytes=memory_bytes)
    assert packed.flows.equals(plain.flows)
    Path("table.flows.csv").unlink()
    packed = trafficgen.inspect(f"table.csv.{kind}", memory_bytes=memory_bytes)
    assert packed.flows.equals(plain.flows)


@pytest.mark.parametrize("kind", PACKERS)
def test_a_log_of_another_tool_is_recognised(kind: str) -> None:
    sizes = b"".join(b"%d\n" % (1000 + row) for row in range(500))
    Path(f"frames.txt.{kind}").write_bytes(PACKERS[kind](sizes))
    done = trafficgen.convert(f"frames.txt.{kind}", frame_rate_fps=25)
    assert (done.format, done.records) == ("frame-sizes", 500)


@pytest.mark.parametrize("kind", PACKERS)
def test_what_breaks_off_is_refused_with_its_place(kind: str) -> None:
    packed = PACKERS[kind](LIST)
    Path("cut.csv").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(trafficgen.InputFileError, match=r"cut.csv: .* breaks off after \d+ bytes"):
        trafficgen.read_packets("cut.csv")


def test_what_expands_out_of_all_proportion_is_refused() -> None:
    million = gzip.compress(b"0,0,true,114,100,72\n" * 1_000_000)
    header = b"time_ns,flow,to_client,frame_bytes,ip_bytes,payload_bytes\n"
    Path("bomb.csv.gz").write_bytes(gzip.compress(header) + 60 * million)
    with pytest.raises(trafficgen.CaptureError, match="expands to more than 256 times its size"):
        trafficgen.inspect("bomb.csv.gz", memory_bytes=300_000_000)


@pytest.mark.parametrize("kind", PACKERS)
def test_pieces_of_what_is_compressed_are_the_text(kind: str) -> None:
    Path("text").write_bytes(PACKERS[kind](LIST))
    with open_expanded("text") as stream:
        assert stream.readline() == b"time_s,ip_bytes\n"
        assert stream.read(5) == b"0.5,1"
        assert stream.read() == LIST[21:]


def test_a_beginning_is_expanded_as_far_as_it_is_there() -> None:
    assert expand_beginning(LIST) == LIST
    assert LIST.startswith(expand_beginning(gzip.compress(LIST)[:3000]))
    assert expand_beginning(lzma.compress(LIST)[:20]) == b""


@pytest.mark.parametrize(
    ("name", "stripped"), [("a.csv.GZ", "a.csv"), ("a.csv", "a.csv"), ("a.b.xz", "a.b")]
)
def test_the_ending_of_a_compressed_file_is_stripped(name: str, stripped: str) -> None:
    assert strip_packed_ending(name) == Path(stripped)
