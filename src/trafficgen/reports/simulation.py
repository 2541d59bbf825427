"""The report of a simulated session: what every flow got over time, the level, the buffer, losses
and halts.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as FilePath

import numpy as np

from trafficgen.reports.charts import Axis, Chart, Curve, Layer, Role, Span
from trafficgen.reports.names import number
from trafficgen.reports.page import Block, Report, Section, Table, Text
from trafficgen.reports.thinning import thinned
from trafficgen.simulation import Path, SimulationResult
from trafficgen.simulation.measures import IntervalMeasure
from trafficgen.simulation.results import FlowResult
from trafficgen.units import FloatArray

_COMPETITORS: tuple[Role, ...] = ("other", "law", "more", "extra")
_RATE = Axis(label="IP rate to the client", unit="kbit/s", low=0)
_SHARE_LOST = Axis(label="share of the packets sent that were lost", low=0, high=1)
#: Values that a row of conditions still spells out.
_MOST_VALUES = 12


def simulation_report(result: SimulationResult) -> Report:
    """Return the report of a session."""
    sections = [
        Section(
            title="In words",
            blocks=(Text(lines=(" ".join(_in_words(result)),), kind="lead"), *_moments(result)),
        ),
        Section(title="Over time", blocks=tuple(_charts(result))),
        Section(title="Flows", blocks=tuple(_flows(result))),
        Section(title="Conditions", blocks=(_conditions(result),)),
    ]
    notes = result.notes
    return Report(
        title="A session played over a path",
        subtitle=f"{notes['model']}, seed {result.seed}",
        sections=tuple(sections),
        made_by=f"{notes['software']}: {' '.join(_command(result))}",
    )


def _command(result: SimulationResult) -> Iterator[str]:
    """Yield the words of the command that plays it again; a path that has no form on one line is
    named as a file.
    """
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
    yield f"--seed {result.seed}"


def _in_words(result: SimulationResult) -> Iterator[str]:
    for name, phase in (("buffers", result.buffering), ("plays out", result.playout)):
        if phase is not None:
            yield f"It {name} for {number(phase.duration_s)} s: {_phase_in_words(phase)}."
    changes, stalls = result.events.level_changes(), result.events.stalls
    halted_s = sum(stall.duration_s for stall in stalls)
    halts = f"halts {_times(len(stalls))}, {number(halted_s)} s in all" if stalls else "never halts"
    yield f"The level changes {_times(len(changes))}; the playback {halts}."


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _phase_in_words(phase: IntervalMeasure) -> str:
    loss = (
        f"{number(100 * phase.loss, digits=3)}% lost"
        if math.isfinite(phase.loss)
        else "nothing sent"
    )
    return (
        f"{number(phase.rate_kbps)} kbit/s received of {number(phase.offered_kbps)} offered, {loss}"
    )


def _moments(result: SimulationResult) -> Iterator[Block]:
    """Yield the table of the session's figures: phases, moments, changes, halts."""
    events = result.events
    agent = result.run.agents[0]
    rows: list[tuple[str, str]] = [
        ("silence before the first media packet, s", number(result.silence_s))
    ]
    for name, phase in (("buffering", result.buffering), ("playout", result.playout)):
        if phase is not None:
            rows.append((name, f"{number(phase.duration_s)} s, {_phase_in_words(phase)}"))
    rows += [
        (f"{name.removesuffix('_s').replace('_', ' ')}, s", number(time_s))
        for name, time_s in events.times_s.items()
    ]
    rows += [
        (
            f"level, at {number(one.time_s)} s",
            f"{number(one.from_kbps)} to {number(one.to_kbps)} kbit/s",
        )
        for one in events.level_changes()
    ]
    rows += [
        (f"halt, at {number(one.start_s)} s", f"{number(one.duration_s)} s")
        for one in events.stalls
    ]
    rows += [
        ("video thinned from, s", number(events.thinned_s)),
        ("audio only from, s", number(events.audio_only_s)),
    ]
    rows += [
        ("frames sent", number(agent["frames_sent"])),
        ("frames dropped at the sender", number(agent["frames_dropped_at_sender"])),
    ]
    yield Table(
        title="The session: times after its first media packet",
        header=("what", "value"),
        rows=tuple(rows),
    )


