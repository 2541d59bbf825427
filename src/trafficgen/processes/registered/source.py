"""Sources of users: functions that place packets."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import JsonValue

from trafficgen.errors import GenerationError, SettingError
from trafficgen.formatting import describe_value, suggest_name
from trafficgen.registry import Registry, name_failures
from trafficgen.tables.protocols import smallest_header_bytes
from trafficgen.units import FloatArray

#: Draws times, s, and IP lengths, bytes, from a generator, a length in s and settings of its own.
SourceFunction: TypeAlias = Callable[..., tuple[npt.ArrayLike, npt.ArrayLike]]
_LARGEST_IP_BYTES = 65_535


@dataclass(frozen=True)
class RegisteredSource:
    """A function of a user that places packets.

    Attributes:
        name: Its name in :data:`SOURCES`.
    """

    name: str
    function: SourceFunction
    module: str

    @cached_property
    def defaults(self) -> dict[str, object]:
        """Its settings -> default."""
        found = list(inspect.signature(self.function).parameters.values())[2:]
        return {one.name: one.default for one in found}

    def parse_settings(self, settings: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return settings with texts as values where they are JSON.

        Raises:
            SettingError: If it has no such setting, or one must be a number.
        """
        for name in settings:
            if name not in self.defaults:
                guess = suggest_name(name, self.defaults)
                known = ", ".join(self.defaults) or "none"
                raise SettingError(
                    f"{self.name} has no {name!r} to set{guess}; its settings are {known}"
                )
        found = {
            name: _read(value) if isinstance(value, str) else value
            for name, value in settings.items()
        }
        for name, value in found.items():
            if _is_number(self.defaults[name]) and not _is_number(value):
                raise SettingError(f"{self.name}: {name}={value} is not a number; give one")
        return found

    def place_packets(
        self, settings: Mapping[str, JsonValue], generator: np.random.Generator, length_s: float
    ) -> tuple[FloatArray, npt.NDArray[np.uint32]]:
        """Return times, s, and IP lengths, bytes, in order of time, all within the length.

        Raises:
            GenerationError: If the function fails, or gives no such arrays.
        """
        remedy = "correct its function or its settings"
        with name_failures(f"source {self.name}", remedy=remedy, kind=GenerationError):
            given = self.function(generator, length_s, **settings)
        time_s, ip_bytes = self._read_arrays(given)
        least = smallest_header_bytes("udp", ip_version=4)
        problem = ""
        if time_s.ndim != 1 or time_s.shape != ip_bytes.shape:
            problem = f"arrays of the shapes {time_s.shape} and {ip_bytes.shape}, not of one length"
        elif time_s.size and not (np.isfinite(time_s).all() and time_s.min() >= 0):
            problem = "times that are negative or not finite"
        elif time_s.size and not least <= ip_bytes.min() <= ip_bytes.max() <= _LARGEST_IP_BYTES:
            problem = f"sizes outside {least} to {_LARGEST_IP_BYTES} bytes"
        if problem:
            raise GenerationError(f"source {self.name}: the function gives {problem}; correct it")
        order = np.argsort(time_s, kind="stable")
        order = order[time_s[order] < length_s]
        return time_s[order].astype(np.float64), ip_bytes[order].astype(np.uint32)

    def _read_arrays(self, given: Any) -> tuple[FloatArray, FloatArray]:
        """Return what the function gave as two arrays of numbers."""
        with suppress(TypeError, ValueError):
            times_s, sizes = given
            arrays = np.asarray(times_s), np.asarray(sizes)
            if all(one.dtype.kind in "iuf" or not one.size for one in arrays):
                return arrays
        raise GenerationError(
            f"source {self.name}: the function gives {describe_value(given)}; return times in s and"
            " sizes in bytes, two arrays of numbers"
        )


#: Sources of users, by name.
SOURCES: Registry[RegisteredSource] = Registry("sources")


def _read(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def find_source(name: str) -> RegisteredSource:
    """Return a source by its name; raise GenerationError if none is registered."""
    if name not in SOURCES:
        known = ", ".join(SOURCES) or "none"
        raise GenerationError(
            f"no source {name!r} is registered{suggest_name(name, SOURCES)}; register it with"
            f" register_source; those registered: {known}"
        )
    return SOURCES[name]
