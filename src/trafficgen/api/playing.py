"""From models to traffic, and from packet tables to files: `trafficgen generate` and `trafficgen export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trafficgen.api.reading import read_packets
from trafficgen.catalogue import load_model
from trafficgen.errors import ExportError, GenerationError, OutputFileError, SelectionError
from trafficgen.export import TARGETS, ProjectionReport, Target, View, target_for
from trafficgen.generation import DEFAULT_ORIGIN_NS, generate_sessions
from trafficgen.models import Model, PublishedModel
from trafficgen.output_files import whole_files
from trafficgen.tables import PacketTable


def generate(
    model: Model | PublishedModel | str | Path,
    out: str | Path | None = None,
    *,
    sessions: int = 1,
    duration_s: float | None = None,
    seed: int = 0,
    arrival_rate_per_s: float | None = None,
    workers: int = 1,
    at: View = "sender",
    snaplen_bytes: int | None = None,
    origin_ns: int = DEFAULT_ORIGIN_NS,
) -> PacketTable:
    """Play a model open loop; the same seed gives the same bytes.

    Args:
        model: A model, or the name of its file.
        out: File to write, by its ending: ``.parquet``, ``.csv``, ``.pcap`` or ``.pcapng``; None writes nothing.
        sessions: Number of sessions, each with its own addresses.
        duration_s: Length of each session, s; None for that of the model.
        seed: Seed, >= 0.
        arrival_rate_per_s: Mean number of sessions starting in a second (Poisson); None: all together.
        workers: Threads that share the sessions; the result does not depend on them.
        at: Whose view a pcap or CSV shows.
        snaplen_bytes: Bytes kept of a frame in a pcap; None keeps all.
        origin_ns: Time of the first session's start since 1970-01-01 UTC, ns.

    Raises:
        ModelFileError: If the model cannot be read.
        GenerationError: If it cannot be played as asked.
        ExportError: If the ending of ``out`` is none that is written, or an option does not suit it.
        OutputFileError: If ``out`` cannot be written.
    """
    target = None if out is None else _target_of(out)
    playable = load_model(model) if isinstance(model, str | Path) else model
    if not isinstance(playable, Model):
        raise GenerationError(f"{playable.name} answers a path; play it over one")
    table = generate_sessions(
        playable,
        sessions=sessions,
        duration_s=duration_s,
        seed=seed,
        arrival_rate_per_s=arrival_rate_per_s,
        workers=workers,
        origin_ns=origin_ns,
    )
    if target is not None and out is not None:
        write_to(table, target, Path(out), at=at, snaplen_bytes=snaplen_bytes)
    return table


def export(
    table: PacketTable | str | Path,
    *,
    to: str,
    directory: str | Path,
    flow: int | None = None,
    at: View = "sender",
    snaplen_bytes: int | None = None,
) -> ProjectionReport:
    """Write a packet table for another tool into a folder, with a README that says how to use it.

    Args:
        table: The table, or the name of a packet table or capture.
        to: Name of the target.
        directory: Folder; made when it is not there.
        flow: Number of the flow that is exported alone; None exports all.
        at: Whose view is written.
        snaplen_bytes: Bytes kept of a frame in a pcap; None keeps all.

    Raises:
        ExportError: If there is no such target, or the table cannot be expressed in it.
        OutputFileError: If the folder cannot be written.
        SelectionError: If there is no such flow.
    """
    if to not in TARGETS:
        raise ExportError(f"there is no target {to!r}; targets are {', '.join(TARGETS)}")
    target = TARGETS[to]
    packets = table if isinstance(table, PacketTable) else read_packets(table)
    if flow is not None:
        numbers = packets.flows.column("flow").to_pylist()
        if flow not in numbers:
            raise SelectionError(what=f"flow {flow}", available=f"there are {len(numbers)} flows, from 0")
        packets = packets.of_flows([flow])
    folder = Path(directory)
    stem = "packets" if flow is None else f"flow{flow}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot be made ({error.strerror})"
        raise OutputFileError(
            file=str(folder), problem=problem, remedy="choose a folder that can be written"
        ) from error
    report = write_to(packets, target, folder / f"{stem}{target.suffix}", at=at, snaplen_bytes=snaplen_bytes)
    with whole_files([folder / "README.md"]) as [part]:
        part.write_text(_readme(report), encoding="utf-8", errors="replace")
    return report


def write_to(
    table: PacketTable, target: Target, path: Path, *, at: View, snaplen_bytes: int | None
) -> ProjectionReport:
    """Write a table with the options that the target takes.

    Packets too small for their headers, such as later IP fragments that a capture counts for the flow of the first, are
    made just large enough where the target builds headers; the report counts them.

    Raises:
        ExportError: If an option was given that the target does not take.
    """
    options: dict[str, Any] = {}
    if target.takes_view:
        options["view"] = at
    elif at != "sender":
        raise ExportError(f"{target.name} holds both views; leave --at out")
    if snaplen_bytes is not None:
        if not target.takes_snaplen:
            raise ExportError(f"{target.name} has no snapshot length; leave --snaplen out")
        options["snaplen_bytes"] = snaplen_bytes
    if target.takes_raise_small:
        options["raise_small"] = True
    return target.write(table, path, **options)


def _target_of(out: str | Path) -> Target:
    target = target_for(Path(out).suffix)
    if target is None:
        endings = ", ".join(target.suffix for target in TARGETS.values())
        raise ExportError(f"{out}: the ending says what is written; use one of {endings}")
    return target


def _readme(report: ProjectionReport) -> str:
    lacks = "".join(f"- {text}\n" for text in report.cannot_express) or "- nothing\n"
    return (
        f"# {report.target} export by trafficgen\n\n"
        f"{TARGETS[report.target].use.format(file=report.files[0])}\n\n"
        f"{report.packets} packets, {report.bytes_after} IP bytes, in {', '.join(report.files)}.\n\n"
        f"What this format cannot hold of the packet table:\n\n{lacks}"
    )
