"""Open-loop generation: from a model to a packet table, the same bytes for the same seed."""

from trafficgen.generation.open_loop import DEFAULT_ORIGIN_NS, generate_sessions

__all__ = ["DEFAULT_ORIGIN_NS", "generate_sessions"]
