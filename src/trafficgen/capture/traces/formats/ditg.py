"""Logs of D-ITG: the text that ITGDec makes of the log of ITGSend or ITGRecv."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.capture.traces.frames import number_rows
from trafficgen.capture.traces.log_records import read_log
from trafficgen.capture.traces.tables import Columns, Ends
from trafficgen.capture.traces.text import parse_clock
from trafficgen.capture.traces.trace_format import Reading, TraceFormat, any_line
from trafficgen.units import BoolArray, IntArray

_PACKET = (
    r"^Flow>\s*(?P<flow>[0-9]{1,9})\s+Seq>\s*(?P<sequence>[0-9]{1,9})\s+"
    r"Src>\s*(?P<source>[0-9a-fA-F.:]+)/(?P<source_port>[0-9]{1,5})\s+"
    r"Dest>\s*(?P<destination>[0-9a-fA-F.:]+)/(?P<port>[0-9]{1,5})\s+"
    r"txTime>\s*(?P<sent>[0-9:.]+)\s+rxTime>\s*(?P<received>[0-9:.]+)\s+"
    r"Size>\s*(?P<size>[0-9]{1,9})\s*$"
)
_SEEN = r"^Flow>\s*[0-9]+\s+Seq>\s*[0-9]+\s"


def read_ditg(reading: Reading) -> Columns:
    """Return the packets of a decoded D-ITG log of the receiver, the sender, or both in one file.

    The sender's log repeats the time of sending as that of reception: its packets have no arrival.
    The log names no protocol; UDP is assumed where none is given.

    Raises:
        PacketTableError: If no line is readable.

    Source: what ITGDec 2.8.1 writes.
    """
    protocol = reading.options.protocol
    if protocol is None:
        reading.doubts.append(
            "the log names no protocol and was taken for one of UDP; of TCP, convert it with"
            " [--protocol tcp]"
        )
    found = reading.match(_PACKET)
    sent_ns, sent_known, reading.of_day = parse_clock(found.groups["sent"])
    received_ns, known, _ = parse_clock(found.groups["received"])
    flow, ends = _flows(found.groups, protocol=protocol or "udp")
    number, sequence = found.integers("flow"), found.integers("sequence")
    return read_log(
        reading,
        found,
        (flow, ends),
        sent_ns=sent_ns,
        received_ns=received_ns,
        known=sent_known & known,
        arrived=_arrived(sent_ns != received_ns, flow, number, sequence),
        in_order_of_sending=True,
    )


def _arrived(delayed: BoolArray, flow: IntArray, number: IntArray, sequence: IntArray) -> BoolArray:
    """Return which lines are the receiver's, shape (n,), from those whose two times differ.

    Lines with equal times are the sender's where packets have two lines or no packet has a delay;
    otherwise the file is a receiver's log, and such packets came within its microsecond.
    """
    two_lines = len(number_rows(flow, number, sequence)[1]) < len(flow)
    return delayed if two_lines or not delayed.any() else np.ones_like(delayed)


def _flows(groups: dict[str, pa.Array], *, protocol: str) -> tuple[IntArray, tuple[Ends, ...]]:
    """Return the flow of each line, shape (n,), and the ends of each, by addresses and ports."""
    names = ("source", "source_port", "destination", "port")
    encoded = pc.binary_join_element_wise(
        *(groups[name] for name in names), " "
    ).dictionary_encode()
    ends = []
    for text in encoded.dictionary.to_pylist():
        source, source_port, destination, port = text.split(" ")
        ends.append(Ends(protocol, source, int(source_port), destination, int(port)))
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), tuple(ends)


FORMAT = TraceFormat(
    name="ditg",
    description=(
        "Log of D-ITG as text (`ITGDec LOG -l TEXT`), of the receiver, the sender or both in one"
        " file."
    ),
    looks_like=any_line(_SEEN),
    read=read_ditg,
    place=3,
    line="line of a packet in a D-ITG log",
    remedy="give what `ITGDec LOG -l TEXT` writes",
    takes=("protocol",),
)
