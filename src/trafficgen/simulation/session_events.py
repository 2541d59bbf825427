"""Moments in the log of a session, on the clock of its first media packet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from trafficgen._core.types import SimulatedAgentDict
from trafficgen.tables import PHASES
from trafficgen.units import kbps_from_bps, s_from_ns

#: Names in ``times`` and the event whose first occurrence they give.
_TIMES = {
    "request_s": "request",
    "play_s": "play",
    "playback_start_s": "playback_start",
    "buffer_full_s": "buffer_full",
    "end_s": "end",
}
_OTHER_EVENTS = {
    "phase",
    "encoding",
    "stall_start",
    "stall_end",
    "thinned",
    "audio_only",
    *_TIMES.values(),
}


@dataclass(frozen=True)
class LevelChange:
    """A change of the encoding rate (media payload)."""

    time_s: float
    from_kbps: float
    to_kbps: float


@dataclass(frozen=True)
class Stall:
    """A stall: playback halts because the player's buffer is empty."""

    start_s: float
    duration_s: float


@dataclass(frozen=True)
class Playback:
    """What a viewer of an adaptive player sees.

    Attributes:
        startup_s: From the player's first request to the start of the playback, s; None: never.
        mean_rung_kbps: Mean of the rungs of all segments of the video.
        switches_per_min: Changes of the rung a minute from the start of the playback on.
        stalled_s: All stalls together, s.
    """

    startup_s: float | None
    mean_rung_kbps: float
    switches_per_min: float
    stalls: int
    stalled_s: float


@dataclass(frozen=True)
class SessionEvents:
    """Moments of a session, s after its first media packet."""

    times_s: dict[str, float | None]  #: first occurrence of each named moment; None: never
    phases: tuple[tuple[float, str], ...]  #: begin and name of each phase
    #: Time and value of each encoding rate, bit/s of media payload.
    encodings: tuple[tuple[float, float], ...]
    stalls: tuple[Stall, ...]  #: stalls; one without an end lasts to the session's end
    thinned_s: float | None  #: first time video was thinned
    audio_only_s: float | None  #: first time no video was sent any more
    #: Other logged numbers: name -> times and values.
    facts: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    @classmethod
    def read_log(cls, agent: SimulatedAgentDict, *, zero_ns: int, end_s: float) -> SessionEvents:
        """Read an agent's log; ``zero_ns`` is time zero on the engine's clock."""
        events = [(s_from_ns(time_ns - zero_ns), *event) for time_ns, event in agent["events"]]

        def first(kind: str) -> float | None:
            return next((time_s for time_s, found, _, _ in events if found == kind), None)

        facts: dict[str, list[tuple[float, float]]] = {}
        for time_s, kind, value, _ in events:
            if kind not in _OTHER_EVENTS and value is not None:
                facts.setdefault(kind, []).append((time_s, value))
        return cls(
            times_s={name: first(kind) for name, kind in _TIMES.items()},
            phases=tuple(
                (time_s, PHASES[level or 0]) for time_s, kind, _, level in events if kind == "phase"
            ),
            encodings=tuple(
                (time_s, value or 0.0) for time_s, kind, value, _ in events if kind == "encoding"
            ),
            stalls=_stalls(
                [(time_s, kind) for time_s, kind, _, _ in events if kind.startswith("stall_")],
                end_s,
            ),
            thinned_s=first("thinned"),
            audio_only_s=first("audio_only"),
            facts=facts,
        )

    def buffering(self) -> tuple[float, float | None] | None:
        """Return begin and end (None: no end) of the buffering; None if the source has none."""
        begins = next(
            (place for place, (_, name) in enumerate(self.phases) if name == "buffering"), None
        )
        if begins is None:
            return None
        ends = (time_s for time_s, name in self.phases[begins:] if name != "buffering")
        return max(0.0, self.phases[begins][0]), next(ends, None)

    def playout_start_s(self) -> float | None:
        """Return when the source first sends as it plays."""
        return next((max(0.0, time_s) for time_s, name in self.phases if name == "playout"), None)

    def level_changes(self) -> list[LevelChange]:
        """Return the changes of the encoding rate after the first choice."""
        return [
            LevelChange(time_s, kbps_from_bps(before), kbps_from_bps(after))
            for (_, before), (time_s, after) in pairwise(self.encodings)
            if after != before
        ]

    def playback(self, end_s: float) -> Playback | None:
        """Return what a viewer sees until ``end_s``; None if no player chooses rungs."""
        rungs_kbps = [value for _, value in self.facts.get("rung_kbps", [])]
        if not rungs_kbps:
            return None
        request_s, start_s = self.times_s["request_s"], self.times_s["playback_start_s"]
        end_s = self.times_s["end_s"] or end_s
        played_s = 0.0 if start_s is None else end_s - start_s
        changes = len(self.level_changes())
        return Playback(
            startup_s=None if start_s is None or request_s is None else start_s - request_s,
            mean_rung_kbps=sum(rungs_kbps) / len(rungs_kbps),
            switches_per_min=60.0 * changes / played_s if played_s > 0 else 0.0,
            stalls=len(self.stalls),
            stalled_s=sum(stall.duration_s for stall in self.stalls),
        )

    def find_adaptation_s(self, path_rate_bps: float | None) -> float | None:
        """Return when the encoding rate first fitted the path's rate; 0: always, None: never."""
        limit_bps = math.inf if path_rate_bps is None else path_rate_bps
        fitting = [time_s for time_s, rate_bps in self.encodings if rate_bps <= limit_bps]
        if not fitting:
            return None
        return 0.0 if len(fitting) == len(self.encodings) else max(0.0, fitting[0])


def _stalls(moments: Sequence[tuple[float, str]], end_s: float) -> tuple[Stall, ...]:
    stalls, since_s = [], None
    for time_s, kind in moments:
        if kind == "stall_start" and since_s is None:
            since_s = time_s
        elif kind == "stall_end" and since_s is not None:
            stalls.append(Stall(since_s, time_s - since_s))
            since_s = None
    if since_s is not None:
        stalls.append(Stall(since_s, max(0.0, end_s - since_s)))
    return tuple(stalls)
