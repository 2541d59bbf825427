"""Report of a simulated session: rates of all flows, level, buffer, losses and stalls over time."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from trafficgen.formatting import format_count, format_duration, format_share, number, rate_text
from trafficgen.reports.page import (
    TIME,
    Axis,
    Chart,
    Curve,
    Headline,
    Layer,
    Mark,
    Report,
    Role,
    Span,
    Table,
    Text,
    build_report,
    tabulate,
)
from trafficgen.reports.samples import thin
from trafficgen.simulation.measures import IntervalMeasure
from trafficgen.simulation.path import Path
from trafficgen.simulation.results import SimulationResult
from trafficgen.units import FloatArray, kbps_from_bps

_COMPETITORS: tuple[Role, ...] = ("other", "law", "more", "baseline")
_RATE = Axis(label="IP rate to the client", unit="kbit/s", low=0)
_LOST = Axis(label="share of sent packets lost", low=0)
_LEVEL = Axis(label="encoding rate", unit="kbit/s", low=0)
_BUFFER = Axis(label="media in the buffer", unit="s", low=0)
_FRAMES = Axis(label="frame rate", unit="1/s", low=0)
#: Name, title, key of the series, axis and caption of each chart of the session's state.
_STATES = (
    ("level", "Encoding rate", "encoding_kbps", _LEVEL, "Media payload."),
    ("buffer", "The player's buffer", "buffer_s", _BUFFER, ""),
    ("frames", "Frame rate", "frame_rate", _FRAMES, ""),
    ("loss", "Loss of the media", "media_loss", _LOST, "Share of each bin; gaps: nothing sent."),
)
#: What the verdict accepts, chosen by us: time in stalls / session, and loss / sent packets, the
#: smaller where nothing is retransmitted.
MOST_STALLED, NOTICED_LOSS, MOST_LOSS = 0.1, 0.01, 0.05
#: A fitted model that takes more than this many times its own length has been held up by the path.
_MOST_LENGTHENED = 1.05
#: Values that a row of conditions still spells out.
_MOST_VALUES = 12


def report_simulation(result: SimulationResult) -> Report:
    """Make the report of a simulated session."""
    notes, summary = result.notes, Text((" ".join(_describe(result)),), kind="lead")
    charts = list(_chart(result))
    return build_report(
        "A session played over a path",
        f"{notes['model']}, seed {result.seed}",
        _judge(result),
        {
            "Summary": (*charts[:2], summary, _tabulate_answers(result), _tabulate_moments(result)),
            "Over time": charts[2:],
            "Flows": _tabulate_flows(result),
            "Conditions": (tabulate_conditions(result.notes),),
        },
        made_by=f"{notes['software']}: {' '.join(_command(result))}",
    )


def _command(result: SimulationResult) -> Iterator[str]:
    """Yield the words of the command that repeats it; FILE where the path needs a file."""
    notes = result.notes
    yield f"trafficgen simulate {notes['model']}"
    path = Path.model_validate(notes["path"])
    on_one_line = len(path.links) == 1 and not (path.links[0].trace or path.links[0].reverse_trace)
    yield f"--path {path.text() if on_one_line else 'FILE'}"
    settings, compete = notes["settings"], notes["compete"]
    assert isinstance(settings, Mapping)
    assert isinstance(compete, list)
    for key, value in settings.items():
        yield f"--set {key}={value}"
    for one in compete:
        yield f"--compete {shlex.quote(str(one))}"
    for name in ("tcp", "quic", "runs"):
        if name in notes:
            yield f"--{name} {shlex.quote(str(notes[name]))}"
    session = result.run.participants[0]
    if session.stop_s is not None:
        yield f"--duration {session.stop_s - session.start_s:g}s"
    yield f"--seed {result.seed}"


def _judge(result: SimulationResult) -> Headline:
    """Judge by what a viewer notices: delays, stalls, and loss that nothing retransmits."""
    media, end_s = result.flows[0], result.end_s
    stalled_s = sum(stall.duration_s for stall in result.events.stalls)
    loss, repeated = media.measure.loss, media.measure.retransmissions
    late = end_s > _MOST_LENGTHENED * (result.planned_s or math.inf)
    lossy = loss > (MOST_LOSS if repeated else NOTICED_LOSS)
    mark: Mark = "warn" if stalled_s or late or lossy else "good"
    silent = end_s <= 0 or (result.has_player and _playback_start_s(result) is None)
    if silent or stalled_s > MOST_STALLED * end_s or (loss > MOST_LOSS and not repeated):
        mark = "bad"
    lost = f"{format_share(loss)} lost" if math.isfinite(loss) else "nothing sent"
    again = f", {format_count(repeated, 'packet')} retransmitted" if repeated else ""
    rate = rate_text(media.measure.rate_kbps)
    figures = {
        "mean rate received": rate,
        **_figures_of_playback(result),
        "packets lost": format_share(loss) if math.isfinite(loss) else "-",
        "delay, 95th percentile": format_duration(media.delay_s.p95),
    }
    sentence = f"The client receives {rate}{_say_playback(result)}; {lost}{again}."
    return Headline(mark=mark, sentence=sentence, figures=figures)


def _playback_start_s(result: SimulationResult) -> float | None:
    return result.events.times_s.get("playback_start_s")


def _say_playback(result: SimulationResult) -> str:
    stalls = result.events.stalls
    if result.has_player:
        if _playback_start_s(result) is None:
            return ", and playback never starts"
        stalled = format_duration(sum(stall.duration_s for stall in stalls))
        often = format_count(len(stalls), "stall")
        return f" with {often}, {stalled} in all" if stalls else " with no stall"
    lasting = f" in {format_duration(result.end_s)}"
    if result.planned_s is None:
        return lasting
    return f"{lasting}, where the model alone sends for {format_duration(result.planned_s)}"


def _figures_of_playback(result: SimulationResult) -> dict[str, str]:
    if not result.has_player:
        planned = result.planned_s
        sends = {} if planned is None else {"the model alone sends for": format_duration(planned)}
        return {"it takes": format_duration(result.end_s), **sends, "stalls": "no player simulated"}
    stalls, start_s = result.events.stalls, _playback_start_s(result)
    stalled = format_duration(sum(stall.duration_s for stall in stalls))
    return {
        "stalls": f"{len(stalls)} ({stalled})" if stalls else "none",
        "playback starts after": "never" if start_s is None else format_duration(start_s),
    }


def _describe(result: SimulationResult) -> Iterator[str]:
    for name, phase in (("buffers", result.buffering), ("plays out", result.playout)):
        if phase is not None:
            yield f"It {name} for {format_duration(phase.duration_s)}: {_describe_phase(phase)}."
    if not result.series["media_kbps"].size:
        yield f"It is shorter than {result.series['interval_s']:g} s: no curve is drawn over time."
    changes, stalls = result.events.level_changes(), result.events.stalls
    stalled = format_duration(sum(stall.duration_s for stall in stalls))
    stalling = _repeat("stalls", len(stalls)) + (f", {stalled} in all" if stalls else "")
    if result.has_player:
        yield f"The level {_repeat('changes', len(changes))}; the playback {stalling}."
        return
    yield (
        "The model has no player: how long its media wait in a buffer, and whether playback"
        " would stall, is not simulated."
    )


def _repeat(verb: str, count: int) -> str:
    often = {1: "once", 2: "twice"}.get(count, f"{count} times")
    return f"{verb} {often}" if count else f"never {verb}"


def _describe_phase(phase: IntervalMeasure) -> str:
    lost = f"{number(100 * phase.loss, digits=3)}% lost"
    return (
        f"{rate_text(phase.rate_kbps)} received of {rate_text(phase.offered_kbps)} offered,"
        f" {lost if math.isfinite(phase.loss) else 'nothing sent'}"
    )


def _tabulate_answers(result: SimulationResult) -> Table | None:
    """Tabulate the recorded session and this one, with the interval of several runs."""
    rows = [one.to_texts() for one in result.answers]
    return tabulate("The recorded session, and this one on its path", rows)


def _tabulate_moments(result: SimulationResult) -> Table | None:
    """Tabulate the session's figures: phases, moments, changes of the level, stalls."""
    events, agent = result.events, result.run.agents[0]
    encodings = {rate_bps for _, rate_bps in events.encodings}
    rows: dict[str, object] = {
        "silence before the first media packet": format_duration(result.silence_s)
    }
    for name, phase in (("buffering", result.buffering), ("playout", result.playout)):
        if phase is not None:
            rows[name] = f"{format_duration(phase.duration_s)}, {_describe_phase(phase)}"
    for name, time_s in events.times_s.items():
        rows[name.removesuffix("_s").replace("_", " ")] = format_duration(time_s)
    for one in events.level_changes():
        change = f"{rate_text(one.from_kbps)} to {rate_text(one.to_kbps)}"
        rows[f"level, at {format_duration(one.time_s)}"] = change
    for stall in events.stalls:
        rows[f"stall, at {format_duration(stall.start_s)}"] = format_duration(stall.duration_s)
    if len(encodings) == 1 and result.has_player:
        rows["encoding rate"] = rate_text(kbps_from_bps(encodings.pop()))
    if result.has_player:
        rows |= {
            "video thinned from": format_duration(events.thinned_s),
            "audio only from": format_duration(events.audio_only_s),
        }
    if result.has_player and (agent["frames_sent"] or agent["frames_dropped_at_sender"]):
        rows |= {
            "frames sent": agent["frames_sent"],
            "frames dropped at the sender": agent["frames_dropped_at_sender"],
        }
    return _tabulate_pairs("The session: times after its first media packet", rows.items())


