"""Small files that hold enormous ones: reading stops at a limit, in one line, and takes no more
memory than usual.
"""

from __future__ import annotations

import gzip
import lzma
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trafficgen import inspect
from trafficgen.cli.app import run
from trafficgen.errors import PacketTableError

_BLOCK_BYTES = 15 << 20
_BLOCKS = 80  # 1.2 GB
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "xz": lzma.compress,
    "zst": lambda data: bytes(pa.compress(data, "zstd", asbytes=True)),
}


def _bomb(made: SimpleNamespace, pack: Callable[[bytes], bytes]) -> bytes:
    """Return a pcapng file of one packet and 1.2 GB of nothing, packed member by member."""
    frame = made.ethernet(made.ipv4(made.udp()))
    head = made.section() + made.interface() + made.enhanced(made.START_NS, frame)
    block = (
        struct.pack("<II", 0xBAD, _BLOCK_BYTES)
        + bytes(_BLOCK_BYTES - 12)
        + struct.pack("<I", _BLOCK_BYTES)
    )
    return pack(head) + pack(block) * _BLOCKS


@pytest.mark.long
@pytest.mark.parametrize("ending", sorted(_PACKERS))
def test_what_expands_out_of_all_proportion_is_refused_in_one_line(
    made: SimpleNamespace, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"bomb.pcapng.{ending}"
    path.write_bytes(_bomb(made, _PACKERS[ending]))
    assert path.stat().st_size < 2_000_000
    # Not what wait4() says, which counts the process that it was started from, and that may be a
    # large one.
    program = (
        "import re, sys; from pathlib import Path; from trafficgen.cli.app import run; code ="
        " run(sys.argv[1:]); print(re.search(r'VmHWM:\\s*([0-9]+) kB',"
        " Path('/proc/self/status').read_text())[1]); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "inspect", path],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines)) == (2, 1)
    assert "expands to more than 256 times its size" in lines[0]
    assert "unpack it" in lines[0]
    assert int(done.stdout) * 1024 < 500_000_000  # of the 1.2 GB that it stands for


def test_an_output_is_not_begun_from_what_expands(
    made: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "bomb.pcapng.zst", tmp_path / "out.parquet"
    path.write_bytes(_bomb(made, _PACKERS["zst"]))
    assert run(["convert", str(path), "-o", str(out), "-q"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", sorted(_PACKERS))
def test_captures_without_payload_shrink_to_a_hundredth_and_are_read(
    made: SimpleNamespace, tmp_path: Path, ending: str
) -> None:
    frames = [made.ethernet(made.ipv4(made.udp(bytes(1400)))) for _ in range(20_000)]
    packed = _PACKERS[ending](made.pcap(made.packets(frames)))
    assert 50 * len(packed) < 20_000 * 1400
    path = tmp_path / f"zeros.pcap.{ending}"
    path.write_bytes(packed)
    assert inspect(path).ip_packets == 20_000


def test_members_one_after_the_other_and_empty_ones_are_read(
    made: SimpleNamespace, tmp_path: Path
) -> None:
    data = made.pcap(made.packets([made.ethernet(made.ipv4(made.udp())) for _ in range(50)]))
    path = tmp_path / "members.pcap.gz"
    empty = gzip.compress(b"", mtime=0) * 1000
    path.write_bytes(gzip.compress(data[:100]) + empty + gzip.compress(data[100:]) + empty)
    assert inspect(path).ip_packets == 50


def test_a_packed_file_within_a_packed_file_is_not_unpacked_twice(
    made: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "twice.pcap.gz"
    path.write_bytes(gzip.compress(gzip.compress(made.pcap([]))))
    assert run(["inspect", str(path)]) == 2
    assert "is not a pcap or pcapng file" in capsys.readouterr().err


def _xz_with_dictionary(data: bytes, code: int) -> bytes:
    """Return an xz file whose header asks for a dictionary of (2 or 3) * 2**(code // 2 + 11) bytes,
    as version 1.2.1 of the format writes it.
    """
    packed = bytearray(lzma.compress(data, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 4096}]))
    header = slice(12, 12 + 4 * (packed[12] + 1))  # of the first block, with its checksum
    assert packed[14:16] == b"\x21\x01"  # LZMA2 has one byte of properties
    packed[16] = code
    checked = bytes(packed[header.start : header.stop - 4])
    packed[header.stop - 4 : header.stop] = struct.pack("<I", zlib.crc32(checked))
    return bytes(packed)


@pytest.mark.parametrize(("code", "is_read"), [(0, True), (31, True), (32, False), (40, False)])
def test_xz_that_asks_for_more_than_256_mib_is_refused_in_one_line(
    made: SimpleNamespace,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    code: int,
    is_read: bool,
) -> None:
    """The dictionaries have 4 KiB, 192 MiB, 256 MiB and 4 GiB; a decoder needs a little more."""
    path = tmp_path / "dictionary.pcap.xz"
    frame = made.ethernet(made.ipv4(made.udp()))
    path.write_bytes(_xz_with_dictionary(made.pcap(made.packets([frame])), code))
    assert run(["inspect", str(path)]) == (0 if is_read else 2)
    if not is_read:
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "memory" in error


def test_a_parquet_table_of_repetitions_is_refused(tmp_path: Path) -> None:
    names = ("time_ns", "flow", "to_client", "frame_bytes", "ip_bytes", "payload_bytes")
    rows = 1 << 22
    columns = {name: pa.repeat(pa.scalar(0), rows) for name in names if name != "to_client"}
    piece = pa.table({**columns, "to_client": pa.repeat(pa.scalar(True), rows)})
    path = tmp_path / "many.parquet"
    with pq.ParquetWriter(path, piece.schema) as writer:
        for _ in range(6):
            writer.write_table(piece)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(
        PacketTableError, match=r"claims 25,165,824 rows in .* bytes: more than 256 times its size"
    ):
        inspect(path)
