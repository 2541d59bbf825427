"""What kind of application a session is by its exchanges, and what it did."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trafficgen.calibration.application.byte_ranges import find_range_rungs, measure_audio_rate
from trafficgen.calibration.application.likely_ladders import propose_ladders
from trafficgen.calibration.application.pacing import fit_pacing, measure_download
from trafficgen.calibration.application.page_laws import find_page_visits, fit_pages, have_laws
from trafficgen.calibration.application.playback import (
    STALLS_BY_GUESS,
    BufferFit,
    Downloads,
    Playback,
    anchor_buffer,
    fit_buffer,
)
from trafficgen.calibration.application.policy import (
    INDEPENDENT,
    Choices,
    Decisions,
    fit_policy,
    predict_choices,
)
from trafficgen.calibration.application.rungs import Explanation, Rungs, find_rungs
from trafficgen.calibration.application.segment_clock import (
    INTERVAL_ERRORS,
    Segments,
    are_regular,
    find_segment_clock,
    find_waits,
    guess_segment_clock,
    list_usual_durations,
    measure_segment_clock,
)
from trafficgen.calibration.player_log.events import PlayerLog
from trafficgen.flows import Exchanges
from trafficgen.models import Application, Estimate, Rung, RungSwitch, estimate_ladder
from trafficgen.models.application import MOST_SEGMENTS
from trafficgen.tables import PacketTable
from trafficgen.units import NS_PER_S, FloatArray, IntArray, kbps_from_bytes

#: Segments that show a clock and rungs.
_FEWEST_SEGMENTS = 6
#: Segments of one title vary by less than this (standard deviation of log sizes), at any rungs of
#: most ladders; responses to a user vary more: by a factor of e and above. Those of a wide ladder
#: vary by less than the other number within a rung, and all but this share of them are requested
#: one after the other, or by a clock.
_MOST_SPREAD, _MOST_RUNG_SPREAD, _MOST_ODD = 1.0, 0.3, 0.1
#: With a clock that is not seen, rungs have more segments each than this: ranges of bytes that a
#: player requests have as many sizes.
_MOST_RUNGS_PART = 1 / 3
#: One response with at least this share of the bytes is what the session was for.
_BULK_SHARE = 0.9
#: Media end within a segment: the last one says nothing of a rung where all others are larger by
#: this factor, about the step of a ladder.
_SHORT = 1.25
#: Segments that came faster than this share of them show what the path had room for.
_FASTEST, _LEAST_DOWNLOAD_S = 0.95, 1e-3
#: Lowest rung of the catalogue's players, kbit/s.
_LEAST_RUNG_KBPS = 1.0
#: Rungs above those that were visited which choices are explained by, at most.
MOST_ABOVE = 3
#: Weight by choices, among the usual durations of segments, from which one is taken as sure.
_SURE_CLOCK = 0.95
#: Part of the sessions that stall for more of their time than a guess of the duration takes into
#: account: an assumption.
_LONG_STALLS = 0.1
#: Least part of the time that is played in sessions whose stalls are given as a range.
_LEAST_PLAYED = 0.5

_NO_SEGMENTS = dict.fromkeys(
    ("stalls", "startup_s", "buffer_target_s", "policy"),
    "media in a response is known of segments alone",
)
_NO_SEGMENT_LENGTH = dict.fromkeys(
    ("segment_s", *_NO_SEGMENTS), "the player requests ranges of bytes, of any length"
)


def recognise_application(
    exchanges: Exchanges,
    *,
    first_media_ns: int,
    log: PlayerLog | None = None,
    table: PacketTable | None = None,
) -> tuple[Application | None, dict[str, str]]:
    """Recognise what a session did, or say why that is not known.

    Args:
        exchanges: Those of the session.
        first_media_ns: Time of the first media packet, ns since 1970: zero of all times.
        log: What the player logged, on that clock: its start, stalls and buffer are taken.
        table: The session's packets, which show how its server paces a response; None: unknown.

    Returns:
        The application or None, and what is not known of it: name in a summary -> why.
    """
    kinds = exchanges.column("kind")
    answered = kinds != "control"
    if not answered.any():
        why = "no request with a response was found"
        if exchanges.untold:
            flows = ", ".join(map(str, exchanges.untold))
            why = f"sizes do not part requests from acknowledgements (flow {flows})"
        return None, {"application": why}
    counts: dict[str, Any] = {
        "connections": len(np.unique(exchanges.column("connection")[answered])),
        "exchanges": int(answered.sum()),
    }
    video, audio = (find_segments(exchanges, kind, first_media_ns) for kind in ("media", "audio"))
    if _are_ranges(video, audio):
        return _recognise_ranges(video, audio, counts), _name_parts(_NO_SEGMENT_LENGTH)
    visits = find_page_visits(exchanges)
    pages = None if visits is None else fit_pages(visits)
    if pages is not None and have_laws(pages):
        return Application(kind="interactive", **counts, pages=pages), _name_parts(_NO_SEGMENTS)
    size_bytes = exchanges.column("response_bytes").astype(np.float64)
    if size_bytes.max() >= _BULK_SHARE * size_bytes.sum() and len(video) < _FEWEST_SEGMENTS:
        flow = int(exchanges.column("connection")[size_bytes.argmax()])
        return _recognise_download(table, flow, counts)
    return _recognise_responses(video, audio, counts, log)


def _are_ranges(video: Segments, audio: Segments) -> bool:
    """Return whether audio and video differ by requests, not by sizes: as ranges do."""
    if min(len(video), len(audio)) < _FEWEST_SEGMENTS:
        return False
    return bool(audio.size_bytes.max() >= video.size_bytes.min())


def _recognise_ranges(video: Segments, audio: Segments, counts: Mapping[str, Any]) -> Application:
    """Recognise a player that requests ranges of bytes of video and of audio."""
    audio_kbps = measure_audio_rate(audio.request_s, audio.size_bytes)
    found = find_range_rungs(video, audio, audio_kbps.value)
    rungs = tuple(
        Rung(rate_kbps=_scale(audio_kbps, ratio), segments=count)
        for ratio, count in zip(
            found.video_per_audio.tolist(), np.bincount(found.of_range).tolist(), strict=True
        )
    )
    rates = [rung.rate_kbps.value for rung in rungs]
    return Application(
        kind="chunked",
        **counts,
        rungs=rungs,
        switches=find_switches(video, found.of_range, rates),
        audio_kbps=audio_kbps,
    )


def _scale(rate: Estimate, factor: float) -> Estimate:
    """Return a multiple of a rate."""
    return Estimate(
        value=factor * rate.value,
        low=factor * (rate.low or 0.0),
        high=factor * (rate.high or rate.value),
        method="bytes of video for as much audio",
    )


def _recognise_download(
    table: PacketTable | None, flow: int, counts: Mapping[str, Any]
) -> tuple[Application, dict[str, str]]:
    """Recognise whether the server or the path limited the one response of a session."""
    download = None if table is None else measure_download(table, flow)
    pacing, why = None, "no packets of TCP show how the server sends"
    if download is not None:
        pacing, why = fit_pacing(download)
    if pacing is None:
        return Application(kind="bulk", **counts), _name_parts({**_NO_SEGMENTS, "pacing": why})
    return Application(kind="paced", **counts, pacing=pacing), _name_parts(_NO_SEGMENTS)


def _recognise_responses(
    video: Segments, audio: Segments, counts: Mapping[str, Any], log: PlayerLog | None
) -> tuple[Application | None, dict[str, str]]:
    """Recognise a session of many responses that visited no pages."""
    if len(video) < _FEWEST_SEGMENTS:
        why = f"{len(video)} large responses: too few to recognise segments"
        return None, {"application": why}
    varies_widely = bool(np.std(np.log(video.size_bytes)) > _MOST_SPREAD)
    if varies_widely and _is_user(video):
        return Application(kind="interactive", **counts), _name_parts(_NO_SEGMENTS)
    clock, remark = _clock(video, audio, log)
    if clock is None:
        why = (
            "the player never waited before a request, and no usual duration of segments fits their"
            " number"
        )
        return None, {"application": why}
    rungs = _find_visited_rungs(video, clock, log)
    if varies_widely and rungs.spread > _MOST_RUNG_SPREAD:
        return Application(kind="interactive", **counts), _name_parts(_NO_SEGMENTS)
    if why := _doubt_segments(video, rungs, clock, is_guess=bool(remark)):
        return None, {"application": why}
    if remark and log is None:
        clock, remark = _prefer_clock(video, rungs, clock, remark)
    found, absent = _recognise_segments(video, rungs, clock, log)
    if remark and log is None:
        if found["stalls"] is not None and not _is_longer_than_others(video, rungs, clock):
            found["stalls"], absent["stalls"] = None, STALLS_BY_GUESS
        if absent.get("stalls") == STALLS_BY_GUESS:
            absent["stalls"] = f"{_range_stalls(video, rungs, clock)}: {STALLS_BY_GUESS}"
    if remark:
        absent["segment_s"] = remark
    if len(audio):
        found["audio_kbps"] = _rate(audio.size_bytes, clock)
    return Application(kind="chunked", **counts, segment_s=clock, **found), _name_parts(absent)


def _doubt_segments(video: Segments, rungs: Rungs, clock: Estimate, *, is_guess: bool) -> str:
    """Return why responses are not segments; empty where they may be."""
    if is_guess and rungs.of_segment.max() >= _MOST_RUNGS_PART * len(video):
        return "the player never waited before a request, and sizes of its responses show no rungs"
    if _rungs(video, rungs, clock)[0].rate_kbps.value < _LEAST_RUNG_KBPS:
        return "its responses are too small for segments of media"
    return ""


def _name_parts(absent: dict[str, str]) -> dict[str, str]:
    """Return what is not known by its names in a summary."""
    return {f"application.{name}": why for name, why in absent.items()}


@dataclass(frozen=True)
class PlayedSegments:
    """Segments of a session at their rungs, and the buffer that they filled.

    Attributes:
        video: The segments.
        rungs: Where they are in a ladder.
        clock: Media in each, s.
        downloads: When they came.
        buffer: What that says of the playback.
    """

    video: Segments
    rungs: Rungs
    clock: Estimate
    downloads: Downloads
    buffer: BufferFit

    @property
    def highest_kbps(self) -> float:
        """Rate at which the fastest twentieth came, kbit/s: what the path had room for."""
        took_s = np.maximum(self.video.arrival_s - self.video.request_s, _LEAST_DOWNLOAD_S)
        return float(np.quantile(kbps_from_bytes(1, 1) * self.video.size_bytes / took_s, _FASTEST))

    @property
    def shows_choices(self) -> bool:
        """Whether the buffer before each request is known well enough for what was chosen then."""
        has_rungs = bool(self.rungs.of_segment.any())
        return self.buffer.stalls is not None or (self.buffer.is_known and has_rungs)

    def decide(
        self, visited_kbps: list[float], highest_kbps: float, *, most_above: int = 1
    ) -> Decisions:
        """Return what was decided among rungs that were visited, ascending, and others."""
        choices = Choices(
            downloads=self.downloads,
            size_bytes=self.video.size_bytes,
            visited_kbps=visited_kbps,
            ladders=propose_ladders(visited_kbps, highest_kbps, most_above=most_above),
            segment_s=self.clock.value,
            spread=self.rungs.spread,
        )
        return Decisions(choices, self.buffer.playback, self.buffer.target_s)


def play_segments(
    video: Segments, rungs: Rungs, clock: Estimate, log: PlayerLog | None = None
) -> PlayedSegments:
    """Play segments as they came, by the player's log if there is one."""
    waited = find_waits(video.request_s, video.idle_s)
    downloads = Downloads(video.request_s, video.arrival_s, waited, rungs.of_segment)
    buffer = fit_buffer(downloads, clock)
    if log is not None:
        buffer = anchor_buffer(buffer, downloads, log, clock.value)
    return PlayedSegments(video, rungs, clock, downloads, buffer)


