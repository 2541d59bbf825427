"""Open-loop generation: from a model to a packet table, the same bytes for the same seed."""

from trafficgen.generation.arrivals import session_starts
from trafficgen.generation.open_loop import OpenLoopSessions
from trafficgen.generation.session import StreamSchedule

__all__ = ["OpenLoopSessions", "StreamSchedule", "session_starts"]
