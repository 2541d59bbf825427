"""The targets of `trafficgen export`: what packets, or a model's law, can be exported to.

Each module or folder here declares one as ``TARGET``, under its own name; the file formats are
targets too. A new exporter is one module in this folder: nothing else lists it.
"""

from __future__ import annotations

from collections.abc import Iterator

from trafficgen.export.target import Target, file_target
from trafficgen.options import checks_arguments
from trafficgen.packet_files.formats import FILE_FORMATS
from trafficgen.registry import ModuleRegistry, calling_module


class Targets(ModuleRegistry[Target]):
    """Targets by their name on the command line, file formats first."""

    def __getitem__(self, name: str) -> Target:
        return (
            file_target(FILE_FORMATS[name]) if name in FILE_FORMATS else super().__getitem__(name)
        )

    def list_built_in(self) -> Iterator[str]:
        """Yield the names of file formats and modules."""
        yield from FILE_FORMATS
        yield from super().list_built_in()


TARGETS = Targets("exporters", __name__, "TARGET")


@checks_arguments
def register_exporter(target: Target) -> None:
    r"""Let `export` write for a tool of your own, by the name of the target.

    From the command line, an entry point of the group ``trafficgen.exporters`` with that name
    gives the module that calls this function.

    Args:
        target: Name, texts and writer of the target; see the page "Extend it from Python".

    Raises:
        TrafficgenError: If the name is taken by a target of trafficgen.

    Example:
        >>> from pathlib import Path
        >>> import trafficgen
        >>> from trafficgen.export.settings import Settings
        >>> from trafficgen.export.target import Target, Written
        >>> def write_times(
        ...     table: trafficgen.PacketTable, folder: Path, settings: Settings
        ... ) -> Written:
        ...     lines = "".join(f"{time_s}\n" for time_s in table.time_s)
        ...     _ = (folder / "times.txt").write_text(lines)
        ...     report = trafficgen.ProjectionReport("times", ("times.txt",), len(table))
        ...     return Written(report, "Read `times.txt`: a time in s a line.")
        >>> trafficgen.register_exporter(Target("times", "times of packets", "any", write_times))
        >>> table = trafficgen.generate("cbr", duration_s=1)
        >>> trafficgen.export(table, to="times", directory="times").files
        ('times.txt',)
    """
    TARGETS.register(target.name, target, module=calling_module())
