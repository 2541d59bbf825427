"""The trace formats that `trafficgen convert` reads.

Each module here declares one as ``FORMAT``, under its own name with hyphens. A new reader is one
module in this folder: nothing else lists it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trafficgen.registry import ModuleRegistry

if TYPE_CHECKING:
    from trafficgen.capture.traces.trace_format import TraceFormat

FORMATS: ModuleRegistry[TraceFormat] = ModuleRegistry("formats", __name__, "FORMAT")
