"""Fit the media flows of a session as streams: headers, phases and packet processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from trafficgen._core import CLOCK_CANDIDATES_HZ
from trafficgen.calibration.acknowledgements import fit_acknowledgements
from trafficgen.calibration.phases.phase_rows import StreamPart, divide_stream
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.calibration.process_choice import fit_process
from trafficgen.errors import CalibrationError
from trafficgen.flows import (
    SessionView,
    extend_sequence,
    find_burst_threshold_s,
    find_flows,
    gaps_s,
    select_flow_rows,
)
from trafficgen.models import Estimate, Phase, RtpFormat, Stream, Transport, smallest_header_bytes
from trafficgen.processes.base import LARGEST_IP_BYTES
from trafficgen.processes.fitting import FittedProcess, PhasePackets
from trafficgen.randomness import random_stream
from trafficgen.tables import PacketTable, compact_ip_bytes
from trafficgen.units import BLOCK, BoolArray, IntArray, bps_from_bytes, ns_from_s, s_from_ns

#: Flows, or small flows together, with a smaller share of the media bytes are not in the model.
SMALLEST_SHARE = 0.01
#: A gap needs two packets.
_FEWEST_PACKETS = 2
#: Clocks of RTP payload formats in use, Hz: those that the core measures with.
_CLOCKS_HZ = np.array(CLOCK_CANDIDATES_HZ)
_RTP_TIMESTAMP_BITS = 32
#: Packets of a stream share timestamps in frames if this share of the frames ends with a marker,
_MARKED_SHARE = 0.8
#: and a frame has this many packets on average; with fewer, frames are packets.
_PACKETS_PER_FRAME = 1.05


@dataclass(frozen=True)
class FittedStreams:
    """Streams with the warnings of their fits.

    Attributes:
        streams: Streams, heaviest first.
        details: Where no family fits which quantities, a sentence a part.
        absent: What could not be fitted -> why.
        left_out_share: Share of the media bytes in the flows of ``absent``.
    """

    streams: list[Stream] = field(default_factory=list)
    flows: list[int] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    left_out_share: float = 0.0


def fit_streams(view: SessionView, phases: Phases, *, tick_s: float, seed: int) -> FittedStreams:
    """Fit a stream for each media flow of a session that carries at least 1% of its media bytes.

    Flows with less are one stream together, those of each protocol and medium, where they carry as
    much: many short connections in turn are a source as well.
    """
    result = FittedStreams()
    left_out = 0.0
    for medium, flows, share in gather_flows(view):
        flow, *others = flows
        if share < SMALLEST_SHARE:
            left_out += share
            result.absent[f"flow {flow}"] = (
                f"carries {share:.2%} of the media bytes, below {SMALLEST_SHARE:.0%}"
            )
            continue
        of_flow = find_flows(view.table, flows)
        of_flow &= view.media
        of_kind = sum(stream.name.split("-")[0] == medium for stream in result.streams)
        name = f"{medium}-{of_kind + 1}" if of_kind else medium
        of_one = of_flow & (view.table.flow == flow) if others else of_flow
        transport = describe_transport(view.table, of_one, flow=flow)
        clock_hz = transport.rtp.clock_hz if transport.rtp and not others else None
        parts = split_into_phases(
            view, of_flow, phases, name=name, clock_hz=clock_hz, tick_s=tick_s
        )
        fitted = []
        for number, part, packets in parts:
            place = f"fit/{name}/{number}-{part.name}"
            found = fit_process(
                packets, generator_of=partial(_generator, seed, view.session, place)
            )
            fitted.append(_describe_phase(part, packets, found))
            if found.problems:
                result.details.append(_describe_problems(packets.name, found.problems))
        if not fitted:
            result.absent[f"flow {flow}"] = f"has too few media packets for a fit ({of_flow.sum()})"
            left_out += share
            continue
        kind = "unknown" if medium == "control" else medium
        result.streams.append(
            Stream.model_validate(
                {"name": name, "media": kind, "transport": transport, "phases": tuple(fitted)}
            )
        )
        result.flows.extend(flows)
    return replace(result, left_out_share=left_out)


def gather_flows(view: SessionView) -> list[tuple[str, list[int], float]]:
    """Return medium, flows and share of the media bytes of each stream; the heaviest flow first."""
    of_media = view.table.flow[view.media]
    flows = np.flatnonzero(np.bincount(of_media))
    ip_bytes = np.bincount(of_media, weights=view.media_ip_bytes)[flows]
    share_of = dict(zip(flows.tolist(), (ip_bytes / ip_bytes.sum()).tolist(), strict=True))
    columns = select_flow_rows(view.table.flows, flows).select(["flow", "media", "protocol"])
    described = {
        flow: (medium, protocol)
        for flow, medium, protocol in zip(*columns.to_pydict().values(), strict=True)
    }
    streams: list[tuple[str, list[int], float]] = []
    small: dict[tuple[str, str], list[int]] = {}
    for flow in view.media_flows:
        if share_of[flow] < SMALLEST_SHARE:
            small.setdefault(described[flow], []).append(flow)
        else:
            streams.append((described[flow][0], [flow], share_of[flow]))
    for (medium, _), few in small.items():
        share = sum(share_of[flow] for flow in few)
        if share >= SMALLEST_SHARE:
            streams.append((medium, few, share))
        else:
            streams.extend((medium, [flow], share_of[flow]) for flow in few)
    return streams


def _describe_phase(part: StreamPart, packets: PhasePackets, found: FittedProcess) -> Phase:
    length_s = part.end_s - part.start_s
    return Phase(
        name=part.name,
        start_s=part.start_s,
        duration_s=length_s,
        rate_bps=bps_from_bytes(float(packets.ip_bytes.sum()), length_s),
        process=found.process,
        choice=found.choice,
    )


def _generator(seed: int, session: int, place: str, quantity: str) -> np.random.Generator:
    return random_stream(seed, session=session, purpose=f"{place}/{quantity}")


def _describe_problems(where: str, problems: dict[str, str]) -> str:
    each = "; ".join(f"{quantity} ({problem})" for quantity, problem in problems.items())
    return f"{where}: no textbook distribution fits; the measured one is used: {each}"


def split_into_phases(
    view: SessionView,
    of_stream: BoolArray,
    phases: Phases,
    *,
    name: str,
    clock_hz: int | None,
    tick_s: float,
) -> Iterator[tuple[int, StreamPart, PhasePackets]]:
    """Yield the packets of a stream by phase, with the phase's number; those without a gap not.

    ``of_stream`` says which packets of the session's table are media of it; ``clock_hz`` is its RTP
    clock, None if unknown.
    """
    table, zero_ns = view.table, view.first_media_ns
    # Parts are views of these, and a session of one stream needs no copy of the table's.
    time_ns, ip_bytes = table.time_ns, compact_ip_bytes(table)
    if not of_stream.all():
        time_ns, ip_bytes = time_ns[of_stream], ip_bytes[of_stream]
    threshold_s = find_burst_threshold_s(gaps_s(time_ns), tick_s=tick_s)
    for number, part in enumerate(divide_stream(time_ns, phases, zero_ns=zero_ns)):
        # Seconds as floats resolve no nanosecond after decades of silence.
        has_length = time_ns[part.stop - 1] > time_ns[part.start] and part.end_s > part.start_s
        if part.stop - part.start < _FEWEST_PACKETS or not has_length:
            continue
        timestamp = None if clock_hz is None else _timestamps(table, of_stream, part)
        packets = PhasePackets(
            time_ns=time_ns[part.start : part.stop],
            ip_bytes=ip_bytes[part.start : part.stop],
            span_ns=(zero_ns + ns_from_s(part.start_s), zero_ns + ns_from_s(part.end_s)),
            tick_s=tick_s,
            threshold_s=threshold_s,
            rtp_timestamp=timestamp,
            clock_hz=None if timestamp is None else clock_hz,
            name=f"{name}, {part.name}",
        )
        yield number, part, packets


def _timestamps(table: PacketTable, of_stream: BoolArray, part: StreamPart) -> IntArray | None:
    """Return the extended RTP timestamps of a part of a stream; None where one is not known."""
    rows = np.flatnonzero(of_stream)[part.start : part.stop]
    if not table.is_known("rtp_timestamp")[rows].all():
        return None
    return extend_sequence(table.values("rtp_timestamp")[rows], bits=_RTP_TIMESTAMP_BITS)


def describe_transport(table: PacketTable, media: BoolArray, *, flow: int) -> Transport:
    """Describe the transport of one flow.

    ``media`` marks its media packets, at least one, shape (n,).

    Raises:
        CalibrationError: If the flow is neither UDP nor TCP.
    """
    (row,) = select_flow_rows(table.flows, [flow]).to_pylist()
    if row["protocol"] not in ("udp", "tcp"):
        raise CalibrationError(f"flow {flow} is {row['protocol']}; only UDP and TCP can be fitted")
    protocol: Literal["udp", "tcp"] = row["protocol"]
    ip_version: Literal[4, 6] = 6 if ":" in row["server"] else 4
    smallest = smallest_header_bytes(protocol, ip_version=ip_version)
    transport = Transport(
        protocol=protocol,
        ip_version=ip_version,
        server_port=row["server_port"],
        client_port=row["client_port"],
        header_bytes=max(smallest, _commonest_header_bytes(table, media)),
        rtp=_rtp_format(table, media, payload_type=row["payload_type"], clock_hz=row["clock_hz"]),
    )
    if protocol == "udp" and not transport.is_quic:
        return transport
    found = fit_acknowledgements(table, media, flow=flow, over_quic=protocol == "udp")
    return transport.model_copy(update={"acknowledgements": found})


def _commonest_header_bytes(table: PacketTable, media: BoolArray) -> int:
    """Return the commonest bytes of headers of the packets in ``media``, shape (n,)."""
    times = np.zeros(LARGEST_IP_BYTES + 1)
    ip_bytes, payload_bytes = compact_ip_bytes(table), table.values("payload_bytes")
    for row in range(0, media.size, BLOCK):
        part = slice(row, row + BLOCK)
        header_bytes = ip_bytes[part] - payload_bytes[part].astype(np.int64)
        clipped = np.clip(header_bytes[media[part]], 0, LARGEST_IP_BYTES)
        times += np.bincount(clipped, minlength=times.size)
    return int(times.argmax())


def _rtp_format(
    table: PacketTable, media: BoolArray, *, payload_type: int | None, clock_hz: int | None
) -> RtpFormat | None:
    """Return the RTP format of the flow's main source; None if it is not RTP."""
    rows = np.flatnonzero(media & table.is_known("rtp_timestamp"))
    if rows.size < 2 or payload_type is None:
        return None
    ssrc = table.values("rtp_ssrc")[rows]
    sources, counts = np.unique(ssrc, return_counts=True)
    rows = rows[ssrc == sources[int(counts.argmax())]]
    timestamp = table.values("rtp_timestamp")[rows].astype(np.int64)
    steps = np.diff(extend_sequence(timestamp, bits=_RTP_TIMESTAMP_BITS))
    clock = clock_hz or _clock_hz(steps, table.time_ns[rows])
    if clock is None:
        return None
    forward = steps[steps > 0]
    mode = None
    if forward.size:
        values, times = np.unique(forward, return_counts=True)
        share = float(times.max()) / forward.size
        mode = Estimate(
            value=float(values[int(times.argmax())]),
            method=f"mode, {share:.0%} of the steps forward",
        )
    marker = table.values("rtp_marker").astype(np.bool_)[rows]
    return RtpFormat(
        payload_type=payload_type & 0x7F,
        clock_hz=clock,
        timestamp_step=mode,
        frame_per_burst=_has_frames(steps, marker),
    )


def _clock_hz(steps: IntArray, time_ns: IntArray) -> int | None:
    """Return the usual clock nearest to that of the timestamps; None if they do not advance."""
    elapsed_s = s_from_ns(int(time_ns[-1] - time_ns[0]))
    ticks = int(steps.sum())
    if elapsed_s <= 0 or ticks <= 0:
        return None
    return int(_CLOCKS_HZ[int(np.argmin(np.abs(np.log(_CLOCKS_HZ * elapsed_s / ticks))))])


def _has_frames(steps: IntArray, marker: BoolArray) -> bool:
    """Return whether packets share timestamps in frames whose last packet is marked."""
    ends = np.concatenate((steps != 0, [True]))
    frames = int(np.count_nonzero(ends))
    marked = int(np.count_nonzero(marker & ends))
    return steps.size + 1 >= _PACKETS_PER_FRAME * frames and marked >= _MARKED_SHARE * frames
