"""Closed loop: sources over a path with competing flows; the event loop is in the Rust core."""
