"""Workloads that need not fit in memory: what `trafficgen generate` does with many sessions."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from trafficgen.api.writing import format_of
from trafficgen.errors import ExportError
from trafficgen.export.csv import write_csv_stream
from trafficgen.export.parquet import write_parquet_stream
from trafficgen.export.pcap import write_capture_stream
from trafficgen.generation.open_loop import OpenLoopSessions
from trafficgen.models import Model
from trafficgen.tables import DEFAULT_ORIGIN_NS, PACKET_SCHEMA, PacketTable
from trafficgen.tables.stream import PacketStream
from trafficgen.units import WHOLE_FRAME_BYTES, s_from_ns
from trafficgen.workloads.blocks import cut
from trafficgen.workloads.making import made_workload

#: Memory that a workload takes when nothing is said, bytes.
DEFAULT_MEMORY_BYTES = 1_000_000_000
#: Share of the memory that the merge may take: the writer, the flow table and the interpreter have the rest.
_MERGE_SHARE = 0.3


@dataclass(frozen=True)
class WrittenWorkload:
    """A workload that is in a file.

    Attributes:
        path: The file.
        packets: Number of packets.
        flows: Number of flows.
        duration_s: First to last packet, s.
    """

    path: Path
    packets: int
    flows: int
    duration_s: float


def generate_workload(
    model: Model,
    out: str | Path,
    *,
    sessions: int,
    duration_s: float | None = None,
    seed: int = 0,
    arrival_rate_per_s: float | None = None,
    workers: int = 1,
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
    snaplen_bytes: int | None = None,
    origin_ns: int = DEFAULT_ORIGIN_NS,
) -> WrittenWorkload:
    """Play many sessions of a model open loop into a file, in bounded memory; the same seed gives the same bytes.

    Sessions are made in blocks, which wait beside the output in a folder ``.OUT.work`` and are merged in order of time.
    A run that was interrupted goes on where it was.

    Args:
        model: The model.
        out: File to write, by its ending: ``.parquet``, ``.csv``, ``.pcap`` or ``.pcapng``.
        sessions: Number of sessions.
        duration_s: Length of each, s; None for that of the model.
        seed: Seed, >= 0.
        arrival_rate_per_s: Mean number of sessions starting in a second (Poisson); None: all together.
        workers: Processes that make blocks; the file does not depend on them.
        memory_bytes: Memory that the merge keeps to.
        snaplen_bytes: Bytes kept of a frame in a capture; None keeps all.
        origin_ns: Time of the first session's start since 1970-01-01 UTC, ns.

    Raises:
        GenerationError: If the sessions cannot be played.
        ExportError: If the ending of ``out`` is none that is written, or an option does not suit it.
        OutputFileError: If a file cannot be written.
    """
    path = Path(out)
    file_format = format_of(path)
    if snaplen_bytes is not None and not file_format.takes_snaplen:
        raise ExportError(f"{file_format.name} has no snapshot length; leave --snaplen out")
    played = OpenLoopSessions(
        model=model, count=sessions, duration_s=duration_s, seed=seed, arrival_rate_per_s=arrival_rate_per_s
    )
    request = {
        "model": hashlib.sha256(model.model_dump_json().encode()).hexdigest(),
        "sessions": sessions,
        "duration_s": duration_s,
        "seed": seed,
        "arrival_rate_per_s": arrival_rate_per_s,
    }
    folder = path.parent / f".{path.name}.work"
    with made_workload(
        played,
        cut(played),
        folder,
        request=request,
        workers=workers,
    ) as workload:
        flows = workload.flow_table()
        head = PacketTable(packets=PACKET_SCHEMA.empty_table(), flows=flows, origin_ns=origin_ns, notes=workload.notes)
        pieces = workload.packets_in_order(memory_bytes=int(_MERGE_SHARE * memory_bytes))
        stream = PacketStream(head=head, pieces=pieces, columns=workload.columns, rows=workload.packets)
        if file_format.name == "parquet":
            write_parquet_stream(stream, path)
        elif file_format.name == "csv":
            write_csv_stream(stream, path)
        else:
            write_capture_stream(
                stream,
                path,
                container=file_format.name,
                snaplen_bytes=snaplen_bytes or WHOLE_FRAME_BYTES,
                raise_small=True,
            )
        duration = max(block.last_ns for block in workload.blocks) - min(block.first_ns for block in workload.blocks)
        return WrittenWorkload(
            path=path, packets=workload.packets, flows=flows.num_rows, duration_s=s_from_ns(duration)
        )
