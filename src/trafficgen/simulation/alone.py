"""A published source that plays alone: its parameters for the engine, and the path that does not
limit it.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from trafficgen.models import PublishedModel
from trafficgen.models.published import (
    entry_digest,
    measured_beside,
    parameters_for_engine,
    with_settings,
)
from trafficgen.simulation.path import Path, PathLink, Queue
from trafficgen.simulation.sources import Source

#: Where a published source plays without a path: faster than any stream, and no longer a way than
#: most.
UNLIMITED_PATH = Path(links=(PathLink(rate_bps=1e9, delay_s=0.01, queue=Queue(packets=100_000)),))


def published_source(model: PublishedModel, settings: Mapping[str, JsonValue]) -> Source:
    """Return a published model as the engine plays it.

    Raises:
        SettingError: If a setting does not fit it.
    """
    return Source(
        name=model.name,
        kind=model.mechanism.kind,
        parameters=parameters_for_engine(with_settings(model, settings)),
        settings=dict(settings),
        digest=entry_digest(model),
        competing_tcp=measured_beside(model),
    )
