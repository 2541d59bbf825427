"""Packet processes, a folder each: ``model`` (keys of the model file), ``sample``, ``fit``.

Generation plays them; calibration fits them, and plays what it fitted to check it against what was
measured. A folder is all that a process needs: :func:`import_parts` finds it.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.util import find_spec
from types import ModuleType

from trafficgen.registry import find_modules


@cache
def import_parts(part: str) -> tuple[ModuleType, ...]:
    """Import one module of every process that has it, such as ``fit``, in order of their names."""
    folders = sorted(found.name for found in find_modules(__path__) if found.ispkg)
    names = [f"{__name__}.{folder}.{part}" for folder in folders]
    return tuple(importlib.import_module(name) for name in names if find_spec(name))
