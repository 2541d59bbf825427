"""Column schemas of packets, flows and signalling, which every other part of trafficgen shares."""

from trafficgen.tables.counts import FlowRates, RateCurve, average_parts
from trafficgen.tables.flow import (
    FLOW_SCHEMA,
    MEDIA,
    RTCP_SCHEMA,
    SIGNALLING_SCHEMA,
    RtpStreamCount,
)
from trafficgen.tables.packet import (
    OPTIONAL_FIELDS,
    PACKET_SCHEMA,
    PHASES,
    REQUIRED_FIELDS,
    PacketTable,
    check_columns,
    compact_ip_bytes,
)
from trafficgen.units import DEFAULT_ORIGIN_NS

__all__ = [
    "DEFAULT_ORIGIN_NS",
    "FLOW_SCHEMA",
    "MEDIA",
    "OPTIONAL_FIELDS",
    "PACKET_SCHEMA",
    "PHASES",
    "REQUIRED_FIELDS",
    "RTCP_SCHEMA",
    "SIGNALLING_SCHEMA",
    "FlowRates",
    "PacketTable",
    "RateCurve",
    "RtpStreamCount",
    "average_parts",
    "check_columns",
    "compact_ip_bytes",
]
