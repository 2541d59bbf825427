"""Changing every law within a part of a model, whatever the part holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from trafficgen.models.estimate import ModelPart
from trafficgen.models.law import Law

Part = TypeVar("Part", bound=ModelPart)


def with_laws(part: Part, change: Callable[[Law], Law]) -> Part:
    """Return a part with each law in it, at any depth, replaced by what ``change`` returns for
    it.
    """
    updates: dict[str, object] = {}
    for name in type(part).model_fields:
        before = getattr(part, name)
        after = _changed(before, change)
        if after is not before:
            updates[name] = after
    return part.model_copy(update=updates) if updates else part


def _changed(value: object, change: Callable[[Law], Law]) -> object:
    if isinstance(value, Law):
        return change(value)
    if isinstance(value, ModelPart):
        return with_laws(value, change)
    if isinstance(value, tuple):
        after = tuple(_changed(each, change) for each in value)
        return (
            after if any(new is not old for new, old in zip(after, value, strict=True)) else value
        )
    if isinstance(value, dict):
        changed = {key: _changed(each, change) for key, each in value.items()}
        return changed if any(changed[key] is not value[key] for key in value) else value
    return value
