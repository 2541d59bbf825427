"""Options and parameters of a published model: set by a user, handed to the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, JsonValue

from trafficgen.errors import SettingError
from trafficgen.formatting import list_first, suggest_name
from trafficgen.models import Model, Option, Parameter, PublishedModel, format_value, same_value
from trafficgen.models.published.formulas import evaluate_formulas, is_formula, names_in_formulas
from trafficgen.models.registered_source import set_source
from trafficgen.quantity_bounds import check_numbers
from trafficgen.units import bps_from_kbps

Part = TypeVar("Part", bound=BaseModel)
_WORDS: dict[str, bool] = {
    "on": True,
    "true": True,
    "yes": True,
    "off": False,
    "false": False,
    "no": False,
}
_NOTHING = ("null", "none")
#: Options, or parameters, that an error lists.
_LISTED = 12


def set_options(
    model: Model | PublishedModel, settings: Mapping[str, JsonValue]
) -> Model | PublishedModel:
    """Return any model with options set; a fitted one has none but those of registered sources.

    Raises:
        SettingError: If there is no such option, or it cannot have that value.
    """
    if isinstance(model, PublishedModel):
        return with_settings(model, settings)
    return set_source(model, settings)


def with_settings(model: PublishedModel, settings: Mapping[str, JsonValue]) -> PublishedModel:
    """Return a model with options or parameters set, as `--set KEY=VALUE` does.

    A text is read as what the option or the parameter holds: a number, a truth (on, off), a list
    (``1128,340``), a table (JSON).

    Raises:
        SettingError: If there is no such option or parameter, or it cannot have that value.
    """
    options, parameters = dict(model.options), dict(model.mechanism.parameters)
    for key, value in settings.items():
        try:
            if key in options:
                options[key] = _set_option(options[key], value)
                check_numbers(options[key].default, key, options[key].unit)
            elif key in parameters:
                parameters[key] = _set_parameter(parameters[key], value)
                check_numbers(parameters[key].value, key, parameters[key].unit)
            else:
                guess = suggest_name(key, [*options, *parameters])
                raise SettingError(f"{model.name} has no {key!r} to set{guess}; {_keys(model)}")
        except ValueError as error:
            raise SettingError(f"{model.name}: {key}={format_value(value)}: {error}") from error
    mechanism = _replace(model.mechanism, {"parameters": parameters})
    changed = _replace(model, {"options": options, "mechanism": mechanism})
    return _leave_out_unused(changed, names_in_formulas(list(values_of(model).values())), settings)


def _leave_out_unused(
    model: PublishedModel, inputs: frozenset[str], settings: Mapping[str, JsonValue]
) -> PublishedModel:
    """Leave out the inputs of formulas that no formula names any more, since they were set."""
    used = names_in_formulas(list(values_of(model).values()))
    unused = inputs - used
    lost = sorted(name for name in settings if unused & {name, *_targets(model, name)})
    if lost:
        others = ", ".join(name for name in settings if name not in lost)
        raise SettingError(f"{model.name}: {lost[0]} has no effect when {others} is set")
    options = {name: one for name, one in model.options.items() if not _are_in(unused, name, one)}
    parameters = {k: v for k, v in model.mechanism.parameters.items() if k not in unused}
    if len(options) + len(parameters) == len(model.options) + len(model.mechanism.parameters):
        return model
    mechanism = _replace(model.mechanism, {"parameters": parameters})
    left = _replace(model, {"options": options, "mechanism": mechanism})
    return _leave_out_unused(left, used, settings)


def _targets(model: PublishedModel, name: str) -> tuple[str, ...]:
    return tuple(model.options[name].sets) if name in model.options else ()


def _are_in(names: frozenset[str], name: str, option: Option) -> bool:
    return names >= set(option.sets or (name,))


def _replace(part: Part, changes: Mapping[str, object]) -> Part:
    """Return a part with what was checked here: a text such as 7 is a mistake in files alone."""
    return BaseModel.model_copy(part, update=changes)


def values_of(model: PublishedModel) -> dict[str, JsonValue]:
    """Return the values of all parameters and options, formulas as they are."""
    values = {name: parameter.value for name, parameter in model.mechanism.parameters.items()}
    for name, option in model.options.items():
        for target in option.sets or (name,):
            values[target] = _in_unit_of(target, name, option.default)
    return values


def parameters_for_engine(model: PublishedModel) -> dict[str, JsonValue]:
    """Return values by the names of the state machine: parameters, and options in their place.

    Formulas are computed; what they name is theirs, and not the state machine's.

    Raises:
        ValueError: If a formula names nothing that there is, or cannot be computed.
    """
    values = values_of(model)
    inputs = names_in_formulas(list(values.values()))
    known: dict[str, JsonValue] = {}
    return {
        name: evaluate_formulas(value, values, known)
        for name, value in values.items()
        if name not in inputs
    }


def competing_tcp(model: PublishedModel) -> dict[str, JsonValue] | None:
    """Return the TCP settings of the bulk flows that competed with a source when it was measured.

    None if the model does not name them.
    """
    value = model.competing_tcp and model.competing_tcp.value
    return dict(value) if isinstance(value, dict) else None


def _in_unit_of(target: str, name: str, value: JsonValue) -> JsonValue:
    if name.endswith("_kbps") and target.endswith("_bps"):
        if isinstance(value, list):
            return [_in_unit_of(target, name, one) for one in value]
        if isinstance(value, int | float):
            return bps_from_kbps(value)
    return value


def _keys(model: PublishedModel) -> str:
    known = (("options", model.options), ("parameters", model.mechanism.parameters))
    lists = [
        f"its {kind} are {list_first([*names], most=_LISTED)}" for kind, names in known if names
    ]
    if any(len(names) > _LISTED for _, names in known):
        lists.append(f"see [`trafficgen models show {model.name}`|models_show({model.name!r})]")
    return "; ".join(lists) or "it has no options and no parameters"


def _set_option(option: Option, value: JsonValue) -> Option:
    wanted = _parse_option(option, value) if isinstance(value, str) else value
    if wanted is not None or option.default is not None:
        option.check(wanted)
    return option.model_copy(update={"default": wanted})


def _parse_option(option: Option, text: str) -> JsonValue:
    if option.default is None and text.lower() in _NOTHING:
        return None
    if option.many:
        return [_parse_one(option, part.strip()) for part in text.split(",") if part.strip()]
    return _parse_one(option, text)


def _parse_one(option: Option, text: str) -> JsonValue:
    for choice in option.choices:
        if text == format_value(choice) or same_value(_like(choice, text), choice):
            return choice
    example = option.default
    if isinstance(example, list):
        example = example[0]
    if example is None and (option.low is not None or option.high is not None):
        example = 0
    return _like(example, text, strict=not option.choices)


def _set_parameter(parameter: Parameter, value: JsonValue) -> Parameter:
    wanted = _like(parameter.value, value, strict=True) if isinstance(value, str) else value
    changes = {
        "value": wanted,
        "basis": "open",
        "source": None,
        "reason": "set by the user",
        "parts": {},
    }
    return _replace(parameter, changes)


def _like(example: JsonValue, text: str, *, strict: bool = False) -> JsonValue:
    """Return a text as a value of the kind of ``example``; else the text, or ``strict`` fails."""
    found: JsonValue = None
    if isinstance(example, str):
        number = _number(text, whole=False) if is_formula(example) else None
        return text if number is None else number
    if isinstance(example, bool):
        found = _WORDS.get(text.lower())
    elif isinstance(example, int | float):
        found = _number(text, whole=isinstance(example, int))
    elif isinstance(example, list) and not text.lstrip().startswith("["):
        inner = example[0] if example else None
        return [
            _like(inner, part.strip(), strict=strict) for part in text.split(",") if part.strip()
        ]
    else:
        found = _from_json(text, wanted=type(example) if example is not None else None)
        if example is None and found is None:
            return None if text.lower() in _NOTHING else text
    if found is None and strict:
        raise ValueError(f"{text!r} is not {_KINDS[type(example)]}")
    return text if found is None else found


_KINDS: dict[type, str] = {
    bool: "on or off",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a table in JSON",
    type(None): "a value",
}


def _number(text: str, *, whole: bool) -> int | float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if value - value != 0:  # infinity and NaN
        return None
    return int(value) if whole and value.is_integer() else value


def _from_json(text: str, *, wanted: type | None) -> JsonValue:
    try:
        found: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if wanted is None or isinstance(found, wanted) else None
