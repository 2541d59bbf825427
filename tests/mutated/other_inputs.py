"""Damaged inputs other than captures: models, workloads, paths, tables, traces, player logs,
compressed texts and bombs, and the commands that read them.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from tests.mutated.commands import FROM, empty, limited_commands
from tests.mutated.readers import READ

import trafficgen
from trafficgen.export.exporting import MANIFEST
from trafficgen.models import dump_model
from trafficgen.models.published.registry import ENTRIES

ROOT = Path(__file__).resolve().parents[2]
CAPTURE = ROOT / "examples" / "captures" / "http_burst_then_paced.pcap.gz"

_PATH = """access: 10Mbps
links:
  - {name: wan, rate: 2Mbps, delay: 30ms, queue: 40p, loss: 1%, loss_burst: 3}
  - {name: radio, trace: rates.csv, delay: 5ms, reorder: 1%}
"""
_WORKLOAD = """name: evening
for: 2min
arrivals: {hourly: {hours: hours.csv, rate: 60/h, begins: 18h}}
departures: {share: 40%, after: 'lognormal:90s,sigma=1'}
groups:
  - {name: one, model: model.json, share: 30%, clients: 10.1.0.0/16}
  - {name: two, model: 'cbr(rate_kbps=100)', share: 70%, duration: 'uniform:5s,high=9s'}
