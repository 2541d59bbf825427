"""What the exports for simulators share: the settings of the link that they send over, and the size
of UDP.
"""

from __future__ import annotations

from collections.abc import Sequence

from trafficgen.export.flow_schedule import FlowSchedule, refuse_large
from trafficgen.export.settings import Setting

_LAST_PORT = 65_535
#: UDP payload of the largest IPv4 packet.
_LARGEST_UDP_BYTES = 65_507

NETWORK_SETTINGS = (
    Setting(
        "direction", "to_client", "Whose packets are sent.", choices=("to_client", "to_server")
    ),
    Setting(
        "first_port", 5000, "Port of the first flow; the others follow.", low=1, high=_LAST_PORT
    ),
    Setting("link_rate_kbps", 100_000, "Rate of the link, kbit/s.", low=1, high=1_000_000_000),
    Setting("link_delay_ms", 10.0, "One-way delay of the link, ms.", low=0, high=1e6),
)


def refuse_oversized_datagrams(flows: Sequence[FlowSchedule], *, target: str) -> None:
    """Refuse datagrams that UDP over IPv4 cannot carry.

    Raises:
        ExportError: If there is one.
    """
    for flow in flows:
        if flow.protocol == "udp":
            remedy = (
                "no UDP datagram over IPv4 is so large: look where the table's lengths come from"
            )
            refuse_large(flow, high_bytes=_LARGEST_UDP_BYTES, target=target, remedy=remedy)
