"""Reports and plots of results: what `--report` and `--plots` write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from pathlib import Path

from trafficgen.calibration.fit import Fit
from trafficgen.calibration.population.fit_population import PopulationFit
from trafficgen.calibration.population.fit_same_source import SameSourceFit
from trafficgen.reports import FORMATS, Report, save_charts, save_html
from trafficgen.reports.comparison import report_comparison
from trafficgen.reports.fit import fit_report
from trafficgen.reports.population import population_report
from trafficgen.reports.reproduction import reproduction_report
from trafficgen.reports.same_source import same_source_report
from trafficgen.reports.simulation import simulation_report
from trafficgen.reproduction import Reproduction
from trafficgen.simulation import SimulationResult
from trafficgen.validation.comparison import Comparison

#: What there are reports of; a report is one of itself.
Reportable = (
    Comparison | Fit | PopulationFit | SameSourceFit | Reproduction | SimulationResult | Report
)


def save_report(result: Reportable, path: str | Path) -> None:
    """Write a report of a result: one HTML file with interactive plots that needs no network.

    Args:
        result: What a command's function returned.
        path: File to write; one that is there is replaced.

    Raises:
        OutputFileError: If the file cannot be written.

    Example:
        >>> import pathlib, trafficgen
        >>> _ = trafficgen.generate("cbr", "steady.parquet", duration_s=50, settings={"rate_kbps": 1000})
        >>> comparison = trafficgen.compare("examples/captures/http_burst_then_paced.pcap.gz", "steady.parquet")
        >>> trafficgen.save_report(comparison, "report.html")
        >>> pathlib.Path("report.html").read_text(encoding="utf-8")[:15]
        '<!DOCTYPE html>'
    """
    save_html(report_of(result), path)


def save_plots(
    result: Reportable,
    folder: str | Path,
    *,
    formats: Sequence[str] = tuple(FORMATS),
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Write the plots of a result's report as files for papers, ``NAME.pdf`` and so on.

    Args:
        result: What a command's function returned.
        folder: Folder to write into; it is made where it is missing.
        formats: Endings: ``pdf``, ``svg``, ``png``.
        progress: Called with the plots done so far and in all.

    Returns:
        Names of the files.

    Raises:
        OutputFileError: If a file cannot be written, or an ending is none of these.

    Example:
        >>> import trafficgen
        >>> _ = trafficgen.generate("cbr", "steady.parquet", duration_s=50, settings={"rate_kbps": 1000})
        >>> comparison = trafficgen.compare("examples/captures/http_burst_then_paced.pcap.gz", "steady.parquet")
        >>> names = trafficgen.save_plots(comparison, "plots", formats=["svg"])
        >>> names[:2]
        ['distances.svg', 'rate-reference.svg']
    """
    return save_charts(report_of(result).charts, folder, formats=formats, progress=progress)


@singledispatch
def report_of(result: object) -> Report:
    """Return the report of a result, apart from how it is written."""
    raise TypeError(f"there is no report of {type(result).__name__}")


report_of.register(Comparison, report_comparison)
report_of.register(Reproduction, reproduction_report)
report_of.register(SimulationResult, simulation_report)


@report_of.register
def _of_report(result: Report) -> Report:
    return result


@report_of.register
def _of_fit(result: Fit) -> Report:
    return fit_report(result.calibration, flow=result.flow, warnings=result.warnings)


@report_of.register
def _of_population(result: PopulationFit) -> Report:
    return population_report(
        result.model,
        sessions=result.sessions,
        warnings=result.warnings,
        session_warnings=result.session_warnings,
    )


@report_of.register
def _of_same_source(result: SameSourceFit) -> Report:
    return same_source_report(result.model, warnings=result.warnings)
