"""Formulas of published models: values that follow from options and from other values.

A value such as ``= rate_mbps * 1e6 / 8 / fps`` is computed when the model is played.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import JsonValue

from trafficgen.formatting import cut_middle

_MARK = "="
#: Most letters of a formula, and of one in a message.
_LONGEST, _SHOWN = 1000, 200
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}
_COMPARISONS: dict[type, Callable[..., Any]] = {ast.Eq: operator.eq, ast.NotEq: operator.ne}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "min": min,
    "max": max,
    "gamma": math.gamma,
}
_REMEDY = f"use numbers, names, + - * / **, == != and {', '.join(_FUNCTIONS)}"


def is_formula(value: JsonValue) -> bool:
    """Return whether a value is a formula."""
    return isinstance(value, str) and value.startswith(_MARK)


def names_in_formulas(value: JsonValue) -> frozenset[str]:
    """Return the options and parameters that the formulas in a value name.

    Raises:
        ValueError: If one is not a formula.
    """
    if isinstance(value, list | dict):
        parts = value.values() if isinstance(value, dict) else value
        return frozenset().union(*map(names_in_formulas, parts))
    if not is_formula(value):
        return frozenset()
    nodes = ast.walk(_parse(str(value)))
    return frozenset(one.id for one in nodes if isinstance(one, ast.Name)) - _FUNCTIONS.keys()


def evaluate_formulas(
    value: JsonValue, names: Mapping[str, JsonValue], known: dict[str, JsonValue] | None = None
) -> JsonValue:
    """Return a value with numbers in place of its formulas.

    ``names`` are values of options and parameters, which may be formulas too; ``known`` keeps what
    was computed of them for the next call, so that each is computed once. What a formula makes null
    is left out of its table.

    Raises:
        ValueError: If a formula names something else, or cannot be computed.
    """
    known = {} if known is None else known
    if isinstance(value, list):
        return [evaluate_formulas(one, names, known) for one in value]
    if isinstance(value, dict):
        table = {key: evaluate_formulas(one, names, known) for key, one in value.items()}
        return {key: one for key, one in table.items() if one is not None or value[key] is None}
    if not is_formula(value):
        return value
    try:
        found = _compute(_parse(str(value)), names, known)
        if isinstance(found, float) and not math.isfinite(found):
            raise OverflowError("it has no finite value")
        return int(found) if isinstance(found, float) and found.is_integer() else found
    except (ArithmeticError, TypeError, RecursionError) as error:
        remedy = "choose other values of what it names"
        raise ValueError(
            f"the formula {_brief(value)} cannot be computed ({error}); {remedy}"
        ) from error


def _parse(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ValueError(f"a formula has at most {_LONGEST:,} letters, not {len(text):,}")
    try:
        return ast.parse(text.removeprefix(_MARK).strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{_brief(text)} is not a formula ({error.msg}); {_REMEDY}") from error
    except (ValueError, RecursionError, MemoryError) as error:  # NUL; nested too deeply
        raise ValueError(f"{_brief(text)} is not a formula; {_REMEDY}") from error


def _brief(value: object) -> str:
    return cut_middle(repr(value), longest=_SHOWN)


def _compute(
    node: ast.expr, names: Mapping[str, JsonValue], known: dict[str, JsonValue]
) -> JsonValue:
    how: Callable[..., Any] | None = None
    parts: list[ast.expr] = []
    match node:
        case ast.Constant(value=bool() | str() | None as value):
            return value
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name) if name in names:
            if name not in known:
                known[name] = evaluate_formulas(names[name], names, known)
            if isinstance(known[name], list | dict):  # lists of lists of lists grow without end
                raise ValueError(
                    f"a formula cannot have {name!r}, which is neither a number nor text"
                )
            return known[name]
        case ast.IfExp(test=test, body=yes, orelse=no):
            return _compute(yes if _compute(test, names, known) else no, names, known)
        case ast.BinOp(left=left, op=operation, right=right):
            how, parts = _OPERATORS.get(type(operation)), [left, right]
        case ast.Compare(left=left, ops=[comparison], comparators=[right]):
            how, parts = _COMPARISONS.get(type(comparison)), [left, right]
        case ast.UnaryOp(op=sign, operand=one):
            how, parts = _OPERATORS.get(type(sign)), [one]
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]):
            how, parts = _FUNCTIONS.get(name), given
    if how is None:
        raise ValueError(f"a formula cannot have {_brief(ast.unparse(node))}")
    values = [_compute(part, names, known) for part in parts]
    return how(*values) if isinstance(node, ast.Compare) else _real(how(*map(_real, values)))


def _real(value: object) -> float:
    """Return a number as one whose powers take no time and no memory."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{_brief(value)} is not a number")
    return float(value)
