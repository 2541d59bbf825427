"""Find RTCP by its ports, where captures keep no payloads."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

#: Media have ports from here on: those below are services (RFC 6335).
FIRST_MEDIA_PORT = 1024
#: RTCP has at most this share of its media's bytes: it is to take a twentieth (RFC 3550, 6.2).
_RTCP_SHARE = 0.25
#: From the ports of RTP to those of its RTCP, one above at either end, in a key of a flow's ends.
_NEXT_PORTS = 0x1_0001


def find_rtcp_by_ports(flows: pa.Table) -> list[tuple[int, int]]:
    """Return the numbers of UDP flows and of their RTCP, by the ports of RFC 3550, section 11.

    RTP has an even port at both ends, its RTCP the port above at both, at the same time and with
    far fewer bytes.
    """
    udp = flows.filter(pc.equal(flows.column("protocol"), "udp"))
    if udp.num_rows == 0:
        return []
    chunks = [udp.column(end).combine_chunks() for end in ("server", "client")]
    hosts = pa.concat_arrays(chunks).dictionary_encode().indices.to_numpy().astype(np.int64)
    ports = np.concatenate([udp.column(f"{end}_port").to_numpy() for end in ("server", "client")])
    # RTCP may go the other way: the ends of a flow in an order that both flows share.
    ends = np.sort((hosts << 16 | ports).reshape(2, -1), axis=0)
    (one, other), ports = ends >> 16, ends & 0xFFFF
    pair = np.unique(one * (hosts.max() + 1) + other, return_inverse=True)[1]
    key = pair << 32 | ports[0] << 16 | ports[1]
    is_media = ((ports % 2 == 0) & (ports >= FIRST_MEDIA_PORT)).all(axis=0)
    is_media &= np.isin(key + _NEXT_PORTS, key)
    below: dict[int, list[int]] = defaultdict(list)
    for place in np.flatnonzero(is_media).tolist():
        below[int(key[place])].append(place)
    first_ns, last_ns = (udp.column(f"{which}_time_ns").to_numpy() for which in ("first", "last"))
    to_server, to_client = (
        udp.column(f"frame_bytes_to_{end}").to_numpy() for end in ("server", "client")
    )
    sizes, numbers = to_server + to_client, udp.column("flow").to_numpy()
    return [
        (int(numbers[media]), int(numbers[place]))
        for place in np.flatnonzero(np.isin(key, key[is_media] + _NEXT_PORTS)).tolist()
        for media in below[int(key[place]) - _NEXT_PORTS]
        if first_ns[media] <= last_ns[place] and first_ns[place] <= last_ns[media]
        if sizes[place] <= _RTCP_SHARE * sizes[media]
    ]
