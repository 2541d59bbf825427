"""Things that are found by their module: a package holds one in each, and nothing lists them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Generic, TypeVar

T = TypeVar("T")


class ModuleRegistry(Mapping[str, T], Generic[T]):
    """Map the name of each module of a package to what it declares; a look-up loads the module.

    Underscores of a module's name are hyphens here.

    Example:
        >>> from trafficgen.registry import ModuleRegistry
        >>> formats = ModuleRegistry("trafficgen.capture.traces.formats", "FORMAT")
        >>> "packet-list" in formats, formats["packet-list"].name
        (True, 'packet-list')
    """

    def __init__(self, package: str, attribute: str) -> None:
        """Take the package's full name, and the name under which each module declares its thing."""
        self._package, self._attribute = package, attribute

    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise KeyError(name)
        module = import_module(f"{self._package}.{name.replace('-', '_')}")
        declared: T = getattr(module, self._attribute)
        return declared

    def __iter__(self) -> Iterator[str]:
        modules = iter_modules(sys.modules[self._package].__path__)
        return iter(sorted(module.name.replace("_", "-") for module in modules))

    def __contains__(self, name: object) -> bool:
        return any(name == known for known in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
