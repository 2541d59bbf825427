"""Protocol numbers of the IP header by the names that flow tables use (IANA registry of protocol
numbers).
"""

from __future__ import annotations

from trafficgen.capture.protocols import protocol_name

#: Reserved for experiments by RFC 3692: stands for protocols whose number is not known.
EXPERIMENTAL_PROTOCOL = 253
NOT_IP = "non-ip"

_NUMBERS = {protocol_name(number): number for number in range(256)}


def protocol_number(name: str) -> int | None:
    """Return the number of a protocol such as ``"udp"`` or ``"ip-77"``; 253 if unknown, ``None`` if
    it is not IP.

    It is the inverse of :func:`trafficgen.capture.protocols.protocol_name`.
    """
    return None if name == NOT_IP else _NUMBERS.get(name.lower(), EXPERIMENTAL_PROTOCOL)
