"""Shorthand of a workload file: ``poisson:0.5/s`` for ``{poisson: {rate: 0.5/s}}``."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, ClassVar, Self

from pydantic import model_validator

from trafficgen.models.estimate import ModelPart


class KindPart(ModelPart):
    """One kind with its keys; a value that is no object is that of its first key."""

    @model_validator(mode="before")
    @classmethod
    def _long_form(cls, value: Any) -> Any:
        first_key = next(iter(cls.model_fields))
        if isinstance(value, str):
            return _parse_keys(value, first_key=first_key)
        return value if isinstance(value, dict | KindPart) else {first_key: value}


class ChoicePart(ModelPart):
    """Exactly one of several kinds, each a key; a text names the kind before a colon.

    The kinds are the fields that have examples: a new one is a field here and nothing else.
    """

    noun: ClassVar[str]

    @classmethod
    def kinds(cls) -> dict[str, str]:
        """Return an example of each kind by its name."""
        return {
            name: str(field.examples[0])
            for name, field in cls.model_fields.items()
            if field.examples
        }

    @model_validator(mode="before")
    @classmethod
    def _long_form(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        kind, _, rest = (part.strip() for part in value.partition(":"))
        kinds = cls.kinds()
        if kind not in kinds:
            meant = get_close_matches(kind, kinds, n=1)
            guess = f" (did you mean {meant[0]}?)" if meant else ""
            raise ValueError(f"unknown {cls.noun} {kind!r}{guess}; use {', '.join(kinds.values())}")
        return {kind: rest or {}}

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [kind for kind in self.kinds() if getattr(self, kind) is not None]
        if len(given) != 1:
            problem = f"{' and '.join(given)} exclude each other" if given else "no kind is given"
            raise ValueError(f"{problem}; give one of {', '.join(self.kinds())}")
        return self

    @property
    def kind(self) -> str:
        """Name of the kind that is given."""
        return next(kind for kind in self.kinds() if getattr(self, kind) is not None)

    @property
    def part(self) -> Any:
        """Value of the kind that is given."""
        return getattr(self, self.kind)


def _parse_keys(text: str, *, first_key: str) -> dict[str, str]:
    """Return keys and values of ``0.8,clips=100``; the first item may be the first key's value."""
    keys: dict[str, str] = {}
    for place, item in enumerate(part.strip() for part in text.split(",")):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals and place == 0:
            key, value = first_key, item
        elif not equals:
            raise ValueError(f"{item!r} is not key=value; write for example {first_key}=...")
        if key in keys:
            raise ValueError(f"{key} is given twice; leave one out")
        keys[key] = value
    return keys
