"""Charts of a fitted law with its sample: distribution function, tail and quantiles."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.distributions import MixedLaw
from trafficgen.distributions.fitting.families import free_parameters
from trafficgen.formatting import format_share, number
from trafficgen.imports import special
from trafficgen.models import Law
from trafficgen.reports.page import Axis, Band, Chart, Curve, Layer, Role
from trafficgen.reports.samples import Sample, chart_survival, choose_quantiles, distribution_curve
from trafficgen.units import FloatArray

_POINTS = 240
#: A band is sought at the ends of the intervals of at most this many parameters: 2**9 laws.
_MOST_PARAMETERS = 9
#: A positive parameter whose interval begins at 0 is drawn from this share of its value on.
_LEAST_SHARE = 1e-3
#: What is drawn reaches this share of its range beyond the values, so that a step at either end is
#: seen.
_MARGIN = 0.03
_LEVEL = 0.95
#: A tail is followed this many times beyond the largest value.
_FARTHEST = 4.0
#: Quantiles of a sample that are drawn against those of its law.
_EVEN_QUANTILES, _TAIL_QUANTILES = 80, 40

BAND_CAPTION = (
    "The band holds the law with each parameter anywhere in its 95% interval, all combinations: at"
    " each value it covers at least 95%, and more where parameters are correlated."
)


@dataclass(frozen=True, kw_only=True)
class PlottedLaw:
    """A law to be drawn over a sample, and its name in the legend."""

    name: str
    law: Law
    role: Role = "law"
    dashed: bool = False

    def curve(self, x: FloatArray, y: FloatArray) -> Curve:
        """Return a line in the name and colour of the law."""
        return Curve(name=self.name, x=x, y=y, role=self.role, dashed=self.dashed)


def chart_law(
    name: str,
    title: str,
    samples: Sequence[Sample],
    laws: Sequence[PlottedLaw],
    *,
    axis: Axis,
    caption: str = "",
) -> Chart | None:
    """Chart distribution functions of samples and laws; None where the first sample has no values.

    The first sample is the one that the laws were fitted to; the most important law comes first. On
    a logarithmic axis values of 0 are left of it: curves begin at their share.
    """
    shown = [one.values[one.values > 0] if axis.log else one.values for one in samples]
    if not shown[0].size:
        return None
    x = law_places([one.law for one in laws], np.concatenate(shown), log=axis.log)
    curves = [curve for one in samples for curve in _empirical(one, x)]
    bands = [band for one in laws if not one.dashed for band in _band(one, x, upper=False)]
    lines = [one.curve(x, one.law.distribution().cdf(x)) for one in reversed(laws)]
    atoms = [_describe_atoms(one) for one in laws[:1] if one.law.atoms]
    parts = [caption, *atoms, BAND_CAPTION if bands else ""]
    return Chart(
        name=name,
        title=title,
        x=axis,
        y=Axis(label="share of values up to it", low=0, high=1),
        layers=(*bands, *reversed(curves), *lines),
        caption=" ".join(part for part in parts if part),
    )


def chart_law_tail(
    name: str,
    title: str,
    samples: Sequence[Sample],
    laws: Sequence[PlottedLaw],
    *,
    axis: Axis,
    caption: str = "",
) -> Chart | None:
    """Chart P(X >= value) of samples and laws on logarithmic axes, which show the tail.

    Arguments are those of :func:`chart_law`; laws are drawn down to where one value of the first
    sample is expected beyond.
    """
    values = samples[0].values
    if not np.any(values > 0):
        return None
    least = 0.5 / values.size
    farthest = _FARTHEST * float(values.max())
    reached = [float(np.minimum(one.law.distribution().ppf(1 - least), farthest)) for one in laws]
    x = law_places([one.law for one in laws], np.concatenate([values, reached]), log=True)
    solid = [one for one in laws if not one.dashed]
    layers: list[Layer] = [band for one in solid for band in _band(one, x, upper=True, least=least)]
    for one in reversed(laws):
        share = reaching(one.law.distribution(), x)
        layers.append(one.curve(x, np.where(share >= least, share, np.nan)))
    caption = f"{caption} {BAND_CAPTION if isinstance(layers[0], Band) else ''}".strip()
    return chart_survival(name, title, samples, axis=axis, caption=caption, behind=layers)


def chart_law_quantiles(
    name: str, title: str, values: FloatArray, law: Law, *, axis: Axis, of: Axis
) -> Chart | None:
    """Chart quantiles of a sample against those of its law (QQ plot); None where there are too few.

    The k-th smallest of n independent draws has the share Beta(k, n + 1 - k), which gives its
    interval. ``values`` has the shape (n,); ``axis`` is that of the law, ``of`` that of the sample.
    """
    ordered = np.sort(values)
    n = ordered.size
    if n < 2:
        return None
    # Closer together at both ends.
    even = np.linspace(1, n, min(n, _EVEN_QUANTILES))
    ends = np.geomspace(1, n, min(n, _TAIL_QUANTILES))
    rank = np.unique(np.concatenate([even, ends, n + 1 - ends]).astype(np.int64))
    mixed = law.distribution()
    x, y = mixed.ppf((rank - 0.5) / n), ordered[rank - 1]
    shares = (1 - _LEVEL) / 2, (1 + _LEVEL) / 2
    low, high = (mixed.ppf(special.betaincinv(rank, n + 1 - rank, share)) for share in shares)
    keep = np.isfinite(x)
    keep &= ((x > 0) & (y > 0) & (low > 0)) if axis.log else True
    if np.count_nonzero(keep) < 2:
        return None
    x, y, low, high = x[keep], y[keep], low[keep], high[keep]
    ends = np.array([x.min(), x.max()])
    high = np.where(np.isfinite(high), high, np.nan)
    return Chart(
        name=name,
        title=title,
        x=axis,
        y=of,
        layers=(
            Band(name="95% of independent draws", x=x, low=low, high=high, role="law"),
            Curve(name="equal", x=ends, y=ends, role="baseline", dashed=True),
            Curve(name="measured", x=x, y=y, role="measured", shape="points"),
        ),
        caption=(
            "Each point is one quantile; on the dashed line the law is right. The band holds each"
            " quantile of 95 of 100 samples of this size that the law itself draws independently;"
            " values that depend on each other leave it more easily."
        ),
    )


def law_places(laws: Sequence[Law], values: FloatArray, *, log: bool) -> FloatArray:
    """Choose where laws are drawn: over the sample's range, and on both sides of each atom."""
    shown = values[values > 0] if log else values
    low, high = float(shown.min()), float(shown.max())
    if log:
        wider = max(1.05, (high / low) ** _MARGIN)
        low, high = low / wider, high * wider
    else:
        wider = max(_MARGIN * (high - low), _MARGIN * abs(high), 1e-9)
        low, high = low - wider, high + wider
    even = np.geomspace(low, high, _POINTS) if log else np.linspace(low, high, _POINTS)
    values_of_atoms = [atom.value for law in laws for atom in law.atoms]
    atoms = np.array([value for value in values_of_atoms if low <= value <= high])
    middle = np.sort(shown)[choose_quantiles(shown.size)[::4]]
    return np.unique(np.concatenate([even, middle, atoms, np.nextafter(atoms, -np.inf)]))


