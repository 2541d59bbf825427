"""Closed loop: sources over a path, with competing flows. Set-up and results are here, the event loop is in the Rust core."""

from trafficgen.simulation.engine import run_scenario

__all__ = ["run_scenario"]
