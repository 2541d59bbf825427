"""Levels of a fitted session's rate, and what its player said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from trafficgen.calibration.levels.rate_levels import mean_dwell
from trafficgen.calibration.player_log.events import PlayedLevels, PlayerLog
from trafficgen.formatting import number
from trafficgen.reports.charts import Axis, Cells, Chart, Curve, Rule, Span
from trafficgen.reports.fit.rate import phase_spans
from trafficgen.reports.fit.subject import FitSubject
from trafficgen.reports.page import Block, Table
from trafficgen.reports.thinning import thinned

_CLOCKS = {
    "own": "by its own zero",
    "unix": "by Unix time",
    "option": "by the offset that was given",
    "capture_start": "at the capture's first packet",
}
_TIME = "time after the first media packet"


def level_blocks(subject: FitSubject) -> Iterator[Block]:
    """Yield transitions and dwell times of the levels, by the player's log where there is one;
    nothing without any.
    """
    played, levels = subject.session.played_levels, subject.session.levels
    if played is not None and len(played.names) > 1:
        yield from _of_player(played)
    elif levels is not None:
        names = tuple(f"{number(rate)} kbit/s" for rate in levels.kbps.tolist())
        yield _transitions(
            names, levels.transition_rows(), switches=levels.switches, source="the rate"
        )
        rows = []
        for level, name in enumerate(names):
            dwell = mean_dwell(levels.dwells(level))
            low, high = (
                (dwell.interval.low, dwell.interval.high) if dwell.interval else (None, None)
            )
            visits = int(np.count_nonzero(levels.level == level))
            rows.append((name, number(visits), number(dwell.mean_s), number(low), number(high)))
        yield Table(
            title="Time at each level",
            header=("level (IP bytes)", "visits", "mean stay, s", "95% from", "to"),
            rows=tuple(rows),
            numbers=(1, 2, 3, 4),
        )


def _of_player(played: PlayedLevels) -> Iterator[Block]:
    names = tuple(
        (
            name
            if rate is None
            else f"{name} kbit/s"
            if name == f"{rate:g}"
            else f"{name} ({number(rate)} kbit/s)"
        )
        for name, rate in zip(played.names, played.kbps, strict=True)
    )
    yield _transitions(
        names, played.transition, switches=played.switches, source="the player's log"
    )
    yield Table(
        title="Time at each level, by the player's log",
        header=("level", "encoding rate, kbit/s", "mean stay, s"),
        rows=tuple(
            (name, number(rate), number(stay))
            for name, rate, stay in zip(played.names, played.kbps, played.mean_dwell_s, strict=True)
        ),
        numbers=(1, 2),
    )


def _transitions(
    names: tuple[str, ...],
    rows: Sequence[Sequence[float] | np.ndarray | None],
    *,
    switches: int,
    source: str,
) -> Chart:
    values = np.full((len(names), len(names)), math.nan)
    for level, row in enumerate(rows):
        if row is not None:
            values[level] = row
            values[level, level] = math.nan  # a level does not follow itself
    return Chart(
        name="level-transitions",
        title="Which level follows which: from row to column",
        x=Axis(label="to", categories=names),
        y=Axis(label="from", categories=names),
        layers=(Cells(name="share of the switches from this level", values=values),),
        caption=(
            f"Levels by {source}, {switches} switches. A row is a level that was left: the shares"
            " of what came next, which add up to 1. A row without numbers was never left."
        ),
    )


def chart_player(subject: FitSubject) -> Iterator[Chart]:
    """Yield buffer and levels of the player's log; nothing without one."""
    log = subject.session.player_log
    if log is None:
        return
    spans = tuple(phase_spans(subject))
    rules = tuple(
        Rule(name=name, at=at, axis="x", role="law")
        for name, at in (
            ("playback starts", log.playback_start_s),
            ("buffer full", log.buffer_full_s),
        )
        if at is not None
    )
    if log.sample_time_s.size > 1:
        yield _buffer(log, spans, rules)
    played = subject.session.played_levels
    if played is not None and len(played.names) > 1:
        yield _levels(log, played.names, spans)


def _buffer(log: PlayerLog, spans: tuple[Span, ...], rules: tuple[Rule, ...]) -> Chart:
    x, y = thinned(log.sample_time_s, log.buffer_s)
    return Chart(
        name="player-buffer",
        title="Buffer of the player",
        x=Axis(label=_TIME, unit="s"),
        y=Axis(label="media in the buffer", unit="s", low=0),
        layers=(*spans, *rules, Curve(name="buffer", x=x, y=y, role="measured")),
        caption=f"By {log.file}; its clock was placed {_CLOCKS[log.clock]}.",
    )


def _levels(log: PlayerLog, names: tuple[str, ...], spans: tuple[Span, ...]) -> Chart:
    """Return the levels over time; ``names`` has those that are no rates in ascending order."""
    rates = all(isinstance(level, float) for level in log.levels)
    said = [f"{level:g}" if isinstance(level, float) else level for level in log.levels]
    y = (
        [float(level) for level in log.levels]
        if rates
        else [float(names.index(name)) for name in said]
    )
    axis = (
        Axis(label="encoding rate", unit="kbit/s")
        if rates
        else Axis(label="level", categories=names)
    )
    time_s = np.append(log.level_time_s, max(log.end_s, float(log.level_time_s[-1])))
    return Chart(
        name="player-levels",
        title="Levels that the player chose",
        x=Axis(label=_TIME, unit="s"),
        y=axis,
        layers=(
            *spans,
            Curve(name="level", x=time_s, y=np.append(y, y[-1]), role="law", shape="steps"),
        ),
        caption=f"By {log.file}: media payload, without headers.",
    )
