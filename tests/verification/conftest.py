"""Other tools as judges of what we write."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.verification.records import RecordCheck


@pytest.fixture
def record_check(record_property: Callable[[str, object], None]) -> RecordCheck:
    """Note figures of a check for the page "How sure are we", which `make verification-results`
    collects them for.
    """

    def record(
        what: str,
        *,
        expected: float,
        measured: float,
        unit: str,
        accepted: str,
        printed: float | None = None,
    ) -> None:
        check: dict[str, object] = {
            "what": what,
            "expected": expected,
            "measured": measured,
            "unit": unit,
            "accepted": accepted,
        }
        if printed is not None:
            check["printed"] = printed
        record_property("check", json.dumps(check))

    return record


def _tshark_fields(path: Path, *fields: str, display: str | None = None) -> list[list[str]]:
    checks = [
        part for layer in ("ip", "udp", "tcp") for part in ("-o", f"{layer}.check_checksum:TRUE")
    ]
    command = ["tshark", "-n", "-r", str(path), *checks, "-d", "udp.port==5004,rtp"]
    command += [
        "-T",
        "fields",
        "-E",
        "occurrence=f",
        *(part for field in fields for part in ("-e", field)),
    ]
    command += ["-Y", display] if display else []
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [line.split("\t") for line in run.stdout.splitlines()]


@pytest.fixture
def tshark_fields() -> Callable[..., list[list[str]]]:
    """What tshark's fields say of each packet (that a display filter shows), checksums verified,
    port 5004 as RTP.
    """
    return _tshark_fields
