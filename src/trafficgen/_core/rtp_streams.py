"""RTP streams out of the core's columns, one after another: there may be millions."""

from __future__ import annotations

from collections.abc import Iterator

from trafficgen._core._rust import CLOCK_CANDIDATES_HZ
from trafficgen._core.types import RtpStreamColumns, RtpStreamDict


def each_stream(columns: RtpStreamColumns) -> Iterator[tuple[int, RtpStreamDict]]:
    """Yield the RTP streams, each with the index of its flow."""
    for row in range(len(columns["flow"])):
        jitter_s: list[float] = columns["jitter_s"][row].tolist()
        stream: RtpStreamDict = {
            "ssrc": int(columns["ssrc"][row]),
            "payload_type": int(columns["payload_type"][row]),
            "from_initiator": bool(columns["from_initiator"][row]),
            "packets": int(columns["packets"][row]),
            "payload_bytes": int(columns["payload_bytes"][row]),
            "same_timestamp": int(columns["same_timestamp"][row]),
            "span_ns": int(columns["span_ns"][row]),
            "expected": int(columns["expected"][row]),
            "lost": int(columns["lost"][row]),
            "reordered": int(columns["reordered"][row]),
            "duplicates": int(columns["duplicates"][row]),
            "measured_clock_hz": int(columns["measured_clock_hz"][row]) or None,
            "jitter_s": dict(zip(CLOCK_CANDIDATES_HZ, jitter_s, strict=True)),
        }
        yield int(columns["flow"][row]), stream
