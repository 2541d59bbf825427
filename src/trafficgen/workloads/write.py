"""Workloads of any size: what `trafficgen generate` does with sessions that play open loop."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pydantic import JsonValue

from trafficgen.errors import ExportError, GenerationError
from trafficgen.formatting import format_count, number, one_line
from trafficgen.generation.extent import machine_memory_bytes
from trafficgen.notebook import NotebookView
from trafficgen.packet_files.csv import write_csv_stream
from trafficgen.packet_files.dataset import write_dataset_stream
from trafficgen.packet_files.destinations import format_of, local_path
from trafficgen.packet_files.formats import FileFormat, check_options
from trafficgen.packet_files.parquet import write_parquet_stream
from trafficgen.packet_files.pcap import write_capture_stream
from trafficgen.packet_files.report import View
from trafficgen.packet_files.view import select_view
from trafficgen.simulation import Competitor
from trafficgen.simulation.simulate import PathLike
from trafficgen.tables import DEFAULT_ORIGIN_NS, PACKET_SCHEMA, PacketTable
from trafficgen.tables.stream import PacketStream
from trafficgen.units import WHOLE_FRAME_BYTES, s_from_ns
from trafficgen.workloads.blocks import BLOCK_PACKETS, Sessions, cut
from trafficgen.workloads.delivery import check_deliverable, delivered
from trafficgen.workloads.generate import generate
from trafficgen.workloads.in_memory import HeldWorkload, held_workload
from trafficgen.workloads.open_loop import Playable, playable_of, sessions_apart
from trafficgen.workloads.plan import PlannedWorkload
from trafficgen.workloads.received import ReceivedSessions
from trafficgen.workloads.run import Workload, made_workload, work_folder

#: Memory that a workload takes when nothing is said, bytes.
DEFAULT_MEMORY_BYTES = 1_000_000_000
#: Share of the memory that the merge may take: the writer, the flow table and the interpreter have
#: the rest.
_MERGE_SHARE = 0.3
#: What a packet takes while its session is made and put in order, bytes.
_BYTES_PER_PACKET = 200
#: What a packet takes while all are in memory, with its share of what is merged and written at a
#: time, bytes.
_HELD_BYTES_PER_PACKET = 100
#: Packets that take half of the memory are made there.
_HELD_SHARE = 0.5
#: Share of the memory that a block takes while it is made; several are made at once.
_BLOCK_SHARE = 0.2
_FEWEST_BLOCK_PACKETS = 1 << 14
#: What a packet takes at least while it waits to be merged.
_PART_BYTES_PER_PACKET = 40


@dataclass(frozen=True, repr=False)
class WrittenWorkload(NotebookView):
    """A workload that is in a file or folder.

    Attributes:
        path: The file or folder; a URL is a text.
        packets: Number of packets.
        flows: Number of flows.
        duration_s: First to last packet, s.

    Example:
        >>> import trafficgen
        >>> trafficgen.generate_workload("cbr", "two.parquet", sessions=2, duration_s=10, settings={"rate_kbps": 500})
        <WrittenWorkload two.parquet: 1,250 packets, 2 flows, 9.984 s>
    """

    path: Path | str
    packets: int
    flows: int
    duration_s: float

    def __repr__(self) -> str:
        parts = (
            format_count(self.packets, "packet"),
            format_count(self.flows, "flow"),
            f"{number(self.duration_s)} s",
        )
        return f"<WrittenWorkload {one_line(str(self.path))}: {', '.join(parts)}>"


def generate_workload(
    model: Playable | str | Path,
    out: str | Path,
    *,
    sessions: int | None = None,
    window_s: float | None = None,
    duration_s: float | None = None,
    seed: int = 0,
    arrival_rate_per_s: float | None = None,
    arrivals: str | None = None,
    popularity: str | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    storage: str | None = None,
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
    at: View = "sender",
    snaplen_bytes: int | None = None,
    origin_ns: int = DEFAULT_ORIGIN_NS,
    settings: Mapping[str, JsonValue] | None = None,
    path: PathLike | None = None,
    compete: str | Iterable[str | Competitor] = (),
) -> WrittenWorkload:
    """Play sessions of a model into a file or folder, in bounded memory; the same seed gives the
    same bytes.

    What fits in the memory is made there. Of more than that, sessions are made in blocks, which
    wait beside the output in a folder ``.OUT.work`` and are merged in order of time; a run that was
    interrupted goes on where it was. The bytes are the same either way. Sessions over a path meet
    each other on it: they are played all at once, in memory.

    Args:
        model: A model, the name of its file or of a catalogue entry; a workload of several models,
            or its file.
        out: File to write, by its ending: ``.parquet``, ``.csv``, ``.pcap`` or ``.pcapng``; without
            an ending a folder, a partitioned Parquet dataset. A file may have a URL (``file://``,
            ``s3://``).
        sessions: Number of sessions; None: as the workload says, as many as start in ``window_s``,
            or one.
        window_s: Time in which sessions start, s; None: as the workload says, or until all have
            started.
        duration_s: Length of each, s; None for that of the model or workload.
        seed: Seed, >= 0.
        arrival_rate_per_s: Mean number of sessions starting in a second (Poisson); None: all
            together.
        arrivals: When sessions start: ``together``, ``poisson:0.5/s``, ``hourly:FILE``,
            ``flash:base=...`` or ``file:FILE``, as in a workload file.
        popularity: How often each clip is played, such as ``zipf:0.8``; None: the model plays as it
            is.
        workers: Processes that make blocks; the bytes do not depend on them.
        scheduler: Address of a Dask scheduler, such as ``tcp://host:8786``, whose workers make
            blocks instead.
        storage: Where blocks wait, a path or URL (``file://``, ``s3://``) that all
            workers reach; None for the folder beside the output.
        memory_bytes: Memory that the run keeps to, about.
        at: Whose view a pcap or CSV shows.
        snaplen_bytes: Bytes kept of a frame in a capture; None keeps all.
        origin_ns: Time of the first session's start since 1970-01-01 UTC, ns.
        settings: Options and parameters of a published model.
        path: Path that all sessions share, as for :func:`~trafficgen.simulate`; None: as for
            :func:`~trafficgen.generate`.
        compete: Flows beside the sessions on the path.

    Raises:
        ModelFileError: If the model cannot be read.
        SettingError: If a setting does not fit the model.
        GenerationError: If the sessions cannot be played as asked.
        SimulationError: If the path or a competitor cannot be simulated.
        ExportError: If the ending of ``out`` is none that is written, or an option does not suit
            it.
        OutputFileError: If something cannot be written.

    Example:
        >>> import trafficgen
        >>> trafficgen.save_model(trafficgen.fit("examples/captures/rtsp_rtp_two_streams.pcap.gz").model, "rtsp.json")
        >>> written = trafficgen.generate_workload("rtsp.json", "fleet", sessions=20, arrival_rate_per_s=0.5, seed=1)
        >>> written.flows, trafficgen.read_packets("fleet").flows.num_rows
        (40, 40)
    """
    file_format = format_of(out)
    check_options(file_format, at=at, snaplen_bytes=snaplen_bytes)
    _check_place(file_format, out)
    playable = playable_of(model)
    played = None
    if path is None and not compete:
        played = sessions_apart(
            playable,
            sessions=sessions,
            window_s=window_s,
            duration_s=duration_s,
            seed=seed,
            arrival_rate_per_s=arrival_rate_per_s,
            arrivals=arrivals,
            popularity=popularity,
            settings=settings,
        )
    if played is not None:
        return _write_apart(
            played if at == "sender" else ReceivedSessions(played),
            out,
            file_format,
            workers=workers,
            scheduler=scheduler,
            storage=storage,
            memory_bytes=memory_bytes,
            snaplen_bytes=snaplen_bytes,
            origin_ns=origin_ns,
        )
    if isinstance(playable, PlannedWorkload):
        raise GenerationError("sessions of a workload play apart; leave --path and --compete out")
    _check_all_at_once(
        {
            "--scheduler": scheduler,
            "--storage": storage,
            "--for": window_s,
            "--arrivals": arrivals,
            "--popularity": popularity,
        }
    )
    with delivered(out) as target:
        table = generate(
            playable,
            target,
            sessions=1 if sessions is None else sessions,
            duration_s=duration_s,
            seed=seed,
            arrival_rate_per_s=arrival_rate_per_s,
            workers=workers,
            at=at,
            snaplen_bytes=snaplen_bytes,
            origin_ns=origin_ns,
            settings=settings,
            path=path,
            compete=compete,
        )
    return _written(table if file_format.name in _BOTH_VIEWS else select_view(table, at), out)


def _write_apart(
    played: Sessions,
    out: str | Path,
    file_format: FileFormat,
    *,
    workers: int,
    scheduler: str | None,
    storage: str | None,
    memory_bytes: int,
    snaplen_bytes: int | None,
    origin_ns: int,
) -> WrittenWorkload:
    """Write sessions that do not meet: from the memory where they fit, else in blocks."""
    if scheduler is None and storage is None and _fits(played, memory_bytes):
        held = held_workload(played, workers=workers)
        with delivered(out) as target:
            stream = _stream(held, held.flows, held.packets_in_order(), origin_ns=origin_ns)
            return _write_stream(
                file_format, stream, target, held, out, snaplen_bytes=snaplen_bytes
            )
    folder = work_folder(out)
    _check_room(played, folder, memory_bytes, blocks_here=storage is None)
    with (
        made_workload(
            played,
            cut(played, packets=_block_packets(memory_bytes)),
            folder,
            workers=workers,
            scheduler=scheduler,
            storage=storage,
        ) as workload,
        delivered(out, workload.scratch) as target,
    ):
        packets = workload.packets_in_order(memory_bytes=int(_MERGE_SHARE * memory_bytes))
        stream = _stream(workload, workload.flow_table(), packets, origin_ns=origin_ns)
        return _write_stream(
            file_format, stream, target, workload, out, snaplen_bytes=snaplen_bytes
        )


def _check_all_at_once(options: dict[str, object]) -> None:
    """Refuse options of sessions that play apart where they meet on a path."""
    told = [name for name, value in options.items() if value is not None]
    if told:
        raise GenerationError(
            f"{' and '.join(told)}: for sessions that play apart, from their own blocks; leave"
            " --path and --compete out, and ask for more than one session of a published model"
        )


def _block_packets(memory_bytes: int) -> int:
    """Return how many packets a block has, about: not by the number of workers, so that a run may
    go on with others.
    """
    return max(
        _FEWEST_BLOCK_PACKETS,
        min(BLOCK_PACKETS, int(_BLOCK_SHARE * memory_bytes / _BYTES_PER_PACKET)),
    )


def _fits(played: Sessions, memory_bytes: int) -> bool:
    """Return whether all packets may be in memory at once."""
    needed_bytes = (
        played.expected_packets(range(played.count)) * _HELD_BYTES_PER_PACKET
        + played.expected_packets(range(1)) * _BYTES_PER_PACKET
    )
    return needed_bytes <= _HELD_SHARE * min(memory_bytes, machine_memory_bytes())


def _check_room(played: Sessions, folder: Path, memory_bytes: int, *, blocks_here: bool) -> None:
    """Refuse what the memory or the disk cannot hold before hours are spent on it.

    Raises:
        GenerationError: If one session does not fit in the memory, which is not cut, or all of them
            not on the disk.
    """
    in_one = played.expected_packets(range(1))
    if in_one * _BYTES_PER_PACKET > memory_bytes:
        raise GenerationError(
            f"a session of about {in_one:.2g} packets needs {in_one * _BYTES_PER_PACKET / 1e9:.3g}"
            f" GB of memory, more than the {memory_bytes / 1e9:.3g} GB of --memory; ask for shorter"
            " sessions, or give more"
        )
    if not blocks_here or not folder.parent.is_dir():
        return
    needed_bytes = played.expected_packets(range(played.count)) * _PART_BYTES_PER_PACKET
    held_bytes = sum(
        path.stat().st_size for path in folder.rglob("*.arrow")
    )  # an earlier run may have made most of it
    free_bytes = shutil.disk_usage(folder.parent).free + held_bytes
    if needed_bytes > free_bytes:
        raise GenerationError(
            f"{played.count} sessions need about {needed_bytes / 1e9:.3g} GB of disk while they are"
            f" made, {free_bytes / 1e9:.3g} GB are free for {folder}; ask for fewer or shorter"
            " sessions, or make room"
        )


def _check_place(file_format: FileFormat, out: str | Path) -> None:
    """Refuse an output that cannot be where it is to be."""
    if file_format.name == "dataset" and local_path(out) is None:
        raise ExportError(
            f"{out}: a folder is not sent as a whole; name a file, such as {out}.parquet"
        )
    check_deliverable(out)


#: Formats that hold the times of sending and of arrival.
_BOTH_VIEWS = ("parquet", "dataset")


def _stream(
    workload: Workload | HeldWorkload,
    flows: pa.Table,
    packets: Iterator[pa.Table],
    *,
    origin_ns: int,
) -> PacketStream:
    head = PacketTable(
        packets=PACKET_SCHEMA.empty_table(), flows=flows, origin_ns=origin_ns, notes=workload.notes
    )
    return PacketStream(head=head, pieces=packets, columns=workload.columns, rows=workload.packets)


def _write_stream(
    file_format: FileFormat,
    stream: PacketStream,
    path: Path,
    workload: Workload | HeldWorkload,
    out: str | Path,
    *,
    snaplen_bytes: int | None,
) -> WrittenWorkload:
    """Write packets to a path, and say what will be in the output that it stands for."""
    if file_format.name == "parquet":
        write_parquet_stream(stream, path)
    elif file_format.name == "dataset":
        write_dataset_stream(stream, path)
    elif file_format.name == "csv":
        write_csv_stream(stream, path)
    else:
        snaplen = snaplen_bytes or WHOLE_FRAME_BYTES
        write_capture_stream(
            stream, path, container=file_format.name, snaplen_bytes=snaplen, raise_small=True
        )
    return WrittenWorkload(
        path=_place(out),
        packets=workload.packets,
        flows=stream.head.flows.num_rows,
        duration_s=workload.duration_s,
    )


def _place(out: str | Path) -> Path | str:
    """Return a path where there is one."""
    path = local_path(out)
    return str(out) if path is None else path


def _written(table: PacketTable, out: str | Path) -> WrittenWorkload:
    duration_s = s_from_ns(int(table.time_ns[-1] - table.time_ns[0])) if len(table) else 0.0
    return WrittenWorkload(
        path=_place(out), packets=len(table), flows=table.flows.num_rows, duration_s=duration_s
    )
