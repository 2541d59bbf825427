"""What an output kept of a packet table or model, and what it could not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from trafficgen.formatting import format_count, format_duration
from trafficgen.notebook import NotebookView, frame_facts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TimingError:
    """Difference between the times of the table and those of the output.

    Attributes:
        max: Largest absolute difference of a packet, s.
        mean: Mean absolute difference, s.
    """

    max: float = 0.0
    mean: float = 0.0


@dataclass(frozen=True, eq=False)
class ProjectionReport(NotebookView):
    """What an export kept of a packet table and what the target could not hold.

    An export of a model's law or of a path holds no packets: it has None for the counts, and a law
    has None for the timing error.

    Attributes:
        target: Name of the target.
        files: Names of the files written, in their folder.
        packets: Packets in the output.
        packets_changed: Packets whose IP length differs from the table's; how far times differ is
            ``timing_error_s``.
        bytes_before: IP bytes of the packets that were to be written.
        bytes_after: IP bytes of the packets that were written.
        timing_error_s: Error of the times, s.
        cannot_express: What the output lacks, a sentence each.
        kind: ``schedule``: this very sequence of packets; ``model``: the law they were drawn from.
        distances: How far the laws of the output are from those of the input: metric
            (``packet_bytes.ks``) -> distance.
        removed: Names of files of an earlier export that were in the folder and are not part of
            this one.

    Example:
        >>> import trafficgen
        >>> table = trafficgen.generate("cbr", duration_s=10)
        >>> report = trafficgen.export(table, to="mgen", directory="for-mgen")
        >>> report.files
        ('flow0.mgn', 'sink.mgn', 'run.sh')
        >>> print(report.packets, "packets,", report.packets_changed, "of them of another size")
        425 packets, 0 of them of another size
        >>> report.timing_error_s.max < 0.000001  # s
        True
        >>> report.cannot_express[0]
        'payload (RTP headers too), addresses and ports (MGEN uses its own)'
    """

    target: str
    files: tuple[str, ...]
    packets: int | None = None
    packets_changed: int | None = None
    bytes_before: int | None = None
    bytes_after: int | None = None
    timing_error_s: TimingError | None = TimingError()
    cannot_express: tuple[str, ...] = ()
    kind: Literal["schedule", "model"] = "schedule"
    distances: Mapping[str, float] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = [format_count(len(self.files), "file")]
        if self.packets is not None:
            parts.append(format_count(self.packets, "packet"))
        if self.packets_changed is not None:
            parts.append(f"{self.packets_changed:,d} resized")
        if self.timing_error_s is not None:
            parts.append(f"timing error at most {format_duration(self.timing_error_s.max)}")
        if self.cannot_express:
            parts.append(format_count(len(self.cannot_express), "limit"))
        return f"<ProjectionReport for {self.target}: {', '.join(parts)}>"

    def to_pandas(self) -> pd.DataFrame:
        """Return one row; the names of ``files`` and ``cannot_express`` are a text each."""
        lists = {"files": self.files, "cannot_express": self.cannot_express}
        texts = {name: "; ".join(items) for name, items in lists.items()}
        return frame_facts([{**self.to_json(), **texts}])