def _tabulate_pairs(
    title: str, pairs: Iterable[tuple[str, object]], *, folded: bool = False
) -> Table | None:
    return tabulate(title, ({"what": key, "value": one} for key, one in pairs), folded=folded)


@dataclass(frozen=True)
class _Series:
    """The series of a result, as curves over time."""

    values: Mapping[str, Any]

    @cached_property
    def start_s(self) -> FloatArray:
        """Start of each interval, s after the first media packet, shape (n,)."""
        places = np.arange(len(self.values["media_kbps"]), dtype=np.float64)
        return float(self.values["start_s"]) + float(self.values["interval_s"]) * places

    def curve(self, name: str, key: str, role: Role) -> Curve:
        """Return one series; it is thinned where all its values are known."""
        x, y = self.start_s, np.asarray(self.values[key], dtype=np.float64)
        x, y = thin(x, y) if np.isfinite(y).all() else (x, y)
        if x.size == 1:  # a short session is one step, which has an end
            x, y = np.append(x, x + float(self.values["interval_s"])), np.append(y, y)
        return Curve(name=name, x=x, y=y, role=role, shape="steps")

    def chart(
        self, name: str, title: str, layers: Sequence[Layer], y: Axis, caption: str = ""
    ) -> Chart:
        """Return a chart over time."""
        return Chart(
            name=name,
            title=title,
            x=TIME,
            y=y,
            layers=tuple(layers),
            caption=f"{caption} Bins of {self.values['interval_s']:g} s.".strip(),
        )


