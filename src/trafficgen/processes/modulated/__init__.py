"""Packets under a slowly varying rate."""
