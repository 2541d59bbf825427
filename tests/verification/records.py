"""What checks note for the page "How sure are we" (docs/verification_results.py collects it)."""

from __future__ import annotations

from typing import Protocol


class RecordCheck(Protocol):
    """Note one figure of a check; the fixture ``record_check`` is one."""

    def __call__(
        self,
        what: str,
        *,
        expected: float,
        measured: float,
        unit: str,
        accepted: str,
        printed: float | None = None,
    ) -> None:
        """Note what was measured, what it should be, and in words how far from that it may be;
        ``printed`` is the figure of a document, where it is another than what its law gives.
        """
