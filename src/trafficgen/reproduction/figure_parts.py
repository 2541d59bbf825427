"""What the figures of the papers share: rates over time, distributions, what a paper says as a line
or a point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from trafficgen.drawings import Axis, Curve, Drawing, Layer, Role, Rule, distribution_curve, thinned

#: Who is drawn how: the stream (over UDP where there are two), and what competes with it.
STREAM: Role = "synthetic"
COMPETITOR: Role = "other"
SHARE = Axis(label="share of them up to it", low=0, high=1)


def over_time(
    name: str,
    title: str,
    layers: Sequence[Layer],
    *,
    caption: str,
    y: Axis | None = None,
    time: str = "time after the player's first request",
    low_s: float | None = 0,
    high_s: float | None = None,
) -> Drawing:
    """Return a drawing over time, by default of rates."""
    return Drawing(
        name=name,
        title=title,
        x=Axis(label=time, unit="s", low=low_s, high=high_s),
        y=y or Axis(label="IP rate to the client", unit="kbit/s", low=0),
        layers=published_last(layers),
        caption=caption,
    )


def published_last(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Return layers with what the paper says on top: a thin line behind a curve that agrees with it
    is not seen.
    """
    return tuple(
        sorted(layers, key=lambda layer: isinstance(layer, Curve) and layer.role == "published")
    )


def binned(
    name: str,
    values: npt.ArrayLike,
    *,
    bin_s: float,
    start_s: float = 0.0,
    role: Role = STREAM,
    dashed: bool = False,
) -> Curve:
    """Return values of successive bins as steps."""
    rows = np.asarray(values, dtype=np.float64)
    x, y = thinned(start_s + bin_s * np.arange(rows.size), rows)
    return Curve(name=name, x=x, y=y, role=role, shape="steps", dashed=dashed)


def said(what: str, start: float, end: float, value: float) -> Curve:
    """Return what a paper says of a stretch of the x axis: a mean, a level."""
    return Curve(
        name=f"published: {what}", x=[start, end], y=[value, value], role="published", dashed=True
    )


def said_everywhere(what: str, at: float, *, axis: Literal["x", "y"] = "y") -> Rule:
    """Return a value that a paper tells without a place."""
    return Rule(name=f"published: {what}", at=at, axis=axis, role="published")


def said_points(
    what: str, places: Sequence[tuple[float, float]], notes: Sequence[str] = ()
) -> Curve:
    """Return points that a paper tells."""
    x, y = [place[0] for place in places], [place[1] for place in places]
    return Curve(
        name=f"published: {what}", x=x, y=y, role="published", shape="points", notes=tuple(notes)
    )


def distribution(
    name: str, sample: npt.ArrayLike, *, role: Role = STREAM, dashed: bool = False
) -> Curve:
    """Return the distribution function of a sample; infinite values count, and the curve ends below
    1 for them.
    """
    values = np.asarray(sample, dtype=np.float64)
    values = values[~np.isnan(values)]
    finite = values[np.isfinite(values)]
    x, shares = distribution_curve(finite)
    return Curve(
        name=name,
        x=x,
        y=shares * (finite.size / max(values.size, 1)),
        role=role,
        shape="steps",
        dashed=dashed,
    )


def exceeding(name: str, sample: npt.ArrayLike, *, role: Role = STREAM) -> Curve:
    """Return P(X > value) of a sample for a logarithmic axis: its last step ends at the largest
    value, above 0.
    """
    x, shares = distribution_curve(sample)
    longer = 1 - shares
    longer[longer < 1e-12] = np.nan
    last = np.flatnonzero(np.isfinite(longer))[-1:]
    x, longer = (
        np.append(x[: last[0] + 1], x[-1]),
        np.append(longer[: last[0] + 1], longer[last[0]]),
    )
    return Curve(name=name, x=x, y=longer, role=role, shape="steps")
