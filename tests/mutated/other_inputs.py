"""Damaged inputs other than captures: models, workloads, paths, tables, traces, bombs, and the
commands that read them.
"""

from __future__ import annotations

import gzip
import lzma
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import trafficgen
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
        commands: Arguments of each; ``{file}`` is the file, ``{out}`` the folder to write to.
    """

    name: str
    data: bytes
    commands: tuple[tuple[str, ...], ...]


_SHORT = ("-q", "--for", "20s")
_EXPLORE = ("explore", "{file}", "--no-browser", "--port", "0")
_TABLE = (
    ("inspect", "{file}", "--json"),
    ("fit", "{file}", "-o", "{out}/model.json"),
    ("convert", "{file}", "-o", "{out}/table.csv"),
    ("compare", "{file}", "{file}", "--all", "--json"),
    ("export", "{file}", "--to", "mgen", "-o", "{out}/mgen"),
    ("export", "{file}", "--to", "csv", "-o", "{out}/csv"),
    _EXPLORE,
)
_REPORTED = (*_TABLE, ("fit", "{file}", "--report", "{out}/report.html"))
_MODEL = (
    ("models", "show", "{file}"),
    ("models", "diff", "{file}", "cbr"),
    ("generate", "{file}", "-q", "-o", "{out}/out.csv", "--duration", "5s"),
    ("simulate", "{file}", "--path", "rate=5Mbps,delay=10ms", "--duration", "5s", "--json"),
    ("export", "{file}", "--to", "ns3", "-o", "{out}/ns3"),
    ("export", "{file}", "--to", "mgen", "-o", "{out}/mgen"),
    ("export", "{file}", "--to", "ditg", "-o", "{out}/ditg"),
    _EXPLORE,
)
_WORKLOADS = (
    ("generate", "{file}", "-o", "{out}/out.csv", *_SHORT),
    ("generate", "{file}", "--dry-run", *_SHORT),
    ("export", "{file}", "--to", "trex", "-o", "{out}/trex", *_SHORT),
)


#: Commands whose input are their words, which are damaged too.
_WORDS = (
    ("reproduce", "LHC-1.1", "--runs", "1", "--workers", "1", "--json"),
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
)
#: What follows these says how much work there is, which people may ask for.
_LENGTHS = ("--duration", "--sessions", "--runs", "--workers")
_SHARE_OF_WORDS = 0.05
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


def good_inputs(folder: Path) -> list[Input]:
    """Return the inputs to damage; files that they name are written into the folder."""
    table = trafficgen.generate("cbr", duration_s=4)
    for name in ("table.parquet", "table.csv"):
        trafficgen.export(table, to=Path(name).suffix[1:], directory=folder / name)
    parquet = (folder / "table.parquet" / "packets.parquet").read_bytes()
    model = dump_model(trafficgen.fit(CAPTURE).model)
    (folder / "model.json").write_text(model)
    (folder / "hours.csv").write_text("1\n" * 24)
    (folder / "rates.csv").write_text("time_s,rate_kbps\n0,900\n5,300\n9,700\n")
    bomb = gzip.decompress(CAPTURE.read_bytes())[:4000] + bytes(30_000_000)
    published = (ENTRIES / "wmedia9_nichols2004.yaml").read_bytes()
    traces = [
        Input(name, text.encode(), (*_TABLE, ("fit", "{file}", "--player-log", "{file}")))
        for name, text in _TRACES.items()
    ]
    return [
        Input("table.parquet", parquet, _TABLE),
        Input("table.csv", (folder / "table.csv" / "packets.csv").read_bytes(), _REPORTED),
        Input("fitted.json", model.encode(), _MODEL),
        Input("published.yaml", published, _MODEL),
        Input("workload.yaml", _WORKLOAD.encode(), _WORKLOADS),
        Input("path.yaml", _PATH.encode(), (("simulate", "cbr", "--path", "{file}", "--json"),)),
        Input("bomb.pcap.gz", gzip.compress(bomb, 9), _TABLE[:3]),
        Input("bomb.pcap.xz", lzma.compress(bomb), _TABLE[:3]),
        Input("bomb.pcap.zst", bytes(pa.compress(bomb, "zstd", asbytes=True)), _TABLE[:3]),
        *traces,
    ]


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


def _draw(commands: Sequence[tuple[str, ...]], dice: random.Random) -> tuple[str, ...]:
    """Return one of some commands; those that take seconds are rare."""
    while True:
        command = dice.choice(commands)
        if command[0] not in _SLOW_COMMANDS or dice.random() < _SHARE_OF_SLOW:
            return command


def other_rounds(*, seed: int, folder: Path) -> Iterator[tuple[list[str], Path]]:
    """Yield commands on damaged inputs without end, each with the empty folder that it writes to.

    The input is the one file in ``folder`` / ``damaged``.
    """
    dice = random.Random(seed)
    named, out, damaged = folder / "named", folder / "out", folder / "damaged"
    named.mkdir()
    inputs = good_inputs(named)
    while True:
        for place in (out, damaged):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
        if dice.random() < _SHARE_OF_WORDS:
            words = damage_words(_draw(_WORDS, dice), dice)
            yield [word.replace("{out}", str(out)) for word in words], out
            continue
        one = dice.choice(inputs)
        for name in ("model.json", "hours.csv", "rates.csv"):
            shutil.copy(named / name, damaged)
        file = damaged / one.name
        file.write_bytes(damage(one.data, dice) if dice.random() < 0.95 else one.data)
        yield [part.format(file=file, out=out) for part in _draw(one.commands, dice)], out
