"""Settings of a target: what `trafficgen export --set KEY=VALUE` accepts, and its values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trafficgen.errors import SettingError
from trafficgen.formatting import suggest_name

SettingValue = str | int | float | bool
_WORDS = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


@dataclass(frozen=True)
class Setting:
    """One thing that may be set; its kind is that of its default.

    Attributes:
        name: Key; a number's last word is its unit.
        default: Value unless it is set.
        meaning: What it changes, a sentence.
        choices: Texts it may be; empty: any.
        low: Smallest number it may be.
        high: Largest number it may be.
    """

    name: str
    default: SettingValue
    meaning: str
    choices: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf

    def parse(self, value: SettingValue) -> SettingValue:
        """Return a value as the default's kind; raise ValueError, which says what it may be."""
        if isinstance(self.default, bool):
            return _flag(value)
        if isinstance(self.default, str):
            if self.choices and value not in self.choices:
                raise ValueError(f"must be one of {', '.join(self.choices)}")
            return str(value)
        return self._number(value)

    def _number(self, value: SettingValue) -> int | float:
        whole = isinstance(self.default, int)
        try:
            number = int(str(value)) if whole else float(value)
        except ValueError:
            raise ValueError(f"must be a {'whole number' if whole else 'number'}") from None
        if not (math.isfinite(number) and self.low <= number <= self.high):
            raise ValueError(f"must lie in [{self.low:g}, {self.high:g}]")
        return number


class Settings:
    """Values of all settings of a target."""

    def __init__(
        self, target: str, known: Sequence[Setting], given: Mapping[str, SettingValue]
    ) -> None:
        """Take the values given and the defaults of the rest.

        Raises:
            SettingError: If the target has no such setting, or it cannot have that value.
        """
        self._values = {setting.name: setting.default for setting in known}
        by_name = {setting.name: setting for setting in known}
        for name, value in given.items():
            if name not in by_name:
                if not by_name:
                    raise SettingError(f"{target} has no settings; leave {name!r} out")
                guess = suggest_name(name, by_name)
                names = ", ".join(by_name)
                raise SettingError(
                    f"{target} has no setting {name!r}{guess}; its settings are: {names}"
                )
            try:
                self._values[name] = by_name[name].parse(value)
            except ValueError as error:
                raise SettingError(f"{target}: {name}={value} cannot be set: it {error}") from None

    def number(self, name: str) -> float:
        """Return the value of a setting that is a number."""
        return float(self._values[name])

    def whole(self, name: str) -> int:
        """Return the value of a setting that is a whole number."""
        return int(self._values[name])

    def text(self, name: str) -> str:
        """Return the value of a setting that is a text."""
        return str(self._values[name])

    def flag(self, name: str) -> bool:
        """Return the value of a setting that is on or off."""
        return bool(self._values[name])


def _flag(value: SettingValue) -> bool:
    found = value if isinstance(value, bool) else _WORDS.get(str(value).lower())
    if found is None:
        raise ValueError("must be on or off")
    return found
