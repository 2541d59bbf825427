"""Rate states with dwell times of any law."""
