"""What a workload will be, from a sample of its sessions: ``trafficgen generate --dry-run``."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.errors import GenerationError
from trafficgen.formatting import format_count, format_duration, rate_text, size_text
from trafficgen.generation.columns import order_columns, superpose
from trafficgen.generation.session import FlowRow
from trafficgen.imports import special
from trafficgen.models import Model, ModelHolder, PublishedModel
from trafficgen.notebook import NotebookView
from trafficgen.options import takes
from trafficgen.packet_files.destinations import format_of
from trafficgen.packet_files.writing import write_packets
from trafficgen.progress import following, report_each, report_step
from trafficgen.randomness import random_stream
from trafficgen.tables import FLOW_SCHEMA, PacketTable
from trafficgen.tables.columns import shift_values
from trafficgen.units import (
    NS_PER_S,
    FloatArray,
    IntArray,
    bps_from_bytes,
    kbps_from_bps,
    s_from_ns,
)
from trafficgen.workloads.blocks import Sessions, number_flows
from trafficgen.workloads.files import load_playable
from trafficgen.workloads.merge import write_batches
from trafficgen.workloads.mix import MixedSessions
from trafficgen.workloads.options import WorkloadOptions
from trafficgen.workloads.plan import PlannedWorkload
from trafficgen.workloads.sessions import choose_sessions, plan_model, sessions_of_workload
from trafficgen.workloads.write import check_sessions, makes_in_memory

#: Sessions of one model that are played for the interval of its bytes, and of long ones at least.
_VARIED, _FEWEST_VARIED = 20, 5
#: Packets after which no other session is played for an estimate.
_SAMPLED_PACKETS = 300_000
#: Most sessions that are played for an estimate, and the time after which no other is begun, s.
_SAMPLED, _SAMPLED_S = 60, 2.0
#: Start of a worker process, s; what runs on two cores with a load of 14 took / their estimate was
#: 1.1 to 1.4.
_WORKER_START_S, _BUSY = 1.0, 1.5
#: What a packet takes that is played for an estimate and written, bytes, measured.
_HELD_BYTES = 300
#: Errors are written out from here on, values without a fraction from there on.
_SMALL_SHARE, _WHOLE_FROM = 0.005, 100
#: Sessions up to which the packets and the length of each are estimated; of more, some runs.
_EXPECTED_EACH, _RUNS, _RUN = 20_000, 20, 250
#: Columns of times of packets and flows.
_TIMES = {"time_ns", "arrival_ns", "first_time_ns", "last_time_ns"}


@dataclass(frozen=True, eq=False, repr=False)
class WorkloadEstimate(NotebookView):
    """What a workload will be, from a sample of its sessions.

    Attributes:
        sessions: Number of sessions; it is exact.
        sampled: Number of sessions that were played for the estimate.
        packets: Packets of all sessions.
        ip_bytes: Their IP bytes.
        error_share: Half the 95% interval of packets and bytes / their value; 0 where all sessions
            were played, NaN for one of each group.
        ip_bytes_interval: Of one session of a fitted model: interval in which the IP bytes of 95%
            of its source's sessions lie, as the capture leaves parameters and mean rates uncertain.
            Played sessions keep the capture's rate, and vary less; so the interval holds the bytes
            of the session that was captured. None for others, and for sessions of more than
            300,000 packets.
        duration_s: First to last packet, s.
        concurrent: Mean number of sessions at once from the first start to the last.
        file_format: Format of the output.
        file_bytes: Size of the output.
        time_s: Time that it takes to make and write it on this machine where no other program is
            busy, s, with the start of worker processes and the merge of their blocks.
        busy_time_s: The same where the machine stays as busy as it was during the estimate, or
            busier: workers gain nothing, and all takes half as long again as the sample did.
        groups: Of each group of a workload by its name, the number of ``sessions`` and the
            ``bytes_share`` of the bytes.
        count_text: Number of sessions for people, with those of groups that start theirs apart.
        remarks: What people need to know about how they are made, such as rates that are scaled.

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
    groups: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    count_text: str = ""
    remarks: tuple[str, ...] = ()
    busy_time_s: float = 0.0
    ip_bytes_interval: tuple[float, float] | None = None

    def __repr__(self) -> str:
        return f"<WorkloadEstimate: {', '.join(self.lines())}>"

    def lines(self) -> list[str]:
        """Return the estimate as lines for people."""
        share = "< 1%" if self.error_share < _SMALL_SHARE else f"{self.error_share:.0%}"
        errors = [f"± {share}"] if self.error_share > 0 else []
        if self.sampled < self.sessions:
            errors.append(f"from {format_count(self.sampled, 'session')}")
        if self.ip_bytes_interval is not None:
            low, high = map(size_text, self.ip_bytes_interval)
            errors.append(f"95% of its sessions {low} to {high}")
        error = f" ({', '.join(errors)})" if errors else ""
        rate_bps = bps_from_bytes(self.ip_bytes, self.duration_s) if self.duration_s > 0 else 0.0
        groups = self.groups if len(self.groups) > 1 else {}
        at_once = f", {_round(self.concurrent)} at once on average while they start"
        return [
            f"{self.count_text or format_count(self.sessions, 'session')} in"
            f" {format_duration(self.duration_s)}{at_once if self.sessions > 1 else ''}",
            f"about {_round(self.packets)} packets, {size_text(self.ip_bytes)} of IP{error},"
            f" {rate_text(kbps_from_bps(rate_bps))} on average",
            f"about {size_text(self.file_bytes)} as {self.file_format},"
            f" {format_duration(self.time_s)} to make where no other program runs,"
            f" {format_duration(self.busy_time_s)} where it stays as busy as now",
            *(
                f"group {name}: {format_count(int(group['sessions']), 'session')},"
                f" {group['bytes_share']:.0%} of the bytes"
                for name, group in groups.items()
            ),
            *self.remarks,
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
            "[--dry-run|an estimate] is for sessions that play apart from each other; leave"
            " [--path] and [--compete] out"
        )
    playable = load_playable(model)
    sessions = choose_sessions(playable, options)
    if sessions is None:  # one session of a published model
        assert not isinstance(playable, PlannedWorkload)
        workload = plan_model(playable, options)
        sessions = sessions_of_workload(workload, seed=options.seed, sessions=1, at=options.at)
    check_sessions(sessions, options.memory_bytes)
    estimate = _estimate(sessions, out, options)
    is_long = estimate.packets > _SAMPLED_PACKETS
    if estimate.sessions > 1 or is_long or not isinstance(playable, Model):
        return estimate
    found = _find_bytes_interval(playable, options, duration_s=estimate.duration_s)
    return replace(estimate, ip_bytes_interval=found)


