"""Streams of a model: the media flows of a session, each with its phases and packet processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.calibration.processes.choice import fit_process
from trafficgen.calibration.processes.phase_packets import PhasePackets
from trafficgen.calibration.streams.phase_parts import StreamPart, stream_parts
from trafficgen.calibration.streams.transport import describe_transport
from trafficgen.flows import SessionView, extend_sequence, find_burst_threshold_s, gaps_s
from trafficgen.models import Phase, Stream
from trafficgen.randomness import random_stream
from trafficgen.units import BoolArray, IntArray, bps_from_bytes, ns_from_s

#: Flows with a smaller share of the media bytes are left out of the model.
SMALLEST_SHARE = 0.01
_FEWEST_PACKETS = 2
_RTP_TIMESTAMP_BITS = 32


@dataclass(frozen=True)
class FittedStreams:
    """Streams and what is to be said about them.

    Attributes:
        streams: Streams, heaviest first.
        flows: Numbers of their flows.
        warnings: What is doubtful.
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
    names: set[str] = set()
    for flow in view.media_flows:
        rows = np.flatnonzero(view.media & (view.table.flow == flow))
        share = float(view.table.ip_bytes[rows].sum()) / total
        if share < SMALLEST_SHARE:
            result.absent[f"flow {flow}"] = (
                f"carries {share:.2%} of the media bytes, below {SMALLEST_SHARE:.0%}"
            )
            continue
        name = _unique(media_of[flow], names)
        stream = _fit_stream(
            view,
            rows,
            flow,
            phases,
            name=name,
            media=media_of[flow],
            tick_s=tick_s,
            seed=seed,
            to=result,
        )
        if stream is None:
            result.absent[f"flow {flow}"] = f"has too few media packets for a fit ({rows.size})"
            continue
        names.add(name)
        result.streams.append(stream)
        result.flows.append(flow)
    return result


def _fit_stream(
    view: SessionView,
    rows: IntArray,
    flow: int,
    phases: Phases,
    *,
    name: str,
    media: str,
    tick_s: float,
    seed: int,
    to: FittedStreams,
) -> Stream | None:
    """Return the stream of one flow, phase by phase, or None where no phase has two packets."""
    transport = describe_transport(view.table, view.media & (view.table.flow == flow), flow=flow)
    clock_hz = transport.rtp.clock_hz if transport.rtp else None
    fitted = []
    for number, part, packets in stream_packets(
        view, rows, phases, name=name, clock_hz=clock_hz, tick_s=tick_s
    ):

        def generator_of(
            quantity: str, place: str = f"{name}/{number}-{part.name}"
        ) -> np.random.Generator:
            return random_stream(seed, session=view.session, purpose=f"fit/{place}/{quantity}")

        found = fit_process(packets, generator_of=generator_of)
        if found.problems:
            each = "; ".join(
                f"{quantity} ({problem})" for quantity, problem in found.problems.items()
            )
            to.warnings.append(
                f"{name}, {part.name}: no family fits, smoothed empirical laws stand in: {each}"
            )
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
        return None
    kind = "unknown" if media == "control" else media
    return Stream.model_validate(
        {"name": name, "media": kind, "transport": transport, "phases": tuple(fitted)}
    )


def stream_packets(
    view: SessionView,
    rows: IntArray,
    phases: Phases,
    *,
    name: str,
    clock_hz: int | None,
    tick_s: float,
) -> Iterator[tuple[int, StreamPart, PhasePackets]]:
    """Yield the packets of a stream phase by phase, with the phase and its number; phases without a
    gap are left out.

    Args:
        view: The session.
        rows: Rows of the stream's media packets in its table, ascending.
        phases: Phases of the session.
        name: Name of the stream.
        clock_hz: Its RTP clock, Hz; None where it is not known.
        tick_s: Granularity of the clock, s.
    """
    time_ns, ip_bytes = view.table.time_ns[rows], view.table.ip_bytes[rows]
    threshold_s = find_burst_threshold_s(gaps_s(time_ns), tick_s=tick_s)
    for number, part in enumerate(stream_parts(time_ns, phases, zero_ns=view.first_media_ns)):
        inside = slice(part.start, part.stop)
        if (
            part.stop - part.start < _FEWEST_PACKETS
            or time_ns[part.stop - 1] == time_ns[part.start]
        ):
            continue
        packets = PhasePackets(
            time_ns=time_ns[inside],
            ip_bytes=ip_bytes[inside],
            span_ns=(
                view.first_media_ns + ns_from_s(part.start_s),
                view.first_media_ns + ns_from_s(part.end_s),
            ),
            tick_s=tick_s,
            threshold_s=threshold_s,
            name=f"{name}, {part.name}",
            **_rtp_columns(view, rows[inside], clock_hz=clock_hz),
        )
        yield number, part, packets


class _RtpColumns(TypedDict, total=False):
    rtp_timestamp: IntArray
    rtp_marker: BoolArray
    clock_hz: int | None


def _rtp_columns(view: SessionView, rows: IntArray, *, clock_hz: int | None) -> _RtpColumns:
    """Return timestamps and markers of a stream where every packet has them."""
    if clock_hz is None or not view.table.is_known("rtp_timestamp")[rows].all():
        return {}
    timestamp = view.table.values("rtp_timestamp").astype(np.int64)[rows]
    return {
        "rtp_timestamp": extend_sequence(timestamp, bits=_RTP_TIMESTAMP_BITS),
        "rtp_marker": view.table.values("rtp_marker").astype(np.bool_)[rows],
        "clock_hz": clock_hz,
    }


def _unique(media: str, names: set[str]) -> str:
    number, name = 1, media
    while name in names:
        number += 1
        name = f"{media}-{number}"
    return name
