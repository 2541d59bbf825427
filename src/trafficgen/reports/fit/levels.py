"""Levels of a fitted session's rate, and the buffer and levels of its player."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from trafficgen.calibration.levels.dwells import mean_dwell
from trafficgen.calibration.player_log.events import PlayedLevels, PlayerLog
from trafficgen.formatting import rate_text
from trafficgen.reports.charts import TIME, Axis, Cells, Chart, Curve, Rule, Span
from trafficgen.reports.fit.rate import phase_spans
from trafficgen.reports.fit.subject import FitSubject
from trafficgen.reports.page import Block, tabulate
from trafficgen.reports.samples import thin

_CLOCKS = {
    "own": "by its own zero",
    "unix": "by Unix time",
    "option": "by the given offset",
    "capture_start": "at the capture's first packet",
}


def describe_levels(subject: FitSubject) -> Iterator[Block | None]:
    """Yield transitions and stays of the levels, by the player log where there is one."""
    played, levels = subject.session.played_levels, subject.session.levels
    if played is not None and len(played.names) > 1:
        yield from _describe_player(played)
    elif levels is not None:
        names = tuple(map(rate_text, levels.kbps.tolist()))
        rows = levels.transition_rows()
        if levels.switches > 1:
            yield _chart_transitions(names, rows, switches=levels.switches, source="the rate")
        records = []
        for level, name in enumerate(names):
            dwell = mean_dwell(levels.dwells(level))
            records.append(
                {
                    "level (IP bytes)": name,
                    "visits": int(np.count_nonzero(levels.level == level)),
                    "mean stay, s": dwell.mean_s if dwell else None,
                    "95% from": dwell.low_s if dwell else None,
                    "95% to": dwell.high_s if dwell else None,
                }
            )
        yield tabulate("Time at each level", records)


def _describe_player(played: PlayedLevels) -> Iterator[Block | None]:
    names = []
    for name, rate in zip(played.names, played.kbps, strict=True):
        unit = "" if rate is None else f" ({rate_text(rate)})"
        names.append(f"{name} kbit/s" if rate is not None and name == f"{rate:g}" else name + unit)
    yield _chart_transitions(
        tuple(names), played.transition, switches=played.switches, source="the player log"
    )
    stays = zip(played.names, played.kbps, played.mean_dwell_s, strict=True)
    records = (
        {"level": name, "encoding rate, kbit/s": rate, "mean stay, s": stay_s}
        for name, rate, stay_s in stays
    )
    yield tabulate("Time at each level, by the player log", records)


def _chart_transitions(
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
            f"Levels by {source}, {switches} switches. A row has the shares of the levels that"
            " followed, which add up to 1; a row without numbers was never left."
        ),
    )


def chart_player(subject: FitSubject) -> Iterator[Chart]:
    """Chart buffer and levels of the player log, if there is one."""
    log, played = subject.session.player_log, subject.session.played_levels
    if log is None:
        return
    spans = tuple(phase_spans(subject))
    if log.sample_time_s.size > 1:
        yield _chart_buffer(log, spans)
    if played is not None and len(played.names) > 1:
        yield _chart_levels(log, played.names, spans)


def _chart_buffer(log: PlayerLog, spans: tuple[Span, ...]) -> Chart:
    moments = {"playback starts": log.playback_start_s, "buffer full": log.buffer_full_s}
    rules = (
        Rule(name=name, at=at, axis="x", role="law")
        for name, at in moments.items()
        if at is not None
    )
    x, y = thin(log.sample_time_s, log.buffer_s)
    return Chart(
        name="player-buffer",
        title="Buffer of the player",
        x=TIME,
        y=Axis(label="media in the buffer", unit="s", low=0),
        layers=(*spans, *rules, Curve(name="buffer", x=x, y=y, role="measured")),
        caption=f"By {log.file}; its clock was placed {_CLOCKS[log.clock]}.",
    )


def _chart_levels(log: PlayerLog, names: tuple[str, ...], spans: tuple[Span, ...]) -> Chart:
    """Chart the levels over time; ``names`` has those that are not rates in ascending order."""
    axis = Axis(label="level", categories=names)
    y = [float(names.index(f"{one:g}" if isinstance(one, float) else one)) for one in log.levels]
    if all(isinstance(level, float) for level in log.levels):
        axis, y = Axis(label="encoding rate", unit="kbit/s"), [float(one) for one in log.levels]
    time_s = np.append(log.level_time_s, max(log.end_s, float(log.level_time_s[-1])))
    curve = Curve(name="level", x=time_s, y=np.append(y, y[-1]), role="law", shape="steps")
    return Chart(
        name="player-levels",
        title="Levels that the player chose",
        x=TIME,
        y=axis,
        layers=(*spans, curve),
        caption=f"By {log.file}: media payload, without headers.",
    )