def _find_bytes_interval(
    model: Model, options: WorkloadOptions, *, duration_s: float
) -> tuple[float, float] | None:
    """Return the interval in which the IP bytes of 95% of a source's sessions lie.

    None if a session may have none.

    Sessions are played with parameters drawn from their uncertainty. The logarithms of their bytes
    are taken as normal, with a mean and a variance that are known from these few sessions only.
    They keep the mean rate of the capture: where that is less certain than they vary, the interval
    is that of the rate of another session as long as they are.

    Source: prediction interval of a normal law by Student's t.
    """
    several = replace(options, sessions=_VARIED, arrivals=None, posterior=True, jitter_s=None)
    workload = plan_model(model, several)
    sessions = sessions_of_workload(workload, seed=options.seed, sessions=_VARIED, at=options.at)
    sizes: list[int] = []
    packets = 0
    for number in report_each(range(_VARIED), "varying", total=_VARIED, unit="sessions"):
        if len(sizes) >= _FEWEST_VARIED and packets > _SAMPLED_PACKETS:
            break
        tables, _ = sessions.block(number, 1)
        packets += sum(table.num_rows for table in tables)
        sizes.append(sum(pc.sum(table["ip_bytes"]).as_py() or 0 for table in tables))
    if min(sizes) <= 0:
        return None
    logs, count = np.log(np.array(sizes, dtype=np.float64)), len(sizes)
    half = float(special.stdtrit(count - 1, 0.975) * logs.std(ddof=1) * math.sqrt(1 + 1 / count))
    half = max(half, _vary_rate(model, duration_s))
    one_packet = sum(sizes) / max(1, packets)  # at the end of a session there may be one more
    low, high = (math.exp(logs.mean() + side) for side in (-half, half))
    return max(0.0, low - one_packet), high + one_packet


