"""JSON files that are given for traces of packets: what they are instead, and where they belong."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trafficgen.capture.traces.text import TextFile
from trafficgen.errors import PacketTableError

#: Key of a JSON file -> what the file is, and what to do with it.
_KINDS: Mapping[str, tuple[str, str]] = {
    r"bandwidth_kbps|trace_pattern|rates_kbps|rates_bps|throughput_kbps": (
        "is a trace of a path's bandwidth, not of packets",
        "play traffic over it: simulate or generate MODEL --path trace={file},delay=20ms",
    ),
    "schema_version": (
        "is a model, not packets",
        "make packets of it first: generate {file} -o packets.parquet",
    ),
    "rate|delay|queue|links|loss": (
        "is a path, not packets",
        "play traffic over it: simulate or generate MODEL --path {file}",
    ),
}


def json_error(file: TextFile) -> PacketTableError | None:
    """Return the error of a JSON file that was given for packets; None where it is none by its
    beginning.
    """
    if not file.first_content()[1].startswith(("{", "[")):
        return None
    for keys, (problem, remedy) in _KINDS.items():
        if re.search(rf'"(?:{keys})"\s*:', file.text):
            return PacketTableError(
                file=file.name, problem=problem, remedy=remedy.format(file=file.name)
            )
    problem, remedy = (
        "is JSON, and holds no packets",
        "give a capture, a packet table, or a list as CSV or Parquet",
    )
    return PacketTableError(file=file.name, problem=problem, remedy=remedy)
