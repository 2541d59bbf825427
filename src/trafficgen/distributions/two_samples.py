"""How far apart two samples are: the two-sample Kolmogorov-Smirnov distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trafficgen._core import sample_distance


def ks_distance(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """Compute the largest difference of two samples' distribution functions; any order and sizes.

    Source: Smirnov, "Table for estimating the goodness of fit of empirical distributions", Ann.
    Math. Stat. 1948.
    """
    first, second = (np.ascontiguousarray(sample, np.float64) for sample in (one, other))
    return sample_distance(first, second)
