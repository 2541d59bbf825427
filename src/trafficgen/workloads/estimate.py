"""What a workload will be, from a sample of its sessions: ``trafficgen generate --dry-run``."""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.errors import GenerationError
from trafficgen.formatting import format_count, format_duration, size_text
from trafficgen.generation.columns import order_columns, superpose
from trafficgen.generation.session import FlowRow
from trafficgen.models import Model, ModelHolder, PublishedModel
from trafficgen.notebook import NotebookView
from trafficgen.options import takes
from trafficgen.packet_files.destinations import format_of
from trafficgen.packet_files.writing import write_packets
from trafficgen.randomness import random_stream
from trafficgen.tables import FLOW_SCHEMA, PacketTable
from trafficgen.units import FloatArray, bps_from_bytes, s_from_ns
from trafficgen.workloads.blocks import Sessions
from trafficgen.workloads.files import load_playable
from trafficgen.workloads.options import WorkloadOptions
from trafficgen.workloads.plan import PlannedWorkload
from trafficgen.workloads.sessions import choose_sessions, plan_model, sessions_of_workload

#: Most sessions that are played for an estimate, and the time after which no other is begun, s.
_SAMPLED, _SAMPLED_S = 60, 5.0
#: Errors are written out from here on, values without a fraction from there on.
_SMALL_SHARE, _WHOLE_FROM = 0.005, 100
#: Sessions up to which each one's packets are estimated; in runs of so many.
_EXPECTED_EACH, _RUN = 20_000, 1000


@dataclass(frozen=True, repr=False)
class WorkloadEstimate(NotebookView):
    """What a workload will be, from a sample of its sessions.

    Attributes:
        sessions: Number of sessions; it is exact.
        sampled: Number of sessions that were played for the estimate.
        packets: Packets of all sessions.
        ip_bytes: Their IP bytes.
        error_share: Half the 95% interval of packets and bytes / their value; 0 where all sessions
            were played, NaN for a sample of one.
        duration_s: First to last packet, s.
        concurrent: Mean number of sessions at once.
        file_format: Format of the output.
        file_bytes: Size of the output.
        time_s: Time that it takes to make and write it on this machine, s.

    Example:
        >>> import trafficgen
        >>> estimate = trafficgen.estimate_workload(
        ...     "cbr", "cbr.pcap", sessions=1000, arrival_rate_per_s=5, duration_s=10
        ... )
        >>> estimate.sessions, round(estimate.packets)
        (1000, 425000)
    """

    sessions: int
    sampled: int
    packets: float
    ip_bytes: float
    error_share: float
    duration_s: float
    concurrent: float
    file_format: str
    file_bytes: float
    time_s: float

    def __repr__(self) -> str:
        return f"<WorkloadEstimate: {', '.join(self.lines())}>"

    def lines(self) -> list[str]:
        """Return the estimate as lines for people."""
        share = "< 1%" if self.error_share < _SMALL_SHARE else f"{self.error_share:.0%}"
        error = f" (± {share})" if self.error_share > 0 else ""
        rate_bps = bps_from_bytes(self.ip_bytes, self.duration_s) if self.duration_s > 0 else 0.0
        return [
            f"{format_count(self.sessions, 'session')} in {format_duration(self.duration_s)},"
            f" {_round(self.concurrent)} at once on average",
            f"about {_round(self.packets)} packets, {size_text(self.ip_bytes)} of IP{error},"
            f" {_round(rate_bps / 1e6)} Mbit/s on average",
            f"about {size_text(self.file_bytes)} as {self.file_format},"
            f" {format_duration(self.time_s)} to make",
        ]


