"""One run over the whole road, drawn from a seed: what is asked of which command, in which
order.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trafficgen.export.targets import TARGETS

CAPTURE_ENDINGS = (
    ".pcap",
    ".pcapng",
    ".pcap.gz",
    ".pcapng.gz",
    ".pcap.zst",
    ".pcap.xz",
    ".cap",
    ".parquet",
)
_MODELS = (
    *("cbr", "chunked", "twostream_latecki2003", "wmedia9_nichols2004", "realplayer8_chung2002"),
    *("realplayer8_tcp_chung2002", "realvideo10_boyden2005", "realvideo10_turboplay_boyden2005"),
)
_ENDINGS = (".parquet", ".csv", ".pcap", ".pcapng", "")
_COMPETITORS = ("tcp@-5s", "tcp:reno@2s..8s", "cbr:200kbps", "ping")


@dataclass(frozen=True)
class Step:
    """A command, and the files or folders that it may leave.

    Attributes:
        arguments: As after ``trafficgen``.
        makes: Names in the folder of the run.
    """

    arguments: tuple[str, ...]
    makes: tuple[str, ...] = ()


def captures_in(folder: Path, *, largest_bytes: int) -> list[Path]:
    """Return the captures and packet tables in a folder and those below that are not larger,
    sorted.
    """
    found = (
        path for path in folder.rglob("*") if path.name.endswith(CAPTURE_ENDINGS) and path.is_file()
    )
    return sorted(path for path in found if path.stat().st_size <= largest_bytes)


def run_of(captures: list[Path], *, seed: int, folder: Path) -> Iterator[Step]:
    """Yield the steps of one run; later ones use what earlier ones have left in the folder, if they
    have.
    """
    draw = random.Random(seed)
    # A folder first: a collection of many small oddities must not crowd out the sessions beside it.
    folders = sorted({path.parent for path in captures})
    chosen = draw.choice(folders)
    capture = str(draw.choice([path for path in captures if path.parent == chosen]))
    yield Step(("inspect", capture, "--json", *_some(draw, _INSPECT)))
    yield _fit(draw, captures, capture)
    model = "model.json" if (folder / "model.json").exists() else draw.choice(_MODELS)
    yield _played(draw, model, "generate", f"played{draw.choice(_ENDINGS)}")
    table = next(
        (path.name for path in folder.glob("played*") if not path.name.endswith(".flows.csv")),
        capture,
    )
    yield Step(
        ("compare", capture, table, *_some(draw, _COMPARE), *_report(draw, "compared.html")),
        ("compared.html",),
    )
    ending = draw.choice(_ENDINGS)
    yield Step(("convert", capture, "-o", f"converted{ending}"), _files("converted", ending))
    for target in draw.sample(sorted(TARGETS), k=2):
        given = draw.choice([table, capture])
        yield Step(
            ("export", given, "--to", target, "-o", f"for_{target}", "--json"), (f"for_{target}",)
        )
    yield _played(
        draw, draw.choice([model, *_MODELS]), "simulate", f"simulated{draw.choice(_ENDINGS)}"
    )
    yield Step(("models", "show", model, "--json"))


_INSPECT = (("--decapsulate",), ("--idle-timeout", "20"), ("--flows", "0"), ("--memory", "30MB"))
_FIT = (
    *(
        ("--seed", "3"),
        ("--upload",),
        ("--keep-offload",),
        ("--decapsulate",),
        ("--idle-timeout", "15"),
    ),
    *(("--memory", "4MB"), ("--flow", "1"), ("--session", "1")),
)
_COMPARE = (
    ("--all",),
    ("--keep-offload",),
    ("--seed", "5"),
    ("--fail-above", "gap_s.ks=0.001"),
    ("--json",),
)


def _some(draw: random.Random, options: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    chosen = draw.sample(options, k=min(draw.choice([0, 0, 1, 2]), len(options)))
    return tuple(word for option in chosen for word in option)


def _files(stem: str, ending: str) -> tuple[str, ...]:
    return (f"{stem}{ending}", f"{stem}.flows.csv") if ending == ".csv" else (f"{stem}{ending}",)


def _report(draw: random.Random, name: str) -> tuple[str, ...]:
    return ("--report", name) if draw.random() < 0.3 else ()


def _fit(draw: random.Random, captures: list[Path], capture: str) -> Step:
    out = ("-o", "model.json", "--json", *_report(draw, "fitted.html"))
    makes = ("model.json", "fitted.html")
    kind = draw.random()
    if kind < 0.1:
        others = [str(path) for path in draw.sample(captures, k=min(2, len(captures)))]
        how = ("--population", "--workers", "2") if kind < 0.05 else ("--same-source",)
        return Step(
            ("fit", capture, *(name for name in others if name != capture), *how, *out), makes
        )
    if kind < 0.15:
        return Step(("fit", capture, "--receiver", str(draw.choice(captures)), *out), makes)
    return Step(("fit", capture, *_some(draw, _FIT), *out), makes)


def _played(draw: random.Random, model: str, command: str, out: str) -> Step:
    options = ["--duration", str(draw.choice([3, 10, 25])), "--seed", str(draw.randrange(1000))]
    path = f"rate={draw.choice([200, 700, 3000])}kbps,delay={draw.choice([5, 45, 200])}ms"
    path += f",loss={draw.choice([0, 0, 3])}%"
    if command == "simulate" or draw.random() < 0.5:
        options += ["--path", path]
        if draw.random() < 0.4:
            options += ["--compete", draw.choice(_COMPETITORS)]
    if command == "generate":
        options += [
            "--sessions",
            str(draw.choice([1, 1, 3, 12])),
            "--workers",
            str(draw.choice([1, 1, 1, 2])),
        ]
        options += draw.choice(
            [[], [], ["--at", "receiver"], ["--arrival-rate", "0.5"], ["--memory", "20MB"]]
        )
    else:
        options += [*draw.choice([[], ["--json"]]), *_report(draw, "simulated.html")]
    ending = out[out.index(".") :] if "." in out else ""
    return Step(
        (command, model, "-o", out, *options),
        (*_files(out.removesuffix(ending), ending), "simulated.html"),
    )
