"""Small inputs x a bound on processor time: what a command costs follows what it is given."""

from __future__ import annotations

import json
import os
import resource
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.test_memory_limits import write_capture
from tests.conftest import build_table
from tests.mutated.commands import run_in_child
from tests.mutated.other_inputs import named_files

from trafficgen.cli.app import run
from trafficgen.packet_files.writing import write_packets

pytestmark = pytest.mark.slow

#: What a command on a file of 1 MB may take, s of processor time and bytes: generous for a slow
#: machine, and a tenth of what one that follows claims of the file took.
MOST_CPU_S = 15.0
MOST_BYTES = 500_000_000


def _claimed_packet(place: Path) -> None:
    """Write one packet of 82 bytes that claims 2 GiB."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    ip = bytes([0x45, 0, 0, 68, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2])
    packet = bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHH", 5004, 40000, 48, 0) + bytes(40)
    place.write_bytes(head + struct.pack("<IIII", 1, 0, len(packet), 0x7FFFFFFF) + packet)


def _text(text: str) -> Callable[[Path], object]:
    return lambda place: place.write_text(text)


def _items(item: str, count: int) -> str:
    return ",".join(item.format(number) for number in range(count))


RECORDED = Path(__file__).parents[1] / "unit" / "calibration" / "player_log" / "recorded"


def _write_long_log(place: Path, *, name: str) -> None:
    """Write the log of a player with the lists of its entries repeated to a million bytes."""
    log: Any = json.loads((RECORDED / name).read_text())
    lists = _lists_of(log)
    times = 900_000 // len(json.dumps(log))
    for entries in lists:
        entries.extend(entries * (times - 1))
    place.write_text(json.dumps(log))


def _lists_of(part: Any) -> list[list[Any]]:
    if isinstance(part, list):
        return [part]
    return (
        [one for value in part.values() for one in _lists_of(value)]
        if isinstance(part, dict)
        else []
    )


def _write_table(
    place: Path, *, packets: int, flows: int = 1, gap_s: float = 0.01, **columns: Any
) -> None:
    """Write a packet table of one session with flows in turn."""
    described = [{"flow": flow, "session": 0, "client_port": 1 + flow} for flow in range(flows)]
    number = np.arange(packets)
    table = build_table(number * gap_s, flow=number % flows, flows=described, **columns)
    write_packets(table, place)


GROUPS = "groups: [{model: cbr}]\n"
#: What a file of less than 1 MB holds, and the ending of its name.
INPUTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "claimed packet": (_claimed_packet, ".pcap"),
    "keys": (
        _text("\n".join(f"k{number}: 1" for number in range(90_000)) + f"\n{GROUPS}"),
        ".yaml",
    ),
    "alias at the end": (
        _text("groups:\n- &a cbr\nk: [" + _items("{}", 130_000) + ", *a]\n"),
        ".yaml",
    ),
    "clients": (
        _text("sessions: 1\ngroups: [{model: cbr, clients: [" + _items("'::{:x}'", 90_000) + "]}]"),
        ".yaml",
    ),
    "wrong clients": (
        _text("sessions: 1\ngroups: [{model: cbr, clients: [" + "1," * 490_000 + "]}]"),
        ".yaml",
    ),
    "wrong groups": (_text("sessions: 1\ngroups: [" + "1," * 490_000 + "]"), ".yaml"),
    "groups": (_text("sessions: 1\ngroups: [" + _items("{{model: cbr}}", 60_000) + "]"), ".yaml"),
    "brackets": (_text("groups: " + "[" * 900_000), ".yaml"),
    "quotes": (_text("groups: '" + "a\n\n" * 300_000 + "'"), ".yaml"),
    "model keys": (_text("{" + _items('"k{}": 1', 80_000) + "}"), ".json"),
    "model levels": (_text('{"a":' * 150_000), ".json"),
    "csv": (_text("time_s,ip_bytes\n" + "1,2\n" * 200_000), ".csv"),
    "csv of columns": (_text(_items("c{}", 120_000) + "\n"), ".csv"),
    "digits": (_text("7" * 900_000), ".txt"),
    "frames": (_text("".join(f"{n} I {n / 1000:.3f} 4000000000\n" for n in range(35_000))), ".txt"),
    "gaps of years": (
        _text("time_s,ip_bytes\n" + "".join(f"{n * 86_400},2\n" for n in range(60_000))),
        ".csv",
    ),
    "packets": (partial(write_capture, packets=12_000, flows=1), ".pcap"),
    "flows": (partial(write_capture, packets=12_000, flows=12_000), ".pcap"),
    "links": (_text("links: [" + _items("{{name: n{}, rate: 1Mbps}}", 25_000) + "]"), ".yaml"),
    "255 links": (_text("links: [" + _items("{{rate: 1Mbps, delay: 1ms}}", 255) + "]"), ".yaml"),
    "small flows": (partial(_write_table, packets=12_000, flows=3_000), ".parquet"),
    "equal flows": (partial(_write_table, packets=50_000, flows=99), ".parquet"),
    "many packets": (partial(_write_table, packets=1_000_000), ".parquet"),
    "offload": (partial(_write_table, packets=1_000, ip_bytes=8 * 65_535), ".parquet"),
    "long silences": (partial(_write_table, packets=12_000, gap_s=20_000.0), ".parquet"),
    "years": (partial(_write_table, packets=12_000, gap_s=80_000.0), ".parquet"),
    "dash.js": (partial(_write_long_log, name="dash_js.json"), ".log"),
    "hls.js": (partial(_write_long_log, name="hls_js.json"), ".log"),
    "shaka": (partial(_write_long_log, name="shaka.json"), ".log"),
}
COMMANDS = {
    "inspect": ("inspect", "{file}", "--json"),
    "compare": ("compare", "{file}", "{file}", "--all", "--json"),
    "fit": ("fit", "{file}", "-o", "{out}/model.json"),
    "convert": ("convert", "{file}", "-o", "{out}/table.csv"),
    "generate": ("generate", "{file}", "-q", "-o", "{out}/out.csv", "--for", "2s"),
    "path": ("simulate", "cbr", "--path", "{file}", "--set", "duration_s=5"),
    "trace": ("simulate", "cbr", "--path", "trace={file}", "--set", "duration_s=5"),
    "export": ("export", "{file}", "--to", "mgen", "-o", "{out}/mgen"),
    "player log": ("fit", "{file}", "--player-log", "{file}"),
    "log of a player": ("fit", "{player}", "--player-log", "{file}"),
    "same source": ("fit", "{file}", "{file}", "--same-source", "-o", "{out}/model.json"),
    "population": ("fit", "{file}", "--population", "-o", "{out}/model.json"),
    "rank": ("compare", "{file}", "--against", "catalogue"),
    "report": ("fit", "{file}", "--report", "{out}/report.html"),
    "compared report": ("compare", "{file}", "{file}", "--report", "{out}/report.html"),
    "shared path": ("simulate", "{file}", "--path", "rate=9Mbps,delay=5ms", "--for", "2s"),
    "dry run": ("generate", "{file}", "--dry-run", "--for", "2s"),
    "models": ("models", "show", "{file}"),
}


#: Commands that read files of an ending.
READERS = {
    ".pcap": (
        *("inspect", "compare", "fit", "convert", "export", "same source", "population", "rank"),
        *("report", "compared report"),
    ),
    ".csv": ("inspect", "convert", "trace", "player log", "fit", "rank"),
    ".txt": ("inspect", "trace", "player log", "convert"),
    ".yaml": ("generate", "path", "models", "shared path", "dry run"),
    ".log": ("log of a player",),
    ".parquet": (
        *("inspect", "compare", "fit", "convert", "export", "same source", "population", "rank"),
        *("report", "compared report"),
    ),
    ".json": ("generate", "path", "models"),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "command"), [(name, one) for name in INPUTS for one in READERS[INPUTS[name][1]]]
)
def test_a_small_input_costs_little(tmp_path: Path, name: str, command: str) -> None:
    make, ending = INPUTS[name]
    file = tmp_path / f"small{ending}"
    make(file)
    assert file.stat().st_size <= 1_000_000
    player = tmp_path / "player.pcap"
    player.write_bytes(named_files()["player.pcap"])
    arguments = [part.format(file=file, out=tmp_path, player=player) for part in COMMANDS[command]]
    # A child begins with the memory of this process.
    before_bytes = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ended = run_in_child(arguments, tmp_path / "said.txt", run)
    assert ended.code in (0, 2), ended.text
    assert "Traceback" not in ended.text
    assert ended.cpu_s < MOST_CPU_S
    assert ended.memory_bytes < before_bytes + MOST_BYTES
