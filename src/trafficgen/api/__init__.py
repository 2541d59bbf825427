"""The functions that the package exports under the names of the commands."""

from trafficgen.api.comparing import compare
from trafficgen.api.fitting import Fit, fit
from trafficgen.api.playing import export, generate
from trafficgen.api.reading import inspect, read_packets

__all__ = ["Fit", "compare", "export", "fit", "generate", "inspect", "read_packets"]
