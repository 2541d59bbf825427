"""Models as data: the versioned, validated file that calibration writes and generation reads."""

from trafficgen.models.choice import ProcessChoice, TriedProcess
from trafficgen.models.estimate import Estimate, ModelPart
from trafficgen.models.io import dump_model, load_model, model_json_schema, save_model
from trafficgen.models.law import Alternative, Atom, Family, GoodnessOfFit, Law, QuantilePoint
from trafficgen.models.mmpp import MmppProcess, MmppState
from trafficgen.models.modulated import ModulatedProcess, RateClass
from trafficgen.models.packet_process import PacketProcess
from trafficgen.models.process import BurstDependence, BurstProcess, RenewalProcess
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
from trafficgen.models.semi_markov import RateState, SemiMarkovProcess, StatePackets

__all__ = [
    "LONGEST_S",
    "SCHEMA_VERSION",
    "Alternative",
    "Atom",
    "Buffering",
    "BurstDependence",
    "BurstProcess",
    "CaptureConditions",
    "Estimate",
    "Family",
    "FittedProvenance",
    "GoodnessOfFit",
    "Law",
    "MmppProcess",
    "MmppState",
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
    "RateState",
    "RenewalProcess",
    "RtpFormat",
    "SemiMarkovProcess",
    "Startup",
    "StatePackets",
    "Stream",
    "Transport",
    "TriedProcess",
    "dump_model",
    "load_model",
    "model_json_schema",
    "save_model",
    "smallest_header_bytes",
]
