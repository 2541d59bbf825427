"""Logs of MGEN: what a sender (``txlog``) and a receiver wrote about each packet."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.capture.traces.log_records import read_log
from trafficgen.capture.traces.tables import Columns, Ends
from trafficgen.capture.traces.text import IGNORED, matches, parse_clock
from trafficgen.capture.traces.trace_format import Reading, TraceFormat, any_line
from trafficgen.tables.protocols import documentation_server
from trafficgen.units import BoolArray, IntArray

_PACKET = (
    r"^(?P<time>[0-9:.]+) (?P<event>SEND|RECV) (?:proto>(?P<protocol>UDP|TCP)"
    r" )?flow>(?P<flow>[0-9]{1,10}) "
    r"seq>(?P<sequence>[0-9]{1,9}) (?:frag>\S+ )?(?:TOS>\S+ )?"
    r"(?:srcPort>(?P<source_port>[0-9]{1,5})"
    r"|src>(?P<source>[0-9a-fA-F.:]+)/(?P<source_port_too>[0-9]{1,5})) "
    r"dst>(?P<destination>[0-9a-fA-F.:]+)/(?P<port>[0-9]{1,5}) "
    r"(?:sent>(?P<sent>[0-9:.]+) )?size>(?P<size>[0-9]{1,9})\b"
)
#: Comments, and lines about other things than packets: START, STOP, LISTEN, ON, OFF, ...
_OTHER = rf"{IGNORED}|^[0-9:.]+ (?:[A-QT-Z][A-Z]*|RECONNECT|REPORT|RERR|S[HT][A-Z]+)\b"
#: A receiver of many flows begins with a line for each port on which it listens.
_SEEN = (
    r"^[0-9:.]+ (?:(?:SEND|RECV) .*flow>[0-9]+ .*seq>[0-9]+ "
    r"|LISTEN proto>|START Mgen Version )"
)


def read_mgen(reading: Reading) -> Columns:
    """Return the packets of an MGEN log: of its sender, of its receiver, or of both in one file.

    The time of a packet is that of its sending. With lines of the receiver its arrival is known;
    packets that have only a line of the sender are then lost.

    Raises:
        PacketTableError: If no line about a packet is readable.

    Source: logs that MGEN 5.02b writes.
    """
    found = reading.match(_PACKET, ignored=_OTHER)
    logged_ns, known, reading.of_day = parse_clock(found.groups["time"])
    received = matches(found.groups["event"], "RECV")
    sent_ns, sent_known, _ = parse_clock(
        pc.if_else(pa.array(received), found.groups["sent"], found.groups["time"])
    )
    return read_log(
        reading,
        found,
        _flows(found.groups, received),
        sent_ns=sent_ns,
        received_ns=logged_ns,
        known=known & sent_known,
        arrived=received,
        in_order_of_sending=False,
    )


def _flows(groups: dict[str, pa.Array], received: BoolArray) -> tuple[IntArray, tuple[Ends, ...]]:
    """Return the flow of each line, shape (n,), and the ends of each.

    A sender's log does not know its own address. Where there is one, the address comes from lines
    of the receiver with the same ports; without one, receivers' lines from several senders stay
    apart.
    """
    source_port = pc.if_else(
        pc.equal(groups["source_port"], ""), groups["source_port_too"], groups["source_port"]
    )
    parts = [groups["protocol"], source_port, groups["destination"], groups["port"]]
    if received.all():
        parts.append(groups["source"])
    encoded = pc.binary_join_element_wise(*parts, " ").dictionary_encode()
    flow = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    rows = np.flatnonzero(received)
    flows_received, first = np.unique(flow[rows], return_index=True)
    sources = groups["source"].take(pa.array(rows[first])).to_pylist()
    addresses = dict(zip(flows_received.tolist(), sources, strict=True))
    ends = []
    for number, text in enumerate(encoded.dictionary.to_pylist()):
        protocol, port, destination, destination_port = text.split(" ")[:4]
        ends.append(
            Ends(
                protocol=(protocol or "UDP").lower(),
                server=addresses.get(number) or documentation_server(ipv6=":" in destination),
                server_port=int(port),
                client=destination,
                client_port=int(destination_port),
            )
        )
    return flow, tuple(ends)


FORMAT = TraceFormat(
    name="mgen",
    description="Log of MGEN, of the sender (txlog), the receiver or both in one file.",
    looks_like=any_line(_SEEN),
    read=read_mgen,
    place=2,
    line="line of a packet in an MGEN log",
    remedy="give the log of mgen (for the sender with txlog), as text",
)
