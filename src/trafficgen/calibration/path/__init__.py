"""What the path of a capture did: loss, delays, round trips, link rate."""
