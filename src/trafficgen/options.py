"""Options: declared once on a frozen dataclass, for the command line and Python alike.

A field made by :func:`option` carries its flag and help text. :func:`takes` gives a public function
the fields as typed keyword arguments and passes the dataclass whole; the command line builds its
own options from the same fields (``cli/_options.py``).
"""

from __future__ import annotations

import errno
import inspect
import itertools
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache, partial, wraps
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import FunctionType, SimpleNamespace, UnionType
from typing import (
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
    runtime_checkable,
)

from trafficgen.errors import TOO_MANY_FILES, InputFileError, TrafficgenError
from trafficgen.formatting import describe_value, list_or, suggest_name
from trafficgen.option_names import name_options
from trafficgen.process_memory import limit_memory
from trafficgen.quantity_bounds import check_number, unit_in

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
#: Where a docstring refers to an options class, and an entry of attributes in that of a class.
_REFERENCE = re.compile(r"^ {8}options: See :class:`[^`]+`(?:; given as\s+keywords)?\.$", re.M)
_ATTRIBUTE = re.compile(r"^ {8}(\w+): (.*(?:\n {12}.*)*)", re.M)
#: Options of commands that have a function of their own in Python.
_ELSEWHERE = {
    "population": "fit_population(captures)",
    "same_source": "fit_same_source(captures)",
    "report": "save_report(result, 'report.html')",
    "plots": "save_plots(result, 'plots')",
}


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
        aliases: More flags of the command line, such as ``("--until",)``. Python does not take
            them, and messages name the option by ``flags``.
    """

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    parse: Callable[[str], object] | None = None
    text: str | None = None
    low: int | None = None
    values: Iterable[str] = ()
    aliases: tuple[str, ...] = ()

    @property
    def keyword(self) -> str:
        """The long flag as a name of Python, such as ``idle_timeout`` of ``--idle-timeout``."""
        flag = next((one for one in self.flags if one.startswith("--")), "")
        return flag.partition("/")[0].removeprefix("--").replace("-", "_")


def option(
    default: Any,
    *flags: str,
    help: str,  # noqa: A002 - the word of every command-line library
    metavar: str | None = None,
    parse: Callable[[str], object] | None = None,
    text: str | None = None,
    low: int | None = None,
    values: Iterable[str] = (),
    aliases: tuple[str, ...] = (),
) -> Any:
    """Declare a field of an options class; the arguments are those of :class:`Option`."""
    declared = Option(flags, help, metavar, parse, text, low, values, aliases)
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
        write ``fit(capture, flow=3, seed=1)``. A keyword may also have the name of its flag,
        without a unit.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Speed:
        ...     rate_bps: float = option(1e6, "--rate", help="Rate, bit/s.")
        >>> @takes(Speed)
        ... def send(size_bytes: int, speed: Speed) -> float:
        ...     return 8 * size_bytes / speed.rate_bps
        >>> send(1000, rate_bps=4000.0), send(1000, rate=4000.0)
        (2.0, 2.0)
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

        declared = {one.name: how for one, how in list_options(cast(type, options))}
        names = {how.keyword: name for name, how in declared.items()}

        @wraps(work)
        def with_keywords(*given: Any, **keywords: Any) -> Any:
            hints, typed = _hints_of(work) | _hints_of(options), dict[str, str]()
            for name in keywords.keys() & names.keys() - shown.parameters.keys():
                if names[name] in keywords:
                    raise TypeError(f"{work.__name__}: {name} is {names[name]}; leave one out")
                keywords[names[name]] = keywords.pop(name)
                typed[names[name]] = name
            bound = _bind(work.__name__, shown, given, keywords).arguments
            with _name_as_typed(typed), _name_system_limits():
                for name, value in bound.items():
                    place = f"{work.__name__}: {name}"
                    _refuse_empty_option(place, value, shown.parameters[name])
                    bound[name] = _check(place, value, hints.get(name, Any), declared.get(name))
                values = [bound.pop(one.name, one.default) for one in subjects]
                chosen = make(**bound)
                with limit_memory(getattr(chosen, "memory_bytes", None)):
                    return work(*values, chosen)

        with_keywords.__doc__ = _document(work, cast(type, options))
        with_keywords.__signature__ = shown  # type: ignore[attr-defined]
        with_keywords.other_names = names  # type: ignore[attr-defined]
        return with_keywords

    return decorate


def _document(work: Callable[..., Any], options: type) -> str | None:
    """Return a function's docstring with a line an option where it refers to the options class."""
    found = _REFERENCE.search(text := work.__doc__ or "")
    if not found:
        return work.__doc__
    known: dict[str, str] = {}
    for one in reversed(options.__mro__):
        known |= dict(_ATTRIBUTE.findall((one.__doc__ or "").partition("Attributes:\n")[2]))
    for option_field in fields(options):
        how: Option | None = option_field.metadata.get(_METADATA)
        text_of = name_options(how.help, flags=False) if how else ""
        known.setdefault(option_field.name, text_of)
    lines = [f"        {one.name}: {known[one.name].rstrip()}" for one in fields(options)]
    return text[: found.start()] + "\n".join(lines) + text[found.end() :]


