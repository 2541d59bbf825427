"""Fit the media flows of a session as streams with phases and packet processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypedDict

import numpy as np

from trafficgen.calibration.phases.phase_rows import StreamPart, divide_stream
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.calibration.processes.choice import fit_process
from trafficgen.calibration.processes.phase_packets import PhasePackets
from trafficgen.calibration.streams.transport import describe_transport
from trafficgen.flows import SessionView, extend_sequence, find_burst_threshold_s, gaps_s
from trafficgen.models import Phase, Stream
from trafficgen.randomness import random_stream
from trafficgen.units import IntArray, bps_from_bytes, ns_from_s

#: Flows with a smaller share of the media bytes are left out of the model.
SMALLEST_SHARE = 0.01
#: A gap needs two packets.
_FEWEST_PACKETS = 2
_RTP_TIMESTAMP_BITS = 32


@dataclass(frozen=True)
class FittedStreams:
    """Streams with the warnings of their fits.

    Attributes:
        streams: Streams, heaviest first.
        flows: Numbers of their flows.
        warnings: What is doubtful, one sentence each.
        absent: What could not be fitted -> why.
    """

    streams: list[Stream] = field(default_factory=list)
    flows: list[int] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)


def fit_streams(view: SessionView, phases: Phases, *, tick_s: float, seed: int) -> FittedStreams:
    """Fit one stream for each media flow of a session that carries at least 1% of its media bytes.

    Args:
        view: The session.
        phases: Its phases.
        tick_s: Granularity of the clock, s.
        seed: Seed of the run.
    """
    result = FittedStreams()
    media_of = dict(
        zip(*(view.table.flows.column(name).to_pylist() for name in ("flow", "media")), strict=True)
    )
    total = float(view.media_ip_bytes.sum())
    for flow in view.media_flows:
        rows = np.flatnonzero(view.media & (view.table.flow == flow))
        share = float(view.table.ip_bytes[rows].sum()) / total
        if share < SMALLEST_SHARE:
            result.absent[f"flow {flow}"] = (
                f"carries {share:.2%} of the media bytes, below {SMALLEST_SHARE:.0%}"
            )
            continue
        media = media_of[flow]
        of_kind = sum(stream.name.split("-")[0] == media for stream in result.streams)
        name = f"{media}-{of_kind + 1}" if of_kind else media
        transport = describe_transport(
            view.table, view.media & (view.table.flow == flow), flow=flow
        )
        clock_hz = transport.rtp.clock_hz if transport.rtp else None
        parts = stream_packets(view, rows, phases, name=name, clock_hz=clock_hz, tick_s=tick_s)
        fitted = []
        for number, part, packets in parts:
            place = f"fit/{name}/{number}-{part.name}"
            found = fit_process(
                packets, generator_of=partial(_generator, seed, view.session, place)
            )
            if found.problems:
                result.warnings.append(_warn_of_laws(f"{name}, {part.name}", found.problems))
            length_s = part.end_s - part.start_s
            fitted.append(
                Phase(
                    name=part.name,
                    start_s=part.start_s,
                    duration_s=length_s,
                    rate_bps=bps_from_bytes(float(packets.ip_bytes.sum()), length_s),
                    process=found.process,
                    choice=found.choice,
                )
            )
        if not fitted:
            result.absent[f"flow {flow}"] = f"has too few media packets for a fit ({rows.size})"
            continue
        kind = "unknown" if media == "control" else media
        result.streams.append(
            Stream.model_validate(
                {"name": name, "media": kind, "transport": transport, "phases": tuple(fitted)}
            )
        )
        result.flows.append(flow)
    return result


def _generator(seed: int, session: int, place: str, quantity: str) -> np.random.Generator:
    return random_stream(seed, session=session, purpose=f"{place}/{quantity}")


def _warn_of_laws(where: str, problems: dict[str, str]) -> str:
    each = "; ".join(f"{quantity} ({problem})" for quantity, problem in problems.items())
    return f"{where}: no textbook distribution fits; the measured one is used: {each}"


def stream_packets(
    view: SessionView,
    rows: IntArray,
    phases: Phases,
    *,
    name: str,
    clock_hz: int | None,
    tick_s: float,
) -> Iterator[tuple[int, StreamPart, PhasePackets]]:
    """Yield the packets of a stream by phase, with the phase's number; those without a gap not.

    Args:
        view: The session.
        rows: Rows of the stream's media packets in its table, ascending.
        phases: Phases of the session.
        name: Name of the stream.
        clock_hz: Its RTP clock, Hz; None if unknown.
        tick_s: Granularity of the clock, s.
    """
    time_ns, ip_bytes = view.table.time_ns[rows], view.table.ip_bytes[rows]
    threshold_s = find_burst_threshold_s(gaps_s(time_ns), tick_s=tick_s)
    zero_ns = view.first_media_ns
    for number, part in enumerate(divide_stream(time_ns, phases, zero_ns=zero_ns)):
        inside = slice(part.start, part.stop)
        is_short = part.stop - part.start < _FEWEST_PACKETS
        if is_short or time_ns[part.stop - 1] == time_ns[part.start]:
            continue
        packets = PhasePackets(
            time_ns=time_ns[inside],
            ip_bytes=ip_bytes[inside],
            span_ns=(zero_ns + ns_from_s(part.start_s), zero_ns + ns_from_s(part.end_s)),
            tick_s=tick_s,
            threshold_s=threshold_s,
            name=f"{name}, {part.name}",
            **_rtp_columns(view, rows[inside], clock_hz=clock_hz),
        )
        yield number, part, packets


class _RtpColumns(TypedDict, total=False):
    rtp_timestamp: IntArray
    clock_hz: int | None


def _rtp_columns(view: SessionView, rows: IntArray, *, clock_hz: int | None) -> _RtpColumns:
    """Return the timestamps and the clock of a stream if every packet has them."""
    if clock_hz is None or not view.table.is_known("rtp_timestamp")[rows].all():
        return {}
    timestamp = view.table.values("rtp_timestamp").astype(np.int64)[rows]
    return {
        "rtp_timestamp": extend_sequence(timestamp, bits=_RTP_TIMESTAMP_BITS),
        "clock_hz": clock_hz,
    }
