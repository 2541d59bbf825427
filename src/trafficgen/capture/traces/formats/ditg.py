"""Logs of D-ITG: the text that ITGDec makes of the log of ITGSend or ITGRecv."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.capture.traces.frames import number_rows
from trafficgen.capture.traces.lines import any_line, match_lines
from trafficgen.capture.traces.log_records import LogRecords, header_note, read_log, usable_lines
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.tables import Ends
from trafficgen.capture.traces.text import TextFile, add_days, parse_clock
from trafficgen.capture.traces.trace_format import Notes, ReadTrace, TraceFormat, nothing_readable
from trafficgen.units import BoolArray, IntArray

_PACKET = (
    r"^Flow>\s*(?P<flow>[0-9]{1,9})\s+Seq>\s*(?P<sequence>[0-9]{1,9})\s+"
    r"Src>\s*(?P<source>[0-9a-fA-F.:]+)/(?P<source_port>[0-9]{1,5})\s+"
    r"Dest>\s*(?P<destination>[0-9a-fA-F.:]+)/(?P<port>[0-9]{1,5})\s+"
    r"txTime>\s*(?P<sent>[0-9:.]+)\s+rxTime>\s*(?P<received>[0-9:.]+)\s+Size>\s*(?P<size>[0-9]{1,9})\s*$"
)
_SEEN = r"^Flow>\s*[0-9]+\s+Seq>\s*[0-9]+\s"
_WHAT = "line of a packet in a D-ITG log"
_REMEDY = "give what `ITGDec LOG -l TEXT` writes"


def read_ditg(file: TextFile, options: TraceOptions) -> ReadTrace:
    """Return the packets of a decoded D-ITG log of the receiver, the sender, or both in one file.

    The sender's log repeats the time of sending as that of reception: its packets have no arrival.
    The log names no protocol; UDP is assumed where none is given.

    Raises:
        PacketTableError: If no line is readable.

    Source: what ITGDec 2.8.1 writes.
    """
    notes = Notes(assumptions=[header_note()])
    if options.protocol is None:
        notes.doubts.append(
            "the log names no protocol and was taken for one of UDP; of TCP, convert it with"
            " --protocol tcp"
        )
    found, unread = match_lines(file, _PACKET, what=_WHAT, remedy=_REMEDY)
    sent_ns, sent_known, of_day = parse_clock(found.groups["sent"])
    received_ns, known, _ = parse_clock(found.groups["received"])
    flow, ends = _flows(found.groups, protocol=options.protocol or "udp")
    usable = usable_lines(found, flow, ends, sent_known & known)
    if not usable.any():
        raise nothing_readable(file, _WHAT, _REMEDY)
    arrived = _arrived(
        sent_ns != received_ns, flow, found.integers("flow"), found.integers("sequence")
    )
    if of_day:
        sent_ns[usable] = add_days(sent_ns[usable])
        received_ns = add_days(received_ns, near_ns=sent_ns)
    records = LogRecords(
        flow=flow,
        number=found.integers("flow"),
        sequence=found.integers("sequence"),
        sent_ns=sent_ns,
        size_bytes=found.integers("size"),
        arrival_ns=np.where(arrived, received_ns, 0),
        arrived=arrived,
        ends=ends,
    ).take(usable)
    unread.bad[found.rows[~usable]] = True
    return read_log(file, FORMAT.name, records, unread=unread, notes=notes, of_day=of_day)


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
        ends.append(
            Ends(
                protocol,
                server=source,
                server_port=int(source_port),
                client=destination,
                client_port=int(port),
            )
        )
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
    takes=("protocol",),
)
