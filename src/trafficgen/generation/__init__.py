"""Open-loop generation: from a model to a packet table, the same bytes for the same seed."""

from trafficgen.generation.open_loop import generate_sessions
from trafficgen.generation.superposition import session_starts

__all__ = ["generate_sessions", "session_starts"]
