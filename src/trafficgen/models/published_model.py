"""The published model: a source whose numbers come from papers, each with its place in them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, JsonValue, model_validator

from trafficgen.data_frames import frame_rows
from trafficgen.formatting import format_count, one_line, suggest_name
from trafficgen.model_parts.estimate import ModelPart
from trafficgen.models.parameters import unit_of
from trafficgen.models.provenance import PublishedProvenance
from trafficgen.models.schema import ModelRoot
from trafficgen.notebook import NotebookView

if TYPE_CHECKING:
    import pandas as pd

#: Last words of names that say what a number counts; `kbps` and `ms` are the units of the papers'
#: options.
UNITS = frozenset(
    (
        *("s", "ms", "us", "ns", "hz"),
        *("bytes", "bits", "bps", "kbps", "mbps"),
        *("packets", "frames", "levels", "groups", "bins", "windows", "reports", "requests"),
        *("sessions", "streams"),
        *("connections", "clips", "segments", "runs", "steps", "tries", "count", "index", "seed"),
        *("loss", "ratio", "share", "fraction", "probability", "multiple", "factor"),
        *("sigma", "exponent", "percent", "weight", "correlation"),
    )
)


class Option(ModelPart):
    """What the paper varied, and so may a user: `--set NAME=VALUE`."""

    default: JsonValue
    """Value when nothing is set."""
    choices: tuple[JsonValue, ...] = ()
    """Values it may have; empty: any in its range."""
    low: float | None = None
    """Smallest number it may be; null: no limit."""
    high: float | None = None
    """Largest number it may be; null: no limit."""
    many: bool = False
    """Whether it is a list, such as 1128,340."""
    unit: str = ""
    """Unit of the value; empty where it has none."""
    description: str = Field(min_length=1)
    """What it changes."""
    source: str = Field(min_length=1)
    """Findings or sections of papers that varied it."""
    sets: tuple[str, ...] = ()
    """Parameters of the mechanism that take its value, in their own units; empty: that of its
    name."""
    confirmed_by: int | None = Field(default=None, ge=0)
    """As of a parameter, of the values that it may have."""
    trap: str | None = None
    """As of a parameter."""

    @model_validator(mode="after")
    def _default_is_allowed(self) -> Self:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")
        if self.default is not None:
            self.check(self.default)
        return self

    @property
    def allowed(self) -> str:
        """What it may be, in words; empty where that is anything."""
        parts = []
        if self.choices:
            parts.append(
                f"{'of' if self.many else 'one of'} {', '.join(map(format_value, self.choices))}"
            )
        elif self.low is not None or self.high is not None:
            ends = [("at least", self.low), ("at most", self.high)]
            parts.append(", ".join(f"{word} {end:g}" for word, end in ends if end is not None))
        if self.many:
            parts.insert(0, "a list, such as 1128,340" if not parts else "a list")
        return " ".join(parts)

    def check(self, value: JsonValue) -> None:
        """Raise ValueError, which says what it may be, for a value that the option cannot have."""
        if self.many != isinstance(value, list):
            raise ValueError(f"{format_value(value)} is {'not a list' if self.many else 'a list'}")
        if self.many and not value:
            raise ValueError("the list is empty")
        for one in value if isinstance(value, list) else [value]:
            self._check_one(one)

    def _check_one(self, value: JsonValue) -> None:
        if self.choices:
            if not any(same_value(value, choice) for choice in self.choices):
                choices = ", ".join(map(format_value, self.choices))
                guess = suggest_name(format_value(value), map(format_value, self.choices))
                raise ValueError(f"{format_value(value)} is not one of {choices}{guess}")
            return
        bounded = self.low is not None or self.high is not None
        if bounded and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{format_value(value)} is not a number")
        if bounded and isinstance(value, int | float):
            if self.low is not None and not value >= self.low:
                raise ValueError(f"{format_value(value)} is below {self.low:g}")
            if self.high is not None and not value <= self.high:
                raise ValueError(f"{format_value(value)} is above {self.high:g}")


Basis = Literal["figure", "derived", "open", "definition"]
_BASES = (
    "figure: a paper's own; derived: by the arithmetic in `reason`; open: left open by the papers"
    " and chosen here for `reason`; definition: of a standard or of the method."
)


class TablePart(ModelPart):
    """Some values of a table whose basis is not that of the rest."""

    basis: Basis = Field(description=_BASES)
    source: str | None = None
    """As of a parameter."""
    reason: str | None = None
    """As of a parameter."""

    @model_validator(mode="after")
    def _accounted_for(self) -> Self:
        _account(self.basis, source=self.source, reason=self.reason)
        return self


class Parameter(ModelPart):
    """One number, text, list or table of the mechanism, and where it comes from."""

    value: JsonValue
    """The value, in the unit that the name or `unit` says; a text that begins with `=` is a formula
    of options and other parameters."""
    basis: Basis = Field(
        description=f"{_BASES} Of a table, that of all values that `parts` does not name."
    )
    source: str | None = None
    """Findings or sections of papers, or the standard; null for what is open throughout."""
    reason: str | None = None
    """Arithmetic of what is derived, reason of what is open."""
    unit: str | None = None
    """Unit where the name does not say it; `1` for a plain number."""
    confirmed_by: int | None = Field(default=None, ge=0)
    """Independent public places that give the value of a standard; 0: from memory alone; null: not
    counted."""
    trap: str | None = None
    """What readers or implementations get wrong about it."""
    parts: dict[str, TablePart] = Field(default_factory=dict)
    """Values of a table that have a basis of their own, by key (`idle_s`), by column
    (`*.audio_kbps`), or by row from 0 and column (`8.audio_kbps`), which counts before the
    column."""

    @model_validator(mode="after")
    def _accounted_for(self) -> Self:
        _account(self.basis, source=self.source, reason=self.reason)
        _refuse_what_json_lacks(self.value)
        paths = [path for path, _ in leaves(self.value)]
        for name in self.parts:
            if not any(_names(name, path) for path in paths):
                raise ValueError(f"parts.{name} names no value of the table")
        return self

    def basis_of(self, path: str) -> Basis:
        """Return the basis of the value at a path such as ``8.audio_kbps``; empty: the whole."""
        found = [name for name in self.parts if _names(name, path)]
        if not found:
            return self.basis
        return self.parts[min(found, key=lambda name: name.count("*"))].basis

    @property
    def bases(self) -> tuple[Basis, ...]:
        """The different bases of its values, in the order in which they first occur."""
        found = dict.fromkeys(self.basis_of(path) for path, _ in leaves(self.value))
        return tuple(found) or (self.basis,)


class Mechanism(ModelPart):
    """The state machine that plays the source, and its parameters."""

    kind: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    """State machine of the simulation."""
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    """Its parameters."""

    @model_validator(mode="after")
    def _numbers_have_units(self) -> Self:
        for name, parameter in self.parameters.items():
            if _is_numeric(parameter.value) and parameter.unit is None and not has_unit(name):
                raise ValueError(
                    f"parameters.{name}: a number says its unit; end the name in one (_s, _bytes,"
                    " _bps, _ratio, ...) or give `unit`"
                )
        return self


class PublishedModel(NotebookView, ModelRoot):
    """A source as papers describe it: a mechanism that responds to the path, and its parameters.

    Example:
        >>> import trafficgen
        >>> model = trafficgen.load_model("cbr")
        >>> for name, option in model.options.items():
        ...     print(name, "=", option.default, option.unit)
        rate_kbps = 340 kbit/s
        packet_bytes = 1000 bytes
        duration_s = 60 s
        >>> model.provenance.limitations[0]
        'It represents no application; it is the baseline that loads a path whatever happens there.'
    """

    extends: str | None = None
    """Catalogue entry whose options, parameters and provenance hold where this file gives none;
    null once they have been taken over."""
    group: str = "others"
    """Heading under which the catalogue lists it."""
    provenance: PublishedProvenance
    """Where the numbers come from, and where they end."""
    transport: Literal["udp", "tcp"] | None = None
    """Transport of the media; null where an option or a parameter says it."""
    options: dict[str, Option] = Field(default_factory=dict)
    """What may be varied."""
    competing_tcp: Parameter | None = None
    """TCP of the bulk flows that competed when it was measured: what `--compete tcp` and `tcp:reno`
    mean with this source; null for that of today."""
    mechanism: Mechanism
    """How the source behaves."""

    def __repr__(self) -> str:
        options = format_count(len(self.options), "option")
        what = f"{self.mechanism.kind}, {options}, {self.provenance.review}"
        return f"<PublishedModel {one_line(self.name)}: {what}>"

    def to_pandas(self) -> pd.DataFrame:
        """Return a row an option or a plain value of a parameter, and where it comes from.

        A number is in ``estimate``, anything else in ``words``; ``basis`` is ``option`` or that of
        the parameter, ``source`` what it rests on.
        """
        rows: list[dict[str, object]] = [
            {"parameter": name, "unit": one.unit or "1", "basis": "option", "source": one.source}
            | _split_value(one.default)
            for name, one in self.options.items()
        ]
        for name, part in self.mechanism.parameters.items():
            for path, value in leaves(part.value):
                parameter = f"{name}.{path}" if path else name
                named = unit_of(*parameter.split("."))
                where = {"basis": part.basis_of(path), "source": part.source}
                where["unit"] = named if part.unit in (None, "1") else part.unit
                rows.append({"parameter": parameter, **_split_value(value), **where})
        columns = ("parameter", "estimate", "unit", "words", "basis", "source")
        return frame_rows(rows, dict.fromkeys(columns, str) | {"estimate": float})

    def _notebook_data(self) -> dict[str, object]:
        return {
            "description": self.description,
            "transport": self.transport,
            "parameters": len(self.mechanism.parameters),
            "options": [
                {
                    "option": name,
                    "default": None if option.default is None else str(option.default),
                    "unit": option.unit,
                    "allowed": option.allowed,
                    "description": option.description,
                }
                for name, option in self.options.items()
            ],
            "citations": [source.text for source in self.provenance.citations],
            "limits": self.provenance.limitations,
        }

    @model_validator(mode="after")
    def _one_value_for_each_parameter(self) -> Self:
        given: dict[str, str] = dict.fromkeys(self.mechanism.parameters, "mechanism.parameters")
        for name, option in self.options.items():
            for target in option.sets or (name,):
                if target in given:
                    raise ValueError(f"options.{name}: {target} is set by {given[target]} already")
                given[target] = f"options.{name}"
        return self


def _split_value(value: JsonValue) -> dict[str, object]:
    """Return a number as ``estimate``, anything else but null as ``words``."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"estimate": float(value)}
    return {"words": None if value is None else format_value(value)}


