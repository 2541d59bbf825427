"""Names that others give to the columns of packet lists, and what each holds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from trafficgen.capture.traces.options import SizeKind

#: Powers of ten that make nanoseconds of a unit.
_S, _MS, _US, _NS = 9, 6, 3, 0
#: Names of times, and the power of ten that makes ns of their unit; None: the values decide.
#: Like all names here they are separated by spaces, and those that come first count first.
_TIMES: tuple[tuple[int | None, str], ...] = (
    (_S, "time_s timestamp_s t_s ts_s seconds time_sec time_seconds unix_time_s"),
    (_MS, "time_ms timestamp_ms t_ms ts_ms milliseconds epoch_ms"),
    (_US, "time_us timestamp_us t_us ts_us microseconds epoch_us"),
    (_NS, "time_ns timestamp_ns t_ns ts_ns nanoseconds epoch_ns"),
    (_S, "frame.time_relative frame.time_epoch rel_time relative_time _ws.col.rel_time"),
    (None, "time timestamp ts t epoch datetime date_time packet_time _ws.col.time"),
)
#: Names of sizes that say what they are of.
_SIZES: dict[SizeKind, str] = {
    "ip": "ip_bytes ip_length ip_len ip.len ip_size iplen total_length",
    "frame": (
        "frame_bytes frame_length frame_len frame.len frame_size wire_bytes wire_len orig_len "
        "_ws.col.length _ws.col.packet_length"
    ),
    "payload": (
        "payload_bytes payload_length payload_len payload_size payload data.len tcp.len udp_payload"
    ),
}
#: Names of sizes that do not say it.
_UNCLEAR_SIZES = (
    "size length len bytes packet_size packet_length packet_len packet_bytes pkt_size pkt_len "
    "pkt_length pktsize pktlen size_bytes length_bytes"
)
#: Names of everything else that a list may have.
_OTHERS = {
    "to_client": "to_client",
    "direction": "direction dir way",
    "protocol": "protocol proto ip.proto ip_proto _ws.col.protocol transport",
    "udp_length": "udp.length",
    "tcp_length": "tcp.len",
    "flow": "flow flow_id flowid stream stream_id udp.stream tcp.stream connection conn",
    "source": (
        "source src src_ip ip.src ip_src srcip source_ip src_addr source_address saddr "
        "_ws.col.unres_src _ws.col.def_src _ws.col.source"
    ),
    "destination": (
        "destination dst dst_ip ip.dst ip_dst dstip destination_ip dst_addr dest "
        "destination_address daddr dest_ip _ws.col.unres_dst _ws.col.def_dst "
        "_ws.col.destination"
    ),
    "source_v6": "ipv6.src",
    "destination_v6": "ipv6.dst",
    "server": "server server_ip",
    "client": "client client_ip",
    "server_port": "server_port",
    "client_port": "client_port",
    "source_port": "source_port src_port sport srcport",
    "source_port_udp": "udp.srcport",
    "source_port_tcp": "tcp.srcport",
    "destination_port": "destination_port dst_port dport dstport dest_port",
    "destination_port_udp": "udp.dstport",
    "destination_port_tcp": "tcp.dstport",
    "arrival": "arrival_s arrival_ns arrival_ms arrival_us arrival_time rx_time receive_time",
    "rtp_ssrc": "rtp_ssrc rtp.ssrc ssrc",
    "rtp_sequence": "rtp_sequence rtp.seq rtp_seq",
    "rtp_timestamp": "rtp_timestamp rtp.timestamp",
    "rtp_marker": "rtp_marker rtp.marker",
}
#: Names of columns that look like what is needed and are not -> what to give in their place.
NEAR_MISSES: dict[str, str] = {
    "rate_per_s": (
        "this is a curve of arrival rates: give it to generate as [--arrivals rates:FILE], or to a"
        " workload file as arrivals: rates:FILE"
    ),
    **dict.fromkeys(
        ("frame.time", "_ws.col.abs_time", "_ws.col.utc_time"),
        "let tshark write the time as a number: -e frame.time_epoch",
    ),
    **dict.fromkeys(
        (
            "frame.time_delta",
            "frame.time_delta_displayed",
            "_ws.col.delta_time",
            "_ws.col.delta_time_dis",
        ),
        "let tshark write times, not gaps: -e frame.time_epoch",
    ),
    **dict.fromkeys(
        ("frame.time_epoch", "frame.time_relative", "_ws.col.time", "_ws.col.rel_time"),
        "let tshark write a size too: -e ip.len, -e frame.len or -e udp.length",
    ),
}
#: Longest part of a name that is looked at: an untrusted header may be one name of megabytes.
_LONGEST_NAME = 200
_UNITS = {"s": _S, "ms": _MS, "us": _US, "ns": _NS}


@dataclass(frozen=True)
class ListColumns:
    """Which columns of a list hold what, by their own names.

    Attributes:
        time_digits: Power of ten that makes ns of it; None: the values decide.
        sizes: Size columns by what they are of.
        unclear_size: A size that does not say what it is of.
        udp_length: Lengths of UDP datagrams with their headers, where nothing better says the sizes
            of packets.
        others: Columns for the keys of ``_OTHERS``.
        unused: Columns that mean nothing here.
    """

    time: str
    time_digits: int | None
    sizes: dict[SizeKind, str]
    unclear_size: str | None
    udp_length: str | None
    others: dict[str, str]
    unused: tuple[str, ...]


def plain_name(name: str) -> str:
    """Return a column's name as the tables here have it: ``"Time (s)"`` is ``time_s``."""
    text = name.strip().strip("\"'").strip().lower()
    text = " ".join(text[:_LONGEST_NAME].split())
    text = re.sub(r" ?[\[(] ?(?:in )?([a-zµ]+) ?[\])]$", r"_\1", text).replace("µs", "us")
    return re.sub(r"[ -]+", "_", text)


