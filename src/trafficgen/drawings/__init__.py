"""What a drawing shows, apart from the library that draws it, and how samples become few points."""

from trafficgen.drawings.description import (
    Axis,
    Band,
    Cells,
    Curve,
    Drawing,
    Layer,
    Role,
    Rule,
    Span,
)
from trafficgen.drawings.thinning import (
    distribution_curve,
    few_quantiles,
    survival_curve,
    thinned,
    wide_bins,
)

__all__ = [
    "Axis",
    "Band",
    "Cells",
    "Curve",
    "Drawing",
    "Layer",
    "Role",
    "Rule",
    "Span",
    "distribution_curve",
    "few_quantiles",
    "survival_curve",
    "thinned",
    "wide_bins",
]
