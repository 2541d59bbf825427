from __future__ import annotations

import pyarrow as pa

from trafficgen.tables import FLOW_SCHEMA, REQUIRED_FIELDS, PacketTable
from trafficgen.tables.counts import with_counts


def test_times_packets_and_bytes_are_counted_by_flow_and_direction() -> None:
    columns = {
        "time_ns": [-5, 1, 2, 7],
        "flow": [2, 0, 2, 2],
        "to_client": [True, True, False, True],
        "frame_bytes": [100, 10, 60, 200],
        "ip_bytes": [86, 5, 46, 186],
        "payload_bytes": [50, 1, 6, 150],
    }
    base: dict[str, object] = {field.name: None if field.nullable else 0 for field in FLOW_SCHEMA}
    base |= {"protocol": "udp", "server": "a", "client": "b", "media": "video"}
    flows = pa.Table.from_pylist(
        [base | {"flow": number} for number in range(3)], schema=FLOW_SCHEMA
    )
    table = PacketTable(packets=pa.table(columns, schema=pa.schema(REQUIRED_FIELDS)), flows=flows)
    counted = with_counts(table)
    assert counted.schema == FLOW_SCHEMA
    assert counted.slice(0, 1).to_pylist()[0]["packets_to_client"] == 1
    assert {name: counted.column(name).to_pylist() for name in FLOW_SCHEMA.names[11:]} == {
        "first_time_ns": [1, 0, -5],
        "last_time_ns": [1, 0, 7],
        "packets_to_client": [1, 0, 2],
        "packets_to_server": [0, 0, 1],
        "frame_bytes_to_client": [10, 0, 300],
        "frame_bytes_to_server": [0, 0, 60],
        "payload_bytes_to_client": [1, 0, 200],
        "payload_bytes_to_server": [0, 0, 6],
    }
