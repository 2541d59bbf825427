"""Charts of samples and series: few points of many, without losing the extremes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from trafficgen.flows import SessionView, rate_series
from trafficgen.models import Estimate
from trafficgen.reports.page import TIME, Axis, Chart, Curve, Layer, Role
from trafficgen.units import NS_PER_S, SIZE_UNITS_BYTES, FloatArray, s_from_ns

#: Points of a curve: more than a wide screen has columns.
MOST_POINTS = 1500
#: Points of a distribution, evenly spread and at each end.
_DISTRIBUTION_POINTS, _TAIL_POINTS = 400, 60
#: Bins of a curve of the rate: few enough that two curves on one axis stay distinct.
_RATE_BINS, _FINEST_RATE_BIN_S = 200, 0.1
_CUMULATIVE_POINTS = 400
#: An interval is drawn up to this multiple of the largest rate, or of 1.
_MOST_OF_INTERVAL = 3.0


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample to be drawn, values of shape (n,), and its name in the legend."""

    name: str
    role: Role
    values: FloatArray
    dashed: bool = False

    def steps(self, x: FloatArray, y: FloatArray) -> Curve:
        """Return a curve of steps in the name and colour of the sample."""
        return Curve(name=self.name, x=x, y=y, role=self.role, shape="steps", dashed=self.dashed)


def chart_distribution(
    name: str, title: str, samples: Sequence[Sample], *, axis: Axis, caption: str = ""
) -> Chart | None:
    """Chart empirical distribution functions; None where the first sample has no values."""
    steps = [
        (one, *distribution_curve(one.values[one.values > 0] if axis.log else one.values))
        for one in samples
    ]
    steps = [(one, x, y) for one, x, y in steps if x.size]
    if not samples[0].values.size or not steps:
        return None
    largest, smallest = max(float(x[-1]) for _, x, _ in steps), min(x[0] for _, x, _ in steps)
    if axis.log:  # a little to the right of all values, so that the last step is not on the frame
        end = largest * max(1.02, math.pow(largest / smallest, 0.02))
    else:
        end = largest + max(0.02 * (largest - smallest), 0.002 * abs(largest))
    curves = [one.steps(np.append(x, end), np.append(y, y[-1])) for one, x, y in steps]
    share = Axis(label="share of values up to it", low=0, high=1)
    layers = tuple(reversed(curves))
    return Chart(name=name, title=title, x=axis, y=share, layers=layers, caption=caption)


def chart_survival(
    name: str,
    title: str,
    samples: Sequence[Sample],
    *,
    axis: Axis,
    caption: str = "",
    behind: Sequence[Layer] = (),
) -> Chart | None:
    """Chart P(X >= value) on logarithmic axes, which show the tail; None without values above 0."""
    curves = [one.steps(x, y) for one in samples for x, y in [survival_curve(one.values)] if x.size]
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
    """Chart quantiles against those of a reference (QQ plot), with the line of equal ones.

    The first sample is drawn on top; ``axis`` is that of the reference, ``other`` of the samples.
    """
    most = min([reference.size, *(one.values.size for one in samples)])
    if most < 2:
        return None
    # Closer together at both ends, none beyond what the smallest sample can show.
    tail = np.geomspace(1 / most, 0.5, 30)
    shares = np.unique(np.concatenate([np.linspace(0, 1, min(most, 60)), tail, 1 - tail]))
    x = np.quantile(reference, shares)
    shown = x > 0 if axis.log else np.ones(x.size, dtype=bool)
    points = []
    for one in samples:
        y = np.quantile(one.values, shares)
        keep = shown & (y > 0) if axis.log else shown
        if keep.any():
            points.append(replace(one.steps(x[keep], y[keep]), shape="points"))
    if not points:
        return None
    ends = x[shown][[0, -1]]
    line = Curve(name="equal", x=ends, y=ends, role="baseline", dashed=True)
    caption = "Each point is one quantile; on the dashed line both sides are equal."
    layers = (line, *reversed(points))
    return Chart(name=name, title=title, x=axis, y=other, layers=layers, caption=caption)


def relative_rate_axis(rates: list[Estimate]) -> Axis:
    """Return an axis that shows how rates differ, however far their intervals reach."""
    shown = _MOST_OF_INTERVAL * max([1.0, *(rate.value for rate in rates)])
    ends = [rate.value if rate.high is None else rate.high for rate in rates]
    return Axis(label="relative rate", low=0, high=shown if max(ends, default=0) > shown else None)


def points_with_intervals(rates: list[Estimate], x: list[float]) -> Curve:
    """Return relative rates, none below 0, with their intervals as points."""
    return Curve(
        name="mean with 95% interval",
        x=x,
        y=[rate.value for rate in rates],
        low=[rate.value if rate.low is None else max(0.0, rate.low) for rate in rates],
        high=[rate.value if rate.high is None else rate.high for rate in rates],
        role="measured",
        shape="points",
    )


@dataclass(frozen=True)
class Side:
    """A session whose rate is drawn next to that of another: its name and its colour."""

    name: str
    role: Role
    view: SessionView

    @property
    def span_s(self) -> float:
        """From the first to the last media packet, s."""
        return s_from_ns(int(self.view.media_time_ns[-1] - self.view.media_time_ns[0]))

    def rate(self, bin_s: float, *, filled: bool = False) -> Curve:
        """Return the IP rate after the first media packet, kbit/s."""
        series = rate_series(self.view.media_time_ns, self.view.media_ip_bytes, bin_s=bin_s)
        start_s = bin_s * np.arange(series.size_bytes.size, dtype=np.float64)
        x, y = thin(start_s, series.rate_kbps)
        return Curve(name=self.name, x=x, y=y, role=self.role, shape="steps", filled=filled)

    def megabytes(self, *, dashed: bool = False) -> Curve:
        """Return the IP bytes up to each time after the first media packet, MB."""
        time_s = (self.view.media_time_ns - self.view.media_time_ns[0]) / NS_PER_S
        total = np.cumsum(self.view.media_ip_bytes, dtype=np.float64) / SIZE_UNITS_BYTES["MB"]
        x, y = thin(time_s, total, most=_CUMULATIVE_POINTS)
        return Curve(name=self.name, x=x, y=y, role=self.role, dashed=dashed)


