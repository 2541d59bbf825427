"""Read captures, packet tables and traces of other tools, and choose the session to measure."""
