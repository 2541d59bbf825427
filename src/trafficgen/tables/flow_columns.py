"""Facts of flows as columns of packets, for tables that come without a flow table."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.tables.flow import FLOW_SCHEMA, MEDIA


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_word(text: str) -> bool:
    return text.isascii() and text.replace("-", "").isalnum()


#: Columns of the flow table that packets may have too -> whether a text in one is valid.
_COLUMNS: dict[str, Callable[[str], bool]] = {
    **dict.fromkeys(("server", "client"), _is_address),
    **dict.fromkeys(("server_port", "client_port", "session"), str.isdecimal),
    "protocol": _is_word,
    "media": MEDIA.__contains__,
    **dict.fromkeys(("ssrc", "payload_type", "clock_hz"), str.isdecimal),
}
FLOW_COLUMNS_OF_PACKETS = tuple(_COLUMNS)


def append_flow_columns(packets: pa.Table, flows: pa.Table) -> pa.Table:
    """Return packets with what the flow table says of the flow of each; texts as categories."""
    row_of_flow = packets.column("flow").combine_chunks()
    for name in FLOW_COLUMNS_OF_PACKETS:
        values = flows.column(name).combine_chunks()
        if pa.types.is_string(values.type):
            values = values.dictionary_encode()
        packets = packets.append_column(name, values.take(row_of_flow))
    return packets


def first_of_flows(packets: pa.Table) -> pa.Table:
    """Return the first packet of each flow: its number and what it says of the flow."""
    wanted = [name for name in ("flow", *FLOW_COLUMNS_OF_PACKETS) if name in packets.column_names]
    flow = pc.fill_null(packets.column("flow"), 0).to_numpy()
    return packets.select(wanted).take(pa.array(np.unique(flow, return_index=True)[1]))


def set_flow_columns(flows: pa.Table, packets: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return a flow table with what the packets say of their flows.

    Of each flow, numbered from 0, the first packet counts.

    Returns:
        The flow table, and the columns that were left alone as a value in them is invalid.
    """
    firsts = first_of_flows(packets)
    rows = firsts.column("flow").to_numpy()
    left_alone = []
    for name in firsts.column_names[1:]:
        field = FLOW_SCHEMA.field(name)
        texts = firsts.column(name).cast(pa.string()).to_pylist()
        try:
            if not all(text is None or _COLUMNS[name](text) for text in texts):
                raise ValueError
            given = pa.array(texts, pa.string()).cast(field.type).to_pylist()
        except ValueError:  # pyarrow's errors of values are kinds of it
            left_alone.append(name)
            continue
        values = flows.column(name).to_pylist()
        for row, value in zip(rows.tolist(), given, strict=True):
            values[row] = values[row] if value is None else value
        place = flows.schema.get_field_index(name)
        flows = flows.set_column(place, field, pa.array(values, field.type))
    return flows, left_alone
