"""Describe the headers of a flow: transport, ports, header length, RTP clock and timestamps."""

from __future__ import annotations

from typing import Literal

import numpy as np

from trafficgen._core import CLOCK_CANDIDATES_HZ
from trafficgen.errors import CalibrationError
from trafficgen.models import Estimate, RtpFormat, Transport, smallest_header_bytes
from trafficgen.tables import PacketTable
from trafficgen.units import BoolArray, IntArray, s_from_ns

#: Clocks of RTP payload formats in use, Hz: those that the core measures with.
_CLOCKS_HZ = np.array(CLOCK_CANDIDATES_HZ)
_TIMESTAMPS = 1 << 32
#: Packets of a stream share timestamps in frames if this share of the frames ends with a marker,
_MARKED_SHARE = 0.8
#: and a frame has this many packets on average; with fewer, frames are packets.
_PACKETS_PER_FRAME = 1.05


def describe_transport(table: PacketTable, media: BoolArray, *, flow: int) -> Transport:
    """Describe the transport of one flow.

    Args:
        table: Packets in order of time.
        media: Which of them are the flow's media packets, shape (n,), at least one.
        flow: Number of the flow.

    Raises:
        CalibrationError: If the flow is neither UDP nor TCP.
    """
    (row,) = [entry for entry in table.flows.to_pylist() if entry["flow"] == flow]
    if row["protocol"] not in ("udp", "tcp"):
        raise CalibrationError(f"flow {flow} is {row['protocol']}; only UDP and TCP can be fitted")
    header_bytes = (table.ip_bytes - table.payload_bytes)[media]
    protocol: Literal["udp", "tcp"] = row["protocol"]
    ip_version: Literal[4, 6] = 6 if ":" in row["server"] else 4
    smallest = smallest_header_bytes(protocol, ip_version=ip_version)
    return Transport(
        protocol=protocol,
        ip_version=ip_version,
        server_port=row["server_port"],
        client_port=row["client_port"],
        header_bytes=max(smallest, int(np.bincount(np.maximum(header_bytes, 0)).argmax())),
        rtp=_rtp_format(table, media, payload_type=row["payload_type"], clock_hz=row["clock_hz"]),
    )


def _rtp_format(
    table: PacketTable, media: BoolArray, *, payload_type: int | None, clock_hz: int | None
) -> RtpFormat | None:
    """Return the RTP format of the flow's main source; None if it is not RTP."""
    rows = np.flatnonzero(media & table.is_known("rtp_timestamp"))
    if rows.size < 2 or payload_type is None:
        return None
    ssrc = table.values("rtp_ssrc").astype(np.int64)[rows]
    sources, counts = np.unique(ssrc, return_counts=True)
    rows = rows[ssrc == sources[int(counts.argmax())]]
    timestamp = table.values("rtp_timestamp").astype(np.int64)[rows]
    steps = (np.diff(timestamp) + _TIMESTAMPS // 2) % _TIMESTAMPS - _TIMESTAMPS // 2
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
        frame_per_burst=_framed(steps, marker),
    )


def _clock_hz(steps: IntArray, time_ns: IntArray) -> int | None:
    """Return the usual clock nearest to that of the timestamps; None if they do not advance."""
    elapsed_s = s_from_ns(int(time_ns[-1] - time_ns[0]))
    ticks = int(steps.sum())
    if elapsed_s <= 0 or ticks <= 0:
        return None
    return int(_CLOCKS_HZ[int(np.argmin(np.abs(np.log(_CLOCKS_HZ * elapsed_s / ticks))))])


def _framed(steps: IntArray, marker: BoolArray) -> bool:
    """Return whether packets share timestamps in frames whose last packet is marked."""
    ends = np.concatenate((steps != 0, [True]))
    frames = int(np.count_nonzero(ends))
    marked = int(np.count_nonzero(marker & ends))
    return steps.size + 1 >= _PACKETS_PER_FRAME * frames and marked >= _MARKED_SHARE * frames