def chart_rates(
    sides: Sequence[Side],
    *,
    behind: Sequence[Layer] = (),
    above: Sequence[Layer] = (),
    top_kbps: float = 0.0,
    caption: str = "",
) -> Iterator[Chart]:
    """Chart the rates of sessions on one time axis, the first shaded, and their bytes so far.

    Layers of ``behind`` and ``above`` are below and on top of the curves of the rates. ``top_kbps``
    is on the chart in any case, and ``caption`` follows the width of the bins.
    """
    bin_s = rate_bin_s(max(side.span_s for side in sides))
    rates = [side.rate(bin_s, filled=place == 0) for place, side in enumerate(sides)]
    highest = max([top_kbps, 1e-3, *(float(np.max(one.y, initial=0.0)) for one in rates)])
    time = replace(TIME, low=0, high=max(side.span_s for side in sides))
    if any(len(one.x) > 1 for one in rates):  # less than two bins show no course
        yield Chart(
            name="rate",
            title="Rate over time",
            x=time,
            y=Axis(label="IP rate to the client", unit="kbit/s", low=0, high=1.05 * highest),
            layers=(*behind, *rates, *above),
            caption=f"Means over bins of {bin_s:g} s. {caption}".strip(),
        )
    yield Chart(
        name="cumulative-bytes",
        title="Bytes so far",
        x=time,
        y=Axis(label="IP bytes to the client", unit="MB", low=0),
        layers=tuple(side.megabytes(dashed=place > 0) for place, side in enumerate(sides)),
        caption="Curves that end at one height carry the same bytes; where one is steeper it is"
        " faster.",
    )


def rate_bin_s(span_s: float) -> float:
    """Choose the width of the bins in which a session of this length is drawn, s."""
    return choose_bin_s(span_s, most=_RATE_BINS, finest_s=_FINEST_RATE_BIN_S)


def choose_bin_s(span_s: float, *, most: int = MOST_POINTS, finest_s: float = 0.1) -> float:
    """Choose a width, s, of which at most ``most`` fill a span: 1, 2 or 5 times a power of ten."""
    needed = max(span_s / most, finest_s)
    decade = 10.0 ** np.floor(np.log10(needed))
    widths = [float(factor * decade) for factor in (1, 2, 5, 10)]
    return next(width for width in widths if width >= needed * (1 - 1e-9))


def thin(
    x: npt.ArrayLike, y: npt.ArrayLike, *, most: int = MOST_POINTS
) -> tuple[FloatArray, FloatArray]:
    """Thin a curve, keeping the smallest and the largest value of every stretch.

    ``x`` ascends; at most ``most``, >= 4, points are left.
    """
    places, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if values.size <= most:
        return places, values
    stretch = -(-values.size // (most // 2))
    starts = range(0, values.size, stretch)
    parts = [values[start : start + stretch] for start in starts]
    ends = [[part.argmin(), part.argmax()] for part in parts]
    index = np.unique(np.asarray(ends) + np.asarray(starts)[:, np.newaxis])
    return places[index], values[index]


def choose_quantiles(count: int) -> npt.NDArray[np.int64]:
    """Choose places in a sorted sample: evenly spread, and closer together at both ends.

    The ends are where distributions differ and where an even spread has nothing to show.
    """
    if count <= _DISTRIBUTION_POINTS:
        return np.arange(count, dtype=np.int64)
    even = np.linspace(0, count - 1, _DISTRIBUTION_POINTS)
    tail = np.geomspace(1, count, _TAIL_POINTS) - 1
    return np.unique(np.concatenate([even, tail, count - 1 - tail]).astype(np.int64))


def distribution_curve(sample: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the empirical distribution function at a few of its steps: values and P(X <= value).

    Observations are in any order.

    Returns:
        Values in ascending order and their cumulative shares, each of shape (m,), m at most about
        500, from the smallest value with share 0 on. Drawn as steps.
    """
    ordered = np.sort(np.asarray(sample, dtype=np.float64))
    values, last = _distinct(ordered)
    index = choose_quantiles(values.size)
    shares = np.concatenate([np.zeros(values[:1].size), (last[index] + 1) / max(ordered.size, 1)])
    return np.concatenate([values[:1], values[index]]), shares


def survival_curve(sample: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the empirical P(X >= value) at a few values, for logarithmic axes: it is never 0.

    Observations are in any order.

    Returns:
        Values above 0 in ascending order and the shares that reach them, each of shape (m,), m at
        most about 500.
    """
    ordered = np.sort(np.asarray(sample, dtype=np.float64))
    values, last = _distinct(ordered)
    first = np.concatenate([[0], last[:-1] + 1]) if values.size else last
    keep = choose_quantiles(values.size)
    keep = keep[values[keep] > 0]
    return values[keep], (ordered.size - first[keep]) / max(ordered.size, 1)


def _distinct(ordered: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return distinct values with the place of the last of each."""
    if ordered.size == 0:
        return ordered, np.zeros(0, dtype=np.int64)
    last = np.append(np.flatnonzero(np.diff(ordered) > 0), ordered.size - 1).astype(np.int64)
    return ordered[last], last