def list_columns(names: Iterable[str]) -> ListColumns | None:
    """Return what columns hold; None where there is no time or no size."""
    by_plain: dict[str, str] = {}
    for name in names:
        by_plain.setdefault(plain_name(name), name)

    def first(known: str) -> str | None:
        return next((name for name in known.split() if name in by_plain), None)

    times = {name: digits for digits, names in _TIMES for name in names.split()}
    time = next((name for name in times if name in by_plain), None)
    sizes = {kind: by_plain[found] for kind, names in _SIZES.items() if (found := first(names))}
    unclear = first(_UNCLEAR_SIZES)
    others = {role: by_plain[found] for role, names in _OTHERS.items() if (found := first(names))}
    if unclear == "length" and not sizes and {"source", "destination", "protocol"} <= set(by_plain):
        sizes["frame"], unclear = by_plain["length"], None  # Wireshark's export
    udp_length = None
    if not ({"ip", "frame"} & set(sizes) or unclear):
        udp_length = by_plain.get("udp.length")
    if time is None or not (sizes or unclear or udp_length):
        return None
    if not {"server", "client"} <= others.keys() or not others.keys() & {"direction", "to_client"}:
        for role in ("server", "client", "server_port", "client_port"):
            others.pop(role, None)
    used = {by_plain[time], *sizes.values(), *others.values()} | (
        {by_plain[unclear]} if unclear else set()
    )
    return ListColumns(
        time=by_plain[time],
        time_digits=times[time],
        sizes=sizes,
        unclear_size=by_plain[unclear] if unclear else None,
        udp_length=udp_length,
        others=others,
        unused=tuple(name for name in by_plain.values() if name not in used),
    )


def arrival_digits(name: str) -> int | None:
    """Return the power of ten that makes ns of an arrival column; None without a unit."""
    return _UNITS.get(plain_name(name).rpartition("_")[2])
