"""Provenance of a result: version, date, and digests of the inputs."""

from __future__ import annotations

import datetime
import hashlib
import os
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

DISTRIBUTION = "trafficgen-streaming"


@cache
def software_version() -> str:
    """Return the version of trafficgen that is installed."""
    from importlib.metadata import version  # noqa: PLC0415 - most commands need none

    return version(DISTRIBUTION)


def file_digest(path: Path) -> str:
    """Return ``sha256:`` and the digest of a file's bytes, read in bounded memory.

    A folder of packets has that of its files together.
    """
    if path.is_dir():
        return combine_digests(map(file_digest, path.iterdir()))
    with path.open("rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def run_date() -> str:
    """Return today's date (UTC, ISO 8601), or that of ``SOURCE_DATE_EPOCH``."""
    epoch = float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    return datetime.datetime.fromtimestamp(epoch, datetime.UTC).date().isoformat()


def combine_digests(digests: Iterable[str]) -> str:
    """Return one SHA-256 for many files: that of their sorted digests, one a line."""
    lines = "".join(digest + "\n" for digest in sorted(digests))
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"
