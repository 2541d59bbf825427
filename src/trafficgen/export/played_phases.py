"""What each phase of a fitted model plays: gaps, sizes and bursts of many packets, to choose a
tool's laws by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trafficgen.errors import ExportError, GenerationError
from trafficgen.models import Model, Phase, Stream
from trafficgen.processes import playable
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, IntArray

_PACKETS = 20_000
_FEWEST_PACKETS = 3


@dataclass(frozen=True)
class PlayedPhase:
    """A phase of a stream and a long sample of it.

    Attributes:
        stream: The stream.
        phase: The phase.
        name: Both names, for files: ``video-playout``.
        gap_s: Gaps between successive packets, s, shape (n - 1,).
        payload_bytes: Transport payloads, shape (n,).
        burst_packets: Packets of each whole burst, shape (b,); empty where there are none of
            several.
        pause_s: From the last packet of each of them to the next burst, s, shape (b,).
        within_s: Gaps within bursts, s.
    """

    stream: Stream
    phase: Phase
    name: str
    gap_s: FloatArray
    payload_bytes: IntArray
    burst_packets: IntArray
    pause_s: FloatArray
    within_s: FloatArray


def played_phases(model: Model, *, target: str) -> Iterator[PlayedPhase]:
    """Yield the phases of all streams, in order.

    Raises:
        ExportError: If a phase cannot be played, or has too few packets.
    """
    taken: dict[str, int] = {}
    for stream in model.streams:
        for phase in stream.phases:
            name = f"{_for_files(stream.name)}-{phase.name}"
            taken[name] = taken.get(name, 0) + 1
            numbered = name if taken[name] == 1 else f"{name}-{taken[name]}"
            yield _played(stream, phase, numbered, target=target)


def _played(stream: Stream, phase: Phase, name: str, *, target: str) -> PlayedPhase:
    try:
        laws = playable(phase.process)
        expected = max(1.0, laws.expected_packets(phase.duration_s, place=name))
        played = laws.play(
            start_s=0.0,
            end_s=phase.duration_s * _PACKETS / expected,
            first_at_start=True,
            generator_of=lambda purpose: random_stream(
                0, session=0, purpose=f"export/{name}/{purpose}"
            ),
        )
    except (GenerationError, ValueError) as error:
        raise ExportError(f"{target}: {name} cannot be played ({error})") from error
    time_s = played.time_s
    if time_s.size < _FEWEST_PACKETS:
        raise ExportError(
            f"{target}: {name} has {time_s.size} packets, too few for a law; export packets instead"
        )
    gap_s = np.diff(time_s)
    if not gap_s.any():
        raise ExportError(
            f"{target}: all packets of {name} come at once, which is no law; export packets instead"
        )
    starts = played.burst_starts if played.burst_starts is not None else np.empty(0, dtype=np.int64)
    packets = np.diff(starts)
    is_within = np.ones(gap_s.size, dtype=np.bool_)
    is_within[starts[1:] - 1] = False
    return PlayedPhase(
        stream=stream,
        phase=phase,
        name=name,
        gap_s=gap_s,
        payload_bytes=np.maximum(
            played.ip_bytes.astype(np.int64) - stream.transport.header_bytes, 0
        ),
        burst_packets=(
            packets if packets.size and packets.max() > 1 else np.empty(0, dtype=np.int64)
        ),
        pause_s=gap_s[starts[1:] - 1],
        within_s=gap_s[is_within],
    )


def _for_files(name: str) -> str:
    return "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name)