@contextmanager
def _name_as_typed(typed: Mapping[str, str]) -> Iterator[None]:
    """Write the name of an option in an error as the caller did: ``frame_rate``, or with a unit."""
    try:
        yield
    except (TrafficgenError, TypeError, ValueError) as error:
        for name, other in typed.items():
            whole = re.compile(rf"\b{name}\b")
            error.args = tuple(
                whole.sub(other, one) if isinstance(one, str) else one for one in error.args
            )
        raise


@contextmanager
def _name_system_limits() -> Iterator[None]:
    """Raise InputFileError for a name that is too long, or a file too many, whoever opens it."""
    try:
        yield
    except OSError as error:
        is_limit = error.errno in (errno.ENAMETOOLONG, *TOO_MANY_FILES)
        if not is_limit or error.filename is None:
            raise
        problem, remedy = f"cannot be used ({error.strerror})", "check the name"
        raise InputFileError(file=str(error.filename), problem=problem, remedy=remedy) from error


@overload
def checks_arguments(work: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def checks_arguments(*, like: type) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def checks_arguments(work: Callable[P, R] | None = None, /, *, like: type | None = None) -> Any:
    """Decorate a function or method without options: a wrong argument is a TypeError of one line.

    Arguments that are options of the class ``like`` are read as those are.
    """
    if work is None:
        return partial(_check_all, like=like)
    return _check_all(work)


def _check_all(work: Callable[P, R], *, like: type | None = None) -> Callable[P, R]:
    shown = inspect.signature(work)
    place = work.__qualname__.rpartition("<locals>.")[2]
    declared = {one.name: how for one, how in list_options(like)} if like else {}

    @wraps(work)
    def with_checks(*given: P.args, **keywords: P.kwargs) -> R:
        hints, bound = _hints_of(work), _bind(place, shown, given, keywords)
        for name, value in bound.arguments.items():
            hint = hints.get(name, Any)
            _refuse_empty_option(f"{place}: {name}", value, shown.parameters[name])
            bound.arguments[name] = _check(f"{place}: {name}", value, hint, declared.get(name))
        with _name_system_limits():
            return work(*bound.args, **bound.kwargs)

    return with_checks


def takes_name(work: Callable[P, R]) -> Callable[P, R]:
    """Check arguments of what registers by a name; a decorator without brackets gets advice."""
    checked = checks_arguments(work)

    @wraps(work)
    def with_name(*given: P.args, **keywords: P.kwargs) -> R:
        if given and callable(given[0]):
            raise TypeError(
                f"{work.__name__} takes a name, not {describe_value(given[0])}; write"
                f' @trafficgen.{work.__name__}("my_own") above the function'
            )
        return checked(*given, **keywords)

    return with_name


@cache
def _hints_of(thing: Callable[..., object]) -> dict[str, Any]:
    """Return the types of arguments; none where a name is known to type checkers alone."""
    try:
        if not isinstance(thing, FunctionType):
            return get_type_hints(thing)
        thing = inspect.unwrap(thing)  # names are looked up where they were written
        given = {name: hint for name, hint in thing.__annotations__.items() if name != "return"}
        return get_type_hints(SimpleNamespace(__annotations__=given), thing.__globals__)
    except NameError:
        return {}


def _bind(
    function: str,
    shown: inspect.Signature,
    given: tuple[object, ...],
    keywords: Mapping[str, object],
) -> inspect.BoundArguments:
    """Return arguments by name; raise TypeError if one is unknown or missing."""
    names = [name for name in shown.parameters if name not in ("self", "cls")]
    for name in keywords:
        if name not in shown.parameters:
            if name in _ELSEWHERE:
                raise TypeError(f"{function} has no option {name!r}; use {_ELSEWHERE[name]}")
            guess, known = suggest_name(name, names), ", ".join(names)
            raise TypeError(f"{function} has no option {name!r}{guess}; it takes {known}")
    try:
        return shown.bind(*given, **keywords)
    except TypeError as error:
        raise TypeError(f"{function}: {error}; it takes {', '.join(names)}") from None


def _refuse_empty_option(place: str, value: object, known: inspect.Parameter) -> None:
    """Refuse an option without a text in it, as the command line does with an unset variable."""
    if known.kind is known.KEYWORD_ONLY and isinstance(value, str) and not value.strip():
        raise ValueError(f"{place} must be a name or a value, not {value!r}")


def _check(place: str, value: Any, hint: Any, how: Option | None) -> Any:
    """Return a value that fits a type; texts of other types are read as on the command line.

    Raises:
        TypeError: If it is of another type.
        ValueError: If it is out of range.
    """
    value = plain_value(value)
    refuse_odd_names(value)
    kinds = _kinds_of(hint)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    fits = any(_fits(value, kind) for kind in kinds)
    is_text, takes_lists = isinstance(value, str), any(get_origin(one) is Sequence for one in kinds)
    if isinstance(value, Mapping) and any(get_args(one)[:1] == (str,) for one in kinds):
        for key in value:
            _check(" a key of ".join(place.rpartition(" ")[::2]).strip(), key, str, None)
    if is_text and not value and Path in kinds and not takes_lists:
        raise ValueError(f"{place} must be a name, not ''")
    if how is not None and how.parse is not None:
        try:
            if is_text:
                parsed = how.parse(value)
                return value if fits else parsed
            if is_number and fits and (unit := _unit_read_by(how.parse)) is not None:
                how.parse(f"{value}{unit * math.isfinite(value)}")  # it knows the range
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
    if not fits:
        named = [
            kind for kind in kinds if kind in _KIND_NAMES or not getattr(kind, "_is_protocol", 0)
        ]
        words = list(dict.fromkeys(map(_name_kind, named)))
        wanted = list_or(words)
        remedy = f"; use {value.taken_by}" if hasattr(value, "taken_by") else ""
        raise TypeError(f"{place} must be {wanted}, not {describe_value(value)}{remedy}")
    if how is not None and how.low is not None and is_number and value < how.low:
        least = f"be at least {how.low}" if how.low else "not be negative"
        raise ValueError(f"{place} must {least}, not {value}")
    if how is not None and is_number:
        check_bounds(place, place.rpartition(" ")[2], value)
    return value


def check_options(chosen: object) -> None:
    """Raise ValueError if a number among the options of an options class is out of bounds.

    The unit is that on which the name of the field ends; the message names the flag.
    """
    for one, how in list_options(type(chosen)):
        values = getattr(chosen, one.name)
        for value in values if isinstance(values, list | tuple) else [values]:
            if isinstance(value, int | float):
                check_bounds(how.flags[-1], one.name, value)


def check_bounds(place: str, name: str, value: float) -> None:
    """Raise ValueError for a number beyond the bounds of the unit on which its name ends.

    Infinity passes: it is not a limit, where an option takes it.
    """
    if value in (math.inf, -math.inf):
        return
    try:
        check_number(value, unit_in(name))
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def refuse_odd_names(value: object) -> None:
    """Raise InputFileError for a text, or one of a list, that no system takes as a name."""
    for one in value if isinstance(value, list | tuple) else [value]:
        if isinstance(one, str | PathLike):
            name = os.fspath(one)
            try:
                is_odd = "\0" in os.fsdecode(os.fsencode(name))
            except UnicodeEncodeError:  # a lone surrogate that is not a byte
                is_odd = True
            if is_odd:
                problem = "has a character that no system takes in a name"
                raise InputFileError(file=str(name), problem=problem, remedy="check the name")


def check_argument(place: str, value: object, hint: Any) -> None:
    """Raise TypeError if an argument, or a part of one, is of another type than ``hint``."""
    _check(place, value, hint, None)


def plain_value(value: Any) -> Any:
    """Return a value with numbers of Python for those of numpy, within lists and dictionaries too.

    JSON, and with it manifests and digests, knows no numbers of numpy.
    """
    if type(value) is dict:
        return {plain_value(key): plain_value(one) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(plain_value, value))
    is_scalar = hasattr(value, "dtype") and getattr(value, "shape", None) == ()
    plain = value.item() if is_scalar else value
    return plain if isinstance(plain, bool | Real | str) else value


@cache
def _unit_read_by(parse: Callable[[str], object]) -> str | None:
    """Return the unit that a parser needs after a number of that unit; None where it has none."""
    for unit, number in itertools.product(("", "s", "bps"), (1, 100)):
        with suppress(ValueError):
            parse(f"{number}{unit}")
            return unit
    return None


def _kinds_of(hint: Any) -> list[Any]:
    """Return the types of a union; a type itself alone."""
    is_union = get_origin(hint) in (Union, UnionType)
    return [kind for one in get_args(hint) for kind in _kinds_of(one)] if is_union else [hint]


def _fits(value: object, kind: Any) -> bool:
    origin = get_origin(kind) or kind
    is_unchecked = getattr(origin, "_is_protocol", False) and not origin._is_runtime_protocol
    if origin is Any or is_unchecked or not isinstance(origin, type):
        return origin is not Literal or value in get_args(kind)
    if origin in (int, float):
        return isinstance(value, _NUMBERS[origin]) and not isinstance(value, bool)
    if origin in (Sequence, Iterable, Collection) and isinstance(value, str | bytes | Mapping):
        return False
    return isinstance(value, origin)


def _name_kind(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    origin = get_origin(kind) or kind
    name = str(getattr(origin, "__name__", origin))
    article = "" if name.endswith("s") else "an " if name[0] in "AEIO" else "a "
    return _KIND_NAMES.get(origin, f"{article}{name}")


@runtime_checkable
class DataFrame(Protocol):
    """A table of pandas, Polars or Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as a stream of Arrow data."""


_NUMBERS: dict[Any, type] = {int: Integral, float: Real}
_KIND_NAMES: dict[Any, str] = {
    **{int: "a whole number", float: "a number", str: "a text", bool: "True or False"},
    **{Path: "a path", PathLike: "a path", type(None): "None", list: "a list", Sequence: "a list"},
    DataFrame: "a data frame",
    **{Mapping: "a dictionary", Iterable: "a list", Collection: "a list", Callable: "a function"},
}


def _default(one: Field[Any]) -> Any:
    return one.default if one.default_factory is MISSING else one.default_factory()


def _is_required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def parse_pairs(items: Iterable[str], *, remedy: str = "") -> dict[str, str]:
    """Return keys and values of texts ``key=value``.

    Blanks around keys and values are left out. The message about another text ends with ``remedy``.

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
