"""Python face of the compiled Rust core, with its types in ``_rust.pyi``."""

from trafficgen.interruptions import defer_signals

with (
    defer_signals()
):  # an interrupt while numpy's own interface is looked up would be a panic of the core
    from trafficgen._core._rust import (
        CLOCK_CANDIDATES_HZ,
        LAW_FAMILIES,
        CaptureReader,
        CaptureWriter,
        FlowMeter,
        FlowPlan,
        FrameCutter,
        GroupedSample,
        QuantileTables,
        SimulationOutcome,
        SteppedLaw,
        __version__,
        add_family,
        alias_draws,
        alias_table,
        correlated_order,
        frame_times,
        law_tail,
        move_law,
        place_in_bins,
        simulate,
        spectral_ranks,
        stable_order,
        stream_key,
        time_order,
        values_by_rank,
    )

__all__ = [
    "CLOCK_CANDIDATES_HZ",
    "LAW_FAMILIES",
    "CaptureReader",
    "CaptureWriter",
    "FlowMeter",
    "FlowPlan",
    "FrameCutter",
    "GroupedSample",
    "QuantileTables",
    "SimulationOutcome",
    "SteppedLaw",
    "__version__",
    "add_family",
    "alias_draws",
    "alias_table",
    "correlated_order",
    "frame_times",
    "law_tail",
    "move_law",
    "place_in_bins",
    "simulate",
    "spectral_ranks",
    "stable_order",
    "stream_key",
    "time_order",
    "values_by_rank",
]
