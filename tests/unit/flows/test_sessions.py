"""Grouping of flows into sessions."""

from __future__ import annotations

from trafficgen.flows import group_sessions
from trafficgen.tables import FLOW_SCHEMA, SIGNALLING_SCHEMA


def test_a_capture_without_any_flow_has_no_session() -> None:
    grouped = group_sessions(FLOW_SCHEMA.empty_table(), SIGNALLING_SCHEMA.empty_table())
    assert grouped.num_rows == 0
    assert grouped.schema == FLOW_SCHEMA
