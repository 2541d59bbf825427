"""What a fit says, in a few plain sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from trafficgen.formatting import number
from trafficgen.models import Estimate, Stream
from trafficgen.reports.fit.path import LOSS_SOURCES
from trafficgen.reports.fit.subject import FitSubject
from trafficgen.reports.fit.tables import process_name
from trafficgen.units import kbps_from_bps

_MEMORY = {
    "long_memory": "the rate has long memory",
    "level_shift": "the rate looks as if it had long memory, but shifts of its level explain it",
    "periodic": "the rate has a strict period",
    "none": "the rate has no long memory",
    "undecided": "whether the rate has long memory cannot be told",
}


def summary_lines(subject: FitSubject) -> Iterator[str]:
    """Yield what is read first: what it is, its phases, how packets are sent."""
    session, model = subject.session, subject.model
    kinds = Counter(_stream_in_words(stream) for stream in model.streams)
    streams = " and ".join(
        kind if count == 1 else f"{count} streams of {kind}" for kind, count in kinds.items()
    )
    yield (
        f"{streams[0].upper()}{streams[1:]}: {session.packets:,} media packets to the client in"
        f" {number(session.duration_s)} s."
    )
    yield _phases_in_words(subject)


def detail_lines(subject: FitSubject) -> Iterator[str]:
    """Yield what else was found, a line each."""
    session = subject.session
    played = session.played_levels
    if played is not None and played.switches:
        yield f"The player switched {played.switches} times between {len(played.names)} levels."
    elif session.levels is not None:
        rates = ", ".join(number(rate) for rate in session.levels.kbps.tolist())
        yield f"The rate moves between {rates} kbit/s, {session.levels.switches} switches."
    if session.bursts_by_phase is not None:
        bursts = session.bursts_by_phase["playout"]
        if bursts.packets.size > 1:
            yield (
                f"Packets come in bursts: in the playout {number(float(bursts.packets.mean()))}"
                f" packets every {number(float(bursts.spacing_s.mean()))} s in the mean."
            )
    if session.long_range is not None:
        hurst = session.hurst
        value = f" (H = {hurst.value:.2f} [{hurst.low:.2f}, {hurst.high:.2f}])" if hurst else ""
        words = _MEMORY[session.long_range.verdict]
        yield f"{words[0].upper()}{words[1:]}{value}."
    yield from _path_in_words(subject)
    yield from _processes_in_words(subject)


def _stream_in_words(stream: Stream) -> str:
    media = {"mixed": "mixed media", "unknown": "media", "bulk": "a bulk transfer"}.get(
        stream.media, stream.media
    )
    rtp = "RTP over " if stream.transport.rtp else ""
    return f"{media} ({rtp}{stream.transport.protocol.upper()})"


def _phases_in_words(subject: FitSubject) -> str:
    phases = subject.session.phases
    parts = []
    if phases.silence_s > 0:
        parts.append(f"Media begin {number(phases.silence_s)} s after the first packet.")
    if phases.buffering_end_s is not None:
        interval = (
            "" if phases.low_s is None else f" [{number(phases.low_s)}, {number(phases.high_s)}]"
        )
        parts.append(
            f"The source first fills a buffer: until {number(phases.buffering_end_s)} s{interval}"
            f" it sends {number(phases.buffering_kbps)} kbit/s, {number(phases.ratio, digits=3)}"
            f" times the {number(phases.playout_kbps)} kbit/s of the playout."
        )
    else:
        parts.append(
            f"The start is not faster than the rest: {number(phases.playout_kbps)} kbit/s in the"
            " mean."
        )
    pauses = len(phases.stalls) + len(phases.player_stalls or ())
    if pauses:
        parts.append(f"Playback or packets pause {pauses} {'time' if pauses == 1 else 'times'}.")
    return " ".join(parts)


def _path_in_words(subject: FitSubject) -> Iterator[str]:
    loss, conditions = subject.session.path.loss, subject.provenance.conditions
    if loss is not None and loss.rate == 0:
        yield f"No packet was lost, by {LOSS_SOURCES[loss.source]}."
    elif loss is not None:
        run = (
            ""
            if loss.mean_burst_packets is None
            else f", {number(loss.mean_burst_packets, digits=3)} in a row"
        )
        yield (
            f"Loss of {loss.rate:.2%} [{loss.low:.2%}, {loss.high:.2%}]{run}, by"
            f" {LOSS_SOURCES[loss.source]}."
        )
    rtt, link = conditions.rtt_s, conditions.link_rate_bps
    known = [
        *([f"round-trip time {_value(rtt)} s"] if rtt else []),
        *([f"narrow link {number(kbps_from_bps(link.value))} kbit/s"] if link else []),
    ]
    if known:
        yield f"The path: {', '.join(known)}."
    response = subject.session.response.response
    if response.kind == "unknown":
        yield (
            f"How the source answers to congestion cannot be told: {'; '.join(response.evidence)}."
        )
    else:
        yield (
            f"Under congestion the source is {response.kind.replace('_', ' ')}:"
            f" {'; '.join(response.evidence)}."
        )


def _value(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return number(estimate.value)
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def _processes_in_words(subject: FitSubject) -> Iterator[str]:
    phases = [(stream, phase) for stream in subject.model.streams for phase in stream.phases]
    kinds = dict.fromkeys(process_name(phase.process.kind) for _, phase in phases)
    yield f"The model plays: {', '.join(kinds)}."
    judged = [phase.choice.tried[phase.choice.chosen] for _, phase in phases if phase.choice]
    if judged:
        passed = sum(tried.passed for tried in judged)
        yield (
            f"Of {len(judged)} parts that were played and measured again, {passed} have rates that"
            " differ from the capture's by no more than chance."
        )