"""
_TRACES = {
    "list.csv": "time_s,ip_bytes,flow\n" + "".join(f"{n / 50},{100 + n},0\n" for n in range(300)),
    "mgen.log": "".join(
        f"20:00:{n % 60:02d}.000000 RECV proto>UDP flow>1 seq>{n} src>127.0.0.1/5001"
        f" dst>127.0.0.1/5000 sent>20:00:{n % 60:02d}.000000 size>1000 gps>INVALID\n"
        for n in range(120)
    ),
    "frames.dat": "".join(f"{n} {'IPB'[n % 3]} {n * 0.04:.2f} {1000 + n}\n" for n in range(200)),
    "rates.txt": "".join(f"{n * 7}\n" for n in range(300)),
    "log.csv": "time_s,buffer_s,level_kbps\n" + "".join(f"{n},{n % 9},300\n" for n in range(90)),
}
_PLAYER_LOGS = {
    "player-log.csv": "time_s,buffer_s,position_s,level,stalled\n"
    + "".join(f"{n},{min(n, 10)},{2 * n},{n % 3},{n == 20:d}\n" for n in range(40)),
    "player-log.json": '{"samples": ['
    + ", ".join(f'{{"unix_time_s": {n}, "buffer_s": 4, "stalled": false}}' for n in range(40))
    + "]}",
}
_RECORDED_LOGS = ROOT / "tests" / "unit" / "calibration" / "player_log" / "recorded"
#: Texts and numbers in the place of a value, by what it is; numbers are also scaled.
_TEXTS = (
    "",
    "x" * 500,
    "\n# x `y`",
    "= 9 ** 9",
    "= a",
    "/dev/zero",
    "<script>",
    "\ud800",
    "é\u202e",
)
_NUMBERS = (0, -1, 1, 0.5, 1e-300, 1e-9, 1e9, 1e18, 1e300, 2**31, 2**53, 2**63, 10**40)
_INTEGERS = (0, 1, -1, 255, 65_535, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, -(2**63))
_FACTORS = (0.0, 1e-6, 0.01, 0.5, 0.999, 1.001, 2, 100, 1e6, 1e12, -1)
#: What ends, empties or overflows what a text says.
_BREAKERS = (
    *("", "0", "-1", "1e999", "nan", "null", "true", "[]", "{}", "9" * 30, "9" * 5000, "1e-400"),
    *("\n", "\x00", "\ufeff", "\u202e", "'", '"', "é", "*a", "&a", "!!python/object:x", "- " * 400),
    *("[" * 500, "{a: " * 100, "/dev/zero", "../x", "/etc/shadow", "x" * 5000, "::1/0", "1e18"),
)


@dataclass(frozen=True)
class Input:
    """A good input and the commands that read it.

    Attributes:
        name: Name of its file.
        data: Its bytes.
        commands: Arguments of each; ``{file}`` is the file, ``{folder}`` that of it and of good
            ones, ``{out}`` the folder to write to; a file after ``<`` comes by a pipe.
        readers: Functions that read it, by their names in :data:`READERS`, each maybe with a colon
            and the good file next to it that names it.
        change: What damages it; None: its bits, words or values.
    """

    name: str
    data: bytes
    commands: tuple[tuple[str, ...], ...]
    readers: tuple[str, ...]
    change: Callable[[bytes, random.Random], bytes] | None = None


#: Models of each kind of the catalogue: players, clips, streams of formulas.
_PUBLISHED = (
    "wmedia9_nichols2004",
    "dashjs",
    "realplayer8_chung2002",
    "video_tgax_bv1",
    "web_3gpp2",
)
_SHORT = ("-q", "--for", "20s")
_EXPLORE = ("explore", "{file}", "--no-browser", "--port", "0")
_TABLE = (
    ("inspect", "{file}", "--json"),
    ("fit", "{file}", "-o", "{out}/model.json", "--exchanges", "{out}/exchanges.csv"),
    ("convert", "{file}", "-o", "{out}/table.csv"),
    ("convert", "-", "-o", "{out}/table.parquet", FROM, "{file}"),
    ("compare", "{file}", "{file}", "--all", "--json"),
    ("export", "{file}", "--to", "mgen", "-o", "{out}/mgen"),
    ("export", "{file}", "--to", "csv", "-o", "{out}/csv"),
    _EXPLORE,
)
_REPORTED = (*_TABLE, ("fit", "{file}", "--report", "{out}/report.html"))
_MODEL = (
    ("models", "show", "{file}"),
    ("models", "diff", "{file}", "cbr"),
    ("models", "diff", "{folder}/player.json", "{file}", "--json"),
    ("generate", "{file}", "-q", "-o", "{out}/out.csv", "--duration", "5s"),
    ("generate", "-", "-q", "-o", "-", "--to", "pcap", "--duration", "5s", FROM, "{file}"),
    ("generate", "{file}", "-o", "{out}/out.pcap", "--sessions", "3", "--posterior", "--for", "9s"),
    ("simulate", "{file}", "--path", "preset:lte", "--duration", "5s", "--report", "{out}/r.html"),
    ("simulate", "{file}", "--path", "rate=9Mbps", "--sessions", "3", "--duration", "5s"),
    ("simulate", "cbr", "--path", "rate=2Mbps", "--compete", "{file}@1s..4s", "--duration", "5s"),
    ("simulate", "{file}", "--path", "rate=5Mbps,delay=10ms", "--duration", "5s", "--json"),
    ("simulate", "{file}", "--path", "preset:lte", "--duration", "5s", "--runs", "2", "--json"),
    ("simulate", "{file}", "--path", "{folder}/path.yaml", "--duration", "5s", "--quic", "bbr"),
    ("generate", "{file}", "--dry-run", "--sessions", "9", "--vary", "20%", "--posterior"),
    ("export", "{file}", "--to", "ns3", "-o", "{out}/ns3"),
    ("export", "{file}", "--to", "mgen", "-o", "{out}/mgen"),
    ("export", "{file}", "--to", "ditg", "-o", "{out}/ditg"),
    _EXPLORE,
)
_WORKLOADS = (
    ("generate", "{file}", "-o", "{out}/out.csv", *_SHORT),
    ("generate", "{file}", "--dry-run", *_SHORT),
    ("export", "{file}", "--to", "trex", "-o", "{out}/trex", *_SHORT),
    ("simulate", "{file}", "--path", "{folder}/path.yaml", *_SHORT, "--json"),
    ("simulate", "{file}", "--path", "preset:dsl", "-o", "{out}/out.pcap", *_SHORT),
    ("generate", "{file}", "--path", "rate=5Mbps,delay=10ms", "-o", "{out}/out.csv", *_SHORT),
    ("generate", "{file}", "--path", "preset:lte", "--compete", "up:quic", "--dry-run", *_SHORT),
    ("simulate", "{file}", "--path", "{folder}/path.yaml", "--compete", "tcp(via=wan)", *_SHORT),
    ("simulate", "{file}", "--path", "rate=9Mbps", *_SHORT, "--report", "{out}/report.html"),
)
_PATHS = (
    ("simulate", "cbr", "--path", "{file}", "--compete", "quic:bbr3(via=radio)@1s..9s"),
    ("simulate", "cbr", "--path", "{file}", "--json"),
    ("simulate", "cbr", "--path", "{file}", "--compete", "tcp(via=wan)", "--compete", "up:tcp"),
    ("simulate", "{folder}/workload.yaml", "--path", "{file}", *_SHORT),
    ("generate", "{folder}/model.json", "--path", "{file}", "-o", "{out}/out.csv"),
)
_LOGS = (
    ("fit", "{folder}/player.pcap", "--player-log", "{file}", "-o", "{out}/model.json"),
    ("fit", "{folder}/player.pcap", "--player-log", "{file}", "--player-log-offset", "2s"),
)


_DATASETS = tuple(
    tuple(word.replace("{file}", "{folder}/dataset") for word in command) for command in _TABLE[:2]
)
_FLOWS = tuple(
    tuple(word.replace("{file}", "{folder}/table.csv") for word in command) for command in _TABLE
)
_HOURS = (("generate", "{folder}/workload.yaml", "-o", "{out}/out.csv", *_SHORT),)
_RATES = (
    ("simulate", "cbr", "--path", "{folder}/path.yaml", "--json"),
    ("simulate", "cbr", "--path", "trace={file},delay=5ms", "--duration", "5s"),
)
_AGAIN = (
    ("export", "{folder}/table.csv", "--to", "mgen", "-o", "{folder}/export", "--force"),
    ("export", "{folder}/table.csv", "--to", "mgen", "-o", "{folder}/export"),
)
#: A request to the page.
_REQUEST = {"model": "chunked", "duration_s": 3, "rate_kbps": 900, "competitor": "none"} | {
    "settings": {"duration_s": "9"}
}

#: Commands whose input are their words, which are damaged too.
_WORDS = (
    ("reproduce", "LJM-C1", "--runs", "1", "--workers", "1", "--json"),
    ("reproduce", "BMW-T1.1", "--runs", "1", "--workers", "1"),
    ("reproduce", "--list", "BMW"),
    ("demo", "-o", "{out}/demo", "-q"),
    ("models", "list", "--json"),
    ("models", "schema"),
    ("models", "show", "cbr"),
    ("generate", "cbr", "-o", "{out}/out.pcap", "--set", "rate_kbps=90", "--duration", "3s"),
    ("generate", "cbr", "-o", "{out}/o.csv", "--sessions", "3", "--arrivals", "poisson:0.5/s"),
    ("simulate", "wmedia9_nichols2004", "--path", "rate=700kbps,queue=9p", "--duration", "5s"),
    ("simulate", "cbr", "--path", "rate=1Mbps", "--compete", "tcp@1s..4s", "--duration", "5s"),
    ("simulate", "cbr", "--path", "preset:lte,queue=9p", "--compete", "up:tcp", "--duration", "5s"),
    ("simulate", "dashjs", "--path", "preset:dsl,aqm=codel", "--sessions", "2", "--for", "5s"),
    ("fit", str(CAPTURE), "--exchanges", "{out}/exchanges.parquet", "--buffering-end", "3s"),
    ("models", "diff", "cbr", "wmedia9_nichols2004", "--json"),
)
#: What follows these says how much work there is, which people may ask for.
_LENGTHS = ("--duration", "--sessions", "--runs", "--workers", "--for")
_SHARE_OF_WORDS = 0.05
#: How often values of models, workloads and paths are damaged, rather than their bits and words.
_SHARE_OF_VALUES = 0.7
#: How often texts come compressed, and commands with a limit of memory.
_SHARE_OF_PACKED, _SHARE_OF_LIMITED = 0.1, 0.2
#: How often inputs are bombs, and compressed texts become one: they take seconds each.
_SHARE_OF_BOMBS, _SHARE_OF_BLOWN_UP = 0.002, 0.02
_LIMITS = ("4MB", "60MB", "300MB")
#: Commands that take seconds whatever they are given, and how many of those drawn are run.
_SLOW_COMMANDS, _SHARE_OF_SLOW = ("demo", "explore"), 0.1


def damage_words(command: tuple[str, ...], dice: random.Random) -> list[str]:
    """Return a command with one or two of its words damaged, in the folder that it was given."""
    words = list(command)
    for _ in range(dice.choice((1, 1, 2))):
        at = dice.randrange(1, len(words))
        if "{out}" not in words[at] and words[at - 1] not in _LENGTHS:
            broken = damage(words[at].encode(), dice).decode(errors="replace")
            words[at] = broken.replace("\x00", "")[:5000].replace("{", "(")
    return words


@cache
def named_files() -> dict[str, bytes]:
    """Return good files that inputs name, or that commands read next to them."""
    settings: dict[str, Any] = {"policy": "throughput", "ladder_kbps": [300, 600, 1200]}
    settings |= {"segment_s": 2, "buffer_target_s": 10, "start_s": 2, "duration_s": 60}
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(action="ignore"):
        capture, table = Path(name) / "player.pcap", trafficgen.generate("cbr", duration_s=4)
        path = "rate=2.2Mbps,delay=20ms,queue=60kB"
        trafficgen.simulate(
            "chunked", path=path, duration_s=40, settings=settings, out=capture, at="receiver"
        )
        for kind in ("parquet", "csv"):
            trafficgen.export(table, to=kind, directory=Path(name) / kind)
        trafficgen.generate_workload(
            "cbr", Path(name) / "dataset", sessions=2, settings={"duration_s": 3}
        )
        player = trafficgen.fit(capture).model
        assert player.application is not None
        assert player.application.kind == "chunked"
        return {
            "model.json": dump_model(trafficgen.fit(CAPTURE).model).encode(),
            "player.json": dump_model(player).encode(),
            "player.pcap": capture.read_bytes(),
            "table.parquet": (Path(name) / "parquet" / "packets.parquet").read_bytes(),
            "table.csv": (Path(name) / "csv" / "packets.csv").read_bytes(),
            "workload.yaml": _WORKLOAD.encode(),
            "path.yaml": _PATH.encode(),
            "hours.csv": b"1\n" * 24,
            "rates.csv": b"time_s,rate_kbps\n0,900\n5,300\n9,700\n",
            "table.flows.csv": (Path(name) / "csv" / "packets.flows.csv").read_bytes(),
            "export/.trafficgen-export.json": (Path(name) / "csv" / MANIFEST).read_bytes(),
            **{
                f"dataset/{file.name}": file.read_bytes()
                for file in sorted((Path(name) / "dataset").iterdir())
            },
        }


@cache
def good_inputs() -> tuple[Input, ...]:
    """Return the inputs to damage."""
    files = named_files()
    published = [
        Input(f"{name}.yaml", (ENTRIES / f"{name}.yaml").read_bytes(), _MODEL, ("model",))
        for name in _PUBLISHED
    ]
    tables = "inspect", "packets", "exchanges"
    traces = [
        Input(name, text.encode(), (*_TABLE, *_LOGS), ("trace", "packets", "rates", "player-log"))
        for name, text in _TRACES.items()
    ]
    logs = [
        Input(name, text.encode(), _LOGS, ("player-log",)) for name, text in _PLAYER_LOGS.items()
    ]
    logs += [
        Input(name, (_RECORDED_LOGS / name).read_bytes(), _LOGS, ("player-log",))
        for name in ("dash_js.json", "hls_js.json", "shaka.json")
    ]
    datasets = [
        Input(name, data, _DATASETS, _beside(tables, "dataset"))
        for name, data in files.items()
        if name.startswith("dataset/")
    ]
    workload, path = files["workload.yaml"], files["path.yaml"]
    return (
        Input("table.parquet", files["table.parquet"], _TABLE, tables),
        Input("table.parquet", files["table.parquet"], _TABLE, tables, change_parquet),
        Input("table.csv", files["table.csv"], _REPORTED, tables),
        Input("table.flows.csv", files["table.flows.csv"], _FLOWS, _beside(tables, "table.csv")),
        *datasets,
        Input("fitted.json", files["model.json"], _MODEL, ("model",)),
        Input("player.json", files["player.json"], _MODEL, ("model",)),
        *published,
        Input("workload.yaml", workload, _WORKLOADS, ("workload",)),
        Input("hours.csv", files["hours.csv"], _HOURS, ("workload:workload.yaml",)),
        Input("path.yaml", path, _PATHS, ("path",)),
        Input("rates.csv", files["rates.csv"], _RATES, ("rates", "path:path.yaml")),
        Input("request.json", json.dumps(_REQUEST).encode(), _WORDS[:1], ("request",)),
        Input(f"export/{MANIFEST}", files[f"export/{MANIFEST}"], _AGAIN, ("manifest",)),
        *traces,
        *logs,
    )


@cache
def bombs() -> tuple[Input, ...]:
    """Return compressed captures that blow up, to damage: seconds each."""
    bomb = gzip.decompress(CAPTURE.read_bytes())[:4000] + bytes(30_000_000)
    packed = {
        "gz": gzip.compress(bomb, 9),
        "xz": lzma.compress(bomb),
        "zst": bytes(pa.compress(bomb, "zstd", asbytes=True)),
    }
    return tuple(
        Input(f"bomb.pcap.{ending}", data, _TABLE[:3], ("inspect",))
        for ending, data in packed.items()
    )


def _beside(readers: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return readers of the good file that names the damaged one, or takes it from next to it."""
    return tuple(f"{reader}:{name}" for reader in readers)


