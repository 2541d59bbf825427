"""Who got what of a path that the sessions of a workload share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trafficgen.data_frames import frame_rows
from trafficgen.formatting import (
    format_count,
    format_duration,
    format_share,
    number,
    one_line,
    rate_text,
)
from trafficgen.notebook import FirstRows, NotebookView
from trafficgen.simulation.measures import INTERVAL_S, judge_budgets
from trafficgen.simulation.results import list_values
from trafficgen.simulation.run import MEDIA_FLOWS, Run
from trafficgen.simulation.session_events import SessionEvents
from trafficgen.tables import MEDIA
from trafficgen.units import FloatArray, IntArray, kbps_from_bytes, s_from_ns
from trafficgen.workloads.mix import MixedSessions

if TYPE_CHECKING:
    import pandas as pd

#: The sums of :attr:`Outcome.sums` that shares are made of.
_QUANTITIES = (
    "sent_packets",
    "arrived_packets",
    "arrived_bytes",
    "dropped_packets",
    "retransmissions",
    "delay_s",
)


@dataclass(frozen=True, kw_only=True)
class FlowShare:
    """What a session or a competing flow got, of the packets to its client.

    Attributes:
        name: Name of the competing flow, or of the session.
        start_s: Its start, s after that of the workload.
        duration_s: From its start to its end, or to its last packet where that comes later, s.
        received_bytes: IP bytes that arrived: of a session its media.
        received_share: Share of the bytes that all sessions and competing flows received; NaN of
            competing flows that send in the reverse direction.
        rate_kbps: Of these bytes over this time.
        loss: Dropped / sent packets; NaN where none was sent.
        delay_s: Mean one-way delay, s; NaN where none arrived.
        retransmissions: Packets that repeat data.
    """

    name: str
    start_s: float
    duration_s: float
    received_bytes: int
    received_share: float
    rate_kbps: float
    loss: float
    delay_s: float
    retransmissions: int


@dataclass(frozen=True, kw_only=True)
class SessionShare(FlowShare):
    """What a session got, and what its viewer saw.

    Attributes:
        group: Its group.
        model: Its model.
        startup_s: From its start to that of the playback, s; NaN: it never began, or there is no
            player.
        stalls: Number of stalls; None: there is no player.
        stalled_s: Time in stalls, s; None: there is no player.
        mean_rung_kbps: Mean of the rungs of its segments; NaN: it has none.
        satisfied: Whether each of its flows kept to its delay budget; None: none has one.
    """

    group: str
    model: str
    startup_s: float
    stalls: int | None
    stalled_s: float | None
    mean_rung_kbps: float
    satisfied: bool | None


@dataclass(frozen=True, kw_only=True)
class GroupShare:
    """What the sessions of a group got.

    Attributes:
        received_share: Sum of those of its sessions.
        rate_kbps: Mean of the rates of its sessions.
        loss: Dropped / sent packets of all its sessions; NaN where none was sent.
        delay_s: Mean of the mean delays of its sessions, s.
        startup_s: Mean of the sessions whose playback began, s; NaN if none did.
        unstarted: Sessions with a player whose playback never began; None: there is no player.
        stalled_sessions: Sessions with a stall; None: there is no player.
        stalled_s: Time in stalls of all its sessions, s; None: there is no player.
        mean_rung_kbps: Mean of the sessions that choose rungs; NaN if none does.
        satisfied: Sessions whose flows kept to their delay budgets; None: none has any.
        jain_index: Fairness among its sessions (Jain et al. 1984): 1 if all have the same rate, 1 /
            their number if one has all.
    """

    name: str
    model: str
    sessions: int
    received_share: float
    rate_kbps: float
    loss: float
    delay_s: float
    startup_s: float
    unstarted: int | None
    stalled_sessions: int | None
    stalled_s: float | None
    mean_rung_kbps: float
    satisfied: int | None
    jain_index: float


@dataclass(frozen=True, eq=False, repr=False)
class WorkloadResult(NotebookView):
    """Who got what of a path that the sessions of a workload share.

    Attributes:
        groups: What each group got, in the order of the workload.
        sessions: What each session got, in the order of their starts.
        flows: What each competing flow got.
        links: Counters of the links, as of :class:`~trafficgen.SimulationResult`.
        series: Rates to the client over time: ``interval_s``, and for each group and competing flow
            ``NAME_kbps``, from the start of the workload on.
        notes: How it was made: workload, digests, path, competing flows, seed.
        packet_events: Arrivals at and departures from sources, queues and endpoints.

    Example:
        >>> import trafficgen
        >>> result = trafficgen.simulate_workload(
        ...     "cbr", path="rate=1Mbps,delay=20ms", sessions=4, duration_s=20
        ... )
        >>> result
        <WorkloadResult of cbr: 4 sessions, 250 kbit/s on average, Jain's index 0.776, seed 0>
        >>> [f"{session.rate_kbps:.0f}" for session in result.sessions]
        ['334', '334', '315', '18']
    """

    groups: tuple[GroupShare, ...]
    sessions: tuple[SessionShare, ...]
    flows: tuple[FlowShare, ...]
    links: tuple[Mapping[str, Any], ...]
    series: Mapping[str, Any]
    notes: Mapping[str, object]
    packet_events: int

    @classmethod
    def from_run(
        cls, run: Run, mixed: MixedSessions, notes: Mapping[str, object]
    ) -> WorkloadResult:
        """Read the sums of a run of these sessions and of competing flows."""
        shares, losses = _measure(run)
        sessions = tuple(
            _session(run, place, share, mixed) for place, share in enumerate(shares[: mixed.count])
        )
        groups = []
        for place, group in enumerate(mixed.workload.groups):
            own = np.flatnonzero(mixed.groups == place)
            sent, dropped = losses[:, own].sum(axis=1)
            groups.append(
                _group(
                    group.name,
                    group.model.name,
                    [sessions[number] for number in own.tolist()],
                    loss=float(dropped / sent) if sent else math.nan,
                )
            )
        names = [group.name for group in groups] + [one.name for one in shares[mixed.count :]]
        over_time = run.count_received_bytes()
        pairs = zip(run.config["links"], run.outcome.links, strict=True)
        return cls(
            groups=tuple(groups),
            sessions=sessions,
            flows=shares[mixed.count :],
            links=tuple({"name": config["name"], **counters} for config, counters in pairs),
            series={"interval_s": INTERVAL_S}
            | {
                f"{name}_kbps": kbps_from_bytes(1, INTERVAL_S) * received
                for name in names
                if (received := over_time.get(name)) is not None
            },
            notes=notes,
            packet_events=run.outcome.packet_events,
        )

    def __repr__(self) -> str:
        rates = [session.rate_kbps for session in self.sessions]
        parts = [
            format_count(len(rates), "session"),
            f"{number(float(np.mean(rates)), digits=3)} kbit/s on average",
            f"Jain's index {number(self.jain_index, digits=3)}",
            *([format_count(len(self.flows), "competitor")] if self.flows else []),
        ]
        name = one_line(self.notes.get("workload", "a workload"))
        return f"<WorkloadResult of {name}: {', '.join(parts)}, seed {self.notes['seed']}>"

    @property
    def jain_index(self) -> float:
        """Fairness among all sessions, by their rates (Jain et al. 1984)."""
        return jain_index(np.array([session.rate_kbps for session in self.sessions]))

    def to_json(self) -> dict[str, Any]:
        """Return the object that `trafficgen simulate --json` prints; NaN: not measurable."""
        return {
            "jain_index": self.jain_index,
            "groups": [asdict(group) for group in self.groups],
            "sessions": [asdict(session) for session in self.sessions],
            "flows": [asdict(flow) for flow in self.flows],
            "links": [dict(link) for link in self.links],
            "series": {name: list_values(values) for name, values in self.series.items()},
            **{
                name: note
                for name, note in self.notes.items()
                if name not in ("groups", "sessions")
            },
            "packet_events": self.packet_events,
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return a row a session, with the attributes of its share; unknown: ``pd.NA``."""
        kinds = {"name": str, "group": str, "model": str, "received_bytes": int}
        kinds |= {"retransmissions": int, "stalls": int, "satisfied": bool}
        rows = [asdict(session) for session in self.sessions]
        return frame_rows(rows, {name: kinds.get(name, float) for name in rows[0]})

    def _notebook_data(self) -> dict[str, object]:
        data = self.to_json()
        rows: list[Mapping[str, object]] = data["sessions"]
        return {
            "groups": data["groups"],
            "sessions": FirstRows(rows, len(rows)),
            "flows": data["flows"],
            "links": data["links"],
        }