def _chart(result: SimulationResult) -> Iterator[Chart]:
    series, stalls = _Series(result.series), list(_shade_stalls(result))
    if not series.start_s.size:
        return
    others = [one for one in result.flows[1:] if one.agent != 0]
    streams = [one for one in result.flows[1:] if one.agent == 0]
    competing = [
        series.curve(one.name, f"{one.name}_kbps", role)
        for one, role in zip(others, itertools.cycle(_COMPETITORS), strict=False)
    ]
    media = series.curve("media", "media_kbps", "synthetic")
    layers: list[Layer] = [*_shade_buffering(result), *stalls, *competing, media]
    caption = "IP bytes that the client receives."
    yield series.chart("rates", "Rates of all flows", layers, _RATE, caption)
    layers = [
        replace(series.curve("offered", "media_offered_kbps", "baseline"), filled=True),
        series.curve("received", "media_kbps", "synthetic"),
    ]
    axis = Axis(label="IP rate of the media", unit="kbit/s", low=0)
    caption = "Offered: before the first link, retransmissions included."
    yield series.chart("offered", "Offered and received", layers, axis, caption)
    if streams:
        roles: tuple[Role, ...] = ("law", "synthetic", "other")
        layers = [
            series.curve(one.name, f"{one.name}_kbps", role)
            for one, role in zip(streams, roles, strict=False)
        ]
        yield series.chart("streams", "Rates of the session's streams", layers, _RATE)
    for name, title, key, axis, caption in _STATES:
        values = np.asarray(result.series[key], dtype=np.float64)
        if np.unique(values[np.isfinite(values)]).size > 1:  # a level line says nothing
            layers = [*stalls, series.curve(title.lower(), key, "synthetic")]
            yield series.chart(name, title, layers, axis, caption)


def _shade_stalls(result: SimulationResult) -> Iterator[Span]:
    for one in result.events.stalls:
        yield Span(name="stall", start=one.start_s, end=one.start_s + one.duration_s, role="other")


def _shade_buffering(result: SimulationResult) -> Iterator[Span]:
    if (phase := result.events.buffering()) is not None:
        end_s = result.end_s if phase[1] is None else phase[1]
        yield Span(name="buffering", start=phase[0], end=end_s, role="extra")


def _tabulate_flows(result: SimulationResult) -> Iterator[Table | None]:
    flows = [
        {
            "flow": one.name,
            "received, kbit/s": one.measure.rate_kbps,
            "offered, kbit/s": one.measure.offered_kbps,
            "lost, %": 100 * one.measure.loss,
            "mean delay, s": one.delay_s.mean,
            "95th percentile, s": one.delay_s.p95,
            "largest delay, s": one.delay_s.max,
            "retransmissions": one.measure.retransmissions,
        }
        for one in result.flows
    ]
    yield tabulate("Flows, from the first to the last media packet", flows)
    yield tabulate_links(result.links)


def tabulate_links(links: Sequence[Mapping[str, Any]]) -> Table | None:
    """Tabulate the counters of links, a column a link: a row a link is too wide for paper."""
    counters = [
        {"counter": key.replace("_", " ")} | {str(link["name"]): link[key] for link in links}
        for key in links[0]
        if key != "name"
    ]
    return tabulate("Links", counters, folded=True)


def tabulate_conditions(notes: Mapping[str, object]) -> Table | None:
    """Tabulate how a simulation was made."""
    found = (_spell_out(key.replace("_", " "), value) for key, value in notes.items())
    return _tabulate_pairs("How it was made", itertools.chain(*found), folded=True)


def _spell_out(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield a row for each value, nested ones with all their names; files without folders."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _spell_out(f"{name}: {str(key).replace('_', ' ')}", inner)
    elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
        for place, inner in enumerate(value, start=1):
            yield from _spell_out(f"{name} {place}" if len(value) > 1 else name, inner)
    elif isinstance(value, list | tuple):
        yield (
            name,
            ", ".join(map(str, value)) if len(value) <= _MOST_VALUES else f"{len(value)} values",
        )
    else:
        text = f"{value:.10g}" if isinstance(value, float) else str(value)
        yield name, FilePath(text).name if name.endswith("trace") else text
