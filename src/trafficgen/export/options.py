"""Options of an export, declared once for the function and the command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path

from trafficgen.capture.options import memory_option
from trafficgen.export.settings import SettingValue
from trafficgen.export.targets import TARGETS
from trafficgen.options import option, seed_option
from trafficgen.packet_files.formats import View, view_option
from trafficgen.standard_streams import output_path
from trafficgen.units import parse_duration_s


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """What is exported, and where to.

    Attributes:
        directory: Folder; made when it is not there. Files of an earlier export in it are replaced,
            or removed where this one does not write them again; other files stay. A stream,
            such as ``/dev/stdout``, gets the one file without its README.
        settings: Settings of the target -> value.
        memory_bytes: Memory that it may take, bytes; packets of a file that do not fit are refused,
            a workload is made in blocks. None takes what it needs, for a workload 1 GB.
    """

    to: str = option(
        MISSING, "--to", help=f"One of: {', '.join(TARGETS)}.", metavar="TARGET", values=TARGETS
    )
    directory: str | Path = option(
        MISSING,
        *("-o", "--out"),
        help="Folder to write; other files in it stay. - writes a single file to standard output.",
        metavar="DIR",
        parse=output_path,
    )
    flow: int | None = option(None, "--flow", help="Take this flow alone.", low=0)
    at: View = view_option()
    settings: Mapping[str, SettingValue] | None = None
    memory_bytes: int | None = memory_option()
    seed: int = seed_option()
    sessions: int | None = option(
        None, "--sessions", help="Number of sessions of a workload; default: of its file.", low=1
    )
    window_s: float | None = option(
        None,
        "--for",
        help="Time in which sessions of a workload start; default: of its file.",
        metavar="TIME",
        parse=parse_duration_s,
    )
    workers: int = option(
        1, "--workers", help="Processes that make a workload; the result is the same.", low=1
    )
