"""Report of sessions that share a path: who got what, rates over time, what viewers saw."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from trafficgen.formatting import format_count, format_share, number
from trafficgen.reports.page import (
    Axis,
    Chart,
    Curve,
    Headline,
    Layer,
    Mark,
    Report,
    Role,
    Table,
    build_report,
    tabulate,
)
from trafficgen.reports.samples import choose_bin_s, distribution_curve, thin
from trafficgen.reports.simulation import (
    MOST_LOSS,
    MOST_STALLED,
    NOTICED_LOSS,
    tabulate_conditions,
    tabulate_links,
)
from trafficgen.units import FloatArray, bps_from_kbps, bytes_from_bps, megabytes
from trafficgen.workloads.shares import (
    SHARE_HEADER,
    SessionShare,
    WorkloadResult,
    count_players,
    describe_shares,
    share_rows,
    total_rate_text,
)

_ROLES: tuple[Role, ...] = ("measured", "synthetic", "law", "extra", "other", "more")
_SUM: Role = "baseline"
_TIME = Axis(label="time after the start of the workload", unit="s", low=0)
_SESSION_RATE = Axis(label="mean rate of a session", unit="kbit/s", low=0)
_SHARE = Axis(label="share of sessions up to it", low=0, high=1.02)
_STARTUP = Axis(label="start of a session to its playback", unit="s", low=0)
#: Name, title, axis and quantity of each chart of how sessions differ.
_SPREADS = (
    ("session-rates", "How far the rates of sessions spread", _SESSION_RATE, "rate_kbps"),
    ("startups", "How long viewers wait", _STARTUP, "startup_s"),
)
#: Points of a rate over time, and sessions that are drawn one by one: more are one blur.
_MOST_BINS, _MOST_SESSIONS = 300, 500


def report_workload(result: WorkloadResult) -> Report:
    """Make the report of sessions that share a path."""
    notes, charts = result.notes, chart_workload(result)
    sessions = format_count(len(result.sessions), "session")
    return build_report(
        "Sessions that share a path",
        f"{notes['workload']}: {sessions}, seed {notes['seed']}",
        _judge(result),
        {
            "Who got what": (*charts[:1], *charts[1:2], _tabulate_shares(result)),
            "Sessions": charts[2:],
            "Links": (tabulate_links(result.links),),
            "Conditions": (tabulate_conditions(notes),),
        },
        made_by=f"{notes['software']}, seed {notes['seed']}",
    )


def _judge(result: WorkloadResult) -> Headline:
    """Judge by what viewers notice: stalls, and loss that nothing retransmits."""
    stalled, players = count_players(result) or (0, 0)
    unstarted = sum(one.unstarted or 0 for one in result.groups)
    repeating = {one.group for one in result.sessions if one.retransmissions}
    lost = [one.loss for one in result.groups if one.name not in repeating]
    most_lost = max((loss for loss in lost if not math.isnan(loss)), default=0.0)
    mark: Mark = "warn" if stalled or unstarted or most_lost > NOTICED_LOSS else "good"
    if stalled + unstarted > MOST_STALLED * players or most_lost > MOST_LOSS:
        mark = "bad"
    figures = {
        "sessions": f"{len(result.sessions):,}",
        "together, on average": total_rate_text(result) or "-",
        "players that stalled": f"{stalled:,} of {players:,}" if players else "no player simulated",
        **({"playback never started": f"{unstarted:,}"} if unstarted else {}),
        "fairness (Jain's index)": number(result.jain_index, digits=3),
    }
    known = [one for one in result.groups if not math.isnan(one.loss)]
    if known:
        worst = max(known, key=lambda one: one.loss)
        of_group = f" ({worst.name})" if len(known) > 1 else ""
        figures["most packets lost"] = format_share(worst.loss) + of_group
    return Headline(mark=mark, sentence=f"{describe_shares(result)}.", figures=figures)


def _tabulate_shares(result: WorkloadResult) -> Table | None:
    rows = share_rows(result)
    kinds = [one.model for one in result.groups] + ["competing flow"] * len(result.flows)
    columns = ("group", "model", *SHARE_HEADER[1:])
    return tabulate(
        "Kinds of sessions, and competing flows",
        (
            dict(zip(columns, (row[0], kind, *row[1:]), strict=True))
            for row, kind in zip(rows, kinds, strict=True)
        ),
    )


def chart_workload(result: WorkloadResult) -> list[Chart]:
    """Return the charts: rates over time first, then those of the sessions."""
    return [*_chart_rates(result), *_chart_sessions(result)]


def _chart_rates(result: WorkloadResult) -> Iterator[Chart]:
    step_s, shown = float(result.series["interval_s"]), _fold_names(result)
    rates: dict[str, FloatArray] = {}
    for key, values in result.series.items():
        if name := shown.get(key.removesuffix("_kbps")):
            rates[name] = rates.get(name, np.zeros(1)) + np.asarray(values, dtype=np.float64)
    count = max((values.size for values in rates.values()), default=0)
    if count < 2:
        return
    bin_s = choose_bin_s(step_s * count, most=_MOST_BINS, finest_s=step_s)
    roles = _roles(shown.values())
    bins, steps = int(step_s * count / bin_s), round(bin_s / step_s)
    if len(rates) > 1:
        rates = {**rates, "all": sum(rates.values(), np.zeros(count))}
        roles = {**roles, "all": _SUM}
    yield Chart(
        name="rates",
        title="Rates over time",
        x=_TIME,
        y=Axis(label="IP rate to the clients", unit="kbit/s", low=0),
        layers=tuple(
            Curve(
                name=name,
                role=roles[name],
                x=bin_s * np.arange(bins, dtype=np.float64),
                y=values[: bins * steps].reshape(bins, steps).mean(axis=1),
                shape="steps",
                dashed=roles[name] == _SUM,
            )
            for name, values in rates.items()
        ),
        caption=f"All sessions of a group together. Means over bins of {bin_s:g} s.",
    )
    yield Chart(
        name="cumulative-bytes",
        title="Bytes so far",
        x=_TIME,
        y=Axis(label="IP bytes to the clients", unit="MB", low=0),
        layers=tuple(_sum_up(name, roles[name], rates[name], step_s) for name in rates),
        caption="What each group and competing flow has received by a time.",
    )


def _sum_up(name: str, role: Role, rates_kbps: FloatArray, step_s: float) -> Curve:
    megabytes_each = megabytes(bytes_from_bps(bps_from_kbps(1.0), step_s))
    received = megabytes_each * np.cumsum(rates_kbps)
    x, y = thin(step_s * np.arange(rates_kbps.size + 1), np.append(0.0, received), most=_MOST_BINS)
    return Curve(name=name, role=role, x=x, y=y, dashed=role == _SUM)


def _fold_names(result: WorkloadResult) -> dict[str, str]:
    """Return the name that each group and competing flow is shown under, in their order."""
    names = [group.name for group in result.groups] + [flow.name for flow in result.flows]
    last = len(names) if len(names) <= len(_ROLES) else len(_ROLES) - 1
    return {name: name if place < last else "other groups" for place, name in enumerate(names)}


def _roles(shown: Iterable[str]) -> dict[str, Role]:
    return dict(zip(dict.fromkeys(shown), _ROLES, strict=False))


def _chart_sessions(result: WorkloadResult) -> Iterator[Chart]:
    """Chart the rates that sessions got: each from its start to its end, and how they spread."""
    shown = _fold_names(result)
    groups: dict[str, list[SessionShare]] = {shown[one.name]: [] for one in result.groups}
    for session in result.sessions:
        groups[shown[session.group]].append(session)
    roles = _roles(shown.values())
    if len(result.sessions) <= _MOST_SESSIONS:
        yield Chart(
            name="sessions",
            title="Mean rates of the sessions",
            x=_TIME,
            y=_SESSION_RATE,
            layers=tuple(_bars(name, roles[name], groups[name]) for name in groups),
            caption="Each session from its start to its end.",
        )
    for name, title, axis, quantity in _SPREADS:
        values = {
            group: np.array([getattr(one, quantity) for one in sessions], dtype=np.float64)
            for group, sessions in groups.items()
        }
        known = {group: of[~np.isnan(of)] for group, of in values.items()}
        layers: list[Layer] = [
            Curve(name=group, role=roles[group], x=x, y=y, shape="steps")
            for group, of in known.items()
            if of.size > 1
            for x, y in (distribution_curve(of),)
        ]
        if layers:
            caption = "Of each group; a steep curve: its sessions fare alike."
            yield Chart(
                name=name, title=title, x=axis, y=_SHARE, layers=tuple(layers), caption=caption
            )


def _bars(name: str, role: Role, sessions: Sequence[SessionShare]) -> Curve:
    ends = ((one.start_s, one.start_s + one.duration_s, math.nan) for one in sessions)
    rates = ((one.rate_kbps, one.rate_kbps, math.nan) for one in sessions)
    return Curve(
        name=name, role=role, x=list(chain.from_iterable(ends)), y=list(chain.from_iterable(rates))
    )