def _vary_rate(model: Model, duration_s: float) -> float:
    """Return half the 95% interval of the log of another session's mean rate about the capture's.

    Both vary as the intervals of the rates of phases say of the capture's.
    """
    parts = [part for part in (model.buffering, model.playout) if part is not None]
    weights = np.array([part.rate_bps.value * part.duration_s.value for part in parts])
    if not weights.sum() > 0:
        return 0.0
    halves = [
        math.log(rate.high / rate.low) / 2 if rate.low and rate.high else 0.0
        for rate in (part.rate_bps for part in parts)
    ]
    captured_s = sum(part.duration_s.value for part in parts)
    whole = float(np.sqrt(np.sum((weights / weights.sum() * halves) ** 2)))
    return whole * math.sqrt(1 + captured_s / max(duration_s, captured_s / 10))


@dataclass(frozen=True)
class _Sample:
    """Sessions that were played, and the times that each took, s; see :class:`_Stopwatch`."""

    sessions: list[int]
    tables: list[PacketTable]
    times_s: list[FloatArray]


class _Stopwatch:
    """Time of this process, and time that has passed: more where other programs work too."""

    def __init__(self) -> None:
        self._process_s, self._began_s = time.process_time(), time.perf_counter()

    def read(self) -> FloatArray:
        """Return the time that a machine takes that does nothing else, and the time that passed, s.

        Threads of a library make the time of the process longer than what passed.
        """
        passed_s = time.perf_counter() - self._began_s
        return np.array([min(time.process_time() - self._process_s, passed_s), passed_s])


def _estimate(sessions: Sessions, out: str | Path, options: WorkloadOptions) -> WorkloadEstimate:
    """Estimate totals by ratio: what sampled sessions have over what is expected of them."""
    sample = _play_sample(sessions, options)
    report_step("estimating all sessions from the sample")
    whole = _Expected.read(sessions)
    count, sampled = sessions.count, len(sample.tables)
    packets = np.array([len(table) for table in sample.tables])
    sizes = np.array([table.ip_bytes.sum(dtype=np.int64) for table in sample.tables])
    own = np.concatenate([sessions.expectations(range(n, n + 1)) for n in sample.sessions])
    groups = sessions.groups
    played = _Expected(np.array(sample.sessions), own[:, 0], own[:, 1], groups[sample.sessions])
    group_packets = _group_totals(packets, whole, played)
    group_bytes = _group_totals(sizes, whole, played)
    share = float(group_packets.sum()) / max(1.0, float(packets.sum()))
    # The files of whole frames grow with the bytes too, and packets of the sample may be larger.
    payload_bytes = float(group_bytes.sum()) - float(sizes.sum()) * share
    file_bytes, write_s, store_s = _write_sample(_close_up(sample, sessions), out, options)
    workers, start_s = max(1, min(options.workers, os.cpu_count() or 1)), 0.0
    if not makes_in_memory(sessions, options):  # blocks are written, and merged more than once
        write_s += store_s
        start_s = _WORKER_START_S if options.workers > 1 else 0.0
    making_s = np.sum(sample.times_s, axis=0)
    starts_ns = sessions.starts_ns
    last_ns = [int(table.time_ns[-1]) if len(table) else 0 for table in sample.tables]
    lengths_s = (np.array(last_ns) - starts_ns[sample.sessions]) / NS_PER_S
    ends_s, concurrent = whole.find_ends(played, lengths_s, starts_ns, seed=options.seed)
    first_ns = min((int(table.time_ns[0]) for table in sample.tables if len(table)), default=0)
    return WorkloadEstimate(
        sessions=count,
        sampled=sampled,
        packets=float(group_packets.sum()),
        ip_bytes=float(group_bytes.sum()),
        error_share=_error_share(sizes, group_bytes, played) if sampled < count else 0.0,
        duration_s=max(0.0, ends_s - s_from_ns(first_ns)),
        concurrent=concurrent,
        file_format=format_of(out, options.to_format).name,
        file_bytes=file_bytes * share + (payload_bytes if file_bytes > sizes.sum() else 0.0),
        time_s=start_s + float((making_s / workers + write_s)[0]) * share,
        busy_time_s=_BUSY * (options.workers * start_s + float((making_s + write_s)[1]) * share),
        groups=_describe_groups(sessions, group_bytes),
        count_text=sessions.count_text,
        remarks=sessions.remarks,
    )


