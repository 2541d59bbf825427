"""Packet trains: the order of gaps and sizes."""