def _find_visited_rungs(video: Segments, clock: Estimate, log: PlayerLog | None) -> Rungs:
    """Return rungs by the sizes and by what policies choose, whichever usual clock it is."""
    clocks = _list_clocks(clock)

    def explain(rungs: Rungs) -> Explanation | None:
        found = []
        for one in clocks:
            ladder = _rungs(video, rungs, one)
            # Players have no rungs below a rate.
            if ladder[0].rate_kbps.value < _LEAST_RUNG_KBPS:
                return None
            played = play_segments(video, rungs, one, log)
            decisions = played.decide(estimate_ladder(ladder, one), played.highest_kbps)
            found.append(predict_choices(decisions, independent=True))
        known = [one for one in found if one is not None]
        if len(known) < len(clocks):  # too few decisions
            return None
        # Ladders by other clocks differ in whether there is a rung above.
        ladder_kbps, clock_s = max(
            ((one.ladder_kbps, length.value) for one, length in zip(known, clocks, strict=True)),
            key=lambda pair: len(pair[0]),
        )
        return Explanation(
            float(np.logaddexp.reduce([one.log_likelihood for one in known]) - np.log(len(known))),
            np.log(np.array(ladder_kbps) / kbps_from_bytes(1, clock_s)),
            np.concatenate([one.rung for one in known]),
            np.concatenate([one.log_prior for one in known]),
        )

    found = find_rungs(video.size_bytes, explain)
    return Rungs(np.unique(found.of_segment, return_inverse=True)[1], found.spread)


