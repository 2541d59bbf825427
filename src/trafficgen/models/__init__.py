"""Models as data: the versioned, validated file that calibration writes and generation reads."""

from trafficgen.models.choice import ProcessChoice, TriedProcess
from trafficgen.models.estimate import Estimate, ModelPart
from trafficgen.models.facts import DispersionOfIntervals, Facts, FactsAtScale
from trafficgen.models.fractional_noise import FractionalNoiseProcess
from trafficgen.models.frames import FrameProcess, FrameType, GroupDistance, GroupOfPictures
from trafficgen.models.io import dump_model, extended, load_model, model_json_schema, model_of, read_model, save_model
from trafficgen.models.law import Alternative, Atom, Family, GoodnessOfFit, Law, QuantilePoint, Tail
from trafficgen.models.mmpp import MmppProcess, MmppState
from trafficgen.models.modulated import ModulatedProcess, RateClass
from trafficgen.models.packet_process import PacketProcess
from trafficgen.models.population import (
    LadderRung,
    Population,
    PopulationLaw,
    PopulationQuantity,
    Prototype,
    RankCorrelation,
)
from trafficgen.models.process import BurstDependence, BurstProcess, RenewalProcess
from trafficgen.models.published import Mechanism, Option, Parameter, PublishedModel, has_unit, same_value, shown
from trafficgen.models.response import CongestionResponse, DelayRange, Friendliness, LossModel, ResponsePoint
from trafficgen.models.same_source import PathCondition, PooledPoint, PooledResponse, ResponseCurve, ResponseKind
from trafficgen.models.schema import (
    LONGEST_S,
    SCHEMA_VERSION,
    Buffering,
    CaptureConditions,
    FittedProvenance,
    Model,
    ModelRoot,
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
from trafficgen.models.spectrum import ScoreSpectrum, SpectralLine
from trafficgen.models.walk import with_laws
from trafficgen.models.yaml_text import YamlTextError, read_yaml

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
    "DispersionOfIntervals",
    "Estimate",
    "Facts",
    "FactsAtScale",
    "Family",
    "FittedProvenance",
    "FractionalNoiseProcess",
    "FrameProcess",
    "FrameType",
    "Friendliness",
    "GoodnessOfFit",
    "GroupDistance",
    "GroupOfPictures",
    "LadderRung",
    "Law",
    "LossModel",
    "Mechanism",
    "MmppProcess",
    "MmppState",
    "Model",
    "ModelPart",
    "ModelRoot",
    "ModulatedProcess",
    "Option",
    "PacketProcess",
    "Parameter",
    "PathCondition",
    "Phase",
    "PhaseName",
    "Playout",
    "PooledPoint",
    "PooledResponse",
    "Population",
    "PopulationLaw",
    "PopulationQuantity",
    "ProcessChoice",
    "Prototype",
    "Provenance",
    "PublishedModel",
    "PublishedProvenance",
    "PublishedSource",
    "QuantilePoint",
    "RankCorrelation",
    "RateClass",
    "RateState",
    "RenewalProcess",
    "ResponseCurve",
    "ResponseKind",
    "ResponsePoint",
    "RtpFormat",
    "ScoreSpectrum",
    "SemiMarkovProcess",
    "SpectralLine",
    "Startup",
    "StatePackets",
    "Stream",
    "Tail",
    "Transport",
    "TriedProcess",
    "YamlTextError",
    "dump_model",
    "extended",
    "has_unit",
    "load_model",
    "model_json_schema",
    "model_of",
    "read_model",
    "read_yaml",
    "same_value",
    "save_model",
    "shown",
    "smallest_header_bytes",
    "with_laws",
]