def _charts(result: SimulationResult) -> Iterator[Chart]:
    series = result.series
    numbers = np.arange(len(series["media_kbps"]), dtype=np.float64)
    start_s = float(series["start_s"]) + float(series["interval_s"]) * numbers
    halts = [
        Span(
            name="playback halts", start=one.start_s, end=one.start_s + one.duration_s, role="other"
        )
        for one in result.events.stalls
    ]
    buffering = list(_buffering_span(result))

    def curve(name: str, key: str, role: Role, *, dashed: bool = False) -> Curve:
        x, y = _thinned(start_s, np.asarray(series[key], dtype=np.float64))
        return Curve(name=name, x=x, y=y, role=role, shape="steps", dashed=dashed)

    def chart(name: str, title: str, layers: Sequence[Layer], y: Axis, caption: str = "") -> Chart:
        time = Axis(label="time after the first media packet", unit="s")
        means = f"Bins of {series['interval_s']:g} s."
        return Chart(
            name=name,
            title=title,
            x=time,
            y=y,
            layers=tuple(layers),
            caption=f"{caption} {means}".strip(),
        )

    others = [one for one in result.flows[1:] if one.agent != 0]
    competing = [curve(one.name, f"{one.name}_kbps", role) for one, role in _with_roles(others)]
    yield chart(
        "rates",
        "Rates of all flows",
        [*buffering, *halts, *competing, curve("media", "media_kbps", "synthetic")],
        _RATE,
        "What the client receives, IP bytes.",
    )
    yield chart(
        "offered",
        "Offered and received",
        [
            curve("offered", "media_offered_kbps", "extra"),
            curve("received", "media_kbps", "synthetic"),
        ],
        Axis(label="IP rate of the media", unit="kbit/s", low=0),
        "Offered: before the first link, resendings included.",
    )
    streams = [one for one in result.flows[1:] if one.agent == 0]
    if streams:
        roles: tuple[Role, ...] = ("extra", "synthetic", "other")
        layers = [
            curve(one.name, f"{one.name}_kbps", role)
            for one, role in zip(streams, roles, strict=False)
        ]
        yield chart("streams", "Rates of the session's streams", layers, _RATE)
    for name, title, key, axis, caption in (
        (
            "level",
            "Encoding rate",
            "encoding_kbps",
            Axis(label="encoding rate", unit="kbit/s", low=0),
            "Media payload.",
        ),
        (
            "buffer",
            "The player's buffer",
            "buffer_s",
            Axis(label="media in the buffer", unit="s", low=0),
            "",
        ),
        ("frames", "Frame rate", "frame_rate", Axis(label="frame rate", unit="1/s", low=0), ""),
        (
            "loss",
            "Loss of the media",
            "media_loss",
            _SHARE_LOST,
            "Of what was sent in each bin; gaps: nothing sent.",
        ),
    ):
        if np.isfinite(np.asarray(series[key], dtype=np.float64)).any():
            yield chart(
                name, title, [*halts, curve(title.lower(), key, "synthetic")], axis, caption
            )


def _thinned(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return fewer points; NaN stays where nothing is known, since extremes of it are none."""
    return thinned(x, y) if np.isfinite(y).all() else (x, y)


def _with_roles(flows: Sequence[FlowResult]) -> Iterator[tuple[FlowResult, Role]]:
    for place, one in enumerate(flows):
        yield one, _COMPETITORS[place % len(_COMPETITORS)]


def _buffering_span(result: SimulationResult) -> Iterator[Span]:
    phase = result.events.buffering()
    if phase is not None:
        start_s, end_s = phase
        yield Span(
            name="buffering",
            start=start_s,
            end=result.end_s if end_s is None else end_s,
            role="extra",
        )


def _flows(result: SimulationResult) -> Iterator[Table]:
    rows = [
        (
            one.name,
            number(one.measure.rate_kbps),
            number(one.measure.offered_kbps),
            number(100 * one.measure.loss, digits=3),
            number(one.delay_s.mean),
            number(one.delay_s.p95),
            number(one.delay_s.max),
            number(one.measure.retransmissions),
        )
        for one in result.flows
    ]
    header = (
        "flow",
        "received kbit/s",
        "offered kbit/s",
        "lost %",
        "mean delay s",
        "p95 delay s",
        "max delay s",
        "sent again",
    )
    yield Table(
        title="Flows, from the first to the last media packet",
        header=header,
        rows=tuple(rows),
        numbers=tuple(range(1, len(header))),
    )
    names = [key for key in result.links[0] if key != "name"] if result.links else []
    yield Table(
        title="Links",
        header=("link", *(name.replace("_", " ") for name in names)),
        rows=tuple(
            (str(link["name"]), *(number(link[name]) for name in names)) for link in result.links
        ),
        numbers=tuple(range(1, 1 + len(names))),
        folded=True,
    )


def _conditions(result: SimulationResult) -> Table:
    return Table(
        title="How it was made",
        header=("what", "value"),
        rows=tuple(
            row
            for key, value in result.notes.items()
            for row in _spelled_out(key.replace("_", " "), value)
        ),
        folded=True,
    )


def _spelled_out(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield a row for each value, those within others with all their names; files go without their
    folders.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _spelled_out(f"{name}: {str(key).replace('_', ' ')}", inner)
    elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
        for place, inner in enumerate(value, start=1):
            yield from _spelled_out(f"{name} {place}" if len(value) > 1 else name, inner)
    elif isinstance(value, list | tuple):
        yield (
            name,
            ", ".join(map(str, value)) if len(value) <= _MOST_VALUES else f"{len(value)} values",
        )
    else:
        text = f"{value:.10g}" if isinstance(value, float) else str(value)
        yield name, FilePath(text).name if name.endswith("trace") else text
