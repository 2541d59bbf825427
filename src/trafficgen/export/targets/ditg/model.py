"""Laws of a fitted model for D-ITG, which draws gaps, sizes, bursts and pauses itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trafficgen.distributions.two_samples import ks_distance
from trafficgen.export.model_laws import (
    LAW_SETTINGS,
    Closest,
    DrawnFamily,
    DrawnLaw,
    PlayedPhase,
    closest_law,
    model_report,
    play_phases,
    refuse_far,
)
from trafficgen.export.sending_ends import check_signal_port, ports_from
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.target import Written
from trafficgen.export.targets.ditg.schedule import (
    LARGEST_BYTES,
    check_line,
    receiver_command,
    receiver_options,
    run_script,
    smallest_payload_bytes,
)
from trafficgen.models import Model
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, ms_from_s

MODEL_SETTINGS = (
    Setting("seed", 0.5, "Of a model: seed of what ITGSend draws.", low=0.001, high=0.999),
    Setting(
        "size_files",
        True,
        "Of a model: sizes that no law comes close to are read from a file of draws.",
    ),
    *LAW_SETTINGS,
)
_FAMILIES: tuple[DrawnFamily, ...] = (
    "constant",
    "uniform",
    "expon",
    "norm",
    "gamma",
    "weibull",
    "pareto",
)
#: Gaps that are compared: of long bursts there are fewer.
_MOST_GAPS = 2_000_000
#: Sizes in a file.
_SIZES = 10_000
#: The middle of the last interval of a burst: its length is given there, so that rounding does not
#: change the count.
_MIDDLE = 0.5


@dataclass(frozen=True)
class _Line:
    """One phase as ITGSend gets it: options, KS distances, notes, and the text of a size file."""

    options: str
    distances: Mapping[str, float]
    notes: tuple[str, ...]
    sizes: str = ""


def write_ditg_model(model: Model, folder: Path, settings: Settings) -> Written:
    """Write a one-line script for each phase of each stream, and one that runs them together.

    Raises:
        ExportError: If a law that D-ITG can draw is too far from the model's; the message says how
            far.

    Source: option parser and sending loop of ITGSend 2.8.1, as observed; manual of D-ITG 2.8.1.
    """
    ports = ports_from(settings.whole("first_port"), len(model.streams), target="ditg")
    protocols = [stream.transport.protocol for stream in model.streams]
    check_signal_port(protocols, ports, signal_port=settings.whole("signal_port"))
    port_of = dict(zip((stream.name for stream in model.streams), ports, strict=True))
    distances: dict[str, float] = {}
    notes: list[str] = []
    files: list[str] = []
    for played in play_phases(model, target="ditg"):
        line = _line_of(played, settings)
        if line.sizes:
            files.append(f"{played.name}.ps")
            (folder / files[-1]).write_text(line.sizes, encoding="ascii", newline="\n")
        own = {f"{played.name} {name}": round(ks, 4) for name, ks in line.distances.items()}
        refuse_far(own, settings, target="ditg")
        distances |= own
        notes += [f"{played.name}: {note}" for note in line.notes]
        transport = "-T TCP -D " if played.stream.transport.protocol == "tcp" else ""
        start_ms = settings.whole("start_ms") + round(ms_from_s(played.phase.start_s))
        duration_ms = max(1, round(ms_from_s(played.phase.duration_s)))
        text = (
            f"{receiver_options(settings)} -rp {port_of[played.stream.name]} {transport}-d"
            f" {start_ms} -t {duration_ms} -s {settings.number('seed'):g}"
            f" {'-poll ' if settings.flag('poll') else ''}{line.options}"
        )
        files.append(f"{played.name}.script")
        (folder / files[-1]).write_text(check_line(text) + "\n", encoding="ascii", newline="\n")
    scripts = [name for name in files if name.endswith(".script")]
    script = run_script(scripts, "lines with seeds in one ITGSend disturb one\n# another.")
    (folder / "run.sh").write_text(script, encoding="ascii", newline="\n")
    report = model_report("ditg", (*files, "run.sh"), notes, distances)
    return Written(report, _HOW_TO_RUN.format(receiver=receiver_command(settings)))


def _line_of(played: PlayedPhase, settings: Settings) -> _Line:
    timing = _bursts(played) if played.burst_packets.size else _renewal(played)
    sizes = _sizes(played, settings)
    notes = [*timing.notes, *sizes.notes]
    if played.phase.process.kind not in ("renewal", "bursts"):
        notes.append(
            f"correlation in a process of kind {played.phase.process.kind}: draws are independent"
        )
    gap_option, _, burst_option = timing.options.partition("|")
    return _Line(
        " ".join(part for part in (gap_option, sizes.options, burst_option) if part),
        {**timing.distances, **sizes.distances},
        tuple(notes),
        sizes.sizes,
    )


def _sizes(played: PlayedPhase, settings: Settings) -> _Line:
    """Return the law of sizes, or a file of draws that ITGSend repeats if its laws are too far."""
    low = smallest_payload_bytes(played.stream.transport.protocol, "standard")
    wanted = played.payload_bytes.astype(np.float64)
    found = closest_law(
        wanted, _FAMILIES, as_sent=lambda draws: np.clip(np.trunc(draws), low, LARGEST_BYTES)
    )
    if found.ks > settings.number("largest_ks") and settings.flag("size_files"):
        generator = random_stream(0, session=0, purpose=f"export/{played.name}/sizes")
        drawn = np.clip(generator.permutation(wanted)[:_SIZES], low, LARGEST_BYTES)
        text = "".join(f"{size_bytes:.0f}\n" for size_bytes in drawn.tolist())
        note = f"sizes are drawn apart from gaps: a file of {drawn.size} draws, over and over"
        return _Line(
            f"-Fs {played.name}.ps", {"packet_bytes.ks": ks_distance(wanted, drawn)}, (note,), text
        )
    notes = [f"sizes are drawn apart from gaps, from {_named(found.law)}"]
    change = float(found.drawn.mean() / max(1.0, wanted.mean()) - 1)
    if abs(change) > _TOLD_CHANGE:
        notes.append(f"mean payload: {100 * change:+.1f}%")
    return _Line(_size_option(found.law), {"packet_bytes.ks": found.ks}, tuple(notes))


_TOLD_CHANGE = 0.005


def _renewal(played: PlayedPhase) -> _Line:
    gaps = closest_law(played.gap_s, _FAMILIES, as_sent=lambda draws: np.maximum(draws, 0.0))
    return _Line(
        _gap_option(gaps.law),
        {"gap_s.ks": _distance_of_times(played.gap_s, gaps.drawn)},
        (f"gaps are drawn from {_named(gaps.law)}",),
    )


def _bursts(played: PlayedPhase) -> _Line:
    """Return ON and OFF times: a burst starts with two packets at once and lasts for its ON time.

    Source: sending loop of ITGSend 2.8.1, as observed: its clock stands still between bursts, so
    the first gap of a burst is over before it began.
    """
    within = _within(played)
    gap_s = float(within.drawn.mean())
    wanted = played.burst_packets.astype(np.float64)
    on_s = np.maximum((wanted - 1 - _MIDDLE) * gap_s, _SHORTEST_S)
    on = closest_law(on_s, _FAMILIES, as_sent=lambda draws: np.maximum(draws, _SHORTEST_S))
    counts = np.where(on.drawn > _SHORTEST_S, 1.0 + np.ceil(on.drawn / gap_s), 1.0)
    off_s = np.maximum(played.pause_s - gap_s, _SHORTEST_S)
    off = closest_law(off_s, _FAMILIES, as_sent=lambda draws: np.maximum(draws, 0.0))
    pauses_s = gap_s + off.drawn
    distances = {
        "gap_s.ks": _distance_of_times(played.gap_s, _gaps_drawn(within.drawn, counts, pauses_s)),
        "burst_packets.ks": ks_distance(wanted, counts),
        "pause_s.ks": _distance_of_times(played.pause_s, pauses_s),
    }
    notes = (
        (
            f"bursts: gaps within are drawn from {_named(within.law)} but for the first, which is"
            f" 0; ON times from {_named(on.law)}, OFF times from {_named(off.law)}"
        ),
        "the last packet of a burst has the size law of all packets, and bursts are independent",
    )
    return _Line(
        f"{_gap_option(within.law)}|-B {_burst_option(on.law)} {_burst_option(off.law)}",
        distances,
        notes,
    )


def _distance_of_times(wanted_s: FloatArray, drawn_s: FloatArray) -> float:
    """Return the distance of times in steps of ITGSend: its laws know no shorter ones."""
    return ks_distance(np.rint(wanted_s / _STEP_S), np.rint(drawn_s / _STEP_S))


def _within(played: PlayedPhase) -> Closest:
    """Return the law of gaps within bursts, not shorter than ITGSend can count."""
    found = closest_law(played.within_s, _FAMILIES, as_sent=lambda draws: np.maximum(draws, 0.0))
    if found.drawn.mean() >= _SHORTEST_WITHIN_S:
        return found
    stretched = DrawnLaw("constant", (_SHORTEST_WITHIN_S,))
    drawn = np.full(found.drawn.size, _SHORTEST_WITHIN_S)
    return Closest(stretched, ks_distance(played.within_s, drawn), drawn)


def _gaps_drawn(within_s: FloatArray, counts: FloatArray, pauses_s: FloatArray) -> FloatArray:
    """Mix gaps within bursts, zero gaps and pauses in the shares that the burst sizes imply."""
    packets = counts[: pauses_s.size].astype(np.int64)
    bursts = max(1, int(np.searchsorted(np.cumsum(packets), _MOST_GAPS)))
    packets = np.minimum(packets[:bursts], _MOST_GAPS)
    others = int(np.maximum(packets - 2, 0).sum())
    repeated = np.resize(within_s, others) if others else np.empty(0)
    return np.concatenate(
        [repeated, np.zeros(int(np.count_nonzero(packets > 1))), pauses_s[:bursts]]
    )


def _named(law: DrawnLaw) -> str:
    return f"{law.family}({', '.join(f'{value:.4g}' for value in law.params)})"


def _gap_option(law: DrawnLaw) -> str:
    """Return the option for gaps: rates for some families, milliseconds for the others."""
    match law.family:
        case "constant":
            return f"-C {1 / max(law.params[0], _SHORTEST_S):.9g}"
        case "uniform":
            low_s, high_s = law.params
            return f"-U {1 / high_s:.9g} {1 / low_s:.9g}"
        case "expon":
            return f"-E {1 / law.params[0]:.9g}"
        case "norm":
            return f"-N {ms_from_s(law.params[0]):.9g} {ms_from_s(law.params[1]):.9g}"
    shape, scale_s = law.params
    if (
        law.family == "weibull"
    ):  # the manual says shape and scale; ITGSend 2.8.1 takes them the other way round
        return f"-W {ms_from_s(scale_s):.9g} {shape:.9g}"
    return f"-{'G' if law.family == 'gamma' else 'V'} {shape:.9g} {ms_from_s(scale_s):.9g}"


_SHORTEST_S = 1e-6
#: At gaps of 0.1 ms counts of ITGSend 2.8.1 were wrong by one in half of the bursts, at 0.5 ms in 1
#: of 50.
_SHORTEST_WITHIN_S = 0.0005
#: ITGSend 2.8.1 wakes up within some tens of microseconds.
_STEP_S = 0.0001


def _size_option(law: DrawnLaw) -> str:
    match law.family:
        case "constant" | "expon":
            return f"-{'c' if law.family == 'constant' else 'e'} {max(1, round(law.params[0]))}"
        case "uniform":
            low = max(1, round(law.params[0]))
            return f"-u {low} {max(low + 1, round(law.params[1]))}"
        case "norm":
            return f"-n {round(law.params[0])} {max(1, round(law.params[1]))}"
    shape, scale = law.params
    if law.family == "weibull":
        return f"-w {scale:.9g} {shape:.9g}"
    return f"-{'g' if law.family == 'gamma' else 'v'} {shape:.9g} {scale:.9g}"


def _burst_option(law: DrawnLaw) -> str:
    """Return a length of bursts or pauses, ms; a constant, cut to whole ms, is a narrow uniform."""
    if law.family == "constant":
        value_ms = max(ms_from_s(law.params[0]), _SHORTEST_S)
        return f"U {value_ms * (1 - _NARROW):.9g} {value_ms * (1 + _NARROW):.9g}"
    if law.family in ("gamma", "weibull", "pareto"):
        return _gap_option(law).removeprefix("-")
    letter = {"uniform": "U", "expon": "E", "norm": "N"}[law.family]
    return " ".join([letter, *(f"{ms_from_s(value):.9g}" for value in law.params)])


_NARROW = 1e-6


_HOW_TO_RUN = """\
At the receiving end, first:

```sh
{receiver}
```

At the sending end:

```sh
sh run.sh
```

- Each script is one phase of one stream, with its start (`-d`, ms) and its length (`-t`, ms).
  ITGSend draws gaps and sizes itself; another seed is `-s`, above 0 and below 1.
- The distances below are Kolmogorov-Smirnov distances between what ITGSend draws and what the model
  plays; times are compared in steps of 0.1 ms, to which ITGSend keeps.
- Check: `ITGDec NAME.recv.log` counts packets and bytes.
"""