@dataclass(frozen=True)
class _Expected:
    """What is expected of sessions before they are played.

    Attributes:
        lengths_s: From their starts to their ends, s, shape (n,).
        groups: Numbers of their groups, shape (n,).
        weight: Sessions of the workload / these.
    """

    sessions: IntArray
    packets: FloatArray
    lengths_s: FloatArray
    groups: npt.NDArray[np.uint16]
    weight: float = 1.0

    @classmethod
    def read(cls, sessions: Sessions) -> _Expected:
        """Return what is expected of all sessions, or of runs of them from all times."""
        count = sessions.count
        runs = [range(count)]
        if count > _EXPECTED_EACH:
            firsts = np.linspace(0, count - _RUN, _RUNS).astype(int).tolist()
            runs = [range(first, first + _RUN) for first in firsts]
        packets, lengths_s = np.concatenate([sessions.expectations(run) for run in runs]).T
        numbers = np.concatenate([np.array(run) for run in runs])
        weight = count / numbers.size
        return cls(numbers, packets, lengths_s, sessions.groups[numbers], weight)

    def find_ends(
        self, played: _Expected, lengths_s: FloatArray, starts_ns: IntArray, *, seed: int
    ) -> tuple[float, float]:
        """Return the last end, s, and how many are at once on average while sessions start.

        The lengths of sessions that were played are known. The others are longer than expected by
        the ratio of their group: of all that were played for the mean, of one of them for the end.
        """
        mean_s, drawn_s = self.lengths_s.copy(), self.lengths_s.copy()
        generator = random_stream(seed, session=0, purpose="dry run lengths")
        expected_s = np.maximum(1e-9, played.lengths_s)
        for group in np.unique(played.groups).tolist():
            own, known = self.groups == group, played.groups == group
            mean_s[own] *= lengths_s[known].sum() / expected_s[known].sum()
            drawn_s[own] *= generator.choice((lengths_s / expected_s)[known], own.sum())
        places = np.searchsorted(self.sessions, played.sessions).clip(max=drawn_s.size - 1)
        known = self.sessions[places] == played.sessions
        mean_s[places[known]] = drawn_s[places[known]] = lengths_s[known]
        starts_s, last_s = starts_ns[self.sessions] / NS_PER_S, s_from_ns(int(starts_ns[-1]))
        window_s = last_s - s_from_ns(int(starts_ns[0]))
        at_once = float(starts_ns.size)
        if window_s > 0:
            at_once = self.weight * float(np.minimum(mean_s, last_s - starts_s).sum()) / window_s
        return float(np.max(starts_s + drawn_s)), at_once


def _group_totals(values: IntArray, whole: _Expected, played: _Expected) -> FloatArray:
    """Return the total of each group by ratio: packets of groups differ in size, shape (groups,).

    A group of which no session was played has the ratio of all.
    """
    count = 1 + int(max(whole.groups.max(), played.groups.max()))
    expected = np.bincount(played.groups, played.packets, minlength=count)
    each = np.full(count, values.sum() / max(1e-9, played.packets.sum()))
    np.divide(np.bincount(played.groups, values, count), expected, out=each, where=expected > 0)
    return each * whole.weight * np.bincount(whole.groups, whole.packets, minlength=count)


def _describe_groups(sessions: Sessions, group_bytes: FloatArray) -> dict[str, dict[str, float]]:
    """Return sessions and share of the bytes of each group, by its name."""
    if not isinstance(sessions, MixedSessions):
        return {}
    names = [group.name for group in sessions.workload.groups]
    counts = np.bincount(sessions.groups, minlength=len(names))
    shares = np.zeros(len(names))  # the last groups may have no session
    shares[: group_bytes.size] = group_bytes / max(1e-9, group_bytes.sum())
    return {
        name: {"sessions": int(count), "bytes_share": float(share)}
        for name, count, share in zip(names, counts, shares, strict=True)
    }


