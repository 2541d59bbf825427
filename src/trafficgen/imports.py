"""Imports of libraries: optional ones, and others without parts that take time.

A message says how to install an extra that is missing. Arrow is loaded without pandas, numpy
without its tools, and of scipy's special functions the compiled ones.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from trafficgen.errors import TrafficgenError

_PACKAGE = "scipy.special"
#: The package chooses between two compiled functions by the number of arguments; here it is two.
_COMPILED_NAMES = {"zeta": "_zeta"}


def require(extra: str, module: str) -> ModuleType:
    """Import a module of an optional dependency.

    Use it as ``require("explore", "uvicorn")``.

    Raises:
        TrafficgenError: If it is not installed; the message says how to install the extra.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.partition(".")[0] != error.name.partition(".")[0]:
            raise  # it is installed, and something that it needs is not
        raise TrafficgenError(
            f"{module} is not installed; run: pip install 'trafficgen-streaming[{extra}]'"
        ) from error


class _PandasHider(MetaPathFinder):
    """Pretends that pandas is not installed."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("hidden from Arrow", name=fullname)


def load_arrow_without_pandas() -> None:
    """Load Arrow so that its first array does not import pandas: saves 0.5 s and 40 MB.

    Arrow looks for pandas once. Commands and workers never hand it a pandas series; code that later
    asks for a data frame still gets one.
    """
    import pyarrow as pa  # noqa: PLC0415 - a command that only prints its help does not need it

    hider = _PandasHider()
    sys.meta_path.insert(0, hider)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(hider)


@contextmanager
def numpy_without_tools() -> Iterator[None]:
    """Hide numpy's compiler front end and its test tools, which it loads on first use."""
    import numpy as np  # noqa: PLC0415 - a command that only prints its help does not need it

    hidden = [name for name in ("f2py", "testing") if name not in vars(np)]
    for name in hidden:
        setattr(np, name, None)
    try:
        yield
    finally:
        for name in hidden:
            if getattr(np, name) is None:  # scipy may have loaded it after all
                delattr(np, name)


class _Special:
    """Finds each of scipy's special functions on first use, of which most are compiled.

    Scipy's package looks at all names of numpy and wraps its functions for other array libraries,
    which takes 0.1 s, a tenth of a short fit. Its compiled functions are loaded alone; the package
    follows where somebody asks for one that it has in Python.
    """

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

__all__ = ["load_arrow_without_pandas", "numpy_without_tools", "require", "special"]
