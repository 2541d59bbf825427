"""What the page asks for: checked, and in the words of the command line, so that both give the same
result.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import JsonValue

from trafficgen.errors import ExploreError
from trafficgen.explore.controls import COMPETITORS, CONTROLS, DEFAULT_COMPETITOR
from trafficgen.explore.offers import Offer
from trafficgen.explore.option_fields import checked_settings
from trafficgen.models import PublishedModel

T = TypeVar("T")

_OTHER_KEYS = ("model", "competitor", "settings")


@dataclass(frozen=True)
class Asked:
    """A session over a path beside a competitor, as it was asked for.

    Attributes:
        offer: What plays.
        values: Value of each control.
        competitor: Which flow stands beside it.
        settings: Options that were set, as after ``--set``.
    """

    offer: Offer
    values: Mapping[str, float]
    competitor: str
    settings: Mapping[str, JsonValue]

    @classmethod
    def of(cls, request: object, offers: Mapping[str, Offer]) -> Asked:
        """Return what a request asks for; controls that it does not name have their defaults.

        Raises:
            ExploreError: If it asks for what there is not, or for more than is simulated here.
        """
        if not isinstance(request, dict):
            raise ExploreError("a request is one JSON object")
        surplus = next(
            (key for key in request if key not in CONTROLS and key not in _OTHER_KEYS), None
        )
        if surplus is not None:
            raise ExploreError(f"there is no control {str(surplus)[:40]!r}")
        offer = _known(request.get("model"), offers, what="model")
        competitor = request.get("competitor", DEFAULT_COMPETITOR)
        _known(competitor, COMPETITORS, what="competitor")
        values = {
            name: control.checked(request.get(name, control.default))
            for name, control in CONTROLS.items()
        }
        if competitor != "none" and values["compete_stop_s"] <= values["compete_start_s"]:
            raise ExploreError("It stops: this must be after its start", control="compete_stop_s")
        settings = request.get("settings", {})
        if not isinstance(settings, dict):
            raise ExploreError("settings are an object of option and text", control="model")
        return cls(offer, values, str(competitor), _settings(offer, settings))

    @property
    def path(self) -> str:
        """The path as ``--path`` takes it."""
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
        """The competitor as ``--compete`` takes it; empty where there is none."""
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
    def duration_s(self) -> float:
        """When the session is stopped at the latest, s."""
        return self.values["duration_s"]

    @property
    def seed(self) -> int:
        """Seed of the simulation."""
        return int(self.values["seed"])

    @property
    def commands(self) -> list[str]:
        """Commands that print the same result."""
        words = ["trafficgen", "simulate", self.offer.argument, "--path", self.path]
        for flow in self.compete:
            words += ["--compete", flow]
        for name, value in self.settings.items():
            words += ["--set", f"{name}={value}"]
        words += ["--duration", _text(self.duration_s), "--seed", str(self.seed), "--json"]
        return [*self.offer.preparation, shlex.join(words)]


def _known(name: object, among: Mapping[str, T], *, what: str) -> T:
    if not isinstance(name, str) or name not in among:
        given = name if isinstance(name, str) else type(name).__name__
        raise ExploreError(
            f"there is no {what} {given[:80]!r} here; choose one of {', '.join(among)}",
            control=what,
        )
    return among[name]


def _settings(offer: Offer, settings: Mapping[str, object]) -> dict[str, JsonValue]:
    if isinstance(offer.model, PublishedModel):
        return checked_settings(offer.model, settings)
    if settings:
        raise ExploreError(f"{offer.name} is a fitted model, which has no options", control="model")
    return {}


def _text(value: float) -> str:
    return f"{value:.10g}"
