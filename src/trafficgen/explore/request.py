"""Requests of the page: checked, written as commands with the same result, and simulated."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import JsonValue

from trafficgen.errors import ExploreError, SettingError, TrafficgenError, TrafficgenWarning
from trafficgen.explore.controls import COMPETITORS, CONTROLS, DEFAULT_COMPETITOR
from trafficgen.explore.playable_models import PlayableModel, largest_value
from trafficgen.models import Option, PublishedModel
from trafficgen.models.published import with_settings
from trafficgen.simulation.options import SimulateOptions
from trafficgen.simulation.results import SimulationResult
from trafficgen.simulation.simulate import run_sessions
from trafficgen.simulation.sources import sources_of

T = TypeVar("T")

_LONGEST_TEXT = 200
_LONGEST_LIST = 20
_OTHER_KEYS = ("model", "competitor", "settings")
#: Packets after which a simulation is given up: about three seconds of work, and memory of 300 MB.
MOST_PACKETS = 2_000_000


@dataclass(frozen=True)
class SimulationRequest:
    """A session over a path with a competing flow.

    Attributes:
        settings: Options of the model, as after ``--set``.
    """

    playable: PlayableModel
    values: Mapping[str, float]
    competitor: str
    settings: Mapping[str, JsonValue]

    @classmethod
    def parse(cls, request: object, models: Mapping[str, PlayableModel]) -> SimulationRequest:
        """Check a request; controls that it does not name have their defaults.

        Raises:
            ExploreError: If it names something unknown, or more than is simulated here.
        """
        if not isinstance(request, dict):
            raise ExploreError("a request is one JSON object")
        for key in request:
            if key not in CONTROLS and key not in _OTHER_KEYS:
                raise ExploreError(
                    f"unknown control {str(key)[:40]!r}; use {', '.join((*CONTROLS, *_OTHER_KEYS))}"
                )
        playable = _known(request.get("model"), models, what="model")
        competitor = request.get("competitor", DEFAULT_COMPETITOR)
        _known(competitor, COMPETITORS, what="competitor")
        values = {
            name: control.check(request.get(name, control.default))
            for name, control in CONTROLS.items()
        }
        if competitor != "none" and values["compete_stop_s"] <= values["compete_start_s"]:
            raise ExploreError("It stops: this must be after its start", control="compete_stop_s")
        settings = request.get("settings", {})
        if not isinstance(settings, dict):
            raise ExploreError("settings is an object of options and texts", control="model")
        return cls(playable, values, str(competitor), _check_settings(playable, settings))

    @property
    def path(self) -> str:
        """The path, as after ``--path``."""
        items = [
            f"rate={_text(self.values['rate_kbps'])}kbps",
            f"delay={_text(self.values['delay_ms'])}ms",
            f"queue={_text(self.values['queue_packets'])}p",
        ]
        if self.values["loss_percent"] > 0:
            items.append(f"loss={_text(self.values['loss_percent'])}%")
            if self.values["loss_burst_packets"] > 1:
                items.append(f"loss_burst={_text(self.values['loss_burst_packets'])}")
            if self.values["loss_start_s"] > 0:
                items.append(f"loss_start={_text(self.values['loss_start_s'])}s")
        return ",".join(items)

    @property
    def compete(self) -> list[str]:
        """The competing flow, as after ``--compete``; empty: none."""
        if self.competitor == "none":
            return []
        what = (
            f"cbr:{_text(self.values['compete_kbps'])}kbps"
            if self.competitor == "cbr"
            else self.competitor
        )
        stop_s = self.values["compete_stop_s"]
        stop = "" if stop_s == CONTROLS["compete_stop_s"].high else f"..{_text(stop_s)}s"
        return [f"{what}@{_text(self.values['compete_start_s'])}s{stop}"]

    @property
    def commands(self) -> list[str]:
        """Commands that print the same result."""
        words = ["trafficgen", "simulate", self.playable.argument, "--path", self.path]
        for flow in self.compete:
            words += ["--compete", flow]
        for name, value in self.settings.items():
            words += ["--set", f"{name}={value}"]
        words += ["--duration", _text(self.values["duration_s"])]
        words += ["--seed", _text(self.values["seed"]), "--json"]
        return [*self.playable.preparation, shlex.join(words)]


def _known(name: object, among: Mapping[str, T], *, what: str) -> T:
    if not isinstance(name, str) or name not in among:
        given = name if isinstance(name, str) else type(name).__name__
        raise ExploreError(
            f"unknown {what} {given[:80]!r}; choose one of {', '.join(among)}", control=what
        )
    return among[name]


def _check_settings(
    playable: PlayableModel, settings: Mapping[str, object]
) -> dict[str, JsonValue]:
    """Check settings of a model's options: known, valid, and simulated in a moment."""
    model = playable.model
    if not isinstance(model, PublishedModel):
        if settings:
            raise ExploreError(
                f"{playable.name} is a fitted model, which has no options", control="model"
            )
        return {}
    checked: dict[str, JsonValue] = {}
    for name, value in settings.items():
        control = f"set.{name}"
        if name not in model.options:
            known = ", ".join(model.options) or "none"
            raise ExploreError(
                f"{model.name} has no option {name!r}; its options are {known}", control=control
            )
        if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
            raise ExploreError(
                f"{name}: write a text of at most {_LONGEST_TEXT} characters", control=control
            )
        try:
            option = with_settings(model, {name: value}).options[name]
        except SettingError as error:
            raise ExploreError(str(error), control=control) from error
        _check_size(name, option, control=control)
        checked[name] = value
    return checked


