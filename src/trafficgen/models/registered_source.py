"""Models that play sources of users."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import numpy as np
from pydantic import JsonValue

from trafficgen.errors import SettingError
from trafficgen.model_parts.estimate import Estimate
from trafficgen.models.provenance import RegisteredProvenance
from trafficgen.models.schema import Model, Playout, Startup
from trafficgen.models.stream import Phase, Stream, Transport
from trafficgen.processes.registered.model import RegisteredProcess
from trafficgen.processes.registered.source import RegisteredSource, find_source
from trafficgen.tables.protocols import smallest_header_bytes
from trafficgen.units import bps_from_bytes

#: Length of a source's model, from whose packets the mean rate is counted, s.
_LENGTH_S = 60.0


def source_model(source: RegisteredSource) -> Model:
    """Return a model of one minute that plays a source with its defaults."""
    _, ip_bytes = source.place_packets({}, np.random.default_rng(0), _LENGTH_S)
    rate_bps = bps_from_bytes(float(ip_bytes.sum()), _LENGTH_S)
    method = "counted in a minute of the source"
    phase = Phase(
        name="playout",
        start_s=0,
        duration_s=_LENGTH_S,
        rate_bps=rate_bps,
        process=RegisteredProcess(source=source.name),
    )
    header_bytes = smallest_header_bytes("udp", ip_version=4)
    transport = Transport(
        protocol="udp", server_port=5004, client_port=40_000, header_bytes=header_bytes
    )
    return Model(
        name=source.name,
        description=(inspect.getdoc(source.function) or "").partition("\n")[0],
        provenance=RegisteredProvenance(module=source.module),
        startup=Startup(silence_s=Estimate(value=0, method="none")),
        playout=Playout(
            duration_s=Estimate(value=_LENGTH_S, method="set"),
            rate_bps=Estimate(value=rate_bps, method=method),
        ),
        streams=(Stream(name="media", media="unknown", transport=transport, phases=(phase,)),),
    )


def list_sources(model: object) -> list[str]:
    """Return the names of the sources of users that a model plays."""
    streams = model.streams if isinstance(model, Model) else ()
    processes = (phase.process for stream in streams for phase in stream.phases)
    return [one.source for one in processes if isinstance(one, RegisteredProcess)]


def set_source(model: Model, settings: Mapping[str, JsonValue]) -> Model:
    """Return a model with settings of the sources of users that it plays.

    Raises:
        SettingError: If it plays none, or one has no such setting.
    """
    if not settings:
        return model
    streams = tuple(
        stream.model_copy(
            update={"phases": tuple(_set_phase(one, settings) for one in stream.phases)}
        )
        for stream in model.streams
    )
    if streams == model.streams:
        raise SettingError(
            f"{model.name} is a fitted model, which has no options; leave [--set] out, and"
            " change its sessions with [--duration], [--scale-rate], [--vary] or [--jitter]"
        )
    return model.model_copy(update={"streams": streams})


def _set_phase(phase: Phase, settings: Mapping[str, JsonValue]) -> Phase:
    process = phase.process
    if not isinstance(process, RegisteredProcess):
        return phase
    known = find_source(process.source).parse_settings(settings)
    changed = process.model_copy(update={"settings": {**process.settings, **known}})
    return phase.model_copy(update={"process": changed})
