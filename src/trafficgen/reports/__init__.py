"""Reports: what was measured, drawn and put into words, as one HTML file or as plots for papers."""

from trafficgen.reports.drawing import FORMATS, save_charts
from trafficgen.reports.html import save_html
from trafficgen.reports.page import Block, Report, Section, Table, Text

__all__ = ["FORMATS", "Block", "Report", "Section", "Table", "Text", "save_charts", "save_html"]
