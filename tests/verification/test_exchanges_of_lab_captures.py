"""Exchanges of recorded sessions against the logs of their servers and players."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen

CaptureFinder = Callable[[str], Path]

#: Bytes of the header of a response: in what the capture shows, not in what the log counts.
MOST_HEADER_BYTES = 400
SESSIONS = (
    *(f"lab-chunks/{name}" for name in ("abr_p1000_40", "abr_p3000_25")),
    *(f"lab-chunks/{name}" for name in ("fixed_p1000_40", "fixed_p3000_25")),
    *(f"lab-chunks/{name}" for name in ("quic_p1000_40", "quic_p3000_25")),
    *(f"lab/{name}" for name in ("dash_steps", "hls_cubic", "http_throttled", "http_unthrottled")),
)


def true_responses(truth: dict[str, Any]) -> list[tuple[float, int]]:
    """Return start (s since 1970) and bytes of each whole response, in order."""
    zero_s = truth["t0_unix_s"]
    if truth.get("server_log"):
        rows = [
            (zero_s + row["t"] - row["seconds"], row["bytes"])
            for row in truth["server_log"]
            if row["status"] in (200, 206)
        ]
    else:
        rows = [
            (zero_s + event["requested"], event["bytes"])
            for event in truth["player_log"]
            if event["event"] == "segment"
        ]
    return sorted(rows)


def match(
    found: trafficgen.Exchanges, truth: dict[str, Any], tolerance: float
) -> tuple[int, int, list[float]]:
    """Return how many responses there were and were found, and the errors of their bytes."""
    measured = found.table.to_pylist()
    free = [row for row in measured if row["kind"] != "control" and row["request_ns"] is not None]
    wanted, errors = true_responses(truth), list[float]()
    for start_s, size in wanted:
        near = [row for row in free if abs(row["request_ns"] / 1e9 - start_s) < 1.5]
        if not near:
            continue

        def distance(row: dict[str, Any], size: int = size) -> float:
            low, high = row["response_bytes"] - MOST_HEADER_BYTES, row["response_bytes"]
            return abs(size - float(min(max(size, low), high)))

        best = min(near, key=lambda row: (distance(row), row["request_ns"]))
        if distance(best) <= tolerance * size:
            free.remove(best)
            errors.append((best["response_bytes"] - size) / size)
    return len(wanted), len(errors), errors


@pytest.mark.parametrize("side", ["src", "dst"])
@pytest.mark.parametrize("name", SESSIONS)
def test_responses_are_found_with_their_bytes(
    shared_capture: CaptureFinder, name: str, side: str
) -> None:
    truth = json.loads(shared_capture(f"{name}.json").read_text())
    path = shared_capture(f"{name}-{side}.pcap")
    found = trafficgen.measure_exchanges(str(path))
    # A retransmission of QUIC is a packet like any other: before the path loses packets, there are
    # more of them, unevenly over the responses.
    lost = truth["measured"]["media_loss"] if truth["kind"] == "quic_chunks" else 0.0
    wanted, hits, errors = match(found, truth, 0.02 + 2 * lost * (side == "src"))
    large = [error for error in errors if error < MOST_HEADER_BYTES / 16_000]
    assert hits >= 0.95 * wanted, f"{hits} of {wanted}"
    assert abs(np.mean(large)) < 0.02
