"""What kind of application a session is by its exchanges, and what it did."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from trafficgen.calibration.application.playback import BufferFit, Downloads, fit_buffer
from trafficgen.calibration.application.rungs import Rungs, find_rungs
from trafficgen.calibration.application.segment_clock import (
    INTERVAL_ERRORS,
    find_segment_clock,
    find_waits,
    guess_segment_clock,
)
from trafficgen.calibration.phases.rebuffering import Pause
from trafficgen.calibration.summary import interval_json
from trafficgen.flows import Exchanges
from trafficgen.models import Estimate
from trafficgen.units import NS_PER_S, FloatArray, kbps_from_bytes

Json = dict[str, object]

#: Segments that show a clock and rungs.
_FEWEST_SEGMENTS = 6
#: Segments of one title vary by less than this (standard deviation of log sizes), at any rungs;
#: responses to a user vary more: by a factor of e and above.
_MOST_SPREAD = 1.0
#: One response with at least this share of the bytes is what the session was for.
_BULK_SHARE = 0.9


@dataclass(frozen=True)
class Rung:
    """A rung of a ladder.

    Attributes:
        rate_kbps: Bytes of responses over the media time in them, kbit/s.
        segments: Segments that were fetched at it.
    """

    rate_kbps: Estimate
    segments: int


@dataclass(frozen=True)
class Switch:
    """A change of the rung, s from the first media packet, at the first request for another."""

    time_s: float
    from_kbps: float
    to_kbps: float


@dataclass(frozen=True)
class Application:
    """What a source did.

    Attributes:
        kind: ``bulk``, ``chunked`` or ``interactive``.
        connections: Connections that carried responses.
        exchanges: Requests with responses.
        segment_s: Media in a segment, s; None where it is not known.
        rungs: Rungs that were visited, lowest first.
        switches: Changes between them.
        audio_kbps: Rate of audio segments next to those of video; None without.
        startup_s: Time from the first media packet to the start of the playback, s.
        buffer_target_s: Media in the buffer at which the player requests a segment again, s.
        stalls: Halts of the playback; None where they are not known.
        absent: What is not known -> why.
    """

    kind: str
    connections: int
    exchanges: int
    segment_s: Estimate | None = None
    rungs: tuple[Rung, ...] = ()
    switches: tuple[Switch, ...] = ()
    audio_kbps: Estimate | None = None
    startup_s: Estimate | None = None
    buffer_target_s: Estimate | None = None
    stalls: tuple[Pause, ...] | None = None
    absent: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> Json:
        """Return it as JSON has it; what is not known is null."""

        def known(value: Estimate | None) -> Json | None:
            return None if value is None else interval_json(value)

        return {
            "kind": self.kind,
            "connections": self.connections,
            "exchanges": self.exchanges,
            "segment_s": known(self.segment_s),
            "rungs": [
                {"kbps": known(rung.rate_kbps), "segments": rung.segments} for rung in self.rungs
            ],
            "switches": [vars(switch) for switch in self.switches],
            "audio_kbps": known(self.audio_kbps),
            "stalls": None if self.stalls is None else [vars(stall) for stall in self.stalls],
            "startup_s": known(self.startup_s),
            "buffer_target_s": known(self.buffer_target_s),
            "policy": None,
            "pacing": None,
        }


_NOT_YET = {"policy": "not estimated yet", "pacing": "not estimated yet"}
_NO_SEGMENTS = dict.fromkeys(
    ("stalls", "startup_s", "buffer_target_s"), "media in a response is known of segments alone"
)


@dataclass(frozen=True)
class _Segments:
    """Segments of one kind in order.

    Attributes:
        request_s: Times of their requests, s from the first media packet, shape (n,).
        idle_s: For how long no response was under way before each, s.
        size_bytes: Their sizes.
        arrival_s: When the client had the whole of each, s.
    """

    request_s: FloatArray
    idle_s: FloatArray
    size_bytes: FloatArray
    arrival_s: FloatArray

    def __len__(self) -> int:
        return len(self.request_s)


def recognise_application(
    exchanges: Exchanges, *, first_media_ns: int
) -> tuple[Application | None, dict[str, str]]:
    """Recognise what a session did, or say why that is not known.

    Args:
        exchanges: Those of the session.
        first_media_ns: Time of the first media packet, ns since 1970: zero of all times.

    Returns:
        The application or None, and what is not known of it: name in a summary -> why.
    """
    application, why = _recognise(exchanges, first_media_ns)
    if application is None:
        return None, {"application": why}
    return application, {f"application.{name}": text for name, text in application.absent.items()}


def _recognise(exchanges: Exchanges, zero_ns: int) -> tuple[Application | None, str]:
    kinds = exchanges.column("kind")
    answered = kinds != "control"
    if not answered.any():
        why = "no request with a response was found"
        if exchanges.untold:
            flows = ", ".join(map(str, exchanges.untold))
            why = f"sizes do not part requests from acknowledgements (flow {flows})"
        return None, why
    size_bytes = exchanges.column("response_bytes").astype(np.float64)
    connections = len(np.unique(exchanges.column("connection")[answered]))
    count = int(answered.sum())
    video = _segments(exchanges, kinds == "media", zero_ns)
    if size_bytes.max() >= _BULK_SHARE * size_bytes.sum() and len(video) < _FEWEST_SEGMENTS:
        return Application("bulk", connections, count, absent=_NO_SEGMENTS | _NOT_YET), ""
    audio = _segments(exchanges, kinds == "audio", zero_ns)
    if len(video) < _FEWEST_SEGMENTS:
        why = f"{len(video)} large responses: too few to recognise segments"
        return None, why
    if _varies_widely(video):
        return Application("interactive", connections, count, absent=_NO_SEGMENTS | _NOT_YET), ""
    clock, remark = _clock(video, audio)
    if clock is None:
        return None, "the player never waited before a request: no clock of segments is seen"
    rungs = find_rungs(video.size_bytes)
    buffer = _fit_buffer(video, rungs, clock)
    absent = buffer.absent | _NOT_YET
    if remark:
        absent["segment_s"] = remark
    return (
        Application(
            "chunked",
            connections,
            count,
            segment_s=clock,
            rungs=_rungs(video, rungs, clock),
            switches=_switches(video, rungs, clock),
            audio_kbps=_rate(audio.size_bytes, clock) if len(audio) else None,
            startup_s=buffer.startup_s,
            buffer_target_s=buffer.target_s,
            stalls=buffer.stalls,
            absent=absent,
        ),
        "",
    )


def _segments(exchanges: Exchanges, rows: npt.NDArray[np.bool_], zero_ns: int) -> _Segments:
    """Return whole segments whose requests are in the capture."""
    request_ns, last_ns = (
        exchanges.table.column(name).fill_null(0).to_numpy()
        for name in ("request_ns", "last_byte_ns")
    )
    answered = (exchanges.column("kind") != "control") & (last_ns > 0)
    ends_ns = np.where(answered, np.maximum(last_ns, exchanges.heard_ns), 0)
    before_ns = np.concatenate(([0], np.maximum.accumulate(ends_ns)[:-1]))
    rows = rows & (request_ns > 0) & answered
    # The last response may have been cut off by the end of the capture or of the session.
    rows[np.flatnonzero(answered)[-1]] = False
    return _Segments(
        (request_ns[rows] - zero_ns) / NS_PER_S,
        (request_ns[rows] - before_ns[rows]) / NS_PER_S,
        exchanges.column("response_bytes")[rows].astype(np.float64),
        (ends_ns[rows] - zero_ns) / NS_PER_S,
    )


def _clock(video: _Segments, audio: _Segments) -> tuple[Estimate | None, str]:
    """Return the surer of the clocks of video and audio, and what to say of it."""
    parts = [("video", video), ("audio", audio)]
    found = [
        (clock, name)
        for name, part in parts
        if (clock := find_segment_clock(part.request_s, part.idle_s)) is not None
    ]
    if found:
        clock, name = min(found, key=lambda pair: _width(pair[0]))
        text = "of the audio, whose player waited; taken for the video's" if name == "audio" else ""
        return clock, text
    # Audio is of one size and fetched once; video may be fetched again at another rung.
    guess = guess_segment_clock((audio if len(audio) >= _FEWEST_SEGMENTS else video).request_s)
    return guess, (
        "the player never waited before a request: the one usual duration that the number of"
        " segments leaves possible"
    )


def _fit_buffer(video: _Segments, rungs: Rungs, clock: Estimate) -> BufferFit:
    waited = find_waits(video.request_s, video.idle_s)
    downloads = Downloads(video.request_s, video.arrival_s, waited, rungs.of_segment)
    return fit_buffer(downloads, clock)


def _varies_widely(segments: _Segments) -> bool:
    return bool(np.std(np.log(segments.size_bytes)) > _MOST_SPREAD)


def _width(estimate: Estimate) -> float:
    """Return the width of an interval; 0 without one."""
    low, high = estimate.low, estimate.high
    return 0.0 if low is None or high is None else high - low


def _rate(size_bytes: FloatArray, clock: Estimate) -> Estimate:
    """Return the mean payload rate of segments with its interval, kbit/s."""
    mean = float(size_bytes.mean())
    error = float(size_bytes.std(ddof=1)) / np.sqrt(len(size_bytes)) if len(size_bytes) > 1 else 0.0
    value = kbps_from_bytes(mean, clock.value)
    relative = INTERVAL_ERRORS * error / mean + _width(clock) / 2 / clock.value
    low, high = value * (1 - relative), value * (1 + relative)
    return Estimate(value=value, low=low, high=high, method="bytes of responses over media time")


def _rungs(video: _Segments, rungs: Rungs, clock: Estimate) -> tuple[Rung, ...]:
    numbers = np.unique(rungs.of_segment)
    return tuple(
        Rung(_rate(video.size_bytes[rungs.of_segment == number], clock), int(count))
        for number, count in zip(numbers, np.bincount(rungs.of_segment)[numbers], strict=True)
    )


def _switches(video: _Segments, rungs: Rungs, clock: Estimate) -> tuple[Switch, ...]:
    of = rungs.of_segment
    kbps = {
        int(number): _rate(video.size_bytes[of == number], clock).value for number in np.unique(of)
    }
    return tuple(
        Switch(float(video.request_s[at]), kbps[int(of[at - 1])], kbps[int(of[at])])
        for at in np.flatnonzero(np.diff(of)) + 1
    )
