"""Optional dependencies: the extras of the package, and what to do when one is not installed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from trafficgen.errors import TrafficgenError


def require(extra: str, module: str) -> ModuleType:
    """Import a module of an optional dependency.

    Use it as ``require("explore", "uvicorn")``.

    Raises:
        TrafficgenError: If it is not installed; the message says how to install the extra.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.partition(".")[0] != error.name.partition(".")[0]:
            raise  # it is installed, and something that it needs is not
        raise TrafficgenError(
            f"{module} is not installed; run: pip install 'trafficgen-streaming[{extra}]'"
        ) from error
