"""What every exporter declares: its target, and the two shapes of a writer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from trafficgen.export.settings import Setting
from trafficgen.options import check_argument
from trafficgen.packet_files.formats import FileFormat
from trafficgen.units import FEWEST_FRAME_BYTES, WHOLE_FRAME_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from trafficgen.export.settings import Settings
    from trafficgen.export.workload_groups import SessionGroup
    from trafficgen.models import Model
    from trafficgen.packet_files.report import ProjectionReport
    from trafficgen.tables import PacketTable
    from trafficgen.tables.stream import PacketStream


@dataclass(frozen=True)
class Written:
    """What a target's writer has put into its folder.

    Attributes:
        report: What was kept and what was not.
        how_to_run: Markdown for the README: commands for both ends, versions,
            traps.
    """

    report: ProjectionReport
    how_to_run: str

    def __post_init__(self) -> None:
        from trafficgen.packet_files.report import ProjectionReport  # noqa: PLC0415 - of a run

        check_argument("Written: report", self.report, ProjectionReport)
        check_argument("Written: how_to_run", self.how_to_run, str)


#: Writes the packets of a table, as this very schedule, into a folder, which exists and is empty,
#: and reports what was kept. Raises ExportError if the target cannot express the packets; the
#: message says which, and what to do.
ScheduleWriter: TypeAlias = "Callable[[PacketTable, Path, Settings], Written]"
#: The same of the law of a fitted model, for a target that draws it itself.
ModelWriter: TypeAlias = "Callable[[Model, Path, Settings], Written]"
#: The same of packets that come piece by piece, in bounded memory.
StreamWriter: TypeAlias = "Callable[[PacketStream, Path, Settings], Written]"
#: The same of groups of sessions, for a target that starts sessions itself.
GroupsWriter: TypeAlias = "Callable[[Sequence[SessionGroup], Path, Settings], Written]"


@dataclass(frozen=True)
class Target:
    """One tool that can be fed.

    Attributes:
        summary: What is written, a phrase for the list of targets.
        versions: Versions of the tool that take it.
        write: Writer of schedules.
        write_model: Writer of models; None where the tool draws nothing itself.
        write_stream: Writer of workloads, and of packets that do not fit into memory, or None.
        write_groups: Writer of workloads for a tool that starts sessions itself; None where it does
            not.
        takes_view: Whether the receiver's view can be exported; otherwise the table's own times
            are.
        protocols: What is sent of a packet table; other packets are left out, or refused where
            nothing is left.
        flows: How many flows one export holds, for people.
        how_to: Name of its page among the how-to pages, without the ending; None where it needs
            none.
        several_files: Whether it always writes several files, which no pipe takes.
    """

    name: str
    summary: str
    versions: str
    write: ScheduleWriter
    write_model: ModelWriter | None = None
    write_stream: StreamWriter | None = None
    write_groups: GroupsWriter | None = None
    settings: tuple[Setting, ...] = ()
    takes_view: bool = True
    protocols: str = "any"
    flows: str = "any"
    how_to: str | None = None
    several_files: bool = False

    def __post_init__(self) -> None:
        for name in ("name", "summary", "versions"):
            check_argument(f"Target: {name}", getattr(self, name), str)
        check_argument("Target: write", self.write, Callable)
        for name in ("write_model", "write_stream", "write_groups"):
            check_argument(f"Target: {name}", getattr(self, name), Callable | None)
        for one in self.settings:
            check_argument("Target: each of settings", one, Setting)

    @property
    def takes_workloads(self) -> bool:
        """Whether a workload can be exported for it."""
        return self.stream_writer is not None or self.write_groups is not None

    @property
    def stream_writer(self) -> StreamWriter | None:
        """What writes packets as they come, of any number; None where they have to be in memory."""
        return self.write if isinstance(self.write, FormatWriter) else self.write_stream


_SNAPLEN = Setting(
    "snaplen_bytes",
    WHOLE_FRAME_BYTES,
    "Bytes kept of a frame; its original length is recorded all the same.",
    low=FEWEST_FRAME_BYTES,
    high=WHOLE_FRAME_BYTES,
)


@dataclass(frozen=True)
class FormatWriter:
    """Writer of a schedule as one file of a format."""

    file_format: FileFormat

    def __call__(
        self,
        packets: PacketTable | PacketStream,
        folder: Path,
        settings: Settings,
        *,
        stem: str = "packets",
    ) -> Written:
        """Write ``stem`` with the ending of the format into ``folder``."""
        from trafficgen.packet_files.writing import write_packets, write_stream  # noqa: PLC0415 - --help needs no writers
        from trafficgen.tables.stream import PacketStream  # noqa: PLC0415 - nor pyarrow

        known = self.file_format
        snaplen_bytes = settings.whole(_SNAPLEN.name) if "snaplen_bytes" in known.options else None
        path = folder / f"{stem}{known.suffix}"
        if isinstance(packets, PacketStream):
            _, report = write_stream(
                packets, path, format_name=known.name, snaplen_bytes=snaplen_bytes
            )
        else:
            report = write_packets(packets, path, file_format=known, snaplen_bytes=snaplen_bytes)
        return Written(report, known.use.format(file=report.files[0]))


def file_target(file_format: FileFormat) -> Target:
    """Describe a file format as a target."""
    return Target(
        name=file_format.name,
        summary=file_format.summary,
        versions="any tool that reads the format",
        write=FormatWriter(file_format),
        settings=(_SNAPLEN,) if "snaplen_bytes" in file_format.options else (),
        takes_view=file_format.has_views,
    )