def jain_index(rates: FloatArray) -> float:
    """Return (sum of rates)^2 / (n * sum of their squares), 1/n to 1; NaN if all are 0."""
    squares = float(rates.size * (rates**2).sum())
    return float(rates.sum()) ** 2 / squares if squares > 0 else math.nan


def _measure(run: Run) -> tuple[tuple[FlowShare, ...], IntArray]:
    """Return the share of each participant, and its packets sent and dropped, shape (2, n)."""
    sums, count = run.outcome.sums, len(run.participants)
    assert sums is not None
    agents = np.array([flow["agent"] for flow in run.flows], dtype=np.int64)
    is_session = np.array([one.is_session for one in run.participants])
    is_media = np.array([MEDIA[flow["media"]] in MEDIA_FLOWS for flow in run.flows], dtype=bool)
    counted = is_media | ~is_session[agents]
    of_flows: Mapping[str, Any] = sums
    totals = {
        name: np.bincount(agents[counted], of_flows[name][counted, 0], count)
        for name in _QUANTITIES
    }
    last_ns = np.full(count, np.iinfo(np.int64).min)
    np.maximum.at(last_ns, agents[counted], sums["last_arrival_ns"][counted, 0])
    is_upload = np.array([one.is_upload for one in run.participants])
    total = float(totals["arrived_bytes"][~is_upload].sum())
    shares = []
    for place, one in enumerate(run.participants):
        sent, arrived, received, dropped, repeated, delay_s = (
            float(totals[name][place]) for name in _QUANTITIES
        )
        lasted_s = max(_end_s(run, place), s_from_ns(int(last_ns[place]))) - one.start_s
        shares.append(
            FlowShare(
                name=one.name,
                start_s=one.start_s,
                duration_s=lasted_s,
                received_bytes=int(received),
                received_share=received / total if total and not one.is_upload else math.nan,
                rate_kbps=kbps_from_bytes(received, lasted_s) if lasted_s > 0 else 0.0,
                loss=dropped / sent if sent else math.nan,
                delay_s=delay_s / arrived if arrived else math.nan,
                retransmissions=int(repeated),
            )
        )
    lost = np.array([totals["sent_packets"], totals["dropped_packets"]]).astype(np.int64)
    return tuple(shares), lost


