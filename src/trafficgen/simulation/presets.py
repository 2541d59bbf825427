"""Paths by name, such as ``preset:lte``: data with its sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from trafficgen.errors import SimulationError
from trafficgen.formatting import suggest_name
from trafficgen.models import read_yaml
from trafficgen.simulation.path_keys import CAPACITIES, RATE

#: What a path begins with that takes a preset.
PRESET = "preset:"
#: Keys of which a link has one: to give one replaces the others of a preset.
_ALTERNATIVES = [{field.removesuffix(RATE.unit) for field in part} for part in CAPACITIES]


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A path that has a name.

    Attributes:
        name: What ``preset:`` is followed by.
        description: What kind of connection it is.
        source: Where its numbers are from.
        link: Keys of its link and their values, as in a path file.

    Example:
        >>> import trafficgen
        >>> [preset.name for preset in trafficgen.Path.presets()][:4]
        ['dial', '2g', 'edge', '3g-slow']
        >>> trafficgen.Path.presets()[0].text
        'rate=49kbps,reverse_rate=30kbps,delay=60ms'
    """

    name: str
    description: str
    source: str
    link: Mapping[str, str]

    @property
    def text(self) -> str:
        """Its keys on one line."""
        return ",".join(f"{key}={value}" for key, value in self.link.items())


@cache
def load_presets() -> Mapping[str, Preset]:
    """Load all presets -> by name, from slow to fast within a kind."""
    text = Path(__file__).with_name("presets.yaml").read_text(encoding="utf-8")
    found: Any = read_yaml(text)
    return MappingProxyType({name: Preset(name=name, **part) for name, part in found.items()})


def apply_preset(settings: Mapping[str, object]) -> dict[str, object]:
    """Return the keys of a link, with those of its ``preset`` where it gives none of its own.

    Raises:
        SimulationError: If there is no such preset.
    """
    own = dict(settings)
    name = own.pop("preset", None)
    if name is None:
        return own
    presets = load_presets()
    if name not in presets:
        guess = suggest_name(str(name), presets)
        raise SimulationError(
            f"path: unknown preset {str(name)!r}{guess}; presets are {', '.join(presets)}"
        )
    return change_link(presets[str(name)].link, own)


def change_link(link: Mapping[str, object], own: Mapping[str, object]) -> dict[str, object]:
    """Return the keys of a link with some that are changed, without those that they replace."""
    replaced = set().union(*(keys for keys in _ALTERNATIVES if keys & own.keys()))
    return {**{key: value for key, value in link.items() if key not in replaced}, **own}