def _list_clocks(clock: Estimate) -> list[Estimate]:
    """Return the clock, or the usual durations that a guess leaves possible."""
    values = list_usual_durations(clock.low or 0.0, clock.high or clock.value).tolist()
    if clock.value not in values:
        return [clock]
    return [clock.model_copy(update={"value": value}) for value in values]


def _score_rungs(
    video: Segments, rungs: Rungs, clock: Estimate, *, independent: bool = False
) -> float:
    """Return how well policies predict the choices; each counts by itself if ``independent``."""
    played = play_segments(video, rungs, clock)
    ladder_kbps = estimate_ladder(_rungs(video, rungs, clock), clock)
    decisions = played.decide(ladder_kbps, played.highest_kbps)
    return _score(decisions, independent=independent)


def _score(decisions: Decisions, *, independent: bool = False) -> float:
    """Return how well policies predict decisions, as a log-likelihood; 0 where they are too few."""
    found = predict_choices(decisions, independent=independent)
    return 0.0 if found is None else found.log_likelihood


def _prefer_clock(
    video: Segments, rungs: Rungs, guess: Estimate, remark: str
) -> tuple[Estimate, str]:
    """Return the usual duration by which the player's choices are the most predictable.

    What is in the buffer depends on it, and so do the choices of many players. The guess and its
    remark are kept where no duration is clearly better than the others.
    """
    clocks = _list_clocks(guess)
    if len(clocks) < 2 or not rungs.of_segment.any():
        return guess, remark
    # All clocks have the same rungs, so that these being unsure makes no clock likelier.
    logs = np.array([_score_rungs(video, rungs, one, independent=True) for one in clocks])
    logs = INDEPENDENT * logs - np.log(1 + np.arange(len(clocks)))
    weights = np.exp(logs - logs.max())
    best = int(weights.argmax())
    if weights[best] < _SURE_CLOCK * weights.sum():
        return clocks[best], remark
    value = clocks[best].value
    method = "usual duration that makes the player's choices predictable"
    remark = (
        "the player never waited before a request: the usual duration that explains its choices"
    )
    return Estimate(value=value, low=value, high=value, method=method), remark


