"""Models that the page can play: the catalogue, and the model or capture it is opened with."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trafficgen.calibration.fit import fit_open_session
from trafficgen.calibration.options import FitOptions
from trafficgen.capture.inputs import file_text, is_stream
from trafficgen.capture.options import ReadOptions, SessionChoice
from trafficgen.capture.session import open_session
from trafficgen.explore.controls import CONTROLS, FASTEST_KBPS
from trafficgen.flows import SessionView, rate_series, widen_bin
from trafficgen.generation.timeline import session_timeline
from trafficgen.models import Model, ModelHolder, Option, PublishedModel, format_value, model_in
from trafficgen.models.published import entry_names, load_model
from trafficgen.models.published.listing import models_list
from trafficgen.units import kbps_from_bps, ms_from_s, s_from_ns

_MODEL_ENDINGS = (".json", ".yaml", ".yml")
#: Bins of the measured rate, s: as the series of a simulation have them.
_BIN_S = 0.5
#: Bins of it at most; longer captures get wider ones.
_MOST_BINS = 100_000
#: Largest value of an option by its unit, where the entry has no smaller one.
_LARGEST = {"kbit/s": FASTEST_KBPS, "s": 3600.0}
#: Capacity where the link of a capture is not known, as a multiple of its fastest phase.
_ROOM_RATIO = 1.5


@dataclass(frozen=True)
class PlayableModel:
    """A model that can be chosen on the page.

    Attributes:
        name: Name in links.
        argument: Its argument on the command line.
        preparation: Commands that make the file of ``argument``; empty: none.
        values: Values of controls that suit it.
        measured: Rate of its capture as a simulation's series; None: no capture.
    """

    name: str
    model: Model | PublishedModel
    argument: str
    preparation: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    measured: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the model as the page reads it."""
        return {
            "name": self.name,
            "values": dict(self.values),
            "measured": None if self.measured is None else dict(self.measured),
            "warnings": list(self.warnings),
            **(
                _published(self.model)
                if isinstance(self.model, PublishedModel)
                else _fitted(self.model)
            ),
        }


def list_catalogue() -> list[PlayableModel]:
    """Return the models of the catalogue, by name."""
    return [PlayableModel(one.name, one.model, one.name) for one in models_list()]


def open_model(
    what: Model | PublishedModel | ModelHolder | str | Path,
    *,
    flow: int | None = None,
    session: int | None = None,
    seed: int = 0,
) -> PlayableModel:
    """Open a model, or fit one to a capture.

    ``what`` is a model or a fit, a catalogue name, a model file, or a capture, of which ``flow``
    alone or ``session`` (None: the heaviest) is fitted, in the default limit of memory.

    Raises:
        InputFileError: If the file cannot be read.
        SelectionError: If the capture has no such flow or session.
        CalibrationError: If the capture does not have what a fit needs.
    """
    if not isinstance(what, str | Path):
        what = model_in(what)
        return PlayableModel(what.name, what, f"{what.name}.json", values=_values_for(what))
    name = str(what)
    if _names_a_model(what):
        model = load_model(what)
        return PlayableModel(file_text(name), model, name, values=_values_for(model))
    opened = open_session([name], SessionChoice(flow=flow, session=session), ReadOptions())
    fitted = fit_open_session(opened, [name], FitOptions(seed=seed))
    model_file = "model.json"
    options = {"flow": flow, "session": session, "seed": seed or None}
    chosen = [f"--{key} {value}" for key, value in options.items() if value is not None]
    command = " ".join(["trafficgen fit", shlex.quote(name), "-o", model_file, *chosen])
    return PlayableModel(
        name=file_text(name),
        model=fitted.model,
        argument=model_file,
        preparation=() if is_stream(name) else (command,),
        values=_values_for(fitted.model),
        measured=_measured(opened.view),
        warnings=fitted.warnings,
    )


