"""From models to traffic, and from packet tables to files: `trafficgen generate` and `trafficgen export`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import JsonValue

from trafficgen.api.reading import read_packets
from trafficgen.api.simulating import PathLike, generate_over_path
from trafficgen.api.writing import target_of, write_to
from trafficgen.catalogue import load_model
from trafficgen.errors import ExportError, GenerationError, OutputFileError, SelectionError
from trafficgen.export import TARGETS, ProjectionReport, View
from trafficgen.generation import generate_sessions
from trafficgen.models import Model, PublishedModel
from trafficgen.output_files import whole_files
from trafficgen.simulation import Competitor
from trafficgen.tables import DEFAULT_ORIGIN_NS, PacketTable


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
    settings: Mapping[str, JsonValue] | None = None,
    path: PathLike | None = None,
    compete: str | Iterable[str | Competitor] = (),
) -> PacketTable:
    """Play a model into packets, open loop or over a path; the same seed gives the same bytes.

    Args:
        model: A model, the name of its file, or the name of a catalogue entry.
        out: File to write, by its ending: ``.parquet``, ``.csv``, ``.pcap`` or ``.pcapng``; None writes nothing.
        sessions: Number of sessions, each with its own addresses.
        duration_s: Length of each session, s; None for that of the model.
        seed: Seed, >= 0.
        arrival_rate_per_s: Mean number of sessions starting in a second (Poisson); None: all together.
        workers: Threads that share the sessions; the result does not depend on them.
        at: Whose view a pcap or CSV shows.
        snaplen_bytes: Bytes kept of a frame in a pcap; None keeps all.
        origin_ns: Time of the first session's start since 1970-01-01 UTC, ns; over a path that of the first packet.
        settings: Options and parameters of a published model.
        path: Path that all sessions share, as for :func:`~trafficgen.simulate`; None plays a fitted model open loop and
            a published one over a path that limits nothing.
        compete: Flows beside the sessions on the path.

    Raises:
        ModelFileError: If the model cannot be read.
        SettingError: If a setting does not fit the model.
        GenerationError: If it cannot be played as asked.
        SimulationError: If the path or a competitor cannot be simulated.
        ExportError: If the ending of ``out`` is none that is written, or an option does not suit it.
        OutputFileError: If ``out`` cannot be written.
    """
    target = None if out is None else target_of(out)
    playable = load_model(model) if isinstance(model, str | Path) else model
    if isinstance(playable, Model) and path is None:
        _check_open_loop(playable, settings=settings, compete=compete)
        table = generate_sessions(
            playable,
            sessions=sessions,
            duration_s=duration_s,
            seed=seed,
            arrival_rate_per_s=arrival_rate_per_s,
            workers=workers,
            origin_ns=origin_ns,
        )
    else:
        table = generate_over_path(
            playable,
            path=path,
            compete=compete,
            settings=settings or {},
            sessions=sessions,
            duration_s=duration_s,
            seed=seed,
            arrival_rate_per_s=arrival_rate_per_s,
            origin_ns=origin_ns,
        )
    if target is not None and out is not None:
        write_to(table, target, Path(out), at=at, snaplen_bytes=snaplen_bytes)
    return table


def _check_open_loop(model: Model, *, settings: object, compete: object) -> None:
    if settings:
        raise GenerationError(f"{model.name} is a fitted model, which has no options; leave --set out")
    if compete:
        raise GenerationError("competing flows need a path to compete on; add --path")


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


def _readme(report: ProjectionReport) -> str:
    lacks = "".join(f"- {text}\n" for text in report.cannot_express) or "- nothing\n"
    return (
        f"# {report.target} export by trafficgen\n\n"
        f"{TARGETS[report.target].use.format(file=report.files[0])}\n\n"
        f"{report.packets} packets, {report.bytes_after} IP bytes, in {', '.join(report.files)}.\n\n"
        f"What this format cannot hold of the packet table:\n\n{lacks}"
    )
