"""Scipy's special functions, of which most commands use a few compiled ones.

Scipy's package looks at all names of numpy and wraps its functions for other array libraries, which
takes 0.1 s, a tenth of a short fit. Its compiled functions are loaded alone; the package follows
where somebody asks for one that it has in Python.
"""

from __future__ import annotations

import importlib
import sys
import threading
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


class _StandIn(ModuleType):
    """Package of the compiled functions while they load; other threads wait and get scipy's."""

    def __init__(self, folder: Path) -> None:
        super().__init__(_PACKAGE)
        self.__path__ = [str(folder)]
        self._thread, self._is_over = threading.get_ident(), threading.Event()

    def __getattr__(self, name: str) -> object:
        if threading.get_ident() == self._thread and not self._is_over.is_set():
            raise AttributeError(name)
        self._is_over.wait()
        return getattr(importlib.import_module(_PACKAGE), name)

    def end(self) -> None:
        """Make room for the package."""
        del sys.modules[_PACKAGE]
        self._is_over.set()


def _load_compiled() -> ModuleType:
    """Return the module of the compiled functions, without the package around it."""
    name = f"{_PACKAGE}._ufuncs"
    if _PACKAGE in sys.modules or name in sys.modules:
        return importlib.import_module(name)
    import scipy  # noqa: PLC0415 - a command that needs no function should not wait for it

    stand_in = _StandIn(Path(scipy.__file__).parent / "special")
    sys.modules[_PACKAGE] = stand_in
    try:
        return importlib.import_module(name)
    finally:
        stand_in.end()


if TYPE_CHECKING:
    from scipy import special
else:
    special = _Special()

__all__ = ["special"]
