"""Levels of a rate and the switches between them."""
