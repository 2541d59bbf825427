"""Report of a fit, section by section; charts are there where the capture has their data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from trafficgen.calibration.fit import Fit
from trafficgen.calibration.session_fit import describe_download
from trafficgen.flows import SessionView
from trafficgen.formatting import (
    format_count,
    format_duration,
    format_share,
    interval,
    number,
    rate_text,
)
from trafficgen.models import (
    Estimate,
    FittedProvenance,
    Stream,
    describe_application,
    describe_capacity,
    describe_failed_checks,
    list_judged_parts,
)
from trafficgen.reports.fit.packets import chart_bursts, chart_frames, chart_packets
from trafficgen.reports.fit.path import LOSS_SOURCES, chart_path
from trafficgen.reports.fit.rate import (
    chart_player,
    chart_rate_distribution,
    chart_time_scales,
    describe_levels,
    overlay_rates,
)
from trafficgen.reports.fit.subject import FitSubject
from trafficgen.reports.fit.tables import (
    describe_conditions,
    process_name,
    tabulate_choices,
    tabulate_estimates,
    tabulate_laws,
    tabulate_measures,
)
from trafficgen.reports.page import Block, Headline, Mark, Report, Text, build_report, warn
from trafficgen.standard_streams import describe_input
from trafficgen.units import kbps_from_bps, kbps_from_bytes, s_from_ns

_LONG_RANGE = {
    "long_memory": "the rate has long memory",
    "level_shift": "shifts of its level make the rate look as if it had long memory",
    "periodic": "the rate has a strict period",
    "none": "the rate has no long memory",
    "undecided": "long memory of the rate: undecided",
}
_MEDIA = {"mixed": "mixed media", "unknown": "media", "bulk": "a bulk transfer"}


def report_fit(fitted: Fit) -> Report:
    """Make the report of a fit."""
    subject = FitSubject(fitted)
    sections: dict[str, Iterable[Block | None]] = {
        "Summary": (*overlay_rates(subject), *_describe(subject)),
        "Rate": (
            chart_rate_distribution(subject),
            *describe_levels(subject),
            *chart_player(subject),
        ),
        "Packets": chart_packets(subject),
        "Bursts": chart_bursts(subject),
        "Frames": chart_frames(subject),
        "Time scales": chart_time_scales(subject),
        "Path and response": (
            *chart_path(subject),
            tabulate_measures(subject),
            *describe_conditions(subject),
        ),
        "Estimates": (
            tabulate_estimates(subject),
            *tabulate_laws(subject),
            tabulate_choices(subject),
        ),
    }
    provenance, (mark, sentence) = subject.provenance, _judge(subject)
    return build_report(
        "Fit of a session",
        _subtitle(provenance),
        Headline(mark=mark, sentence=sentence, figures=_list_figures(subject)),
        sections,
        made_by=_command(provenance),
    )


def _subtitle(provenance: FittedProvenance) -> str:
    files = ", ".join(map(describe_input, provenance.files)) or "standard input"
    text = f"Session {provenance.session} of {files}"
    if provenance.receiver_files:
        text += f", at the receiver {', '.join(provenance.receiver_files)}"
    log = provenance.player_log
    return text if log is None else f"{text}, player log {log}"


def _command(provenance: FittedProvenance) -> str:
    words = [f"{provenance.software}: trafficgen fit", *(provenance.files or ("-",))]
    words += [f"--receiver {name}" for name in provenance.receiver_files]
    words += [] if provenance.player_log is None else [f"--player-log {provenance.player_log}"]
    return " ".join([*words, f"--seed {provenance.seed}"])


def _describe(subject: FitSubject) -> Iterator[Block]:
    yield Text((" ".join(_summarise(subject)),), kind="lead")
    yield Text(tuple(_detail(subject)), kind="list")
    doubts = list(subject.fitted.warnings)
    if isinstance(subject.played, str):
        doubts.append(
            f"the model cannot be played; charts show the capture alone: {subject.played}"
        )
    yield from warn(doubts)
    flow = subject.fitted.flow
    text = (
        f"Heaviest flow: number {flow['flow']}, {flow['protocol']} from {flow['server']} port"
        f" {flow['server_port']} to {flow['client']} port {flow['client_port']}. Times count from"
        " the first media packet; rates are of IP bytes to the client. Blue is measured, green is"
        " a fitted law, orange is what the model plays."
    )
    if any(stream.name.startswith("unknown") for stream in subject.model.streams):
        text += " A stream is called unknown where the capture does not say what it carries."
    yield Text((text,))


def _judge(subject: FitSubject) -> tuple[Mark, str]:
    """Judge the fit by its self-check: bad where half the parts or more fail it."""
    judged, failure = list_judged_parts(subject.model), describe_failed_checks(subject.model)
    unsuited = subject.fitted.calibration.unsuited
    if unsuited is not None:
        return "bad", f"{unsuited[0].upper()}{unsuited[1:]}."
    if isinstance(subject.played, str):
        return "bad", f"The model cannot be played: {subject.played}."
    if failure:
        failed = sum(not tried.passed for _, tried in judged)
        return ("bad" if 2 * failed >= len(judged) else "warn"), f"Self-check failed: {failure}."
    if not judged:
        return "warn", "No self-check was made: no part of the session is long enough for it."
    passed = (
        "Self-check passed: the played rate matches in"
        f" {format_count(len(judged), 'checked part')} (stream, phase)"
    )
    doubt = ""
    if subject.session.phases.is_download:
        doubt = ", but this looks like a download"
    elif subject.session.phases.burst_p_value is not None:
        doubt = ", but a test cannot confirm the start-up burst"
    elif subject.session.phases.has_uncertain_end:
        doubt = ", but the end of the start-up burst is hardly known"
    return "warn" if doubt else "good", f"{passed}{doubt}."


def _list_figures(subject: FitSubject) -> dict[str, str]:
    """Return the figures of the verdict: rates, length, start-up burst, loss or packets."""
    phases, loss = subject.session.phases, subject.session.path.loss
    burst = "none"
    if phases.buffering_end_s is not None and not phases.is_download:
        rate = rate_text(phases.buffering_kbps)
        burst = f"{format_duration(phases.buffering_end_s)} at {rate}"
    found = {"measured rate, mean": rate_text(_mean_kbps(subject.views.captured))}
    if not isinstance(subject.played, str):
        found["played rate, mean"] = rate_text(_mean_kbps(subject.played.first))
    found |= {"media": format_duration(subject.session.duration_s), "start-up burst": burst}
    if loss is None:
        return {**found, "media packets": number(subject.session.packets)}
    return {**found, "loss": format_share(loss.rate)}


def _mean_kbps(view: SessionView) -> float:
    span_s = s_from_ns(int(view.media_time_ns[-1] - view.media_time_ns[0]))
    return kbps_from_bytes(float(view.media_ip_bytes.sum()), span_s) if span_s else 0.0


def _summarise(subject: FitSubject) -> Iterator[str]:
    """Yield what follows the verdict: the source, its phases, its rates."""
    session, phases = subject.session, subject.session.phases
    kinds = Counter(_describe_stream(stream) for stream in subject.model.streams)
    streams = " and ".join(
        kind if count == 1 else f"{count} streams of {kind}" for kind, count in kinds.items()
    )
    yield (
        f"{streams[0].upper()}{streams[1:]}: {session.packets:,} media packets to the client in"
        f" {format_duration(session.duration_s)}."
    )
    if phases.silence_s > 0:
        yield f"Media begin {format_duration(phases.silence_s)} after the first packet."
    playout = rate_text(phases.playout_kbps)
    if phases.buffering_end_s is None:
        yield f"There is no start-up burst: {playout} on average."
    elif phases.is_download:
        words = describe_download(phases)
        yield f"{words[0].upper()}{words[1:]}."
    else:
        ends = interval(phases.low_s, phases.high_s, format_duration)
        end = f"{format_duration(phases.buffering_end_s)} {ends}".rstrip()
        yield (
            f"A start-up burst lasts {end} at {rate_text(phases.buffering_kbps)},"
            f" {number(phases.ratio, digits=3)} times the {playout} of the playout."
        )
        if phases.burst_p_value is not None:
            p_value = number(phases.burst_p_value, digits=2)
            yield f"A test cannot separate it from the rate's own variation (p = {p_value})."
    if pauses := len(phases.stalls) + len(phases.player_stalls or ()):
        yield f"Playback or packets pause {format_count(pauses, 'time')}."


def _describe_stream(stream: Stream) -> str:
    rtp = "RTP over " if stream.transport.rtp else ""
    media = _MEDIA.get(stream.media, stream.media)
    return f"{media} ({rtp}{stream.transport.protocol.upper()})"


def _detail(subject: FitSubject) -> Iterator[str]:
    """Yield what else was found, a line each."""
    session = subject.session
    played, levels = session.played_levels, session.levels
    if played is not None and played.switches:
        yield f"The player switched {played.switches} times between {len(played.names)} levels."
    elif levels is not None:
        rates = ", ".join(map(rate_text, levels.kbps.tolist()))
        yield f"The rate moves between {rates}, {levels.switches} switches."
    if session.bursts_by_phase is not None:
        bursts = session.bursts_by_phase["playout"]
        if bursts.packets.size > 1:
            packets, spacing_s = float(bursts.packets.mean()), float(bursts.spacing_s.mean())
            sent = f"{number(packets)} packets every {format_duration(spacing_s)}"
            yield f"The playout sends bursts of {sent} on average."
    if session.long_range is not None:
        words, hurst = _LONG_RANGE[session.long_range.verdict], session.hurst
        value = f" (H = {hurst.value:.2f} [{hurst.low:.2f}, {hurst.high:.2f}])" if hurst else ""
        yield f"{words[0].upper()}{words[1:]}{value}."
    yield from _describe_path(subject)
    yield from _describe_processes(subject)


def _describe_path(subject: FitSubject) -> Iterator[str]:
    loss, conditions = subject.session.path.loss, subject.provenance.conditions
    if loss is not None and loss.rate == 0:
        yield f"No packet was lost, by {LOSS_SOURCES[loss.source]}."
    elif loss is not None:
        run = loss.mean_burst_packets
        in_a_row = "" if run is None else f", {number(run, digits=3)} in a row"
        yield (
            f"Loss of {loss.rate:.2%} [{loss.low:.2%}, {loss.high:.2%}]{in_a_row}, by"
            f" {LOSS_SOURCES[loss.source]}."
        )
    rtt, link = conditions.rtt_s, conditions.link_rate_bps
    known = [f"round-trip time {_value(rtt)}"] if rtt else []
    if conditions.capacity is not None:
        known.append(f"narrow link {describe_capacity(conditions.capacity)}")
    elif link is not None:
        known.append(f"narrow link {rate_text(kbps_from_bps(link.value))}")
    if known:
        yield f"Path: {', '.join(known)}."
    response = subject.session.response.response
    kind = "not measurable" if response.kind == "unknown" else response.kind.replace("_", " ")
    evidence = (one.removeprefix("not measurable: ") for one in response.evidence)
    yield f"Congestion response: {kind} ({'; '.join(evidence)})."
    if (application := subject.model.application) is not None:
        for name, text in describe_application(application).items():
            yield f"{name.capitalize()}: {text}."


def _value(estimate: Estimate) -> str:
    ends = interval(estimate.low, estimate.high, format_duration)
    return f"{format_duration(estimate.value)} {ends}".rstrip()


def _describe_processes(subject: FitSubject) -> Iterator[str]:
    phases = [phase for stream in subject.model.streams for phase in stream.phases]
    kinds = dict.fromkeys(process_name(phase.process.kind) for phase in phases)
    yield f"The model plays: {', '.join(kinds)}."
