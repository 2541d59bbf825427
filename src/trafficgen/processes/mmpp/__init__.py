"""Markov-modulated Poisson processes."""
