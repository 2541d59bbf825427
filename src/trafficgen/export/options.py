"""Options of an export, declared once for the function and the command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path

from trafficgen.capture.options import memory_option
from trafficgen.export.settings import SettingValue
from trafficgen.export.targets import TARGETS
from trafficgen.options import option
from trafficgen.packet_files.report import View, view_option


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """What is exported, and where to.

    Attributes:
        to: Name of the target.
        directory: Folder; made when it is not there. Files of an earlier export in it are replaced,
            or removed where this one does not write them again; other files stay.
        flow: Number of the flow that is exported alone; None exports all.
        at: Whose view is written.
        settings: Settings of the target -> value.
        memory_bytes: Memory that it may take, bytes; packets of a file that do not fit are refused.
            None takes what it needs.
    """

    to: str = option(MISSING, "--to", help=f"One of: {', '.join(TARGETS)}.", metavar="TARGET")
    directory: str | Path = option(
        MISSING,
        *("-o", "--out"),
        help="Folder to write; other files in it stay.",
        metavar="DIR",
        parse=Path,
    )
    flow: int | None = option(None, "--flow", help="Take this flow alone.", low=0)
    at: View = view_option()
    settings: Mapping[str, SettingValue] | None = None
    memory_bytes: int | None = memory_option()
