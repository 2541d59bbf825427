"""Load libraries without the parts of others that they look for in vain."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from typing import Any


class _PandasHider(MetaPathFinder):
    """Pretends that pandas is not installed."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("hidden from Arrow", name=fullname)


def load_arrow_without_pandas() -> None:
    """Load Arrow so that its first array does not import pandas: saves 0.5 s and 40 MB.

    Arrow looks for pandas once. Commands and workers never hand it a pandas series; code that later
    asks for a data frame still gets one. Nor do they read the documentation of Arrow's functions,
    which takes 0.01 s to put together: it lacks what options mean.
    """
    import pyarrow as pa  # noqa: PLC0415 - a command that only prints its help does not need it

    _load_functions_of_arrow()
    hider = _PandasHider()
    sys.meta_path.insert(0, hider)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(hider)


def _load_functions_of_arrow() -> None:
    try:
        parser: Any = import_module("pyarrow.vendored.docscrape")
        parsed = parser.NumpyDocString
    except (ImportError, AttributeError):  # another release of Arrow
        return
    parser.NumpyDocString = lambda _text: {"Parameters": []}
    try:
        import_module("pyarrow.compute")
    finally:
        parser.NumpyDocString = parsed


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


class _UnreadText:
    """A function's documentation as it is, in place of scipy's parsed one."""

    def __init__(self, function: object) -> None:
        self._text = function.__doc__ or ""

    def __getitem__(self, section: str) -> list[str]:
        return []  # notes that are added to a section are dropped

    def __str__(self) -> str:
        return f"\n{self._text}"  # the first line, a signature, is cut off


@contextmanager
def scipy_without_notes() -> Iterator[None]:
    """Let scipy load without parsing the documentation of each special function.

    It adds a note on array libraries to each: 0.05 s. The documentation without the notes stays.
    """
    try:
        notes: Any = import_module("scipy._lib._array_api")
        parsed = notes.FunctionDoc
    except (ImportError, AttributeError):  # another release of scipy, which may add no notes
        yield
        return
    notes.FunctionDoc = _UnreadText
    try:
        yield
    finally:
        notes.FunctionDoc = parsed
