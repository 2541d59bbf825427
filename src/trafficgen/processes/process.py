"""What every packet process is in the model file."""

from __future__ import annotations

from typing import ClassVar

from trafficgen.model_parts.estimate import ModelPart


class Process(ModelPart):
    """How a stream places packets in time and how large they are, in one phase."""

    #: What reports call it.
    title: ClassVar[str]

    kind: str
    """Which process it is."""

    def describe(self, *, mean_gap_s: float | None = None) -> str:
        """Say in a few words what it plays; ``mean_gap_s`` is that of the packets of the phase."""
        return f"placed by {self.title}"
