"""Packets of a UDP flow: the client's opening packet and the media."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trafficgen.generation.columns import FlowColumns
from trafficgen.generation.media import MediaPackets
from trafficgen.models import Transport
from trafficgen.tables import PHASES

#: A player sends a little something first, so that address translators on the way let the media in.
_OPENING_PAYLOAD_BYTES = 4


def udp_opening(transport: Transport, *, time_ns: int) -> FlowColumns:
    """Return the small packet with which the client opens the way for the media."""
    return FlowColumns(
        time_ns=np.array([time_ns], dtype=np.int64),
        to_client=False,
        ip_bytes=np.array([transport.header_bytes + _OPENING_PAYLOAD_BYTES], dtype=np.uint32),
        payload_bytes=np.array([_OPENING_PAYLOAD_BYTES], dtype=np.uint32),
        phase=np.array([PHASES.index("signalling")], dtype=np.int8),
    )


def udp_media(
    transport: Transport, media: MediaPackets, *, headers: dict[str, npt.NDArray[np.generic]]
) -> FlowColumns:
    """Return the media packets with the RTP columns in ``headers``, if any."""
    return FlowColumns(
        time_ns=media.time_ns,
        to_client=True,
        ip_bytes=media.ip_bytes,
        payload_bytes=media.ip_bytes - np.uint32(transport.header_bytes),
        phase=media.phase,
        headers=headers,
    )
