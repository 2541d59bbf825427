"""Builders and places that several test files share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from trafficgen.registry import Registry
from trafficgen.tables import FLOW_SCHEMA, PACKET_SCHEMA, REQUIRED_FIELDS, PacketTable
from trafficgen.units import ns_array_from_s

CAPTURES = Path(__file__).resolve().parents[1] / ".." / "shared" / "captures"

#: Folders whose tests all run other programs or take long: `make test` leaves them to
#: `make test-all`.
LONG_FOLDERS = frozenset(("benchmarks", "browser", "cluster", "mutated", "real_tools", "soak"))

TableMaker = Callable[..., PacketTable]
CaptureFinder = Callable[[str], Path]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of `LONG_FOLDERS` as long."""
    here = Path(__file__).resolve().parent
    for item in items:
        if item.path.is_relative_to(here) and item.path.relative_to(here).parts[0] in LONG_FOLDERS:
            item.add_marker(pytest.mark.long)


@pytest.fixture(autouse=True)
def forget_registrations() -> Iterator[None]:
    """What a test registers, an example in a docstring for one, is there in no other test."""
    before = {kind: dict(one._registered) for kind, one in Registry._all.items()}
    yield
    for kind, one in Registry._all.items():
        one._registered = before.get(kind, {})


@pytest.fixture(autouse=True)
def say_nothing_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of progress come only where the machine is busy: tests that want them ask for them."""
    monkeypatch.setenv("TRAFFICGEN_PROGRESS", "0")


@pytest.fixture
def dead_process() -> str:
    """Return the number of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return str(process.pid)


@pytest.fixture(scope="session")
def shared_capture() -> CaptureFinder:
    """Return the path of a developers' capture by its place in the folder, or skip the test."""

    def find(name: str) -> Path:
        path = CAPTURES / name
        if not path.exists():
            pytest.skip(f"the developers' captures are not beside the repository ({name})")
        return path

    return find


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, of 10 MB, or the test is skipped where nobody may mount."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=10M", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("nobody may mount here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.fixture(scope="session")
def make_table() -> TableMaker:
    """Return a function that builds a packet table from arrays."""
    return build_table


def build_table(
    time_s: Any,
    *,
    ip_bytes: Any = 1000,
    flow: Any = 0,
    to_client: Any = True,
    header_bytes: int = 28,
    flows: list[dict[str, Any]] | None = None,
    **optional: Any,
) -> PacketTable:
    """Build a table of packets; scalars are repeated, and flows not described are UDP flows of
    session 0.
    """
    n = len(time_s)
    size = np.broadcast_to(ip_bytes, n).astype(np.uint32)
    columns: dict[str, Any] = {
        "time_ns": ns_array_from_s(np.asarray(time_s, dtype=np.float64)),
        "flow": np.broadcast_to(flow, n).astype(np.uint32),
        "to_client": np.broadcast_to(to_client, n).astype(np.bool_),
        "frame_bytes": size + 14,
        "ip_bytes": size,
        "payload_bytes": np.maximum(size.astype(np.int64) - header_bytes, 0).astype(np.uint32),
    }
    fields = list(REQUIRED_FIELDS)
    for name, values in optional.items():
        fields.append(PACKET_SCHEMA.field(name))
        columns[name] = values if isinstance(values, list) else np.broadcast_to(values, n)
    arrays = []
    for field in fields:
        values = columns[field.name]
        value_type = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        array = pa.array(values if isinstance(values, list) else values.tolist(), type=value_type)
        arrays.append(array.cast(field.type) if pa.types.is_dictionary(field.type) else array)
    packets = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    numbers = sorted({int(number) for number in columns["flow"]} | {0})
    described = flows or [{"flow": number} for number in numbers]
    return PacketTable(
        packets=packets,
        flows=pa.Table.from_pylist([_flow(f) for f in described], schema=FLOW_SCHEMA),
    )


def _flow(described: dict[str, Any]) -> dict[str, Any]:
    number = described["flow"]
    default: dict[str, Any] = {
        "session": 0,
        "protocol": "udp",
        "server": "192.0.2.1",
        "server_port": 5004,
        "client": "198.51.100.2",
        "client_port": 40000 + number,
        "media": "video",
    }
    return (
        dict.fromkeys(FLOW_SCHEMA.names, 0)
        | {"ssrc": None, "payload_type": None, "clock_hz": None}
        | default
        | described
    )