def _round(value: float) -> str:
    """Return a value with three significant digits: an estimate is no more precise."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= _WHOLE_FROM else f"{rounded:g}"


@takes(WorkloadOptions)
def estimate_workload(
    model: Model | PublishedModel | ModelHolder | PlannedWorkload | str | Path,
    out: str | Path,
    options: WorkloadOptions,
) -> WorkloadEstimate:
    """Estimate what :func:`generate_workload` would write, and how long it would take.

    Some sessions are played and written to a temporary file of the same format.

    Args:
        model: A model, the name of its file or of a catalogue entry; a workload or its file.
        out: Name of the output, whose ending names the format; it is not written.
        options: See :class:`~trafficgen.workloads.options.WorkloadOptions`.

    Raises:
        ModelFileError: If the model cannot be read.
        SettingError: If a setting does not fit the model.
        GenerationError: If the options do not fit each other or the model.
        ExportError: If the ending of ``out`` names no format.

    Example:
        >>> import trafficgen
        >>> trafficgen.estimate_workload("examples/workloads/evening.yaml", "evening.pcap").sessions
        54
    """
    if options.path is not None or options.compete:
        raise GenerationError(
            "--dry-run is for sessions that play apart from each other; leave --path and --compete"
            " out"
        )
    playable = load_playable(model)
    sessions = choose_sessions(playable, options)
    if sessions is None:  # one session of a published model
        assert not isinstance(playable, PlannedWorkload)
        workload = plan_model(playable, options)
        sessions = sessions_of_workload(workload, seed=options.seed, sessions=1, at=options.at)
    return _estimate(sessions, out, options)


@dataclass(frozen=True)
class _Sample:
    """Sessions that were played, and the time that each took, s."""

    sessions: list[int]
    tables: list[PacketTable]
    times_s: list[float]


def _estimate(sessions: Sessions, out: str | Path, options: WorkloadOptions) -> WorkloadEstimate:
    """Estimate totals by ratio: what sampled sessions have over what is expected of them."""
    sample = _play_sample(sessions, seed=options.seed)
    count, sampled = sessions.count, len(sample.tables)
    packets = np.array([len(table) for table in sample.tables], dtype=np.float64)
    sizes = np.array([table.ip_bytes.sum(dtype=np.int64) for table in sample.tables])
    expected = np.array([sessions.expected_packets(range(n, n + 1)) for n in sample.sessions])
    share = _expected_packets(sessions) / max(1e-9, float(expected.sum()))
    file_bytes, write_s = _write_sample(sample.tables, out, options)
    seen = [table for table in sample.tables if len(table)]
    first_ns = min((int(table.time_ns[0]) for table in seen), default=0)
    last_ns = max((int(table.time_ns[-1]) for table in seen), default=0)
    duration_s, total_s = s_from_ns(last_ns - first_ns), share * sum(map(_span_s, seen))
    return WorkloadEstimate(
        sessions=count,
        sampled=sampled,
        packets=float(packets.sum()) * share,
        ip_bytes=float(sizes.sum()) * share,
        error_share=_error_share(sizes, expected) if sampled < count else 0.0,
        duration_s=duration_s,
        concurrent=total_s / duration_s if duration_s > 0 else float(count),
        file_format=format_of(out, options.to_format).name,
        file_bytes=file_bytes * share,
        time_s=(sum(sample.times_s) / options.workers + write_s) * share,
    )


def _error_share(values: FloatArray, expected: FloatArray) -> float:
    """Return half the 95% interval of a ratio estimate / its value (Cochran 1977, section 6.4)."""
    if values.size < 2 or values.sum() <= 0:
        return math.nan
    residuals = values - expected * values.sum() / expected.sum()
    return 1.96 * float(np.std(residuals, ddof=1)) / math.sqrt(values.size) / float(values.mean())


def _expected_packets(sessions: Sessions) -> float:
    """Return about how many packets all sessions have: of each if there are not too many."""
    count = sessions.count
    if count > _EXPECTED_EACH:
        return sessions.expected_packets(range(count))
    starts = range(0, count, _RUN)
    return sum(
        sessions.expected_packets(range(start, min(count, start + _RUN))) for start in starts
    )


def _span_s(table: PacketTable) -> float:
    return s_from_ns(int(table.time_ns[-1] - table.time_ns[0])) if len(table) else 0.0


def _play_sample(sessions: Sessions, *, seed: int) -> _Sample:
    """Play sessions from the whole workload, the first and the last always among them."""
    numbers = np.linspace(0, sessions.count - 1, min(_SAMPLED, sessions.count)).astype(int)
    inner = random_stream(seed, session=0, purpose="dry run").permutation(numbers[1:-1])
    order = list(dict.fromkeys([int(numbers[0]), int(numbers[-1]), *inner.tolist()]))
    sample, flows = _Sample([], [], []), 0
    for number_ in order:
        began_s = time.perf_counter()
        tables, rows = sessions.block(number_, 1)
        sample.sessions.append(number_)
        sample.tables.append(_placed(tables, rows, flows))
        sample.times_s.append(time.perf_counter() - began_s)
        flows += len(rows)
        if sum(sample.times_s) > _SAMPLED_S:
            break
    return sample


def _placed(tables: list[pa.Table], rows: list[FlowRow], first_flow: int) -> PacketTable:
    """Return the packets of a session, its flows numbered from ``first_flow`` on."""
    packets = order_columns(superpose(tables))
    place = packets.schema.get_field_index("flow")
    shifted = pc.add(packets.column("flow"), pa.scalar(first_flow, pa.uint32()))
    return PacketTable(
        packets=packets.set_column(place, packets.schema.field(place), shifted),
        flows=pa.Table.from_pylist(
            [{**row, "flow": first_flow + at} for at, row in enumerate(rows)], schema=FLOW_SCHEMA
        ),
    )


def _write_sample(
    tables: list[PacketTable], out: str | Path, options: WorkloadOptions
) -> tuple[float, float]:
    """Write the sample as the output would be; return its bytes and the time that it took, s."""
    together = PacketTable(
        packets=superpose([table.packets for table in tables]),
        flows=pa.concat_tables([table.flows for table in tables]),
    )
    known = format_of(out, options.to_format)
    with tempfile.TemporaryDirectory(prefix="trafficgen-") as folder:
        file, began_s = Path(folder) / f"sample{known.suffix}", time.perf_counter()
        write_packets(
            together, file, file_format=known, at=options.at, snaplen_bytes=options.snaplen_bytes
        )
        took_s = time.perf_counter() - began_s
        parts = [path for path in Path(folder).rglob("*") if path.is_file()]
        return float(sum(path.stat().st_size for path in parts)), took_s
