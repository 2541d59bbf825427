"""Validation: how close synthetic traffic is to what was measured, beside the baselines that people
use today.
"""

from trafficgen.validation.baselines import BASELINES
from trafficgen.validation.compare import ComparedSides, Comparison, compare_tables
from trafficgen.validation.thresholds import ExceededLimit, exceeded_limits
from trafficgen.validation.totals import Totals
from trafficgen.validation.verdict import (
    BASELINE_WORDS,
    Grade,
    GroupVerdict,
    MetricVerdict,
    Verdict,
    losses,
    verdict_of,
)

__all__ = [
    "BASELINES",
    "BASELINE_WORDS",
    "ComparedSides",
    "Comparison",
    "ExceededLimit",
    "Grade",
    "GroupVerdict",
    "MetricVerdict",
    "Totals",
    "Verdict",
    "compare_tables",
    "exceeded_limits",
    "losses",
    "verdict_of",
]
