"""Columns of packet lists by their names: times, sizes, arrivals and RTP headers."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.capture.traces.list_flows import Texts
from trafficgen.capture.traces.options import SizeKind
from trafficgen.capture.traces.tables import UDP_HEADER_BYTES
from trafficgen.capture.traces.text import mask_of, matches, parse_decimals, parse_integers
from trafficgen.capture.traces.trace_format import LARGEST_PACKET_BYTES, Reading
from trafficgen.formatting import format_count
from trafficgen.units import ETHERNET_HEADER_BYTES, BoolArray, IntArray, s_from_ns

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


_SECONDS_DIGITS = 9
#: Decimals of a size that show that it is not a whole number.
_FRACTION_DIGITS = 6
#: Times without a unit in their name: from this size on they can only be ns, us, ms since 1970.
_EPOCHS = ((1e17, 0), (1e14, 3), (1e11, 6))
#: A list of seconds that goes on for longer is more likely one of another unit: eleven days.
_LONG_S = 1e6
#: Name of the column that is made of the lengths of UDP datagrams and payloads.
_ANY_PAYLOAD = "udp.length less the header"
_ZONE = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
_DATE = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}["
    rf" T](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{{1,9}})?{_ZONE}?$"
)
#: Years that nanoseconds since 1970 reach in 64 bits, with a margin.
_YEARS = (1700, 2250)


def list_times(reading: Reading, texts: Texts, wanted: ListColumns) -> tuple[IntArray, BoolArray]:
    """Return times in ns and which could be read, shape (n,) each."""
    values, digits, name = texts[wanted.time], wanted.time_digits, wanted.time
    if digits is not None:
        return parse_decimals(values, digits)
    time_ns, known = parse_decimals(values, 0)
    if not known.any():
        return _dates(values)
    typical = float(np.median(np.abs(time_ns[known])))
    digits = next((digits for least, digits in _EPOCHS if typical >= least), _SECONDS_DIGITS)
    if digits != _SECONDS_DIGITS:
        unit = {0: "ns", 3: "us", 6: "ms"}[digits]
        reading.assumptions.append(f"column {name} counts {unit} since 1970, by its size")
    time_ns, known = parse_decimals(values, digits)
    if (
        known.any()
        and (length_s := s_from_ns(int(time_ns[known].max()) - int(time_ns[known].min()))) > _LONG_S
    ):
        reading.doubts.append(
            f"column {name} was taken for seconds, so the list lasts {length_s:.4g} s; if it has"
            " another unit, name it time_ms, time_us or time_ns"
        )
    return time_ns, known


def _dates(values: pa.Array) -> tuple[IntArray, BoolArray]:
    """Return dates with times of day (ISO 8601) in ns since 1970, UTC where they name no zone."""
    known = matches(values, _DATE)
    days = pc.utf8_slice_codeunits(values, 0, 10).dictionary_encode()
    real = np.array([_is_day(day) for day in days.dictionary.to_pylist()], dtype=np.bool_)
    known &= real[days.indices.to_numpy(zero_copy_only=False)]
    time_ns = np.zeros(len(values), dtype=np.int64)
    zone = matches(values, f"{_ZONE}$")
    for rows, kind in (
        (known & zone, pa.timestamp("ns", "UTC")),
        (known & ~zone, pa.timestamp("ns")),
    ):
        read = values.filter(pa.array(rows)).cast(kind).cast(pa.int64())
        time_ns[rows] = read.to_numpy(zero_copy_only=False)
    return time_ns, known


def _is_day(text: str) -> bool:
    try:
        return _YEARS[0] <= datetime.date.fromisoformat(text).year <= _YEARS[1]
    except ValueError:
        return False


@dataclass(frozen=True)
class Sizes:
    """Sizes of packets by what they are of; a row may have some of them.

    Attributes:
        size_bytes: Sizes, bytes, shape (n,) each; 0 where not known.
        known: Where they are known, shape (n,) each.
    """

    size_bytes: dict[SizeKind, IntArray]
    known: dict[SizeKind, BoolArray]

    def select(self, rows: BoolArray) -> Sizes:
        """Return the sizes where ``rows``, shape (n,), is true."""
        return Sizes(
            {kind: values[rows] for kind, values in self.size_bytes.items()},
            {kind: known[rows] for kind, known in self.known.items()},
        )

    def any_bytes(self) -> IntArray:
        """Return one of the sizes of each packet, bytes, shape (n,), to weigh directions with."""
        result: IntArray = np.maximum.reduce(list(self.size_bytes.values()))
        return result

    def lengths(
        self, reading: Reading, header_bytes: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return IP length, payload and length on the wire, bytes, shape (n,) each.

        The reading notes what is assumed of headers; ``header_bytes`` are those of IP and transport
        without options, shape (n,).
        """
        count = len(header_bytes)
        nothing, never = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
        ip, frame, payload = (
            self.size_bytes.get(kind, nothing) for kind in ("ip", "frame", "payload")
        )
        has_ip, has_frame, has_payload = (
            self.known.get(kind, never) for kind in ("ip", "frame", "payload")
        )
        of_frame = np.maximum(frame - ETHERNET_HEADER_BYTES, 0)
        ip_bytes = np.where(has_ip, ip, np.where(has_frame, of_frame, payload + header_bytes))
        if bool((has_frame & ~has_ip).any()):
            reading.assumptions.append(
                f"frames have an Ethernet header of {ETHERNET_HEADER_BYTES} bytes"
            )
        if bool((has_payload & ~has_ip & ~has_frame).any()):
            reading.assumptions.append("IP and transport headers have no options")
        payload_bytes = np.where(has_payload, payload, np.maximum(ip_bytes - header_bytes, 0))
        return ip_bytes, payload_bytes, np.where(has_frame, frame, ip_bytes + ETHERNET_HEADER_BYTES)


