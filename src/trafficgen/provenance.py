"""Where a result comes from: versions, seed and digests of the inputs of a run."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

DISTRIBUTION = "trafficgen-streaming"
_READ_BYTES = 1 << 20


def software_version() -> str:
    """Return the version of trafficgen that is installed."""
    return metadata.version(DISTRIBUTION)


def file_digest(path: Path) -> str:
    """Return ``sha256:`` and the digest of a file's bytes, read in bounded memory."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_READ_BYTES):
            digest.update(block)
    return f"sha256:{digest.hexdigest()}"


def run_date() -> str:
    """Return today's date (UTC, ISO 8601), or that of ``SOURCE_DATE_EPOCH`` for reproducible
    outputs.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = (
        datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
        if epoch
        else datetime.datetime.now(datetime.UTC)
    )
    return now.date().isoformat()


def combined_digest(digests: Iterable[str]) -> str:
    """Return one SHA-256 for many files: that of their digests, sorted, a line each."""
    lines = "".join(digest + "\n" for digest in sorted(digests))
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"
