"""D-ITG: scripts of gaps and sizes, or of the laws that it draws itself."""

from __future__ import annotations

from trafficgen.export.target import Target
from trafficgen.export.targets.ditg.model import MODEL_SETTINGS, write_ditg_model
from trafficgen.export.targets.ditg.schedule import (
    SCHEDULE_SETTINGS,
    WORKLOAD_SETTINGS,
    write_ditg,
    write_ditg_workload,
)

TARGET = Target(
    name="ditg",
    summary="D-ITG scripts with files of gaps and sizes, one a flow",
    versions="D-ITG 2.8.1",
    write=write_ditg,
    write_model=write_ditg_model,
    write_stream=write_ditg_workload,
    settings=(*SCHEDULE_SETTINGS, *MODEL_SETTINGS, *WORKLOAD_SETTINGS),
    protocols="UDP, TCP",
    flows="10 an ITGSend",
    how_to="feed-ditg",
    several_files=True,
)
