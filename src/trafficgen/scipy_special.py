"""Scipy's special functions, of which most commands use a few compiled ones.

Scipy's package looks at all names of numpy and wraps its functions for other array libraries, which
takes 0.1 s, a tenth of a short fit. Its compiled functions are loaded alone; the package follows
where somebody asks for one that it has in Python.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from trafficgen.lean_imports import numpy_without_tools

_PACKAGE = "scipy.special"
#: The package chooses between two compiled functions by the number of arguments; here it is two.
_COMPILED_NAMES = {"zeta": "_zeta"}


class _Special:
    """Finds each function on first use."""

    def __getattr__(self, name: str) -> object:
        found = getattr(_load_compiled(), _COMPILED_NAMES.get(name, name), None)
        if found is None:
            with numpy_without_tools():
                found = getattr(importlib.import_module(_PACKAGE), name)
        setattr(self, name, found)
        return found


def _load_compiled() -> ModuleType:
    """Return the module of the compiled functions, without the package around it."""
    name = f"{_PACKAGE}._ufuncs"
    if _PACKAGE in sys.modules or name in sys.modules:
        return importlib.import_module(name)
    import scipy  # noqa: PLC0415 - a command that needs no function should not wait for it

    stand_in = ModuleType(_PACKAGE)
    stand_in.__path__ = [str(Path(scipy.__file__).parent / "special")]
    sys.modules[_PACKAGE] = stand_in
    try:
        return importlib.import_module(name)
    finally:
        del sys.modules[_PACKAGE]


if TYPE_CHECKING:
    from scipy import special
else:
    special = _Special()

__all__ = ["special"]
