"""Feeding other tools: packets as a schedule, or a fitted model as the law that the tool draws
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from trafficgen.capture.inputs import read_packets
from trafficgen.capture.options import DEFAULT_MEMORY_BYTES
from trafficgen.errors import ExportError, SelectionError
from trafficgen.export.readme import README, exported_files, readme_of
from trafficgen.export.settings import Settings, SettingValue
from trafficgen.export.target import FormatWriter, Target, Written
from trafficgen.export.targets import TARGETS
from trafficgen.models import Model, PublishedModel
from trafficgen.models.published import entry_names, load_model
from trafficgen.output_folders import left_over, whole_folder
from trafficgen.packet_files.report import ProjectionReport, View
from trafficgen.packet_files.view import seen_by
from trafficgen.progress import report_step
from trafficgen.tables import PacketTable


def export(
    table: PacketTable | Model | str | Path,
    *,
    to: str,
    directory: str | Path,
    flow: int | None = None,
    at: View = "sender",
    settings: Mapping[str, SettingValue] | None = None,
    memory_bytes: int | None = DEFAULT_MEMORY_BYTES,
) -> ProjectionReport:
    """Write packets, or a model's law, for another tool into a folder, with a README that says how
    to use them.

    Args:
        table: A packet table or the name of a table or capture, whose packets are exported as this
            very schedule; or a fitted model or the name of its file (``.json``), whose law is
            exported where the target can draw it.
        to: Name of the target.
        directory: Folder; made when it is not there. Files of an earlier export in it are replaced,
            or removed where this one does not write them again; other files stay.
        flow: Number of the flow that is exported alone; None exports all.
        at: Whose view is written.
        settings: Settings of the target -> value.
        memory_bytes: Memory that it may take, bytes; packets of a file that do not fit are refused.
            None takes what it needs.

    Raises:
        ExportError: If there is no such target, or it cannot express the traffic.
        SettingError: If the target has no such setting.
        OutputFileError: If the folder cannot be written, or a file that is no earlier export's
            would be overwritten.
        SelectionError: If there is no such flow.
        InputFileError: If a file of packets cannot be read, or does not fit into the memory.

    Example:
        >>> import trafficgen
        >>> table = trafficgen.generate("cbr", duration_s=10)
        >>> trafficgen.export(table, to="iperf3", directory="for-iperf3", settings={"destination": "192.0.2.7"})
        <ProjectionReport for iperf3: 4 files, 425 packets, 0 resized, timing error at most 0.0408
        s, 3 limits>
        >>> _ = trafficgen.generate("cbr", "cbr.parquet", duration_s=20)
        >>> model = trafficgen.fit("cbr.parquet").model
        >>> trafficgen.export(model, to="ns3", directory="for-ns3").kind  # ns-3 draws from the law by itself
        'model'
    """
    if to not in TARGETS:
        raise ExportError(f"there is no target {to!r}; targets are {', '.join(TARGETS)}")
    target = TARGETS[to]
    values = Settings(target.name, target.settings, settings or {})
    if isinstance(table, Model) or (not isinstance(table, PacketTable) and _names_a_model(table)):
        if flow is not None or at != "sender":
            raise ExportError("a model has neither flows nor views; leave --flow and --at out")
        write = _model_writer(table, target, values)
    else:
        packets = (
            table
            if isinstance(table, PacketTable)
            else read_packets(table, memory_bytes=memory_bytes)
        )
        write = _schedule_writer(packets, target, values, flow=flow, at=at)
    report_step(f"exporting for {to}")
    earlier = exported_files(Path(directory))
    with whole_folder(Path(directory), earlier=earlier, list_file=README) as folder:
        written = write(folder)
        text = readme_of(written, versions=target.versions)
        (folder / README).write_text(text, encoding="utf-8", errors="replace")
        removed = left_over(Path(directory), earlier, [path.name for path in folder.iterdir()])
    return replace(written.report, removed=tuple(removed))


def _names_a_model(name: str | Path) -> bool:
    return Path(name).suffix.lower() in (".json", ".yaml", ".yml") or (
        str(name) in entry_names() and not Path(name).exists()
    )


def _model_writer(
    model: Model | str | Path, target: Target, settings: Settings
) -> Callable[[Path], Written]:
    known = model if isinstance(model, Model) else load_model(model)
    if isinstance(known, PublishedModel):
        raise ExportError(
            f"{known.name} is a source of the catalogue, played by a state machine, and has no law"
            " to hand over; generate packets of it and export those"
        )
    if target.write_model is None:
        able = ", ".join(name for name, other in TARGETS.items() if other.write_model)
        raise ExportError(
            f"{target.name} takes packets, not a model's law; generate packets and export those, or"
            f" choose one of {able or 'none'}"
        )
    write_model = target.write_model
    return lambda folder: write_model(known, folder, settings)


def _schedule_writer(
    packets: PacketTable, target: Target, settings: Settings, *, flow: int | None, at: View
) -> Callable[[Path], Written]:
    if flow is not None:
        numbers = packets.flows.column("flow").to_pylist()
        if flow not in numbers:
            raise SelectionError(
                what=f"flow {flow}", available=f"there are {len(numbers)} flows, from 0"
            )
        packets = packets.of_flows([flow])
    if not len(packets):
        where = "the table" if flow is None else f"flow {flow}"
        raise ExportError(
            f"there are no packets in {where}; choose another flow or generate a longer session"
        )
    if at != "sender" and not target.takes_view:
        raise ExportError(f"{target.name} holds both views; leave --at out")
    seen = seen_by(packets, at)
    write = target.write
    if isinstance(write, FormatWriter):
        stem = "packets" if flow is None else f"flow{flow}"
        return lambda folder: write(seen, folder, settings, stem=stem)
    return lambda folder: write(seen, folder, settings)