def _error_share(values: IntArray, totals: FloatArray, played: _Expected) -> float:
    """Return half the 95% interval of a sum of ratio estimates / its value.

    A group of which fewer than two sessions were played errs as the others do (Cochran 1977,
    section 6.11).
    """
    variances, freedom = np.full(totals.size, np.nan), 0
    for group in np.unique(played.groups).tolist():
        own = played.groups == group
        size, mean = int(own.sum()), float(values[own].mean())
        if size > 1 and mean > 0:
            expected = played.packets[own]
            residuals = values[own] - expected * values[own].sum() / expected.sum()
            variances[group] = float(np.var(residuals, ddof=1)) / size / mean**2
            freedom += size - 1
    if not freedom:
        return math.nan
    variances[np.isnan(variances)] = np.nanmax(variances)
    error = math.sqrt(float(np.sum(variances * totals**2))) / float(totals.sum())
    return float(special.stdtrit(freedom, 0.975)) * error


def _play_sample(sessions: Sessions, options: WorkloadOptions) -> _Sample:
    """Play sessions of the whole, the first and the last before all, while time and memory last."""
    most_packets = min(options.memory_bytes // _HELD_BYTES, _SAMPLED_PACKETS)
    numbers = np.linspace(0, sessions.count - 1, min(_SAMPLED, sessions.count)).astype(int)
    inner = random_stream(options.seed, session=0, purpose="dry run").permutation(numbers[1:-1])
    order = list(dict.fromkeys([int(numbers[0]), int(numbers[-1]), *inner.tolist()]))
    sample, flows = _Sample([], [], []), 0
    for number_ in order:
        watch = _Stopwatch()
        tables, rows = sessions.block(number_, 1)
        sample.sessions.append(number_)
        sample.tables.append(_placed(tables, rows, flows))
        sample.times_s.append(watch.read())
        flows += len(rows)
        held = sum(map(len, sample.tables))
        played = len(sample.tables)
        share = sum(passed_s for _, passed_s in sample.times_s) / _SAMPLED_S
        total = max(played, min(len(order), round(played / share))) if share else len(order)
        report_step("sampling", played, total, unit="sessions")
        if share > 1 or held + len(sample.tables[-1]) > most_packets:
            break
    return sample


def _placed(tables: list[pa.Table], rows: list[FlowRow], first_flow: int) -> PacketTable:
    """Return the packets of a session, its flows numbered from ``first_flow`` on."""
    return PacketTable(
        packets=shift_values(order_columns(superpose(tables)), flow=first_flow),
        flows=number_flows(pa.Table.from_pylist(rows, schema=FLOW_SCHEMA), first_flow),
    )


def _close_up(sample: _Sample, sessions: Sessions) -> list[PacketTable]:
    """Return the sample with the starts of sessions that follow each other, as all of them do.

    Where many are at once, columns compress less.
    """
    middle = (sessions.count - len(sample.tables)) // 2
    tables = []
    for place, (number_, table) in enumerate(zip(sample.sessions, sample.tables, strict=True)):
        shift_ns = int(sessions.starts_ns[middle + place] - sessions.starts_ns[number_])
        packets, flows = (
            shift_values(part, **dict.fromkeys(_TIMES & {*part.column_names}, shift_ns))
            for part in (table.packets, table.flows)
        )
        tables.append(PacketTable(packets=packets, flows=flows))
    return tables


def _write_sample(
    tables: list[PacketTable], out: str | Path, options: WorkloadOptions
) -> tuple[float, FloatArray, FloatArray]:
    """Write the sample as the output would be.

    Returns:
        Its bytes, the times that it took with putting the packets in order, s, and those that
        storing and ordering them once more takes, s; see :class:`_Stopwatch`.
    """
    known, watch = format_of(out, options.to_format), _Stopwatch()
    together = PacketTable(
        packets=superpose([table.packets for table in tables]),
        flows=pa.concat_tables([table.flows for table in tables]),
    )
    order_s = watch.read()
    with tempfile.TemporaryDirectory(prefix="trafficgen-") as folder:
        file = Path(folder) / f"sample{known.suffix}"
        with following(lambda _: None):  # the output itself is not being written
            write_packets(
                together,
                file,
                file_format=known,
                at=options.at,
                snaplen_bytes=options.snaplen_bytes,
            )
        took_s = watch.read()
        parts = [path for path in Path(folder).rglob("*") if path.is_file()]
        size_bytes, watch = sum(path.stat().st_size for path in parts), _Stopwatch()
        with pa.OSFile(os.fsencode(Path(folder) / "stored"), "wb") as stored:
            write_batches([together.packets], stored)
        return float(size_bytes), took_s, order_s + watch.read()
