"""The report of a fit: what was measured, the laws over it, the path, and what is doubtful."""

from trafficgen.reports.fit.report import fit_report

__all__ = ["fit_report"]
