"""The trace formats that `trafficgen convert` reads.

Each module here declares one as ``FORMAT``, under its own name with hyphens. A new reader is one
module in this folder: nothing else lists it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trafficgen.capture.traces.trace_format import TraceFormat


class TraceFormats(Mapping[str, "TraceFormat"]):
    """Trace formats by their name on the command line; each is loaded when it is looked up."""

    def __getitem__(self, name: str) -> TraceFormat:
        if name not in self:
            raise KeyError(name)
        found: TraceFormat = import_module(f"{__name__}.{name.replace('-', '_')}").FORMAT
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __contains__(self, name: object) -> bool:
        return name in _names()

    def __len__(self) -> int:
        return len(_names())


def _names() -> list[str]:
    return sorted(module.name.replace("_", "-") for module in iter_modules(__path__))


FORMATS = TraceFormats()
