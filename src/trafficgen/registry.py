"""Things found by name: modules of a package, what a user registers, and entry points.

An entry point of an installed package names a module; importing it registers the thing. Nothing is
looked for before a name is wanted that trafficgen does not have itself.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pkgutil import ModuleInfo, iter_modules
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from trafficgen.errors import TrafficgenError
from trafficgen.formatting import describe_value, one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


@dataclass(frozen=True)
class _Registered(Generic[T]):
    thing: T
    module: str  #: that registered it


class Registry(Mapping[str, T], Generic[T]):
    """Map names to things that users register, in Python or by an entry point.

    Example:
        >>> from trafficgen.registry import Registry
        >>> greetings: Registry[str] = Registry("greetings")
        >>> greetings.register("short", "Hi", module=__name__)
        >>> greetings["short"], list(greetings)
        ('Hi', ['short'])
    """

    _all: ClassVar[dict[str, Registry[Any]]] = {}

    def __init__(self, kind: str, *, taken: Collection[str] = ()) -> None:
        """Take the plural of what it holds, and names that trafficgen has elsewhere.

        Entry points are in the group ``trafficgen.KIND``.
        """
        self.kind, self._taken = kind, {*taken}
        self._registered: dict[str, _Registered[T]] = {}
        self._all[kind] = self

    def reserve(self, *names: str) -> None:
        """Take names that trafficgen has elsewhere."""
        self._taken.update(names)

    def register(self, name: str, thing: T, *, module: str) -> None:
        """Add a thing, or replace one that was registered before.

        Args:
            name: Its name: a letter, then letters, digits, ``_`` and ``-``.
            thing: The thing.
            module: Name of the module that registers it.

        Raises:
            TrafficgenError: If the name is not such a name, or one of trafficgen's own.
        """
        self.check_name(name)
        self._registered[name] = _Registered(thing, module)

    def check_name(self, name: str) -> None:
        """Raise TrafficgenError if nothing can be registered under a name."""
        plain = str(name).replace("_", "a").replace("-", "a")
        if not (str(name)[:1].isalpha() and plain.isalnum()):
            raise TrafficgenError(
                f"invalid name {name!r} among {self.kind}; use letters, digits, _ and -, such as"
                " my_own"
            )
        if name in self._taken or name in list(self.list_built_in()):
            raise TrafficgenError(
                f"{name!r} is one of trafficgen's own {self.kind}; choose another name"
            )

    def list_built_in(self) -> Iterator[str]:
        """Yield the names of trafficgen's own things."""
        return iter(())

    def module_of(self, name: str) -> str | None:
        """Return the module that registered a name; None for trafficgen's own and unknown ones."""
        found = self._registered.get(name)
        return found.module if found else None

    def __getitem__(self, name: str) -> T:
        if name not in self._registered and name in self._entry_points:
            self._load(name)
        return self._registered[name].thing

    def __iter__(self) -> Iterator[str]:
        yield from self.list_built_in()
        yield from dict.fromkeys([*self._registered, *self._entry_points])

    def __contains__(self, name: object) -> bool:
        known = name in self._registered or name in list(self.list_built_in())
        return known or name in self._entry_points

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @cached_property
    def _entry_points(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points  # noqa: PLC0415 - few need it

        return {point.name: point for point in entry_points(group=f"trafficgen.{self.kind}")}

    def _load(self, name: str) -> None:
        """Import the module that an entry point names."""
        point = self._entry_points[name]
        try:
            point.load()
        except Exception as error:  # whatever another package does
            raise TrafficgenError(
                f"{name!r} of the entry points trafficgen.{self.kind} cannot be loaded from"
                f" {point.value} ({type(error).__name__}: {one_line(error)}); correct or remove its"
                " package"
            ) from error
        if name not in self._registered:
            raise TrafficgenError(
                f"{point.value}, the entry point of {name!r} in trafficgen.{self.kind}, registers"
                " nothing of this name; register it where the module is imported"
            )


class ModuleRegistry(Registry[T]):
    """Map also the name of each module of a package to what it declares; a look-up loads it.

    Underscores of a module's name are hyphens here.

    Example:
        >>> from trafficgen.capture.traces.formats import FORMATS
        >>> "packet-list" in FORMATS, FORMATS["packet-list"].name
        (True, 'packet-list')
    """

    def __init__(self, kind: str, package: str, attribute: str) -> None:
        """Take the package's full name, and the name under which each module declares its thing."""
        super().__init__(kind)
        self._package, self._attribute = package, attribute

    def __getitem__(self, name: str) -> T:
        if name not in self._module_names():
            return super().__getitem__(name)
        module = import_module(f"{self._package}.{name.replace('-', '_')}")
        declared: T = getattr(module, self._attribute)
        return declared

    def list_built_in(self) -> Iterator[str]:
        """Yield the names of the modules, sorted."""
        return iter(self._module_names())

    def _module_names(self) -> list[str]:
        modules = find_modules(sys.modules[self._package].__path__)
        return sorted(module.name.replace("_", "-") for module in modules)


def find_modules(folders: Iterable[str]) -> list[ModuleInfo]:
    """Return the modules in the folders of a package.

    Raises:
        OSError: If a folder cannot be listed, such as where no more files may be opened;
            ``iter_modules`` takes it for empty.
    """
    paths = list(folders)
    for path in paths:
        os.scandir(path).close()
    return list(iter_modules(paths))


def calling_module() -> str:
    """Return the name of the module that called the function that asks, checked or not."""
    frame: FrameType | None = sys._getframe(2)
    while frame and frame.f_globals.get("__name__") == "trafficgen.options":
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "__main__")) if frame else "__main__"


def require_function(given: object, function: str) -> None:
    """Refuse what cannot be called where a decorator registers a function."""
    if not callable(given):
        raise TypeError(f"{function} registers a function, not {describe_value(given)}")


@contextmanager
def name_failures(
    what: str,
    *,
    remedy: str = "correct its function",
    kind: type[TrafficgenError] = TrafficgenError,
) -> Iterator[None]:
    """Run a function of a user, ``what``, so that an exception of it says whose it is."""
    try:
        yield
    except TrafficgenError:
        raise
    except Exception as error:  # whatever the function of a user does
        raise kind(
            f"{what} fails ({type(error).__name__}: {one_line(error, longest=300)}); {remedy}"
        ) from error


def pickle_registered() -> list[bytes]:
    """Return what was registered in this process, for another one; what cannot be sent is left."""
    sent = []
    for kind, registry in Registry._all.items():
        for name, found in registry._registered.items():
            with suppress(Exception):  # a function within another, or of a notebook
                sent.append(pickle.dumps((kind, name, found)))
    return sent


def restore_registered(sent: list[bytes]) -> None:
    """Register what another process sent, as far as its modules are found here."""
    for one in sent:
        with suppress(Exception):
            kind, name, found = pickle.loads(one)
            Registry._all[kind]._registered.setdefault(name, found)
