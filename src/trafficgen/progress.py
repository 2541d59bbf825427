"""How far long work is: what takes long tells its steps, and whoever follows hears of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """How far a piece of work is.

    Attributes:
        what: What is being done, such as ``reading``.
        done: How much of it is done, in ``unit``.
        total: How much there is in all; None where that is not known.
        unit: What is counted, such as ``bytes``; empty where nothing is.

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


#: Called with each step.
Listener = Callable[[Step], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def following(listener: Listener) -> Iterator[None]:
    """Have a function called with every step of what runs in the block, in this thread; it should
    return at once.

    Args:
        listener: Called with each :class:`Step`: bytes read, sessions generated, simulated seconds,
            packets written. What it raises ends the work.

    Example:
        >>> import trafficgen
        >>> def show(step):
        ...     print(f"{step.what}: {step.done:.0f} of {step.total:.0f} {step.unit}")
        >>> with trafficgen.following(show):
        ...     _ = trafficgen.generate("cbr", "cbr.parquet", duration_s=20)
        writing: 850 of 850 packets
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def followed() -> bool:
    """Return whether anyone listens."""
    return _listener.get() is not None


def tell(what: str, done: float = 0, total: float | None = None, *, unit: str = "") -> None:
    """Tell a step to who listens; nearly nothing where nobody does."""
    listener = _listener.get()
    if listener is not None:
        listener(Step(what, done, total, unit))


def counted(things: Iterable[T], what: str, *, total: int, unit: str) -> Iterator[T]:
    """Yield things, and tell after each how many are done."""
    tell(what, 0, total, unit=unit)
    for done, thing in enumerate(things, start=1):
        yield thing
        tell(what, done, total, unit=unit)
