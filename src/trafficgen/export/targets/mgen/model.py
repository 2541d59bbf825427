"""Laws of a fitted model for MGEN, which draws exponential or evenly spread gaps but no sizes.

Packets of several sizes are several flows. Flows of exponential gaps (Poisson processes) make one
again when they are put together, in which each packet has the size of its flow: so a law of sizes
is kept as well as the number of flows allows, by the superposition theorem (Kingman, "Poisson
Processes", 1993, section 2.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trafficgen.distributions.two_samples import ks_distance
from trafficgen.export.model_laws import (
    LAW_SETTINGS,
    PlayedPhase,
    model_report,
    play_phases,
    refuse_far,
)
from trafficgen.export.sending_ends import destination_of, ports_from, source_ports_from
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.target import Written
from trafficgen.export.targets.mgen.lines import Ends
from trafficgen.models import Model
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, IntArray

MODEL_SETTINGS = (
    Setting(
        "sizes",
        20,
        "Of a model: flows of one size each that replace a law of sizes.",
        low=1,
        high=200,
    ),
    *LAW_SETTINGS,
)
_SMALLEST_BYTES = {"udp": 28, "tcp": 76}
_LARGEST_BYTES = 8192
_DRAWS = 100_000
#: Largest fraction of a jitter that MGEN takes.
_WIDEST = 0.5


@dataclass(frozen=True)
class _Pattern:
    """Gaps as MGEN draws them: name, what follows rate and size, distance from the model's."""

    name: str
    option: str
    ks: float


def write_mgen_model(model: Model, folder: Path, settings: Settings) -> Written:
    """Write a script with the flows of each phase of each stream, and one for the receiver.

    Raises:
        ExportError: If the gaps or sizes that MGEN can draw are too far from the model's; the
            message says how far.

    Source: manual of MGEN 5.02, "Transmission Pattern Types and Parameters".
    """
    destination = destination_of(settings, target="mgen")
    count = len(model.streams)
    ports = ports_from(settings.whole("first_port"), count, target="mgen")
    first = settings.whole("first_source_port")
    sources = source_ports_from(first, ports, destination=destination, target="mgen")
    ends = {
        stream.name: Ends(source, destination, port)
        for stream, source, port in zip(model.streams, sources, ports, strict=True)
    }
    lines: list[str] = []
    distances: dict[str, float] = {}
    notes: list[str] = []
    for played in play_phases(model, target="mgen"):
        pattern = _pattern(played.gap_s)
        is_put_together = pattern.name == "POISSON" and played.stream.transport.protocol == "udp"
        sizes = _sizes(played, count=settings.whole("sizes") if is_put_together else 1)
        own = {"gap_s.ks": pattern.ks, "packet_bytes.ks": _size_ks(played, sizes)}
        own = {f"{played.name} {metric}": round(value, 4) for metric, value in own.items()}
        refuse_far(own, settings, target="mgen")
        distances |= own
        notes += _notes(played, pattern, sizes)
        lines += _lines(
            played, pattern, sizes, ends[played.stream.name], number=1 + len(lines) // 2
        )
    (folder / "model.mgn").write_text("".join(lines), encoding="ascii", newline="\n")
    sink = [
        f"0.0 LISTEN {s.transport.protocol.upper()} {ends[s.name].port}\n" for s in model.streams
    ]
    (folder / "sink.mgn").write_text("".join(sink), encoding="ascii", newline="\n")
    report = model_report("mgen", ("model.mgn", "sink.mgn"), notes, distances)
    return Written(report, _HOW_TO_RUN)


def _size_ks(played: PlayedPhase, sizes: IntArray) -> float:
    return ks_distance(played.payload_bytes.astype(np.float64), sizes.astype(np.float64))


def _pattern(gap_s: FloatArray) -> _Pattern:
    """Return the pattern with the model's mean gap that comes closest."""
    mean_s = float(gap_s.mean())
    generator = random_stream(0, session=0, purpose="export/mgen")
    # Each gap makes up for what the one before was too long or too short.
    fraction = min(_WIDEST, float(gap_s.std()) / mean_s * np.sqrt(1.5)) if mean_s > 0 else 0.0
    spread = generator.uniform(-fraction, fraction, _DRAWS + 1) * mean_s
    tried = [
        ("PERIODIC", "", np.full(_DRAWS, mean_s)),
        ("JITTER", f" {fraction:.6g}", mean_s + np.diff(spread)),
        ("POISSON", "", generator.exponential(mean_s, _DRAWS)),
    ]
    patterns = [_Pattern(name, option, ks_distance(gap_s, draws)) for name, option, draws in tried]
    return min(patterns, key=lambda pattern: pattern.ks)


def _sizes(played: PlayedPhase, *, count: int) -> IntArray:
    """Return sizes of equal weight for a law: the means of so many slices of equal probability.

    A single size is the most frequent one where it makes up most packets, else the mean.
    """
    low = _SMALLEST_BYTES[played.stream.transport.protocol]
    if count == 1:
        values, counts = np.unique(played.payload_bytes, return_counts=True)
        most = int(counts.argmax())
        is_most = 2 * int(counts[most]) > played.payload_bytes.size
        only = values[most] if is_most else round(float(played.payload_bytes.mean()))
        return np.clip(np.array([only], dtype=np.int64), low, _LARGEST_BYTES)
    slices = np.array_split(np.sort(played.payload_bytes), min(count, played.payload_bytes.size))
    means = np.array([round(float(part.mean())) for part in slices], dtype=np.int64)
    return np.clip(means, low, _LARGEST_BYTES)


def _lines(
    played: PlayedPhase, pattern: _Pattern, sizes: IntArray, ends: Ends, *, number: int
) -> list[str]:
    options = ends.options(played.stream.transport.protocol)
    values, counts = np.unique(sizes, return_counts=True)
    rate_per_s = 1.0 / float(played.gap_s.mean())
    events = []
    for flow, (size_bytes, weight) in enumerate(
        zip(values.tolist(), counts.tolist(), strict=True), start=number
    ):
        rate = rate_per_s * weight / sizes.size
        drawn = f"{pattern.name} [{rate:.9g} {size_bytes}{pattern.option}]"
        events += [
            f"{played.phase.start_s:.6f} ON {flow} {options} {drawn}\n",
            f"{played.phase.end_s:.6f} OFF {flow}\n",
        ]
    return events


def _notes(played: PlayedPhase, pattern: _Pattern, sizes: IntArray) -> list[str]:
    notes = [f"{played.name}: gaps are those of {pattern.name}{pattern.option}"]
    if played.phase.process.kind != "renewal":
        notes.append(f"{played.name}: correlation in a process of kind {played.phase.process.kind}")
    if played.payload_bytes.min() != played.payload_bytes.max():
        change = 100 * (float(sizes.mean()) / float(played.payload_bytes.mean()) - 1)
        notes.append(
            f"{played.name}: {np.unique(sizes).size} sizes replace the law; mean payload"
            f" {change:+.1f}%"
        )
    return notes


_HOW_TO_RUN = """\
At the receiving end, first:

```sh
mgen input sink.mgn output sink.log
```

At the sending end:

```sh
mgen input model.mgn txlog output send.log
```

- Each line is an MGEN flow of one size; the flows of one port are one stream of the model. They
  start and end with their phase.
- The distances below are Kolmogorov-Smirnov distances between what MGEN draws and what the model
  plays.
- MGEN 5.02b has no seed: every run gives other packets.
"""
