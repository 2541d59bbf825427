"""distributions."""
