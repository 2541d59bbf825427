"""trafficgen: measured captures calibrate models of streaming sources; the models emit traffic like the real thing.

Each command has a function of its name here: ``inspect``, ``fit``, ``generate``, ``compare``, ``export``.
"""

from trafficgen._core import __version__
from trafficgen.api import Fit, compare, export, fit, generate, inspect, read_packets
from trafficgen.errors import (
    CalibrationError,
    CalibrationWarning,
    CaptureError,
    CaptureWarning,
    ExportError,
    GenerationError,
    InputFileError,
    ModelFileError,
    OutputFileError,
    PacketTableError,
    SelectionError,
    TooFewObservationsError,
    TrafficgenError,
    TrafficgenWarning,
)
from trafficgen.export import ProjectionReport
from trafficgen.flows import Inspection
from trafficgen.models import Model, load_model, model_json_schema, save_model
from trafficgen.tables import PacketTable
from trafficgen.validation import Comparison

__all__ = [
    "CalibrationError",
    "CalibrationWarning",
    "CaptureError",
    "CaptureWarning",
    "Comparison",
    "ExportError",
    "Fit",
    "GenerationError",
    "InputFileError",
    "Inspection",
    "Model",
    "ModelFileError",
    "OutputFileError",
    "PacketTable",
    "PacketTableError",
    "ProjectionReport",
    "SelectionError",
    "TooFewObservationsError",
    "TrafficgenError",
    "TrafficgenWarning",
    "__version__",
    "compare",
    "export",
    "fit",
    "generate",
    "inspect",
    "load_model",
    "model_json_schema",
    "read_packets",
    "save_model",
]
