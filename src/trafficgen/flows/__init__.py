"""Measure packet tables, real or synthetic: sessions, media packets, rates, gaps, bursts, loss."""

from trafficgen.flows.bursts import (
    Bursts,
    find_burst_threshold_s,
    gamma_to_exponential,
    segment_bursts,
    spread_over_tick,
)
from trafficgen.flows.inspection import Inspection, inspect_stream, inspect_table
from trafficgen.flows.loss import RtpLoss, extend_sequence, rtp_loss
from trafficgen.flows.measures import (
    BUFFERING_UNTIL_S,
    MEASURE_BIN_S,
    SHORTEST_PLAYOUT_S,
    STEADY_FROM_S,
    DataRates,
    Delivery,
    adaptation_time_s,
    arrival_rate_kbps,
    data_rates,
    data_rates_of_parts,
    delivery,
    rate_differences,
    scale_changes,
    spread,
    successive_ratios,
    time_to_share_of_peak_s,
)
from trafficgen.flows.media import media_packets
from trafficgen.flows.rates import CURVE_BINS, RateSeries, rate_curve, rate_series
from trafficgen.flows.resegment import infer_mtu_bytes, resegment
from trafficgen.flows.reversal import heaviest_upload, swap_ends
from trafficgen.flows.selection import SessionView, all_sessions, choose_session, heaviest_session
from trafficgen.flows.sessions import Session, group_sessions, list_sessions
from trafficgen.flows.timing import clock_tick_ns, gaps_s, gaps_within_flows_s

__all__ = [
    "BUFFERING_UNTIL_S",
    "CURVE_BINS",
    "MEASURE_BIN_S",
    "SHORTEST_PLAYOUT_S",
    "STEADY_FROM_S",
    "Bursts",
    "DataRates",
    "Delivery",
    "Inspection",
    "RateSeries",
    "RtpLoss",
    "Session",
    "SessionView",
    "adaptation_time_s",
    "all_sessions",
    "arrival_rate_kbps",
    "choose_session",
    "clock_tick_ns",
    "data_rates",
    "data_rates_of_parts",
    "delivery",
    "extend_sequence",
    "find_burst_threshold_s",
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
    "rate_curve",
    "rate_differences",
    "rate_series",
    "resegment",
    "rtp_loss",
    "scale_changes",
    "segment_bursts",
    "spread",
    "spread_over_tick",
    "successive_ratios",
    "swap_ends",
    "time_to_share_of_peak_s",
]
