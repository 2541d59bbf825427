"""Captures that tell much, and what is in them."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from tests.privacy import telling
from tests.privacy.telling import Secrets

#: Enough for a fit of a session that has begun: 15 s of RTSP, 3 s of HTTP.
_RECORDS = 500
CAPTURES = Path(__file__).resolve().parents[2] / "examples" / "captures"


@pytest.fixture(scope="session")
def telling_capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped RTSP session in a pcapng file that tells all that such files can tell, under a
    telling name.
    """
    return _telling(tmp_path_factory, "rtsp_rtp_two_streams.pcap.gz")


@pytest.fixture(scope="session")
def telling_download(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped HTTP session, likewise."""
    return _telling(tmp_path_factory, "http_burst_then_paced.pcap.gz")


def _telling(tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    path = tmp_path_factory.mktemp("telling") / telling.FILE_NAME
    path.write_bytes(telling.telling_pcapng(islice(telling.records(CAPTURES / name), _RECORDS)))
    return path


@pytest.fixture(scope="session")
def secrets() -> Secrets:
    """What the shipped captures and the telling one tell."""
    found = Secrets()
    for path in sorted(CAPTURES.glob("*.pcap.gz")):
        one = telling.secrets_of(frame for _, frame in telling.records(path))
        found = Secrets(
            found.texts | one.texts, found.octets | one.octets, found.payloads | one.payloads
        )
    found.texts |= {
        *telling.PLANTED,
        *telling.NAMES,
        telling.CARD_ADDRESS.hex(":"),
        telling.CARD_ADDRESS.hex(),
    }
    found.octets.add(telling.CARD_ADDRESS)
    return found