def with_udp_payload(texts: Texts, wanted: ListColumns) -> Texts:
    """Add the payload of UDP datagrams where only their length with the header is known.

    It goes where the list has no payload of its own, such as the ``tcp.len`` of other rows.
    """
    if wanted.udp_length is None:
        return texts
    length, known = parse_decimals(texts[wanted.udp_length], 0)
    payload = pa.array(np.where(known, length - UDP_HEADER_BYTES, -1)).cast(pa.string())
    payload = pc.if_else(pc.equal(texts[wanted.udp_length], ""), "", payload)
    own = wanted.sizes.get("payload")
    if own is not None:
        payload = pc.if_else(pc.equal(texts[own], ""), payload, texts[own])
    return {**texts, _ANY_PAYLOAD: payload}


def size_columns(reading: Reading, wanted: ListColumns) -> dict[SizeKind, str]:
    """Return the columns of sizes by what they are of; an unclear one is of IP packets."""
    columns: dict[SizeKind, str] = dict(wanted.sizes)
    if wanted.udp_length is not None:
        columns["payload"] = _ANY_PAYLOAD
    if (kind := reading.options.sizes) is not None:
        return {kind: columns.get(kind) or wanted.unclear_size or next(iter(columns.values()))}
    if not columns and wanted.unclear_size is not None:
        columns["ip"] = wanted.unclear_size
        remedy = "convert it with [--sizes frame] or [--sizes payload]"
        if reading.noun == "row":
            remedy = "name it frame_bytes or payload_bytes"
        reading.doubts.append(
            f"column {wanted.unclear_size} was taken for the IP length; if it is of frames on the"
            f" wire or of payloads, {remedy}"
        )
    return columns


def list_sizes(texts: Texts, columns: dict[SizeKind, str]) -> tuple[Sizes, BoolArray]:
    """Return the sizes, and which rows have at least one and none that is damaged, shape (n,)."""
    sizes, knowns = {}, {}
    given = sound = None
    for kind, name in columns.items():
        values, known = parse_decimals(texts[name], 0)
        known &= (values >= 0) & (values <= LARGEST_PACKET_BYTES)
        if pc.any(pc.match_substring(texts[name], ".")).as_py():
            known &= (
                parse_decimals(texts[name], _FRACTION_DIGITS)[0] == values * 10**_FRACTION_DIGITS
            )
        is_empty = mask_of(pc.equal(texts[name], ""))
        sizes[kind], knowns[kind] = np.where(known, values, 0), known
        given = known if given is None else given | known
        sound = known | is_empty if sound is None else sound & (known | is_empty)
    if given is None or sound is None:
        raise ValueError("a list has at least one column of sizes")
    return Sizes(sizes, knowns), given & sound


_BITS = {"rtp_ssrc": 32, "rtp_sequence": 16, "rtp_timestamp": 32}
_TYPES = {"rtp_ssrc": pa.uint32(), "rtp_sequence": pa.uint16(), "rtp_timestamp": pa.uint32()}


def arrivals(
    reading: Reading, texts: Texts, name: str | None
) -> tuple[IntArray | None, BoolArray | None]:
    """Return arrival times in ns and which packets arrived, shape (n,); None if the list has none.

    ``texts`` are columns by what they hold; ``name`` is that of the column of arrivals, which may
    say their unit, seconds otherwise.
    """
    if name is None:
        return None, None
    digits = arrival_digits(name)
    arrival_ns, arrived = parse_decimals(
        texts["arrival"], _SECONDS_DIGITS if digits is None else digits
    )
    if not arrived.any():
        return None, None
    if lost := int((~arrived).sum()):
        reading.assumptions.append(f"{format_count(lost, 'packet')} without an arrival: lost")
    return arrival_ns, arrived


def rtp_columns(texts: Texts) -> dict[str, pa.Array]:
    """Return the RTP columns of the packet table; empty without sequence numbers and timestamps."""
    if "rtp_sequence" not in texts or "rtp_timestamp" not in texts:
        return {}
    count = len(texts["rtp_sequence"])
    texts = {"rtp_ssrc": pa.array(["1"] * count), **texts}
    values, known = {}, np.ones(count, dtype=np.bool_)
    for name, bits in _BITS.items():
        values[name], usable = _unsigned(texts[name], bits)
        known &= usable
    if not known.any():
        return {}
    columns = {
        name: pa.array(numbers, _TYPES[name], mask=~known) for name, numbers in values.items()
    }
    if "rtp_marker" in texts:
        marker = pc.match_substring_regex(pc.utf8_lower(texts["rtp_marker"]), r"^(?:1|true|set)$")
        columns["rtp_marker"] = pa.array(mask_of(marker), mask=~known)
    return columns


def _unsigned(texts: pa.Array, bits: int) -> tuple[IntArray, BoolArray]:
    """Return numbers (decimal or 0x...) and which fit into this many bits, shape (n,) each."""
    if not pc.any(pc.match_substring_regex(texts, "^0[xX]")).as_py():
        found = pc.extract_regex(texts, r"^(?P<number>[0-9]{1,12})$")
        values = parse_integers(pc.fill_null(pc.struct_field(found, "number"), str(1 << bits)))
    else:
        encoded = texts.dictionary_encode()
        numbers = [_number(text, 1 << bits) for text in encoded.dictionary.to_pylist()]
        values = np.array(numbers, dtype=np.int64)[encoded.indices.to_numpy(zero_copy_only=False)]
    known = values < 1 << bits
    return np.where(known, values, 0), known


def _number(text: str, otherwise: int) -> int:
    try:
        value = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        return otherwise
    return value if 0 <= value < otherwise else otherwise
