"""Closed loop: sources over a path with competing flows; the event loop is in the Rust core."""

from trafficgen.simulation.competitors import Competitor, options_from_text, participants
from trafficgen.simulation.packets import packet_table
from trafficgen.simulation.path import UNLIMITED_PATH, Path, PathLink, Queue, read_path
from trafficgen.simulation.results import FlowResult, SimulationResult
from trafficgen.simulation.run import Run, run_path, run_scenario
from trafficgen.simulation.sources import Participant, Schedule, Source

__all__ = [
    "UNLIMITED_PATH",
    "Competitor",
    "FlowResult",
    "Participant",
    "Path",
    "PathLink",
    "Queue",
    "Run",
    "Schedule",
    "SimulationResult",
    "Source",
    "options_from_text",
    "packet_table",
    "participants",
    "read_path",
    "run_path",
    "run_scenario",
]
