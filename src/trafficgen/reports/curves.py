"""Charts of samples and series that several reports share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.flows import SessionView, rate_series
from trafficgen.reports.charts import Axis, Chart, Curve, Layer, Role
from trafficgen.reports.thinning import distribution_curve, survival_curve, thinned, wide_bins
from trafficgen.units import FloatArray

#: Bins of a curve of the rate: enough for a wide screen, few enough that each holds several
#: packets.
_RATE_BINS = 400
_FINEST_RATE_BIN_S = 0.1


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample that is drawn beside others.

    Attributes:
        name: What it is, for the legend.
        role: What it stands for.
        values: Observations, shape (n,).
        dashed: Whether it stands back.
    """

    name: str
    role: Role
    values: FloatArray
    dashed: bool = False


def chart_distribution(
    name: str, title: str, samples: Sequence[Sample], *, axis: Axis, caption: str = ""
) -> Chart | None:
    """Return the empirical distribution functions of samples; None where the first has no
    values.
    """
    steps = [(one, *distribution_curve(_drawable(one.values, axis))) for one in samples]
    steps = [(one, x, y) for one, x, y in steps if x.size]
    if not samples[0].values.size or not steps:
        return None
    last = _beyond(
        max(float(x[-1]) for _, x, _ in steps), min(float(x[0]) for _, x, _ in steps), log=axis.log
    )
    curves = [
        Curve(
            name=one.name,
            x=np.append(x, last),
            y=np.append(y, y[-1]),
            role=one.role,
            shape="steps",
            dashed=one.dashed,
        )
        for one, x, y in steps
    ]
    share = Axis(label="share of values up to it", low=0, high=1)
    return Chart(
        name=name, title=title, x=axis, y=share, layers=tuple(reversed(curves)), caption=caption
    )


def chart_survival(
    name: str,
    title: str,
    samples: Sequence[Sample],
    *,
    axis: Axis,
    caption: str = "",
    behind: Sequence[Layer] = (),
) -> Chart | None:
    """Return P(X >= value) of samples on logarithmic axes, which show the tail; None where the
    first has no values.
    """
    curves = [
        Curve(name=one.name, x=x, y=y, role=one.role, shape="steps", dashed=one.dashed)
        for one in samples
        for x, y in [survival_curve(one.values)]
        if x.size
    ]
    if not curves:
        return None
    share = Axis(label="share of values that reach it", log=True)
    layers = (*behind, *reversed(curves))
    return Chart(name=name, title=title, x=axis, y=share, layers=layers, caption=caption)


def chart_quantiles(
    name: str,
    title: str,
    reference: FloatArray,
    samples: Sequence[Sample],
    *,
    axis: Axis,
    other: Axis,
) -> Chart | None:
    """Return quantiles of samples against those of a reference (QQ plot) with the line on which
    equal ones lie.

    Args:
        name: Name of the chart.
        title: Title.
        reference: Observations of the reference, shape (n,).
        samples: What is compared with it; in order, the first is drawn on top.
        axis: Axis of the reference's quantiles.
        other: Axis of the others' quantiles.
    """
    most = min([reference.size, *(one.values.size for one in samples)])
    if most < 2:
        return None
    shares = _quantile_shares(most)
    x = np.quantile(reference, shares)
    quantiles = [(one, np.quantile(one.values, shares)) for one in samples]
    positive = x > 0 if axis.log else np.ones(x.size, dtype=bool)
    points = [
        Curve(name=one.name, x=x[keep], y=y[keep], role=one.role, shape="points", dashed=one.dashed)
        for one, y in quantiles
        for keep in [positive & (y > 0) if axis.log else positive]
        if keep.any()
    ]
    if not points:
        return None
    ends = np.array([min(x[positive]), max(x[positive])]) if positive.any() else np.zeros(2)
    line = Curve(name="equal", x=ends, y=ends, role="baseline", dashed=True)
    caption = "Each point is one quantile; on the dashed line both sides are equal."
    return Chart(
        name=name, title=title, x=axis, y=other, layers=(line, *reversed(points)), caption=caption
    )


def _quantile_shares(most: int) -> FloatArray:
    """Return probabilities of quantiles, closer together at both ends, none beyond what the smaller
    sample can show.
    """
    even = np.linspace(0, 1, min(most, 60))
    tail = np.geomspace(1 / most, 0.5, 30)
    return np.unique(np.concatenate([even, tail, 1 - tail]))


def _beyond(largest: float, smallest: float, *, log: bool) -> float:
    """Return a place a little to the right of all values, so that a last step is not on the
    frame.
    """
    if log:
        return largest * max(1.02, math.pow(largest / smallest, 0.02))
    return largest + max(0.02 * (largest - smallest), 0.002 * abs(largest))


def _drawable(values: FloatArray, axis: Axis) -> FloatArray:
    return values[values > 0] if axis.log else values


def rate_bin_s(span_s: float) -> float:
    """Return the width of the bins in which a session of this length is drawn, s."""
    return wide_bins(span_s, most=_RATE_BINS, finest_s=_FINEST_RATE_BIN_S)


def rate_curve(view: SessionView, *, bin_s: float, name: str, role: Role) -> Curve:
    """Return the IP rate of a session's media over the time after its first media packet,
    kbit/s.
    """
    series = rate_series(view.media_time_ns, view.media_ip_bytes, bin_s=bin_s)
    start_s = bin_s * np.arange(series.size_bytes.size, dtype=np.float64)
    x, y = thinned(start_s, series.rate_kbps)
    return Curve(name=name, x=x, y=y, role=role, shape="steps")
