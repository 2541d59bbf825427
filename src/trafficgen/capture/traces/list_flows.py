"""Flows, ends and directions of a packet list, from the columns that it has."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.capture.traces.frames import number_rows
from trafficgen.capture.traces.tables import Ends, ip_version, make_ends
from trafficgen.capture.traces.text import mask_of
from trafficgen.capture.traces.trace_format import Reading
from trafficgen.tables.protocols import protocol_name
from trafficgen.units import BoolArray, IntArray

#: Words for directions, separated by spaces.
_TO_CLIENT = (
    "down downlink downstream download dl in incoming ingress rx received s2c server_to_client "
    "to_client -1"
)
_TO_SERVER = (
    "up uplink upstream upload ul out outgoing egress tx sent c2s client_to_server to_server 1 +1"
)
_TRUE, _FALSE = "true 1 yes t", "false 0 no f"
#: Names that Wireshark shows for what travels in TCP.
_OVER_TCP = "http https tls ssl rtsp rtmp ssh ftp smtp websocket http2"
#: Columns of the ends of flows, whichever sends a packet.
_ROLES = ("server", "client", "server_port", "client_port")
_HIGHEST_PORT = (1 << 16) - 1

#: Columns of a list as texts, without nulls.
Texts = dict[str, pa.Array]


@dataclass(frozen=True)
class ListFlows:
    """Flows of a list.

    Attributes:
        flow: Row of ``ends``, shape (n,).
    """

    flow: IntArray
    ends: tuple[Ends, ...]
    to_client: BoolArray


def list_flows(reading: Reading, texts: Texts, size_bytes: IntArray) -> ListFlows:
    """Return the flows of a list.

    With addresses, flows are 5-tuples (or what a flow column says), and the server of a flow is who
    sends more bytes. Without, a flow column and a direction column say it; a list with neither is
    one flow to the client. The reading's options may give the transport protocol of all packets.
    ``texts`` are columns by their role, and ``size_bytes`` weigh directions.

    Raises:
        PacketTableError: If a direction is not understood.
    """
    count, given = len(size_bytes), reading.options.protocol
    protocols = _protocols(reading, texts, count) if given is None else pa.array([given] * count)
    direction = _direction(reading, texts)
    if direction is not None and "to_client" not in texts:
        reading.assumptions.append("directions are the client's: down, in, rx and -1 go to it")
    if "source" in texts and "destination" in texts:
        return _of_addresses(reading, texts, protocols, direction, size_bytes)
    key = (
        pc.binary_join_element_wise(texts["flow"], protocols, "\t")
        if "flow" in texts
        else protocols
    )
    codes, keys = _encoded(key)
    ends = [
        replace(make_ends(number), protocol=key.rpartition("\t")[2])
        for number, key in enumerate(keys)
    ]
    if direction is None:
        reading.assumptions.append(
            "the list has no addresses or directions: all packets go to the client"
        )
        direction = np.ones(count, dtype=np.bool_)
    return ListFlows(codes, tuple(ends), direction)


def _of_addresses(
    reading: Reading,
    texts: Texts,
    protocol: pa.Array,
    direction: BoolArray | None,
    size_bytes: IntArray,
) -> ListFlows:
    source, destination = texts["source"], texts["destination"]
    ports = [
        _ports(texts, "source_port", len(source)),
        _ports(texts, "destination_port", len(source)),
    ]
    codes, addresses = _encoded(pa.concat_arrays([source, destination]))
    from_code, to_code = codes[: len(source)], codes[len(source) :]
    # Both directions of a 5-tuple have one key: the lower end stands first.
    from_end, to_end = from_code * (1 << 17) + ports[0], to_code * (1 << 17) + ports[1]
    forward = from_end <= to_end
    low, high = np.where(forward, from_end, to_end), np.where(forward, to_end, from_end)
    protocol_codes, protocols = _encoded(protocol)
    flow_codes = (
        _encoded(texts["flow"])[0] if "flow" in texts else np.zeros(len(low), dtype=np.int64)
    )
    flow, first = number_rows(low, high, protocol_codes, flow_codes)
    ahead = np.bincount(
        flow, weights=np.where(forward, size_bytes, -size_bytes), minlength=len(first)
    )
    if direction is None:
        low_serves = ahead > 0
        tied = ahead == 0
        low_serves[tied] = forward[first][tied]
        to_client = forward == low_serves[flow]
        reading.assumptions.append("the server of a flow is the end that sends more bytes")
    else:
        to_client = direction
        low_serves = (forward == direction)[first]
    ends = []
    for row, serves in zip(first.tolist(), low_serves.tolist(), strict=True):
        pair = (int(low[row]), int(high[row])) if serves else (int(high[row]), int(low[row]))
        (server, server_port), (client, client_port) = (divmod(end, 1 << 17) for end in pair)
        kind = protocols[int(protocol_codes[row])]
        ends.append(Ends(kind, addresses[server], server_port, addresses[client], client_port))
    return ListFlows(flow, tuple(ends), to_client)


def sources_of_roles(reading: Reading, texts: Texts) -> Texts:
    """Return columns with sources and destinations where a list has servers and clients instead.

    Names that are not addresses are left out.
    """
    result = {role: values for role, values in texts.items() if role not in _ROLES}
    if "server" not in texts or "source" in texts or "destination" in texts:
        return result
    names = {name for end in ("server", "client") for name in _encoded(texts[end])[1]}
    if any(ip_version(name) is None for name in names):
        return result
    to_client = pa.array(_direction(reading, texts))
    for end in ("", "_port"):
        if f"server{end}" in texts and f"client{end}" in texts:
            ends = texts[f"server{end}"], texts[f"client{end}"]
            result[f"source{end}"] = pc.if_else(to_client, *ends)
            result[f"destination{end}"] = pc.if_else(to_client, *reversed(ends))
    return result


def has_ends(texts: Texts, count: int) -> BoolArray:
    """Return which rows have valid addresses and ports; all do in a list without addresses."""
    if "source" not in texts or "destination" not in texts:
        return np.ones(count, dtype=np.bool_)
    codes, addresses = _encoded(pa.concat_arrays([texts["source"], texts["destination"]]))
    version = np.array([ip_version(address) or 0 for address in addresses], dtype=np.int64)[codes]
    usable = (version[:count] == version[count:]) & (version[:count] > 0)
    for role in ("source_port", "destination_port"):
        usable &= _ports(texts, role, count) <= _HIGHEST_PORT
    return np.asarray(usable, dtype=np.bool_)


def _ports(texts: Texts, role: str, count: int) -> IntArray:
    """Return the ports of an end, shape (n,): 0 without one, too high if invalid."""
    result = np.zeros(count, dtype=np.int64)
    for name in (f"{role}_tcp", f"{role}_udp", role):
        if name not in texts:
            continue
        given = mask_of(pc.not_equal(texts[name], ""))
        found = pc.extract_regex(texts[name], r"^(?P<port>[0-9]{1,5})(?:\.0*)?$")
        numbers = pc.cast(
            pc.fill_null(pc.struct_field(found, "port"), str(_HIGHEST_PORT + 1)), pa.int64()
        )
        result[given] = np.minimum(numbers.to_numpy(zero_copy_only=False), _HIGHEST_PORT + 1)[given]
    return result


def _protocols(reading: Reading, texts: Texts, count: int) -> pa.Array:
    of_columns = _transports(texts)
    unknown = None if of_columns is None else pc.equal(of_columns, "")
    if "protocol" in texts:
        named = _named(reading, texts["protocol"], unknown)
    else:
        named = pa.array(["udp"] * count)
        if of_columns is None:
            reading.assumptions.append("the list has no protocol: UDP")
    return named if of_columns is None else pc.if_else(unknown, named, of_columns)


def _transports(texts: Texts) -> pa.Array | None:
    """Return the transport whose columns (``tcp.srcport``, ``udp.length``) a row fills, or empty.

    They say more than the name of what travels in it; None where there are no such columns.
    """
    found = None
    for protocol, roles in (
        ("udp", ("source_port_udp", "udp_length")),
        ("tcp", ("source_port_tcp", "tcp_length")),
    ):
        for role in roles:
            if role in texts:
                others = pa.array([""] * len(texts[role])) if found is None else found
                found = pc.if_else(pc.equal(texts[role], ""), others, protocol)
    return found


def _named(reading: Reading, column: pa.Array, where: pa.Array | None) -> pa.Array:
    """Return the transports that a column names; guesses are noted where ``where`` is true."""
    encoded = column.dictionary_encode()
    guessed: list[str] = []
    names = [_protocol(text, guessed) for text in encoded.dictionary.to_pylist()]
    if where is not None:
        needed = set(pc.unique(column.filter(where)).to_pylist())
        guessed = [text for text in guessed if text in needed]
    if guessed:
        shown = ", ".join(sorted(guessed)[:5]) + (", ..." if len(guessed) > 5 else "")
        reading.assumptions.append(f"protocols that travel in UDP as far as is known here: {shown}")
    return pa.array(names, pa.string()).take(encoded.indices)


def _protocol(text: str, guessed: list[str]) -> str:
    name = text.strip().lower()
    if name.isascii() and name.isdigit():
        return protocol_name(min(int(name), 255)) if len(name) < 5 else "udp"
    if name in ("tcp", "udp", "icmp", "icmpv6", "sctp", "dccp", "igmp", "gre", "esp", "udplite"):
        return name
    if name in _OVER_TCP.split() or name.startswith(("tls", "ssl", "http/", "http2")):
        return "tcp"
    if name:
        guessed.append(text.strip())
    return "udp"


def _direction(reading: Reading, texts: Texts) -> BoolArray | None:
    role = next((role for role in ("to_client", "direction") if role in texts), None)
    if role is None:
        return None
    words = (_TRUE, _FALSE) if role == "to_client" else (_TO_CLIENT, _TO_SERVER)
    true, false = (text.split() for text in words)
    codes, values = _encoded(texts[role])
    meanings = []
    for value in values:
        word = value.strip().lower().replace(" ", "_").replace("-", "_" if len(value) > 2 else "-")
        word = word.removesuffix(".0")
        if word not in true and word not in false:
            remedy = (
                f"write {true[0]} or {false[0]}, or give a column to_client with true and false"
            )
            raise reading.error(f"column of the direction holds {value!r}", remedy)
        meanings.append(word in true)
    return np.array(meanings, dtype=np.bool_)[codes] if meanings else np.zeros(0, dtype=np.bool_)


def _encoded(values: pa.Array) -> tuple[IntArray, list[str]]:
    """Return the number of each text, in order of first appearance, shape (n,), and the texts."""
    encoded = values.dictionary_encode()
    return (
        encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64),
        encoded.dictionary.to_pylist(),
    )
