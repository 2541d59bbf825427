"""The path that a model's capture was taken on, as far as the capture shows it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from trafficgen.errors import SimulationError
from trafficgen.formatting import one_line
from trafficgen.models import CaptureConditions, FittedProvenance, Model, PublishedModel
from trafficgen.options import parse_pairs
from trafficgen.simulation.path import RECORDED, Path
from trafficgen.simulation.path_keys import STEPS, change_link
from trafficgen.units import bps_from_kbps, bytes_from_bps

if TYPE_CHECKING:
    from trafficgen.simulation.options import SimulateOptions


def with_recorded_path(model: Model | PublishedModel, options: SimulateOptions) -> SimulateOptions:
    """Return options whose path is the capture's where they say ``recorded``.

    Keys after it change that path, as they change a preset.

    Raises:
        SimulationError: If the model was not fitted to one capture, or it does not show the path.
    """
    text = options.path if isinstance(options.path, str) else ""
    first, _, rest = text.partition(",")
    if first.strip() != RECORDED or os.path.isfile(text):  # noqa: PTH113 - of any length
        return options
    try:
        own = parse_pairs(filter(str.strip, rest.split(",")))
    except ValueError as error:
        raise SimulationError(f"path: {error}") from None
    Path.from_settings(change_link(_SUCH_AS, own))  # a wrong key comes before a missing one
    link = change_link(_describe_link(model), own)
    if missing := [key for key in ("rate", "delay") if not _has(link, key)]:
        raise SimulationError(
            f"path: the capture of {one_line(model.name)} does not show the"
            f" {' and the '.join(missing)} of its path; add"
            f" {', '.join(f'{key}=...' for key in missing)}, such as"
            f" {RECORDED},{','.join(f'{key}={_SUCH_AS[key]}' for key in missing)}"
        )
    return replace(options, path=Path.from_settings(link))


_SUCH_AS: Mapping[str, object] = MappingProxyType({"rate": "10Mbps", "delay": "20ms"})


def _has(link: dict[str, object], key: str) -> bool:
    return any(one in link for one in (("rate", "steps", "trace") if key == "rate" else (key,)))


def _describe_link(model: Model | PublishedModel) -> dict[str, object]:
    """Return keys of the link: its rate over time, half the round trip as delay, and its queue."""
    if not isinstance(model, Model) or not isinstance(model.provenance, FittedProvenance):
        raise SimulationError(
            f"path: {one_line(model.name)} was not fitted to a capture, which {RECORDED} is the"
            " path of; give a path such as rate=725kbps,delay=45ms"
        )
    conditions, link = model.provenance.conditions, dict[str, object]()
    steps = _find_steps(conditions, silence_s=model.startup.silence_s.value)
    if len(steps) == 1:
        link["rate"] = f"{steps[0][1]!r}bps"
    elif steps:
        link["steps"] = STEPS.write(steps)
    if conditions.rtt_s is not None:
        link["delay"] = f"{conditions.rtt_s.value / 2!r}s"
    queueing = conditions.queueing_delay_s
    if steps and queueing is not None and queueing.largest > 0:
        rate_bps = max(rate_bps for _, rate_bps in steps)
        size_bytes = max(_LEAST_QUEUE_BYTES, round(bytes_from_bps(rate_bps, queueing.largest)))
        link["queue"] = f"{size_bytes}B"
    return link


#: A queue of ten full packets: less was hardly ever full, and the capture did not show its size.
_LEAST_QUEUE_BYTES = 15_000


def _find_steps(conditions: CaptureConditions, *, silence_s: float) -> list[tuple[float, float]]:
    """Return the rate of the narrow link, bit/s, from times after the session's first packet, s.

    Where it is not known, it stays what it was; before it was first known, it is what it was then.
    """
    steps: list[tuple[float, float]] = []
    for step in conditions.capacity or ():
        if step.kbps is not None and step.kbps.value > 0:
            time_s = max(0.0, step.start_s + silence_s) if steps else 0.0
            steps.append((time_s, bps_from_kbps(step.kbps.value)))
    if not steps and conditions.link_rate_bps is not None:
        steps = [(0.0, conditions.link_rate_bps.value)]
    return steps
