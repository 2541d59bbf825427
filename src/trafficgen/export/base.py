"""What every exporter shares: projection report, shape of a writer, output that appears whole or not at all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Protocol

from trafficgen.tables import PacketTable

#: Whose capture an output stands for; see :func:`trafficgen.export.view.seen_by`.
View = Literal["sender", "receiver"]


@dataclass(frozen=True)
class TimingError:
    """Difference between the times of the table and those of the output.

    Attributes:
        max: Largest absolute difference of a packet, s.
        mean: Mean absolute difference, s.
    """

    max: float = 0.0
    mean: float = 0.0


@dataclass(frozen=True)
class ProjectionReport:
    """What an export kept of a packet table and what the target could not hold.

    Attributes:
        target: Name of the target.
        files: Names of the files written, in their folder.
        packets: Packets in the output.
        packets_changed: Packets whose IP length or time differs from the table's.
        bytes_before: IP bytes of the packets that were to be written.
        bytes_after: IP bytes of the packets that were written.
        timing_error_s: Error of the times, s.
        cannot_express: What the output lacks, a sentence each.
    """

    target: str
    files: tuple[str, ...]
    packets: int
    packets_changed: int
    bytes_before: int
    bytes_after: int
    timing_error_s: TimingError = TimingError()
    cannot_express: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the report as the JSON object that ``trafficgen export --json`` prints."""
        report = asdict(self)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in report.items()}


class Writer(Protocol):
    """Writes a packet table to a file; options follow by keyword."""

    def __call__(self, table: PacketTable, path: str | Path) -> ProjectionReport:
        """Write and say what was kept."""
        ...


@dataclass(frozen=True)
class Target:
    """One format that a packet table can be written in.

    Attributes:
        name: Name on the command line.
        suffix: Ending of the file that is written.
        write: The writer.
        use: How the file is used, a sentence for the README beside it; ``{file}`` stands for its name.
        takes_view: Whether ``write`` has the option ``view``.
        takes_snaplen: Whether ``write`` has the option ``snaplen_bytes``.
        takes_raise_small: Whether ``write`` has the option ``raise_small``.
    """

    name: str
    suffix: str
    write: Writer
    use: str
    takes_view: bool = False
    takes_snaplen: bool = False
    takes_raise_small: bool = False
