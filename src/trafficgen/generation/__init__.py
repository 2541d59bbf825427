"""Open-loop generation: from a model to a packet table, the same bytes for the same seed."""

from trafficgen.generation.open_loop import generate_sessions
from trafficgen.generation.schedule import StreamSchedule, session_schedules
from trafficgen.generation.superposition import session_starts

__all__ = ["StreamSchedule", "generate_sessions", "session_schedules", "session_starts"]
