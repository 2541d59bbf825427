"""The packet processes of the model file: one of those that have a folder here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, Union

from pydantic import Field

from trafficgen.processes import import_parts
from trafficgen.processes.process import Process

import_parts("model")
#: Class of each process of the model file, in order of the kinds.
PROCESSES: tuple[type[Process], ...] = tuple(
    sorted(Process.__subclasses__(), key=lambda kind: kind.model_fields["kind"].default)
)
if TYPE_CHECKING:
    PacketProcess: TypeAlias = Process
else:
    PacketProcess = Annotated[Union[PROCESSES], Field(discriminator="kind")]  # noqa: UP007
