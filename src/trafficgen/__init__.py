"""Fit models of streaming sources to captures, and generate traffic like them.

Each command has a function of its name here: ``inspect``, ``fit``, ``generate``, ``simulate``,
``compare``, ``convert``, ``export``, ``reproduce``, ``explore``, ``models_list`` and so on.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from trafficgen.errors import (
    CalibrationError,
    CaptureError,
    CaptureWarning,
    ExploreError,
    ExportError,
    GenerationError,
    InputFileError,
    ModelFileError,
    OutputFileError,
    PacketTableError,
    PlayerLogError,
    SelectionError,
    SettingError,
    SimulationError,
    SimulationWarning,
    TooFewObservationsError,
    TrafficgenError,
    TrafficgenWarning,
    WorkloadFileError,
)

if TYPE_CHECKING:
    from trafficgen._core import __version__
    from trafficgen.calibration.fit import Fit, fit
    from trafficgen.calibration.population.fit_population import PopulationFit, fit_population
    from trafficgen.calibration.population.same_source import SameSourceFit, fit_same_source
    from trafficgen.capture.convert import Conversion, convert
    from trafficgen.capture.reading import inspect, measure_exchanges, read_packets, save_exchanges
    from trafficgen.demo import demo
    from trafficgen.distributions.own_families import register_distribution
    from trafficgen.explore import LocalPage, explore
    from trafficgen.export.targets import register_exporter
    from trafficgen.flows import Exchanges, Inspection
    from trafficgen.generation.arrivals import register_arrivals
    from trafficgen.models import Model, PublishedModel, model_json_schema, save_model
    from trafficgen.models.differences import ModelDifferences
    from trafficgen.models.published import load_model, register_source
    from trafficgen.models.published.listing import (
        CatalogueModel,
        models_diff,
        models_list,
        models_schema,
        models_show,
    )
    from trafficgen.packet_files.report import ProjectionReport
    from trafficgen.progress import Step, following
    from trafficgen.reports.writing import save_plots, save_report
    from trafficgen.reproduction import Finding, FindingResult, Reproduction
    from trafficgen.reproduction.leave_one_out import LeaveOneOut, leave_one_out
    from trafficgen.reproduction.reproduce import reproduce
    from trafficgen.reproduction.sensitivity import Sensitivity, measure_sensitivity
    from trafficgen.simulation.path import Path
    from trafficgen.simulation.results import SimulationResult
    from trafficgen.simulation.simulate import simulate
    from trafficgen.tables import PacketTable
    from trafficgen.validation.compare import compare
    from trafficgen.validation.comparison import Comparison, exceeded_limits
    from trafficgen.validation.metrics import register_metric
    from trafficgen.validation.ranking import Ranking, rank_catalogue
    from trafficgen.workloads.estimate import WorkloadEstimate, estimate_workload
    from trafficgen.workloads.export import export
    from trafficgen.workloads.files import load_workload
    from trafficgen.workloads.generate import generate, generate_workload
    from trafficgen.workloads.plan import PlannedWorkload
    from trafficgen.workloads.shared_path import simulate_workload
    from trafficgen.workloads.shares import WorkloadResult
    from trafficgen.workloads.write import WrittenWorkload

#: Where the names are that are loaded on first use: looking into a capture needs none of the
#: statistics behind a fit.
_NAMES_IN = {
    "trafficgen._core": "__version__",
    "trafficgen.calibration.fit": "Fit fit",
    "trafficgen.calibration.population.fit_population": "PopulationFit fit_population",
    "trafficgen.calibration.population.same_source": "SameSourceFit fit_same_source",
    "trafficgen.capture.convert": "Conversion convert",
    "trafficgen.capture.reading": "inspect measure_exchanges read_packets save_exchanges",
    "trafficgen.demo": "demo",
    "trafficgen.explore": "LocalPage explore",
    "trafficgen.export.targets": "register_exporter",
    "trafficgen.flows": "Exchanges Inspection",
    "trafficgen.distributions.own_families": "register_distribution",
    "trafficgen.generation.arrivals": "register_arrivals",
    "trafficgen.models": "Model PublishedModel model_json_schema save_model",
    "trafficgen.models.differences": "ModelDifferences",
    "trafficgen.models.published": "load_model register_source",
    "trafficgen.models.published.listing": (
        "CatalogueModel models_diff models_list models_schema models_show"
    ),
    "trafficgen.packet_files.report": "ProjectionReport",
    "trafficgen.progress": "Step following",
    "trafficgen.reports.writing": "save_plots save_report",
    "trafficgen.reproduction": "Finding FindingResult Reproduction",
    "trafficgen.reproduction.leave_one_out": "LeaveOneOut leave_one_out",
    "trafficgen.reproduction.reproduce": "reproduce",
    "trafficgen.reproduction.sensitivity": "Sensitivity measure_sensitivity",
    "trafficgen.simulation.path": "Path",
    "trafficgen.simulation.results": "SimulationResult",
    "trafficgen.simulation.simulate": "simulate",
    "trafficgen.tables": "PacketTable",
    "trafficgen.validation.compare": "compare",
    "trafficgen.validation.comparison": "Comparison exceeded_limits",
    "trafficgen.validation.metrics": "register_metric",
    "trafficgen.validation.ranking": "Ranking rank_catalogue",
    "trafficgen.workloads.estimate": "WorkloadEstimate estimate_workload",
    "trafficgen.workloads.export": "export",
    "trafficgen.workloads.files": "load_workload",
    "trafficgen.workloads.generate": "generate generate_workload",
    "trafficgen.workloads.plan": "PlannedWorkload",
    "trafficgen.workloads.shared_path": "simulate_workload",
    "trafficgen.workloads.shares": "WorkloadResult",
    "trafficgen.workloads.write": "WrittenWorkload",
}
_HOMES = {name: home for home, names in _NAMES_IN.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'trafficgen' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


class _Package(ModuleType):
    """The package, in which a loaded subpackage such as ``export`` does not hide its function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "CalibrationError",
    "CaptureError",
    "CaptureWarning",
    "CatalogueModel",
    "Comparison",
    "Conversion",
    "Exchanges",
    "ExploreError",
    "ExportError",
    "Finding",
    "FindingResult",
    "Fit",
    "GenerationError",
    "InputFileError",
    "Inspection",
    "LeaveOneOut",
    "LocalPage",
    "Model",
    "ModelDifferences",
    "ModelFileError",
    "OutputFileError",
    "PacketTable",
    "PacketTableError",
    "Path",
    "PlannedWorkload",
    "PlayerLogError",
    "PopulationFit",
    "ProjectionReport",
    "PublishedModel",
    "Ranking",
    "Reproduction",
    "SameSourceFit",
    "SelectionError",
    "Sensitivity",
    "SettingError",
    "SimulationError",
    "SimulationResult",
    "SimulationWarning",
    "Step",
    "TooFewObservationsError",
    "TrafficgenError",
    "TrafficgenWarning",
    "WorkloadEstimate",
    "WorkloadFileError",
    "WorkloadResult",
    "WrittenWorkload",
    "__version__",
    "compare",
    "convert",
    "demo",
    "estimate_workload",
    "exceeded_limits",
    "explore",
    "export",
    "fit",
    "fit_population",
    "fit_same_source",
    "following",
    "generate",
    "generate_workload",
    "inspect",
    "leave_one_out",
    "load_model",
    "load_workload",
    "measure_exchanges",
    "measure_sensitivity",
    "model_json_schema",
    "models_diff",
    "models_list",
    "models_schema",
    "models_show",
    "rank_catalogue",
    "read_packets",
    "register_arrivals",
    "register_distribution",
    "register_exporter",
    "register_metric",
    "register_source",
    "reproduce",
    "save_exchanges",
    "save_model",
    "save_plots",
    "save_report",
    "simulate",
    "simulate_workload",
]