def reaching(law: MixedLaw, x: FloatArray) -> FloatArray:
    """Return P(X >= x)."""
    return np.asarray(1 - law.cdf(np.nextafter(x, -np.inf)))


def laws_at_interval_ends(law: Law) -> Iterator[MixedLaw]:
    """Yield the law with its parameters at the ends of their intervals, in all combinations."""
    names = [name for name in law.params if name in law.low and name in law.high]
    if not names or len(names) > _MOST_PARAMETERS:
        return
    kinds = free_parameters(law.family, law.params)
    weights = [name for name, kind in kinds.items() if kind == "weight"]
    lows = dict(law.low)
    for name in names:
        if kinds.get(name) == "log" and lows[name] <= 0:  # no law has a scale or shape of 0
            lows[name] = _LEAST_SHARE * law.params[name]
    for ends in itertools.product(*((lows[name], law.high[name]) for name in names)):
        params = law.params | dict(zip(names, ends, strict=True))
        total = sum(params[name] for name in weights)
        params |= {name: params[name] / total for name in weights if total > 0}
        try:
            yield law.model_copy(update={"params": params}).distribution()
        except ValueError:  # no law: the ends of the intervals do not go together
            continue


def _band(drawn: PlottedLaw, x: FloatArray, *, upper: bool, least: float = 0.0) -> Iterator[Band]:
    """Yield the band of a law's distribution function, or of P(X >= x), if it has intervals."""
    curves = [reaching(law, x) if upper else law.cdf(x) for law in laws_at_interval_ends(drawn.law)]
    curves = [curve for curve in curves if np.all(np.isfinite(curve))]
    if curves:
        low, high = np.min(curves, axis=0), np.max(curves, axis=0)
        shown = high > least if upper else np.ones(x.size, dtype=bool)
        low = np.maximum(low, least) if upper else low
        edges = {"x": x[shown], "low": low[shown], "high": high[shown]}
        yield Band(name=f"95% band of {drawn.name}", role=drawn.role, **edges)


def _empirical(one: Sample, places: FloatArray) -> Iterator[Curve]:
    """Yield the distribution function of a sample over the range of the places."""
    x, y = distribution_curve(one.values)
    shown = x >= places[0]
    if shown.any():
        before = float(np.mean(one.values < places[0]))
        x = np.concatenate([places[:1], x[shown], places[-1:]])
        yield one.steps(x, np.concatenate([[before], y[shown], [1.0]]))


def _describe_atoms(drawn: PlottedLaw) -> str:
    atoms = sorted(drawn.law.atoms, key=lambda atom: -atom.p)
    each = ", ".join(f"{number(atom.value)} ({format_share(atom.p)})" for atom in atoms[:5])
    more = f" and {len(atoms) - 5} more" if len(atoms) > 5 else ""
    return f"Single values with a share of their own: {each}{more}."