def _end_s(run: Run, place: int) -> float:
    """Return when a participant ended, s: by itself, when it was stopped, or with the run."""
    ends_ns = (time_ns for time_ns, event in run.agents[place]["events"] if event[0] == "end")
    end_ns, stop_s = next(ends_ns, run.outcome.end_ns), run.participants[place].stop_s
    return s_from_ns(end_ns) if stop_s is None else min(stop_s, s_from_ns(end_ns))


def _session(run: Run, place: int, share: FlowShare, mixed: MixedSessions) -> SessionShare:
    agent, group = run.agents[place], mixed.workload.groups[mixed.groups[place]]
    end_s = share.start_s + share.duration_s
    events = SessionEvents.read_log(agent, zero_ns=0, end_s=end_s)
    has_player = bool(np.isfinite(agent["samples"][:, 2]).any())
    budgets = judge_budgets(run.participants[place].source, events.facts)
    start_s, seen = events.times_s["playback_start_s"], events.playback(end_s)
    return SessionShare(
        **vars(share),
        group=group.name,
        model=group.model.name,
        startup_s=math.nan if start_s is None else start_s - share.start_s,
        stalls=len(events.stalls) if has_player else None,
        stalled_s=sum(stall.duration_s for stall in events.stalls) if has_player else None,
        mean_rung_kbps=math.nan if seen is None else seen.mean_rung_kbps,
        satisfied=all(budget.is_met for budget in budgets) if budgets else None,
    )


def _group(name: str, model: str, sessions: Sequence[SessionShare], *, loss: float) -> GroupShare:
    rates = np.array([session.rate_kbps for session in sessions])
    watched = [session for session in sessions if session.stalls is not None]
    judged = [session.satisfied for session in sessions if session.satisfied is not None]
    return GroupShare(
        name=name,
        model=model,
        sessions=len(sessions),
        received_share=sum(session.received_share for session in sessions),
        rate_kbps=_mean(rates),
        loss=loss,
        delay_s=_mean([session.delay_s for session in sessions]),
        startup_s=_mean([session.startup_s for session in sessions]),
        unstarted=sum(math.isnan(one.startup_s) for one in watched) if watched else None,
        stalled_sessions=sum(bool(one.stalls) for one in watched) if watched else None,
        stalled_s=sum(one.stalled_s or 0.0 for one in watched) if watched else None,
        mean_rung_kbps=_mean([session.mean_rung_kbps for session in sessions]),
        satisfied=sum(judged) if judged else None,
        jain_index=jain_index(rates),
    )


