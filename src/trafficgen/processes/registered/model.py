"""Sources of users as a part of the model file."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from trafficgen.formatting import printable
from trafficgen.processes.process import Process


class RegisteredProcess(Process):
    """Packets that a function of a user places: see `trafficgen.register_source`."""

    title: ClassVar[str] = "registered source"

    kind: Literal["registered"] = "registered"
    source: str = Field(min_length=1)
    """Name under which the function is registered."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """Its settings."""
    second_s: float = Field(default=1.0, gt=0)
    """Time in which a second of the function passes, s; below 1 where the rate is scaled up."""

    def describe(self, *, mean_gap_s: float | None = None) -> str:
        """Say in a few words what it plays."""
        return f"placed by the registered source {printable(self.source)}"
