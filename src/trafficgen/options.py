"""Options: declared once on a frozen dataclass, for the command line and Python alike.

A field made by :func:`option` carries its flag and help text. :func:`takes` gives a public function
the fields as typed keyword arguments and passes the dataclass whole; the command line builds its
own options from the same fields (``cli/_options.py``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

P = ParamSpec("P")
O_co = TypeVar("O_co", covariant=True)
O = TypeVar("O")  # noqa: E741 - options
A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")
A_contra = TypeVar("A_contra", contravariant=True)
B_contra = TypeVar("B_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

_METADATA = "trafficgen option"


@dataclass(frozen=True)
class Option:
    """How the command line offers a field.

    Attributes:
        flags: Names of the option, such as ``("-o", "--out")``; empty: Python alone has it.
        help: Help text, one sentence.
        metavar: Placeholder of the value in the help text.
        parse: Turns the text of the command line into the value; raises ValueError with a message.
        text: Default as it is typed, where a parser reads it.
        low: Smallest number accepted.
        values: Values that a shell completes.
    """

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    parse: Callable[[str], object] | None = None
    text: str | None = None
    low: int | None = None
    values: Iterable[str] = ()


def option(
    default: Any,
    *flags: str,
    help: str,  # noqa: A002 - the word of every command-line library
    metavar: str | None = None,
    parse: Callable[[str], object] | None = None,
    text: str | None = None,
    low: int | None = None,
    values: Iterable[str] = (),
) -> Any:
    """Declare a field of an options class; the arguments are those of :class:`Option`."""
    declared = Option(flags, help, metavar, parse, text, low, values)
    return field(default=default, metadata=offer(declared))


def offer(declared: Option) -> dict[str, Option]:
    """Return the metadata of a field without a default, so that type checkers see it as required.

    Use it as ``path: str = field(metadata=offer(Option(("--path",), "The path.")))``.
    """
    return {_METADATA: declared}


def seed_option() -> Any:
    """Declare the option ``--seed`` of a field ``seed``."""
    return option(
        0, "--seed", help="Seed of everything random; the same seed gives the same result.", low=0
    )


def list_options(options: type) -> list[tuple[Field[Any], Option]]:
    """Return the fields of an options class that the command line offers, in order."""
    found = [(one, one.metadata.get(_METADATA)) for one in fields(options)]
    return [(one, declared) for one, declared in found if declared is not None and declared.flags]


class _OptionalSecond(Protocol[P, A_contra, B_contra, R_co]):
    """A function whose second subject may be left out."""

    def __call__(
        self, one: A_contra, other: B_contra = ..., /, *given: P.args, **keywords: P.kwargs
    ) -> R_co: ...


class _Door(Protocol[P, O_co]):
    """What :func:`takes` returns: a decorator of functions of one or two subjects and options."""

    @overload
    def __call__(self, work: Callable[[A, O_co], R], /) -> Callable[Concatenate[A, P], R]: ...
    @overload
    def __call__(
        self, work: Callable[[A, B | None, O_co], R], /
    ) -> _OptionalSecond[P, A, B | None, R]: ...
    @overload
    def __call__(self, work: Callable[[A, B, O_co], R], /) -> Callable[Concatenate[A, B, P], R]: ...


def takes(options: Callable[P, O]) -> _Door[P, O]:
    """Give a function the fields of an options class as keyword arguments.

    Args:
        options: The options class, a dataclass with keyword-only fields.

    Returns:
        A decorator: the function receives its subjects and the options as one object, its callers
        write ``fit(capture, flow=3, seed=1)``.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Speed:
        ...     rate_bps: float = option(1e6, "--rate", help="Rate, bit/s.")
        >>> @takes(Speed)
        ... def send(size_bytes: int, speed: Speed) -> float:
        ...     return 8 * size_bytes / speed.rate_bps
        >>> send(1000, rate_bps=4000.0)
        2.0
    """
    make: Callable[..., O] = options

    def decorate(work: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(work)
        subjects = list(signature.parameters.values())[:-1]
        named = [
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if _is_required(one) else _default(one),
                annotation=one.type,
            )
            for one in fields(cast(type, options))
        ]
        shown = signature.replace(parameters=[*subjects, *named])

        @wraps(work)
        def with_keywords(*given: Any, **keywords: Any) -> Any:
            bound = shown.bind(*given, **keywords)
            values = [bound.arguments.pop(one.name, one.default) for one in subjects]
            return work(*values, make(**bound.arguments))

        with_keywords.__signature__ = shown  # type: ignore[attr-defined]
        return with_keywords

    return decorate


def _default(one: Field[Any]) -> Any:
    return one.default if one.default_factory is MISSING else one.default_factory()


def _is_required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def parse_pairs(items: Iterable[str], *, remedy: str = "") -> dict[str, str]:
    """Return keys and values of texts ``key=value``.

    Args:
        items: Texts; blanks around keys and values are left out.
        remedy: What the message about another text ends with.

    Raises:
        ValueError: If a text is not ``key=value``, or a key is given twice.
    """
    pairs: dict[str, str] = {}
    for item in map(str.strip, items):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key:
            raise ValueError(f"{item!r} is not key=value{remedy}")
        if key in pairs:
            raise ValueError(f"{key} is given twice; leave one out")
        pairs[key] = value
    return pairs
