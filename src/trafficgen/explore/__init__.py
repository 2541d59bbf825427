"""A local page that plays models over paths, bound to this machine."""

from trafficgen.explore.serving import LARGEST_PORT, LocalPage, explore

__all__ = ["LARGEST_PORT", "LocalPage", "explore"]
