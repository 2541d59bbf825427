"""Validation: how close synthetic traffic is to what was measured, beside the baselines that people use today."""

from trafficgen.validation.baselines import BASELINES
from trafficgen.validation.compare import Comparison, compare_tables
from trafficgen.validation.thresholds import ExceededLimit, exceeded_limits
from trafficgen.validation.totals import Totals

__all__ = ["BASELINES", "Comparison", "ExceededLimit", "Totals", "compare_tables", "exceeded_limits"]
