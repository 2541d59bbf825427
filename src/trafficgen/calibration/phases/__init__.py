"""Silence, buffering, playout and stalls of a session."""