def damage(data: bytes, dice: random.Random) -> bytes:
    """Return an input with some damage: to its bits, or to its words and lines."""
    for _ in range(dice.choice((1, 1, 2, 5))):
        at, end = sorted(dice.randrange(len(data) + 1) for _ in range(2))
        match dice.randrange(5):
            case 0:
                data = data[:at]
            case 1:
                data = data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]
            case 2:  # a word becomes another one
                end = next((n for n in range(at, len(data)) if data[n : n + 1] in b" ,\n}]:"), at)
                data = data[:at] + dice.choice(_BREAKERS).encode() + data[end:]
            case 3:
                data = data[:at] + data[end:]
            case _:
                piece = data[at : min(end, at + 200)]
                data = data[:at] + piece * dice.choice((2, 30)) + data[at:]
    return data


def damage_values(data: bytes, name: str, dice: random.Random) -> bytes:
    """Return a JSON or YAML text with some of its values changed to others that can be read: bits
    and words that are damaged are refused before what is meant by them matters.
    """
    found = json.loads(_as_json(data, name.endswith(".json")))
    places = list(_find_places(found))
    for _ in range(dice.choice((1, 1, 1, 2, 5))):
        holder, key = dice.choice(places)
        if key in holder if isinstance(holder, dict) else key < len(holder):
            holder[key] = _change(holder[key], dice)
    return json.dumps(found).encode()