def _names_a_model(what: str | Path) -> bool:
    name = str(what)
    if name in entry_names() or Path(name).suffix.lower() in _MODEL_ENDINGS:
        return True
    # A name that is not a file is looked up in the catalogue, whose error lists its names.
    return (
        isinstance(what, str)
        and "/" not in name
        and "." not in name
        and name != "-"
        and not Path(name).exists()
    )


def _measured(view: SessionView) -> dict[str, Any]:
    """Return the rate of a session's media packets from the first of them on."""
    span_s = s_from_ns(int(np.ptp(view.media_time_ns)))
    bin_s = widen_bin(_BIN_S, span_s=span_s, most_bins=_MOST_BINS)
    rates = rate_series(view.media_time_ns, view.media_ip_bytes, bin_s=bin_s)
    return {"interval_s": rates.bin_s, "start_s": 0.0, "media_kbps": rates.rate_kbps.tolist()}


def _values_for(model: Model | PublishedModel) -> dict[str, float]:
    """Return a path like that of the capture, as far as the fit knows it."""
    if not isinstance(model, Model):
        return {}
    conditions = getattr(model.provenance, "conditions", None)
    fastest_bps = sum(
        max((phase.rate_bps for phase in stream.phases), default=0.0) for stream in model.streams
    )
    values: dict[str, float] = {}
    if fastest_bps > 0:
        values["rate_kbps"] = kbps_from_bps(fastest_bps) * _ROOM_RATIO
    if conditions is not None and conditions.link_rate_bps is not None:
        values["rate_kbps"] = kbps_from_bps(conditions.link_rate_bps.value)
    if conditions is not None and conditions.rtt_s is not None:
        values["delay_ms"] = ms_from_s(conditions.rtt_s.value) / 2
    values["duration_s"] = session_timeline(model, duration_s=None).length_s
    return {name: float(f"{CONTROLS[name].clip(value):.3g}") for name, value in values.items()}


def _published(model: PublishedModel) -> dict[str, Any]:
    return {
        "kind": "published",
        "description": " ".join(model.description.split()),
        "review": model.provenance.review,
        "citations": [source.text for source in model.provenance.citations],
        "limits": list(model.provenance.limitations),
        "options": describe_options(model),
    }


def describe_options(model: PublishedModel) -> list[dict[str, Any]]:
    """Return the options of a model as the page draws them; values are texts, as after ``--set``.

    Without a limit ``low`` or ``high`` is null, and ``choices`` is empty where any value within
    them is possible.
    """
    return [
        {
            "name": name,
            "kind": _kind(option),
            "default": "" if option.default is None else format_value(option.default),
            "choices": tuple(map(format_value, option.choices)),
            "low": option.low,
            "high": largest_value(option),
            "unit": option.unit,
            "meaning": option.description,
            "source": option.source,
        }
        for name, option in model.options.items()
    ]


def _kind(option: Option) -> str:
    if option.choices:
        return "choices" if option.many else "choice"
    is_number = isinstance(option.default, int | float) and not isinstance(option.default, bool)
    return "list" if option.many else "number" if is_number else "text"


def largest_value(option: Option) -> float | None:
    """Return the largest value of an option that is simulated in a moment; None without a limit."""
    limit = None if option.choices else _LARGEST.get(option.unit)
    return min((end for end in (option.high, limit) if end is not None), default=None)


def _fitted(model: Model) -> dict[str, Any]:
    return {
        "kind": "fitted",
        "description": f"Fitted to a capture. {_response(model)}",
        "review": None,
        "citations": [],
        "limits": [f"{what}: {why}" for what, why in model.absent.items()],
        "options": [],
    }


def _response(model: Model) -> str:
    if model.response is not None and model.response.kind != "unknown":
        return (
            "It responds to congestion as in the capture"
            f" ({model.response.kind.replace('_', ' ')})."
        )
    if any(stream.transport.protocol == "tcp" for stream in model.streams):
        return (
            "TCP responds to congestion; whether the source does too is not known from the capture."
        )
    return "Its congestion response is not known from the capture."
