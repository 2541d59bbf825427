"""Bursts of packets."""
