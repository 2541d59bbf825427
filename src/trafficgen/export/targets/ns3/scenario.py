"""What every export for ns-3 holds beside its traffic: the table of flows, and the scenario in
Python and C++.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from trafficgen.export.settings import Settings

_TEMPLATES = ("scenario.py", "scenario.cc", "trafficgen-replay.h")


@dataclass(frozen=True)
class FlowRow:
    """One line of ``flows.csv``; times count from the first packet of all flows.

    Attributes:
        flow: Number in the names of its files.
        protocol: ``udp`` or ``tcp``.
        port: Port it is sent to.
        first_ns: Time of its first packet, or its start where it is drawn.
        last_ns: Time of its last packet, or its end where it is drawn.
        packets: Packets it has, or about as many where it is drawn.
        largest_payload_bytes: Payload of its largest packet.
    """

    flow: int
    protocol: str
    port: int
    first_ns: int
    last_ns: int
    packets: int
    largest_payload_bytes: int


def write_flows(flows: Sequence[FlowRow], folder: Path) -> list[str]:
    """Write ``flows.csv``, and return its name."""
    lines = [
        ",".join(field.name for field in fields(FlowRow)),
        *(",".join(map(str, astuple(row))) for row in flows),
    ]
    (folder / "flows.csv").write_text("\n".join(lines) + "\n", encoding="ascii")
    return ["flows.csv"]


def write_scenario(folder: Path, settings: Settings, *, mode: str) -> list[str]:
    """Write the scenario with the settings of its link, and return the names of its files.

    Args:
        folder: Where to.
        settings: Settings of the target.
        mode: What it does by default: ``trace``, ``exact`` or ``onoff``.
    """
    values = {
        "@MODE@": mode,
        "@LINK_RATE@": f"{settings.whole('link_rate_kbps')}kbps",
        "@LINK_DELAY@": f"{settings.number('link_delay_ms'):g}ms",
        "@LINK_QUEUE@": f"{settings.whole('queue_packets')}p",
    }
    templates = resources.files("trafficgen.export.targets.ns3") / "templates"
    for name in _TEMPLATES:
        text = (templates / name).read_text(encoding="utf-8")
        for place, value in values.items():
            text = text.replace(place, value)
        (folder / name).write_text(text, encoding="utf-8")
    return list(_TEMPLATES)


def delimited(columns: Mapping[str, object], *, delimiter: str = ",", header: bool = True) -> bytes:
    """Return columns as text, a row a line, without quotes."""
    sink = pa.BufferOutputStream()
    if header:
        sink.write(f"{delimiter.join(columns)}\n".encode())  # pyarrow would quote the names
    options = pa_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
    pa_csv.write_csv(pa.table(dict(columns)), sink, options)
    text: bytes = sink.getvalue().to_pybytes()
    return text
