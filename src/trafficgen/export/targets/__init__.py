"""The targets of `trafficgen export`: what packets, or a model's law, can be exported to.

Each module or folder here declares one as ``TARGET``, under its own name; the file formats are
targets too. A new exporter is one module in this folder: nothing else lists it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from trafficgen.export.target import Target, file_target
from trafficgen.packet_files.formats import FILE_FORMATS


class Targets(Mapping[str, Target]):
    """Targets by their name on the command line; each is loaded when it is looked up."""

    def __getitem__(self, name: str) -> Target:
        if name in FILE_FORMATS:
            return file_target(FILE_FORMATS[name])
        if name not in self:
            raise KeyError(name)
        target: Target = import_module(f"{__name__}.{name}").TARGET
        return target

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __contains__(self, name: object) -> bool:
        return name in _names()

    def __len__(self) -> int:
        return len(_names())


def _names() -> list[str]:
    return [*FILE_FORMATS, *sorted(module.name for module in iter_modules(__path__))]


TARGETS = Targets()
