"""Progress of long work: the work reports its steps, a listener shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from trafficgen.options import checks_arguments

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """How far a piece of work has come.

    Attributes:
        what: What is being done, such as ``reading``.
        done: How much of it is done, in ``unit``.
        total: How much there is altogether; None if unknown.
        unit: What is counted, such as ``bytes``; empty if nothing is.
        place: Which of how many steps of the work it is, such as ``2 of 3``; empty if unknown.

    Example:
        >>> import trafficgen
        >>> steps = []
        >>> with trafficgen.following(steps.append):
        ...     _ = trafficgen.generate("cbr", "cbr.parquet", duration_s=20)
        >>> steps[-1]
        Step(what='writing', done=850, total=850, unit='packets')
    """

    what: str
    done: float = 0
    total: float | None = None
    unit: str = ""
    place: str = field(default="", compare=False, repr=False)


#: Called with each step.
Listener = Callable[[Step], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_names: ContextVar[tuple[str, ...]] = ContextVar("names", default=())


@checks_arguments
@contextmanager
def following(listener: Listener) -> Iterator[None]:
    """Call a function with every step of the work in this block and thread.

    Args:
        listener: Receives each :class:`Step` and should return at once. An exception that it raises
            ends the work.

    Example:
        >>> import trafficgen
        >>> def show(step):
        ...     of = f" of {step.total:.0f}" if step.total else ""
        ...     print(f"{step.what}: {step.done:.0f}{of} {step.unit}".rstrip())
        >>> with trafficgen.following(show):
        ...     _ = trafficgen.generate("cbr", "cbr.parquet", duration_s=20)
        writing: 850 of 850 packets
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def has_listener() -> bool:
    """Return whether progress is being followed."""
    return _listener.get() is not None


def report_step(what: str, done: float = 0, total: float | None = None, *, unit: str = "") -> None:
    """Report a step to the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        names = _names.get()
        place = f"{names.index(what) + 1} of {len(names)}" if what in names else ""
        listener(Step(what, done, total, unit, place))


@contextmanager
def number_steps(*names: str) -> Iterator[None]:
    """Number the steps that are reported in this block: all that the work has, in their order."""
    token = _names.set(names)
    try:
        yield
    finally:
        _names.reset(token)


def report_each(things: Iterable[T], what: str, *, total: int, unit: str) -> Iterator[T]:
    """Yield things and report after each how many are done."""
    report_step(what, 0, total, unit=unit)
    for done, thing in enumerate(things, start=1):
        yield thing
        report_step(what, done, total, unit=unit)
