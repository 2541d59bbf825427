"""A local page on which models are played over paths. Bound to this machine, with nothing fetched
from elsewhere.
"""

from trafficgen.explore.opening import explore
from trafficgen.explore.serving import LARGEST_PORT, USUAL_PORT, LocalPage

__all__ = ["LARGEST_PORT", "USUAL_PORT", "LocalPage", "explore"]