def _is_longer_than_others(video: Segments, rungs: Rungs, clock: Estimate) -> bool:
    """Return whether choices rule out that segments are shorter than a guess says.

    A guess takes it that a session stalled little. With shorter segments it stalled more, which
    shows in the buffer that policies go by, and nowhere else.
    """
    shorter_s = np.sort(list_usual_durations(0.0, clock.value))[:-1]
    if not len(shorter_s):
        return True
    clocks = [clock, *(clock.model_copy(update={"value": value}) for value in shorter_s.tolist())]
    logs = np.array([_score_rungs(video, rungs, one) for one in clocks])
    logs[1:] += np.log(_LONG_STALLS / (1 - _LONG_STALLS) / len(shorter_s))
    return bool(np.exp(logs[0] - np.logaddexp.reduce(logs)) >= _SURE_CLOCK)


def _range_stalls(video: Segments, rungs: Rungs, guess: Estimate) -> str:
    """Return how many stalls there were, and for how long, by the usual durations of segments."""
    low_s, high_s = guess.low or 0.0, guess.high or guess.value
    lengths_s = {*list_usual_durations(low_s * _LEAST_PLAYED, high_s).tolist(), guess.value}
    stalls = [
        play_segments(video, rungs, guess.model_copy(update={"value": one})).buffer.playback.stalls
        for one in sorted(lengths_s)
    ]
    counts = [len(one) for one in stalls]
    totals_s = [sum(stall.duration_s for stall in one) for one in stalls]
    return (
        f"from {min(counts)} to {max(counts)}, {min(totals_s):.0f} to {max(totals_s):.0f} s in all"
    )


