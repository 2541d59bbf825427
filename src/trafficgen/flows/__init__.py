"""Measure packet tables, real or synthetic: sessions, media packets, rates, gaps, bursts, loss."""

from trafficgen.flows.bursts import (
    Bursts,
    burst_starts,
    find_burst_threshold_s,
    gamma_to_exponential,
    segment_bursts,
    spread_over_tick,
)
from trafficgen.flows.exchanges import ConnectionExchanges, Exchanges
from trafficgen.flows.flow_counts import inspect_stream, inspect_table
from trafficgen.flows.inspection import Inspection
from trafficgen.flows.loss import RtpLoss, extend_sequence, rtp_loss
from trafficgen.flows.rates import (
    clock_tick_ns,
    gaps_s,
    gaps_within_flows_s,
    pace_around_s,
    rate_curve,
    rate_series,
    sum_in_bins,
    widen_bin,
)
from trafficgen.flows.resegment import infer_mtu_bytes, resegment
from trafficgen.flows.selection import (
    SessionView,
    all_sessions,
    choose_session,
    choose_sessions,
    find_flows,
    heaviest_session,
    heaviest_upload,
    media_packets,
    order_by_group,
    select_flow_rows,
    select_rows,
    sessions_of_packets,
    swap_ends,
)
from trafficgen.flows.sessions import Session, group_sessions, list_sessions

__all__ = [
    "Bursts",
    "ConnectionExchanges",
    "Exchanges",
    "Inspection",
    "RtpLoss",
    "Session",
    "SessionView",
    "all_sessions",
    "burst_starts",
    "choose_session",
    "choose_sessions",
    "clock_tick_ns",
    "extend_sequence",
    "find_burst_threshold_s",
    "find_flows",
    "gamma_to_exponential",
    "gaps_s",
    "gaps_within_flows_s",
    "group_sessions",
    "heaviest_session",
    "heaviest_upload",
    "infer_mtu_bytes",
    "inspect_stream",
    "inspect_table",
    "list_sessions",
    "media_packets",
    "order_by_group",
    "pace_around_s",
    "rate_curve",
    "rate_series",
    "resegment",
    "rtp_loss",
    "segment_bursts",
    "select_flow_rows",
    "select_rows",
    "sessions_of_packets",
    "spread_over_tick",
    "sum_in_bins",
    "swap_ends",
    "widen_bin",
]
