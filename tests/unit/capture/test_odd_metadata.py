"""Metadata of a dataset x odd values in the place of each: a table, or one error of one line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import trafficgen
from trafficgen.tables.metadata import METADATA_FILE

_ODD: tuple[Any, ...] = (None, True, "", "\n", -1, 0, 0.5, 1e300, 2**62, 2**63, 10**40, -(2**63))
_ODD = (*_ODD, [], {}, [[]], [{}], {"a": {}}, [None] * 3)


def _places(part: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where each value is: its list or object, and its number or key."""
    keys = part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
    for key in keys:
        yield part, key
        yield from _places(part[key])


#: A table whose level histograms have two sizes.
CONTRADICTORY = Path(__file__).with_name("contradictory_footer.parquet")


def _claiming(size_bytes: int) -> bytes:
    """Return that table with a row group that claims so many bytes, of 32 to 256 MiB."""
    data = CONTRADICTORY.read_bytes()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    wanted = 2 * size_bytes  # numbers are written as twice their size, seven bits a byte
    digits = bytes(wanted >> shift & 127 | (0 if shift == 28 else 128) for shift in range(0, 35, 7))
    field = b"\x16\xa2\x14"  # field 2 of a row group, a number of 64 bits: 1,297
    assert footer.count(field) == 1
    changed = footer.replace(field, field[:1] + digits)
    return data[: -8 - len(footer)] + changed + len(changed).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize("claimed_bytes", [None, 1 << 26, 1 << 30])
def test_a_footer_that_contradicts_itself_is_refused(
    tmp_path: Path, claimed_bytes: int | None
) -> None:
    file = CONTRADICTORY
    if claimed_bytes is not None:
        file = tmp_path / "large.parquet"
        file.write_bytes(_claiming(claimed_bytes))
    program = f"import trafficgen; trafficgen.read_packets({str(file)!r})"  # it might abort
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ended.returncode == 1
    assert b"PacketTableError" in ended.stderr


def test_odd_values_in_the_metadata_are_read_or_refused(tmp_path: Path) -> None:
    folder, read = tmp_path / "dataset", 0
    trafficgen.generate_workload("cbr", folder, sessions=2, settings={"duration_s": 1})
    metadata = json.loads((folder / METADATA_FILE).read_text())
    places = list(_places(metadata))
    assert len(places) > 10
    for holder, key in places:
        usual = holder[key]
        for value in _ODD:
            holder[key] = value
            (folder / METADATA_FILE).write_text(json.dumps(metadata))
            with suppress(trafficgen.PacketTableError):
                str(trafficgen.read_packets(folder))
                str(trafficgen.measure_exchanges(folder))
                read += 1
        holder[key] = usual
    assert read > 0
