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

_MARK = "="
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "min": min,
    "max": max,
    "gamma": math.gamma,
}


def is_formula(value: JsonValue) -> bool:
    """Return whether a value is a formula."""
    return isinstance(value, str) and value.startswith(_MARK)


def names_in_formulas(value: JsonValue) -> frozenset[str]:
    """Return the options and parameters that the formulas in a value name.

    Raises:
        ValueError: If one is no formula.
    """
    if isinstance(value, list | dict):
        parts = value.values() if isinstance(value, dict) else value
        return frozenset().union(*map(names_in_formulas, parts))
    if not is_formula(value):
        return frozenset()
    nodes = ast.walk(_parse(str(value)))
    return frozenset(one.id for one in nodes if isinstance(one, ast.Name)) - _FUNCTIONS.keys()


def evaluate_formulas(value: JsonValue, names: Mapping[str, JsonValue]) -> JsonValue:
    """Return a value with numbers in place of its formulas.

    ``names`` are values of options and parameters, which may be formulas too. What a formula makes
    null is left out of its table.

    Raises:
        ValueError: If a formula names something else, or cannot be computed.
    """
    if isinstance(value, list):
        return [evaluate_formulas(one, names) for one in value]
    if isinstance(value, dict):
        found = {key: evaluate_formulas(one, names) for key, one in value.items()}
        return {key: one for key, one in found.items() if one is not None or value[key] is None}
    if not is_formula(value):
        return value
    try:
        found = _compute(_parse(str(value)), names)
        return int(found) if isinstance(found, float) and found.is_integer() else found
    except (ArithmeticError, TypeError, RecursionError) as error:
        raise ValueError(f"the formula {value!r} cannot be computed: {error}") from error


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.removeprefix(_MARK).strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no formula: {error.msg}") from error


def _compute(node: ast.expr, names: Mapping[str, JsonValue]) -> Any:
    how: Callable[..., Any] | None = None
    parts: list[ast.expr] = []
    match node:
        case ast.Constant(value=value):
            return float(value) if type(value) is int else value
        case ast.Name(id=name) if name in names:
            return evaluate_formulas(names[name], names)
        case ast.IfExp(test=test, body=yes, orelse=no):
            return _compute(yes if _compute(test, names) else no, names)
        case ast.BinOp(left=left, op=operation, right=right):
            how, parts = _OPERATORS.get(type(operation)), [left, right]
        case ast.Compare(left=left, ops=[comparison], comparators=[right]):
            how, parts = _OPERATORS.get(type(comparison)), [left, right]
        case ast.UnaryOp(op=sign, operand=one):
            how, parts = _OPERATORS.get(type(sign)), [one]
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]):
            how, parts = _FUNCTIONS.get(name), given
    if how is None:
        raise ValueError(f"a formula cannot have {ast.unparse(node)!r}")
    return how(*(_compute(part, names) for part in parts))