@cache
def _as_json(data: bytes, is_json: bool) -> str:
    return data.decode() if is_json else json.dumps(yaml.safe_load(data.decode()))


def change_parquet(data: bytes, dice: random.Random) -> bytes:
    """Return a Parquet file with some numbers, or values of its notes, changed: bytes that are
    damaged are mostly refused by its checksums.
    """
    table = pq.read_table(io.BytesIO(data))
    if dice.random() < 0.5:
        notes = damage_values(table.schema.metadata[b"trafficgen"], ".json", dice)
        table = table.replace_schema_metadata({b"trafficgen": notes})
    for _ in range(dice.choice((0, 1, 2))):
        place = dice.randrange(table.num_columns)
        field, values = table.schema.field(place), table.column(place).to_pylist()
        for row in dice.sample(range(len(values)), min(len(values), dice.choice((1, 9)))):
            values[row] = dice.choice((*_INTEGERS, None))
        try:
            column = pa.array(values, field.type if dice.random() < 0.5 else None)
        except (pa.ArrowException, OverflowError):
            continue  # no such value in a column of this type
        table = table.set_column(place, field.name, column)
    written = io.BytesIO()
    pq.write_table(table, written)
    return written.getvalue()


def _find_places(part: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where each value is: its list or table, and its number or key."""
    keys = part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
    for key in keys:
        yield part, key
        yield from _find_places(part[key])


def _change(value: Any, dice: random.Random) -> Any:
    """Return another value, mostly of the same type."""
    others: tuple[Any, ...] = (None, True, [], {}, "x", -1, [[]])
    if isinstance(value, int | float) and dice.random() < 0.95:
        scaled = value * dice.choice(_FACTORS)
        others = (*_NUMBERS, type(value)(scaled), scaled, not value)
    elif isinstance(value, str) and dice.random() < 0.95:
        others = (*_TEXTS, value * 2, value[:-1], value.upper())
    elif isinstance(value, list) and value:
        few, at = len(value) // 2, dice.randrange(len(value))
        rest = value[:at] + value[at + 1 :]
        others = (value[:few], rest, value[::-1], value * 3, value[at : at + 1] * 1000)
    elif isinstance(value, dict) and value:
        gone = dice.choice(list(value))
        others = ({key: one for key, one in value.items() if key != gone},)
    return dice.choice(others)


def _draw(commands: Sequence[tuple[str, ...]], dice: random.Random) -> tuple[str, ...]:
    """Return one of some commands; those that take seconds are rare."""
    while True:
        command = dice.choice(commands)
        if command[0] not in _SLOW_COMMANDS or dice.random() < _SHARE_OF_SLOW:
            return command


def pack(data: bytes, name: str, dice: random.Random) -> tuple[bytes, str]:
    """Return a text compressed, maybe blown up before and damaged after that, and its name."""
    if dice.random() < _SHARE_OF_BLOWN_UP:
        data += data[-200:] * (30_000_000 // max(1, len(data[-200:])))
    ending = dice.choice((".gz", ".xz", ".zst"))
    if ending == ".zst":
        packed = bytes(pa.compress(data, "zstd", asbytes=True))
    else:
        packed = gzip.compress(data) if ending == ".gz" else lzma.compress(data, preset=0)
    return (damage(packed, dice) if dice.random() < 0.3 else packed), name + ending


def limit(words: list[str], dice: random.Random) -> list[str]:
    """Return a command with a limit of memory now and then, where it takes one."""
    if words[0] not in limited_commands() or dice.random() >= _SHARE_OF_LIMITED:
        return words
    return [words[0], "--memory", dice.choice(_LIMITS), *words[1:]]


class Inputs:
    """Damaged inputs without end, written into ``folder`` / ``damaged``, next to good files that
    they may name.
    """

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.folder, self.out, self._dice = folder / "damaged", folder / "out", dice
        self._inputs, self._bombs, self._good = good_inputs(), bombs(), folder / "good"
        for name, data in named_files().items():
            (self._good / name).parent.mkdir(parents=True, exist_ok=True)
            (self._good / name).write_bytes(data)
        self._names = tuple(named_files())

    def empty(self) -> None:
        """Make the folders of the input and of what is written anew."""
        for place in (self.out, self.folder):
            empty(place)

    def write(self) -> tuple[Input, Path]:
        """Damage the next input; return it, and its file."""
        dice = self._dice
        self.empty()
        one = dice.choice(self._bombs if dice.random() < _SHARE_OF_BOMBS else self._inputs)
        for name in self._names:
            (self.folder / name).parent.mkdir(exist_ok=True)
            os.link(self._good / name, self.folder / name)
        data, name = one.data, one.name
        if one.change is not None:
            data = one.change(data, dice)
        elif name.endswith((".json", ".yaml")) and dice.random() < _SHARE_OF_VALUES:
            data = damage_values(data, name, dice)
        elif dice.random() < 0.95:
            data = damage(data, dice)
        if "/" not in name and dice.random() < _SHARE_OF_PACKED:
            data, name = pack(data, name, dice)
        file = self.folder / name
        file.unlink(missing_ok=True)  # a link of a good one
        file.write_bytes(data)
        return one, file


def other_rounds(*, seed: int, folder: Path) -> Iterator[tuple[list[str], Path]]:
    """Yield commands on damaged inputs without end, each with the empty folder that it writes to.

    The input is in ``folder`` / ``damaged``, next to good files that it may name.
    """
    dice = random.Random(seed)
    inputs = Inputs(folder, dice)
    out = inputs.out
    while True:
        if dice.random() < _SHARE_OF_WORDS:
            inputs.empty()
            words = damage_words(_draw(_WORDS, dice), dice)
            yield limit([word.replace("{out}", str(out)) for word in words], dice), out
            continue
        one, file = inputs.write()
        words = [
            part.format(file=file, folder=inputs.folder, out=out)
            for part in _draw(one.commands, dice)
        ]
        yield limit(words, dice), out


def other_reads(*, seed: int, folder: Path) -> Iterator[tuple[list[str], Path]]:
    """Yield reads of damaged inputs without end, as :func:`other_rounds` yields commands."""
    dice = random.Random(seed)
    inputs = Inputs(folder, dice)
    while True:
        one, file = inputs.write()
        reader, _, name = dice.choice(one.readers).partition(":")
        yield [READ, reader, str(inputs.folder / name if name else file)], inputs.out
