"""The targets of `trafficgen export`: what packets, or a model's law, can be exported to.

Each module or folder here declares one as ``TARGET``, under its own name; the file formats are
targets too. A new exporter is one module in this folder: nothing else lists it.
"""

from __future__ import annotations

from collections.abc import Iterator

from trafficgen.export.target import Target, file_target
from trafficgen.packet_files.formats import FILE_FORMATS
from trafficgen.registry import ModuleRegistry


class Targets(ModuleRegistry[Target]):
    """Targets by their name on the command line, file formats first."""

    def __getitem__(self, name: str) -> Target:
        return (
            file_target(FILE_FORMATS[name]) if name in FILE_FORMATS else super().__getitem__(name)
        )

    def __iter__(self) -> Iterator[str]:
        yield from FILE_FORMATS
        yield from super().__iter__()


TARGETS = Targets(__name__, "TARGET")
