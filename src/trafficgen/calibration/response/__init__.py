"""How a source answers to congestion."""