def _recognise_segments(
    video: Segments, rungs: Rungs, clock: Estimate, log: PlayerLog | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what is found of the segments of a player, and what is not known -> why."""
    places = rungs.of_segment
    played = play_segments(video, rungs, clock, log)
    ladder = _rungs(video, rungs, clock)
    ladder_kbps = [rung.rate_kbps.value for rung in ladder]
    likely_kbps = estimate_ladder(ladder, clock)
    if log is None and len(ladder) > 1:
        decisions = played.decide(likely_kbps, played.highest_kbps)

        def explain(playback: Playback) -> float:
            return _score(replace(decisions, playback=playback))

        played = replace(played, buffer=fit_buffer(played.downloads, clock, explain))
    buffer = played.buffer
    mean_bytes = np.bincount(places, video.size_bytes) / np.bincount(places)
    content = video.size_bytes / mean_bytes[places]
    policy, why = None, buffer.absent.get("stalls", "")
    if played.shows_choices:
        decisions = played.decide(likely_kbps, played.highest_kbps, most_above=MOST_ABOVE)
        policy, why = fit_policy([decisions])
    playback = buffer.playback if buffer.startup_s else None
    found = {
        **{"rungs": ladder, "switches": find_switches(video, places, ladder_kbps)},
        **{"startup_s": buffer.startup_s, "buffer_target_s": buffer.target_s, "policy": policy},
        "start_media_s": playback and playback.start_media_s,
        "resume_media_s": playback and playback.resume_media_s,
        "stalls": buffer.stalls,
        "content": tuple(np.round(content[:MOST_SEGMENTS], 4).tolist()),
        "highest_throughput_kbps": played.highest_kbps,
    }
    return found, buffer.absent | ({} if policy else {"policy": why})


def find_segments(exchanges: Exchanges, kind: str, zero_ns: int) -> Segments:
    """Return whole segments of a kind whose requests are in the capture.

    Args:
        exchanges: Those of the session.
        kind: ``media`` or ``audio``.
        zero_ns: Zero of the times, ns since 1970.
    """
    rows = exchanges.column("kind") == kind
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
    size_bytes = exchanges.column("response_bytes").astype(np.float64)
    whole_bytes = size_bytes[rows]
    if len(whole_bytes) > 1 and whole_bytes[-1] * _SHORT < whole_bytes[:-1].min():
        rows[np.flatnonzero(rows)[-1]] = False
    return Segments(
        (request_ns[rows] - zero_ns) / NS_PER_S,
        (request_ns[rows] - before_ns[rows]) / NS_PER_S,
        size_bytes[rows],
        (ends_ns[rows] - zero_ns) / NS_PER_S,
    )


def _clock(video: Segments, audio: Segments, log: PlayerLog | None) -> tuple[Estimate | None, str]:
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
    measured = None if log is None else measure_segment_clock(video.request_s, log)
    if measured is not None:
        return measured, "the player never waited before a request: by its log"
    # Audio is of one size and fetched once; video may be fetched again at another rung.
    guess = guess_segment_clock((audio if len(audio) >= _FEWEST_SEGMENTS else video).request_s)
    if guess is None:
        return None, ""
    usual = list_usual_durations(guess.low or 0.0, guess.high or guess.value)
    rest = f" ({', '.join(f'{one:g}' for one in usual)} s)" if len(usual) > 1 else ""
    return guess, (
        "the player never waited before a request: the most usual duration that the number of"
        f" segments leaves possible{rest}"
    )


def _is_user(segments: Segments) -> bool:
    """Return whether requests may be those of a user: together, or after pauses of any length."""
    if np.mean(segments.idle_s < 0) > _MOST_ODD:
        return True
    waits = find_waits(segments.request_s, segments.idle_s)
    return bool(np.mean(waits) > _MOST_ODD and not are_regular(segments.request_s, waits))


def _width(estimate: Estimate) -> float:
    """Return the width of an interval; 0 without one."""
    low, high = estimate.low, estimate.high
    return 0.0 if low is None or high is None else high - low


def _rate(size_bytes: FloatArray, clock: Estimate) -> Estimate:
    """Return the mean payload rate of segments with its interval, kbit/s."""
    mean = float(size_bytes.mean())
    error = float(size_bytes.std(ddof=1)) / np.sqrt(len(size_bytes)) if len(size_bytes) > 1 else 0.0
    return _rate_of(mean, error / mean, clock)


def _rate_of(mean_bytes: float, error: float, clock: Estimate) -> Estimate:
    """Return the rate of segments of a mean size, which has a relative standard error."""
    value = kbps_from_bytes(mean_bytes, clock.value)
    factor = math.exp(INTERVAL_ERRORS * error)
    if clock.low and clock.high:
        factor *= math.sqrt(clock.high / clock.low)
    low, high = value / factor, value * factor
    return Estimate(value=value, low=low, high=high, method="bytes of responses over media time")


def _rungs(video: Segments, rungs: Rungs, clock: Estimate) -> tuple[Rung, ...]:
    """Return the rungs, whose intervals say how far content makes few segments off."""
    counts = np.bincount(rungs.of_segment)
    means_bytes = np.bincount(rungs.of_segment, video.size_bytes) / counts
    rest = np.log(video.size_bytes / means_bytes[rungs.of_segment])
    spread = float(np.sqrt(rest @ rest / max(len(rest) - len(counts), 1)))
    return tuple(
        Rung(rate_kbps=_rate_of(mean, spread / math.sqrt(count), clock), segments=count)
        for mean, count in zip(means_bytes.tolist(), counts.tolist(), strict=True)
    )


def find_switches(
    video: Segments, of_segment: IntArray, rungs_kbps: list[float]
) -> tuple[RungSwitch, ...]:
    """Return the changes between rungs, as far as models keep them."""
    return tuple(
        RungSwitch(
            time_s=float(video.request_s[at]),
            from_kbps=rungs_kbps[of_segment[at - 1]],
            to_kbps=rungs_kbps[of_segment[at]],
        )
        for at in np.flatnonzero(np.diff(of_segment))[:MOST_SEGMENTS] + 1
    )
