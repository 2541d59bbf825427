"""Fit models of streaming sources to captures, and generate traffic like them.

Each command has a function of its name here: ``inspect``, ``fit``, ``generate``, ``simulate``,
``compare``, ``convert``, ``export``, ``reproduce``, ``explore``, ``models_list`` and so on.
"""

import sys
from importlib import import_module
from pathlib import Path as _File
from types import ModuleType


def _read_homes() -> dict[str, str]:
    """Return the module of each public name, by the imports of the stub next to this file."""
    lines = _File(__file__).with_suffix(".pyi").read_text(encoding="utf-8").splitlines()
    imports = (line.split() for line in lines if line.startswith("from "))
    return dict(sorted((name, module) for _, module, _, name, _, _ in imports))


_HOMES = _read_homes()
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562): few commands need the statistics of a fit."""
    if name not in _HOMES:
        raise AttributeError(f"module 'trafficgen' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


class _Package(ModuleType):
    """The package, in which a loaded subpackage such as ``export`` does not hide its function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return __all__
