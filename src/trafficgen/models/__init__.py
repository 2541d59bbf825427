"""Models as data: the versioned, validated file that calibration writes and generation reads."""

from trafficgen.models.choice import ProcessChoice, TriedProcess
from trafficgen.models.estimate import Estimate, ModelPart
from trafficgen.models.io import dump_model, load_model, model_json_schema, save_model
from trafficgen.models.law import Alternative, Atom, Family, GoodnessOfFit, Law, QuantilePoint
from trafficgen.models.modulated import ModulatedProcess, RateClass
from trafficgen.models.process import BurstDependence, BurstProcess, PacketProcess, RenewalProcess
from trafficgen.models.response import CongestionResponse, DelayRange, Friendliness, LossModel, ResponsePoint
from trafficgen.models.schema import (
    LONGEST_S,
    SCHEMA_VERSION,
    Buffering,
    CaptureConditions,
    FittedProvenance,
    Model,
    Phase,
    PhaseName,
    Playout,
    Provenance,
    PublishedProvenance,
    PublishedSource,
    RtpFormat,
    Startup,
    Stream,
    Transport,
    smallest_header_bytes,
)

__all__ = [
    "LONGEST_S",
    "SCHEMA_VERSION",
    "Alternative",
    "Atom",
    "Buffering",
    "BurstDependence",
    "BurstProcess",
    "CaptureConditions",
    "CongestionResponse",
    "DelayRange",
    "Estimate",
    "Family",
    "FittedProvenance",
    "Friendliness",
    "GoodnessOfFit",
    "Law",
    "LossModel",
    "Model",
    "ModelPart",
    "ModulatedProcess",
    "PacketProcess",
    "Phase",
    "PhaseName",
    "Playout",
    "ProcessChoice",
    "Provenance",
    "PublishedProvenance",
    "PublishedSource",
    "QuantilePoint",
    "RateClass",
    "RenewalProcess",
    "ResponsePoint",
    "RtpFormat",
    "Startup",
    "Stream",
    "Transport",
    "TriedProcess",
    "dump_model",
    "load_model",
    "model_json_schema",
    "save_model",
    "smallest_header_bytes",
]
