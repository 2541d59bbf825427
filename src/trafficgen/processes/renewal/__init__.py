"""Renewal processes: independent gaps between packets."""
