"""Closed loop: sources over a path, with competing flows. The set-up is here, the event loop in the Rust core."""

from trafficgen.simulation.engine import run_scenario

__all__ = ["run_scenario"]