def _mean(values: Sequence[float] | FloatArray) -> float:
    """Return the mean of those that are known; NaN if none is."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    return float(known.mean()) if known.size else math.nan


UNKNOWN = "-"
SHARE_HEADER = (
    "group",
    "sessions",
    "mean rate",
    "of all bytes",
    "lost",
    "delay",
    "starts after",
    "stalled (in all)",
    "mean rung",
    "fairness",
)
LINK_HEADER = ("link", "packets", "dropped", "marked", "mean wait", "p95 wait")


def describe_shares(result: WorkloadResult) -> str:
    """Return what all sessions together got, in a line."""
    sessions, text = result.sessions, format_count(len(result.sessions), "session")
    if not sessions:
        return text
    if (rate := total_rate_text(result)) is not None:
        text += f" in {format_duration(_length_s(result))}: {rate} together on average"
    if (players := count_players(result)) is not None:
        text += f"; {players[0]:,} of {players[1]:,} players stalled"
    for group in result.groups:
        if group.satisfied is not None:
            text += f"; {group.satisfied:,} of {group.sessions:,} of {group.name} in time"
    return f"{text}; fairness (Jain's index) {number(result.jain_index, digits=3)}"


def total_rate_text(result: WorkloadResult) -> str | None:
    """Return the mean rate of all sessions together, from the first start to the last end."""
    if (length_s := _length_s(result)) <= 0:
        return None
    received_bytes = sum(one.received_bytes for one in result.sessions)
    return rate_text(kbps_from_bytes(received_bytes, length_s))


def count_players(result: WorkloadResult) -> tuple[int, int] | None:
    """Return how many sessions with a player stalled, and how many have one; None: none has."""
    known = [one for one in result.groups if one.stalled_sessions is not None]
    if not known:
        return None
    return sum(one.stalled_sessions or 0 for one in known), sum(one.sessions for one in known)


def share_rows(result: WorkloadResult) -> list[list[str]]:
    """Return a row of :data:`SHARE_HEADER` for each group and competing flow."""
    return [*map(_row_of_group, result.groups), *map(_row_of_flow, result.flows)]


def link_rows(result: WorkloadResult) -> list[list[str]]:
    """Return a row of :data:`LINK_HEADER` for each link."""
    return [
        [
            str(link["name"]),
            f"{link['packets_out']:,}",
            f"{link['dropped_queue'] + link['dropped_random']:,}",
            f"{link['marked']:,}",
            _known(link["mean_queueing_ms"], lambda wait_ms: format_duration(wait_ms / 1e3)),
            _known(link["p95_queueing_ms"], lambda wait_ms: format_duration(wait_ms / 1e3)),
        ]
        for link in result.links
    ]


def _length_s(result: WorkloadResult) -> float:
    ends_s = [one.start_s + one.duration_s for one in result.sessions]
    return max(ends_s) - min(one.start_s for one in result.sessions)


def _row_of_group(group: GroupShare) -> list[str]:
    stalled = UNKNOWN
    if group.stalled_sessions is not None:
        stalled = f"{group.stalled_sessions} ({format_duration(group.stalled_s or 0.0)})"
    return [
        group.name,
        f"{group.sessions:,}",
        _known(group.rate_kbps, rate_text),
        _known(group.received_share, format_share),
        _known(group.loss, format_share),
        _known(group.delay_s, format_duration),
        _known(group.startup_s, format_duration),
        stalled,
        _known(group.mean_rung_kbps, rate_text),
        _known(group.jain_index, lambda index: number(index, digits=3)),
    ]


def _row_of_flow(flow: FlowShare) -> list[str]:
    return [
        flow.name,
        UNKNOWN,
        rate_text(flow.rate_kbps),
        _known(flow.received_share, format_share),
        _known(flow.loss, format_share),
        _known(flow.delay_s, format_duration),
        *[UNKNOWN] * 4,
    ]


def _known(value: float | None, write: Callable[[float], str]) -> str:
    return UNKNOWN if value is None or math.isnan(value) else write(value)
