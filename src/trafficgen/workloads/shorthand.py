"""One of several kinds, written short: ``poisson:0.5/s``, or ``lognormal:20min,sigma=0.6`` with
more keys.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import model_validator

from trafficgen.models.estimate import ModelPart


class KindPart(ModelPart):
    """One kind with its keys; a value that is no object is that of the first key."""

    first_key: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _long_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            return _keys_of(value, first_key=cls.first_key)
        return value if isinstance(value, dict | KindPart) else {cls.first_key: value}


class ChoicePart(ModelPart):
    """Exactly one of several kinds, each a key; a text names the kind before a colon."""

    kinds: ClassVar[tuple[str, ...]]

    @model_validator(mode="before")
    @classmethod
    def _long_form(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        kind, _, rest = value.partition(":")
        if kind.strip() not in cls.kinds:
            raise ValueError(
                f"{value!r} is none of {', '.join(cls.kinds)}; write for example {cls._example()}"
            )
        return {kind.strip(): rest.strip() or {}}

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [kind for kind in self.kinds if getattr(self, kind) is not None]
        if len(given) != 1:
            found = f"{' and '.join(given)} stand together" if given else "there is none"
            raise ValueError(f"one of {', '.join(self.kinds)} is wanted, and {found}; keep one")
        return self

    @classmethod
    def _example(cls) -> str:
        return f"{cls.kinds[0]}:..."

    @property
    def kind(self) -> str:
        """The kind that is given."""
        return next(kind for kind in self.kinds if getattr(self, kind) is not None)


def _keys_of(text: str, *, first_key: str) -> dict[str, str]:
    """Return keys and values of a list such as ``0.8,clips=100``, whose first item may be the value
    of the first key.

    Raises:
        ValueError: If an item is no ``key=value``, or a key comes twice.
    """
    keys: dict[str, str] = {}
    for place, item in enumerate(part.strip() for part in text.split(",")):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals and place == 0:
            key, value = first_key, item
        elif not equals:
            raise ValueError(f"{item!r} is no key=value; write for example {first_key}=...")
        if key in keys:
            raise ValueError(f"{key} is given twice; leave one out")
        keys[key] = value
    return keys
