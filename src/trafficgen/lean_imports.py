"""Load libraries without the parts of others that they look for in vain."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder


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