def _check_size(name: str, option: Option, *, control: str) -> None:
    values = option.default if isinstance(option.default, list) else [option.default]
    if len(values) > _LONGEST_LIST:
        raise ExploreError(
            f"{name}: at most {_LONGEST_LIST} values are simulated here", control=control
        )
    high = largest_value(option)
    for value in values:
        if high is not None and isinstance(value, int | float) and value > high:
            raise ExploreError(
                f"{name}: {value:,.10g} is above {high:,.10g} {option.unit}".rstrip(),
                control=control,
            )


def _text(value: float) -> str:
    return f"{value:.10g}"


def play_request(request: SimulationRequest, *, most_packets: int = MOST_PACKETS) -> dict[str, Any]:
    """Simulate a request; return the result with its commands and warnings.

    Raises:
        ExploreError: If it cannot be simulated, or is too long; it names the control if it can.
    """
    try:
        # One simulation runs at a time: no other thread sees the filters of this block.
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TrafficgenWarning)
            result = _simulate(request, most_packets=most_packets)
    except TrafficgenError as error:
        message = str(error).removeprefix('agent "media": ')
        raise ExploreError(message, control=_control_of(message, request)) from error
    odd = [str(one.message) for one in caught]
    if result.arrivals_s == (0.0, 0.0):
        odd.append("no media packet reached the client, so that rates and delays are unknown")
    return {**result.to_json(), "commands": request.commands, "odd": odd}


def _simulate(request: SimulationRequest, *, most_packets: int) -> SimulationResult:
    options = SimulateOptions(
        path=request.path,
        compete=request.compete,
        settings=request.settings,
        seed=int(request.values["seed"]),
        duration_s=request.values["duration_s"],
    )
    model = request.playable.model
    sources = sources_of(model, request.settings, duration_s=options.duration_s, seed=options.seed)
    return SimulationResult(*run_sessions(sources, options, most_packets=most_packets))


def _control_of(message: str, request: SimulationRequest) -> str | None:
    """Return the control of the option that an error of the engine names, if it names one."""
    if not isinstance(request.playable.model, PublishedModel):
        return None
    named = [
        name
        for name in request.playable.model.options
        if re.search(rf"\b{re.escape(name)}\b", message)
    ]
    return f"set.{named[0]}" if named else None