def has_unit(name: str) -> bool:
    """Return whether a parameter's name says what its number counts."""
    return name.rpartition("_")[2] in UNITS


def format_value(value: JsonValue) -> str:
    """Format a value as a user writes it after `--set key=`."""
    if isinstance(value, list):
        return ",".join(map(format_value, value))
    return value if isinstance(value, str) else json.dumps(value, default=repr)


def same_value(first: JsonValue, second: JsonValue) -> bool:
    """Return whether two values are one; unlike Python, true is not 1."""
    return isinstance(first, bool) == isinstance(second, bool) and first == second


def leaves(value: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield path and value of each plain value in a table, keys and positions joined by dots."""
    if not isinstance(value, dict | list):
        yield path, value
        return
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(one, f"{path}.{key}" if path else str(key))


def _names(part: str, path: str) -> bool:
    """Return whether a name of a part means the value at a path, or a table that holds it."""
    wanted, given = part.split("."), path.split(".")
    return len(wanted) <= len(given) and all(
        one in ("*", key) for one, key in zip(wanted, given, strict=False)
    )


def _account(basis: Basis, *, source: str | None, reason: str | None) -> None:
    """Raise ValueError if the source or the reason that a basis needs is missing."""
    if basis in ("derived", "open") and not (reason or "").strip():
        wanted = "the arithmetic" if basis == "derived" else "why this value"
        raise ValueError(f"basis {basis} needs a reason: {wanted}")
    if basis != "open" and not (source or "").strip():
        raise ValueError(f"basis {basis} needs a source: a finding's id, a section or a standard")


def _is_numeric(value: JsonValue) -> bool:
    if isinstance(value, list):
        return any(_is_numeric(one) for one in value)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refuse_what_json_lacks(value: JsonValue) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a value must be finite")
    if isinstance(value, str) and re.fullmatch(r"[-+]?\d[\d_]*(\.\d*)?([eE][-+]?\d+)?", value):
        raise ValueError(f"{value!r} is text that looks like a number; YAML wants 1.0e+6 for 1e6")
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        _refuse_what_json_lacks(part)
