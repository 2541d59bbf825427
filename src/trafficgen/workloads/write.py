"""Sessions that do not meet, written to a file or folder: through the memory, or in blocks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.errors import GenerationError
from trafficgen.formatting import format_count, format_share, number, one_line, size_text
from trafficgen.generation.timeline import machine_memory_bytes
from trafficgen.models import PublishedModel
from trafficgen.notebook import NotebookView
from trafficgen.option_names import name_options
from trafficgen.packet_files.destinations import local_path
from trafficgen.packet_files.formats import FileFormat
from trafficgen.packet_files.writing import write_pieces
from trafficgen.progress import number_steps
from trafficgen.tables.stream import PacketStream
from trafficgen.units import ETHERNET_HEADER_BYTES, s_from_ns
from trafficgen.workloads.blocks import BLOCK_PACKETS, Sessions, cut
from trafficgen.workloads.mix import MixedSessions
from trafficgen.workloads.options import WorkloadOptions
from trafficgen.workloads.run import make_in_memory, make_workload, work_folder
from trafficgen.workloads.storage import deliver

#: What a packet takes, bytes, measured with the memory benchmark of generation: while a session is
#: made and put in order; while all packets are in memory, with what is merged and written; at least
#: on the disk, until it is merged.
_MADE_BYTES, _HELD_BYTES, _STORED_BYTES = 200, 100, 40
#: Packets that take less than this share of the memory are made in memory.
_IN_MEMORY_SHARE = 0.5
#: Share of the memory for the merge: more leaves too little for writer, flow table and interpreter;
#: and for one block: more leaves no room for the others that are made at the same time.
_MERGE_SHARE, _BLOCK_SHARE = 0.3, 0.2
#: A block of fewer packets costs more than it saves, however small the memory.
_FEWEST_BLOCK_PACKETS = 1 << 14
#: Sessions whose bytes are within this share of the largest are alike.
_ALIKE = 0.05
#: Sessions differ: of this many, and the first of each group, the largest has to fit.
_SAMPLED = 20


@dataclass(frozen=True, eq=False, repr=False)
class WrittenWorkload(NotebookView):
    """A workload that is in a file or folder.

    Attributes:
        path: The file or folder; a URL is a text.
        packets: Number of packets.
        flows: Number of flows.
        duration_s: First to last packet, s.
        sessions: Number of sessions.
        ip_bytes: IP bytes of all packets.
        count_text: Number of sessions for people, with those of groups that start theirs apart.
        remarks: What people need to know about how they were made, such as rates that were scaled.

    Example:
        >>> import trafficgen
        >>> trafficgen.generate_workload(
        ...     "cbr", "two.parquet", sessions=2, duration_s=10, settings={"rate_kbps": 500}
        ... )
        <WrittenWorkload two.parquet: 1,250 packets, 2 flows, 9.984 s>
    """

    path: Path | str
    packets: int
    flows: int
    duration_s: float
    sessions: int = 1
    ip_bytes: int = 0
    count_text: str = ""
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = (
            format_count(self.packets, "packet"),
            format_count(self.flows, "flow"),
            f"{number(self.duration_s)} s",
        )
        return f"<WrittenWorkload {one_line(str(self.path))}: {', '.join(parts)}>"


def write_sessions(
    sessions: Sessions, out: str | Path, file_format: FileFormat, options: WorkloadOptions
) -> WrittenWorkload:
    """Write sessions to a file, folder or URL.

    Raises:
        GenerationError: If a session cannot be played, or there is no room for the packets.
        OutputFileError: If something cannot be written.
        SettingError: If the cluster or the storage cannot be used.
    """
    with stream_sessions(sessions, work_folder(out), options) as stream, deliver(out) as target:
        write_pieces(
            stream, target, format_name=file_format.name, snaplen_bytes=options.snaplen_bytes
        )
        written = describe_written(out, stream)
    alike = _remark_alike_sessions(stream.head.flows, sessions)
    return replace(written, count_text=sessions.count_text, remarks=(*sessions.remarks, *alike))


def _remark_alike_sessions(flows: pa.Table, sessions: Sessions) -> tuple[str, ...]:
    """Say of several sessions of one model that all have about the same bytes, and how to vary."""
    groups = sessions.workload.groups if isinstance(sessions, MixedSessions) else ()
    if len(groups) > 1 or sessions.count < 2:
        return ()
    sizes = pc.add(flows.column("frame_bytes_to_client"), flows.column("frame_bytes_to_server"))
    totals = np.bincount(flows.column("session").to_numpy(), sizes.to_numpy())
    spread = float(np.ptp(totals) / max(1.0, totals.max())) if totals.size else 1.0
    if spread > _ALIKE:
        return ()
    vary = "[--vary 20%] gives each a length and a rate of its own"
    if groups and isinstance(groups[0].model, PublishedModel):
        vary = "[--duration|duration_s] and [--vary duration=20%] give each a length of its own"
    within = f" within {format_share(spread)}" if spread else ""
    same = f"all {sessions.count:,} sessions have the same number of bytes{within}"
    return (name_options(f"{same}; {vary}"),)


@contextmanager
def stream_sessions(
    sessions: Sessions, folder: Path, options: WorkloadOptions
) -> Iterator[PacketStream]:
    """Make sessions and give their packets in order of time, from the memory or from blocks.

    ``folder`` is for blocks, and for temporary files while there are blocks.

    Raises:
        GenerationError: If a session cannot be played, or there is no room for the packets.
        OutputFileError: If something cannot be written.
        SettingError: If the cluster or the storage cannot be used.
    """
    memory_bytes = options.memory_bytes
    if makes_in_memory(sessions, options):
        with number_steps("generating", "writing"):
            yield make_in_memory(sessions, workers=options.workers, origin_ns=options.origin_ns)
        return
    _check_room(sessions, folder, memory_bytes, blocks_here=options.storage is None)
    with (
        number_steps("making", "putting packets in order", "writing"),
        make_workload(
            sessions,
            cut(sessions, packets=_block_packets(memory_bytes)),
            folder,
            replace(options, memory_bytes=int(_MERGE_SHARE * memory_bytes)),
        ) as stream,
    ):
        yield stream


def describe_written(
    out: str | Path, stream: PacketStream, *, sessions: int | None = None
) -> WrittenWorkload:
    """Describe what was written of a stream whose number of packets is known.

    The flow table counts those that compete as sessions too; ``sessions`` leaves them out.
    """
    path, flows = local_path(out), stream.head.flows
    packets = pc.add(flows.column("packets_to_client"), flows.column("packets_to_server"))
    frame_bytes = pc.add(
        flows.column("frame_bytes_to_client"), flows.column("frame_bytes_to_server")
    )
    seen = flows.filter(pc.greater(packets, 0))
    first_ns, last_ns = pc.min(seen.column("first_time_ns")), pc.max(seen.column("last_time_ns"))
    return WrittenWorkload(
        path=str(out) if path is None else path,
        packets=stream.rows or 0,
        flows=flows.num_rows,
        duration_s=s_from_ns(last_ns.as_py() - first_ns.as_py()) if seen.num_rows else 0.0,
        sessions=sessions or max(1, pc.count_distinct(flows.column("session")).as_py()),
        ip_bytes=(pc.sum(frame_bytes).as_py() or 0)
        - ETHERNET_HEADER_BYTES * (pc.sum(packets).as_py() or 0),
    )


def _block_packets(memory_bytes: int) -> int:
    """Return about how many packets a block has.

    It does not depend on the number of workers, so that a run may continue with another one.
    """
    fitting = int(_BLOCK_SHARE * memory_bytes / _MADE_BYTES)
    return max(_FEWEST_BLOCK_PACKETS, min(BLOCK_PACKETS, fitting))


def makes_in_memory(sessions: Sessions, options: WorkloadOptions) -> bool:
    """Return whether all packets are made in memory at once, without blocks."""
    if options.scheduler is not None or options.storage is not None:
        return False
    needed_bytes = (
        sessions.expected_packets(range(sessions.count)) * _HELD_BYTES
        + sessions.packets_at_once(0) * _MADE_BYTES
    )
    return needed_bytes <= _IN_MEMORY_SHARE * min(options.memory_bytes, machine_memory_bytes())


def check_sessions(sessions: Sessions, memory_bytes: int | None) -> None:
    """Raise GenerationError if what is made of a session at once does not fit in the memory."""
    firsts = set(range(min(sessions.count, _SAMPLED)))
    firsts |= set(np.unique(sessions.groups, return_index=True)[1].tolist())
    in_one = max(map(sessions.packets_at_once, firsts))
    needed_bytes = in_one * _MADE_BYTES
    if memory_bytes is not None and needed_bytes > memory_bytes:
        raise GenerationError(
            f"a session of about {number(in_one, digits=2)} packets needs"
            f" {size_text(needed_bytes)} of memory, more than the {size_text(memory_bytes)} of"
            " [--memory|memory_bytes]; ask for shorter sessions, or give more"
        )


def _check_room(sessions: Sessions, folder: Path, memory_bytes: int, *, blocks_here: bool) -> None:
    """Refuse what the memory or the disk cannot hold, before hours are spent on it."""
    check_sessions(sessions, memory_bytes)
    if not blocks_here or not folder.parent.is_dir():
        return
    packets = sessions.expected_packets(range(sessions.count))
    needed_bytes = packets * _STORED_BYTES
    # An earlier run may have made most of the blocks.
    earlier_bytes = sum(path.stat().st_size for path in folder.rglob("*.arrow"))
    free_bytes = shutil.disk_usage(folder.parent).free + earlier_bytes
    if needed_bytes > free_bytes:
        raise GenerationError(
            f"{sessions.count:,} sessions need about {size_text(needed_bytes)} of disk while they"
            f" are made, {size_text(free_bytes)} are free for {folder}; ask for fewer or shorter"
            " sessions, or make room"
        )
