"""Texts of exported programs that are the same for every table but for a few values."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files


def filled(name: str, values: Mapping[str, object]) -> str:
    """Return the template ``name`` with each ``@KEY@`` replaced by the Python literal of its value.

    Raises:
        ValueError: If a value has no place in the template.
    """
    text = files(__name__).joinpath(name).read_text(encoding="utf-8")
    for key, value in values.items():
        place = f"@{key}@"
        if place not in text:
            raise ValueError(f"{name} has no place for {key}")
        text = text.replace(place, repr(value))
    return text
