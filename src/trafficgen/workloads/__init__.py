"""Workloads: more sessions than fit in memory, made in blocks and merged in order of time."""
