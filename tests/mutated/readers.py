"""The functions that read files, for damaged inputs: hundreds a second, where commands are slow.

``python -m tests.mutated.readers NAME FILE`` reads a file as the campaign does.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import trafficgen
from trafficgen.calibration.player_log.log_files import read_player_log
from trafficgen.capture.traces.reading import read_trace
from trafficgen.errors import TrafficgenError
from trafficgen.explore.playable_models import PlayableModel, list_catalogue
from trafficgen.explore.request import SimulationRequest
from trafficgen.export.exporting import read_manifest
from trafficgen.simulation.path import read_path
from trafficgen.simulation.traces import load_trace

#: The first word of a command that is such a function.
READ = "read"
_LONGEST_LINE = 2000


def _describe(read: Callable[[Path], object], path: Path) -> str:
    """Read a file, and return what a person would see of it."""
    return str(read(path))


@cache
def _models() -> dict[str, PlayableModel]:
    return {model.name: model for model in list_catalogue()}


def _read_request(path: Path) -> object:
    try:
        request = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None  # the page refuses it before
    return SimulationRequest.parse(request, _models()).path


#: Name -> what reads a file; None, a value or a TrafficgenError comes of it.
READERS: dict[str, Callable[[Path], object]] = {
    "inspect": partial(_describe, trafficgen.inspect),
    "inspect-tunnels": lambda path: str(trafficgen.inspect(path, decapsulate=True)),
    "packets": partial(_describe, trafficgen.read_packets),
    "exchanges": partial(_describe, trafficgen.measure_exchanges),
    "trace": lambda path: read_trace(str(path)),
    "model": partial(_describe, trafficgen.models_show),
    "workload": partial(_describe, trafficgen.load_workload),
    "path": lambda path: str(read_path(path)),
    "rates": lambda path: load_trace(str(path)),
    "player-log": read_player_log,
    "request": _read_request,
    "manifest": lambda path: read_manifest(path.parent),
}


def read(words: Sequence[str]) -> int:
    """Read a file, by the words after ``read``; return the exit code that a command would have."""
    name, path = words
    try:
        with warnings.catch_warnings(action="ignore"):
            READERS[name](Path(path))
    except TrafficgenError as error:
        sys.stderr.write(f"{error}\n")
        return 2 if _is_a_line(str(error)) else 3
    return 0


def _is_a_line(text: str) -> bool:
    return bool(text.strip()) and text.isprintable() and len(text) <= _LONGEST_LINE


def main() -> int:
    """Read a file by the words of the command line."""
    try:
        return read(sys.argv[1:])
    except Exception:
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    sys.exit(main())
