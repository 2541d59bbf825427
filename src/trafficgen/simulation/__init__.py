"""Closed loop: sources over a path, with competing flows. The set-up is here, the event loop in the
Rust core.
"""

from trafficgen.simulation.alone import UNLIMITED_PATH, published_source
from trafficgen.simulation.competitors import Competitor, options_from_text, participants
from trafficgen.simulation.engine import run_scenario
from trafficgen.simulation.fitted import response_parameters, tcp_parameters
from trafficgen.simulation.packets import packet_table
from trafficgen.simulation.path import Path, PathLink, Queue, read_path
from trafficgen.simulation.results import FlowResult, SimulationResult
from trafficgen.simulation.run import Run, run_path
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
    "published_source",
    "read_path",
    "response_parameters",
    "run_path",
    "run_scenario",
    "tcp_parameters",
]
