"""Laws of the pages that a session visited, as the models of standards have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.application.page_visits import PageVisits
from trafficgen.critical_values import NORMAL_95
from trafficgen.distributions import Distribution
from trafficgen.distributions.fitting.cells import group_into_cells
from trafficgen.distributions.fitting.likelihood import Bounds, FamilyLaw, fit_closed_form
from trafficgen.distributions.fitting.selection import Candidate, fit_candidates
from trafficgen.distributions.fitting.ticks import count_ticks
from trafficgen.distributions.fitting.uncertainty import law_cells, share_ticks, wald_intervals
from trafficgen.models import Estimate, WebPages
from trafficgen.units import NS_PER_S, FloatArray, IntArray

#: An end of a law is seen where cutting the law off there gains so much more log-likelihood than
#: the parameter costs by BIC ("strong" evidence of Kass and Raftery, 1995).
_GAIN = 6.0
#: An end lies beyond what 95% of samples reach.
_MISSED = 0.05
#: Pareto laws of counts: shapes and low ends that are tried.
_SHAPES = np.geomspace(0.1, 20.0, 600)
_LOW_COUNTS = np.arange(1, 61)
#: Twice the log-likelihood that a parameter within its interval of 95% loses at most.
_CHI_SQUARE_95 = NORMAL_95**2
#: A law describes a quantity if it is no further off than this, or than chance makes of few values
#: (Kolmogorov's distance times the root of their number that chance exceeds once in a hundred).
_WORST_KS, _BY_CHANCE = 0.2, 1.63
#: Counts above a clip are mistakes: this share of them at most, and of a clip so many times more.
_FEW_MISTAKEN, _FREQUENT = 0.01, 4
_LEAST_S = 1e-6
_OF_SIZES = "maximum likelihood of a log-normal law, cut off where the sizes show it"
_OF_ENDS = "the outermost size; interval: the end beyond which 95% of samples would have gone"
_OF_COUNTS = "maximum likelihood of a clipped Pareto law of whole numbers"
_OF_TIMES = "maximum likelihood of an exponential law"


@dataclass(frozen=True)
class _Sizes:
    """Sizes of objects with their law, and its distance to them."""

    mu: Estimate
    sigma: Estimate
    low_bytes: Estimate
    high_bytes: Estimate
    ks: float


def fit_pages(visits: PageVisits) -> WebPages | None:
    """Return the laws of pages with their intervals; None where a law cannot be fitted."""
    high_bytes = float(max(visits.main_bytes.max(), visits.embedded_bytes.max(initial=0.0)))
    main, embedded = (
        _fit_sizes(sizes, high_bytes) for sizes in (visits.main_bytes, visits.embedded_bytes)
    )
    times = {name: _fit_time(getattr(visits, name)) for name in ("parsing_s", "reading_s")}
    if main is None or embedded is None or None in times.values():
        return None
    counts, count_ks = _fit_counts(visits.objects)
    fitted_times = {name: found[0] for name, found in times.items() if found is not None}
    time_ks = {name: found[1] for name, found in times.items() if found is not None}
    return WebPages(
        pages=len(visits.main_bytes),
        objects=len(visits.embedded_bytes),
        parsed=len(visits.parsing_s),
        overlapping_share=visits.overlapping_share,
        request_bytes=_mean(visits.request_bytes),
        main_mu=main.mu,
        main_sigma=main.sigma,
        main_low_bytes=main.low_bytes,
        embedded_mu=embedded.mu,
        embedded_sigma=embedded.sigma,
        embedded_low_bytes=embedded.low_bytes,
        # The largest object is of the kind whose law reaches further.
        high_bytes=max(main, embedded, key=lambda one: _reach(one.high_bytes)).high_bytes,
        **counts,
        **fitted_times,
        ks={
            **{"main_bytes": main.ks, "embedded_bytes": embedded.ks, "objects_count": count_ks},
            **time_ks,
        },
    )


def have_laws(pages: WebPages) -> bool:
    """Return whether the laws of the standards' model describe pages, and not only their waits."""
    numbers = {
        **{"main_bytes": pages.pages, "embedded_bytes": pages.objects},
        **{"objects_count": pages.pages - 1, "reading_s": pages.pages - 1},
        "parsing_s": pages.parsed,
    }
    return all(
        pages.ks[name] <= max(_WORST_KS, _BY_CHANCE / np.sqrt(max(count, 1)))
        for name, count in numbers.items()
    )


def _reach(end: Estimate) -> float:
    return np.inf if end.high is None else end.high


def _mean(values: FloatArray) -> Estimate:
    error = float(values.std(ddof=1)) / values.size**0.5
    mean, half = float(values.mean()), NORMAL_95 * error
    return Estimate(value=mean, low=max(mean - half, 0.0), high=mean + half, method="mean")


def _fit_sizes(sizes: FloatArray, high_bytes: float) -> _Sizes | None:
    """Fit whole bytes by a log-normal law that is cut off at the ends that they show."""
    low = float(sizes.min())
    cells = group_into_cells(sizes, tick=1.0, is_difference=False)
    ends: Sequence[Bounds] = (
        *((None, None), (low - 0.5, None)),
        *((None, high_bytes + 0.5), (low - 0.5, high_bytes + 0.5)),
    )
    found = [one for bounds in ends for one in fit_candidates(cells, ("lognorm",), bounds=bounds)]
    if not found:
        return None
    law = min(found, key=lambda one: _cost(one, cells.n)).maximum.law
    of_cells = law_cells(law, tick=1.0, is_difference=False)
    if of_cells is None:
        return None
    intervals = wald_intervals(law, of_cells, observations=cells.n)
    scale, sigma = law.params["scale"], law.params["s"]
    whole = FamilyLaw("lognorm", law.params).distribution
    mu_low, mu_high = (float(np.log(one["scale"])) for one in (intervals.low, intervals.high))
    return _Sizes(
        mu=Estimate(value=float(np.log(scale)), low=mu_low, high=mu_high, method=_OF_SIZES),
        sigma=Estimate(
            value=sigma, low=intervals.low["s"], high=intervals.high["s"], method=_OF_SIZES
        ),
        low_bytes=_low_end(whole, low, cells.n),
        high_bytes=_high_end(whole, high_bytes, cells.n),
        ks=_distance(sizes, law, tick=1.0),
    )


def _cost(candidate: Candidate, n: int) -> float:
    """Return twice the negative log-likelihood, and what each end costs."""
    ends = sum(bound is not None for bound in candidate.maximum.law.bounds)
    return -2 * candidate.log_likelihood + ends * (float(np.log(n)) + _GAIN)


def _low_end(whole: Distribution, smallest: float, n: int) -> Estimate:
    """Return where a law may be cut off below: of n values the smallest would not be so large."""
    share = 1 - whole.sf(smallest) * _MISSED ** (-1 / n)
    low = float(whole.ppf(share)) if share > 0 else 0.0
    return Estimate(value=smallest, low=min(low, smallest), high=smallest, method=_OF_ENDS)


def _high_end(whole: Distribution, largest: float, n: int) -> Estimate:
    share = 1 - whole.cdf(largest) * _MISSED ** (-1 / n)
    high = max(float(whole.isf(share)), largest) if share > 0 else None
    return Estimate(value=largest, low=largest, high=high, method=_OF_ENDS)


def _distance(values: FloatArray, law: FamilyLaw, *, tick: float) -> float:
    """Return the Kolmogorov-Smirnov distance of values, known up to ``tick``, to a law."""
    shares = share_ticks(count_ticks(values, tick=tick))
    return shares.distance_to(law.distribution, is_difference=False)


def _fit_time(times_s: FloatArray) -> tuple[Estimate, float] | None:
    fit = fit_closed_form("expon", np.maximum(times_s, _LEAST_S))
    if fit is None:
        return None
    mean_s = fit.params["scale"]
    found = Estimate(value=mean_s, low=fit.low["scale"], high=fit.high["scale"], method=_OF_TIMES)
    return found, _distance(times_s, FamilyLaw("expon", fit.params), tick=1 / NS_PER_S)


def _fit_counts(objects: IntArray) -> tuple[dict[str, Estimate], float]:
    """Fit embedded objects of a page: a Pareto law less its low end, rounded, perhaps clipped."""
    most = _find_clip(objects)
    objects = np.minimum(objects, most)
    values, counts = np.unique(objects, return_counts=True)
    clipped, endless = (_count_log_likelihoods(values, counts, most=end) for end in (most, None))
    is_clipped = bool(2 * (clipped.max() - endless.max()) > np.log(objects.size) + _GAIN)
    fits = clipped if is_clipped else endless
    place = np.unravel_index(int(fits.argmax()), fits.shape)
    likely = 2 * (fits.max() - fits) <= _CHI_SQUARE_95
    shapes, lows = _SHAPES[likely.any(axis=1)], _LOW_COUNTS[likely.any(axis=0)]
    shape, low = float(_SHAPES[place[0]]), int(_LOW_COUNTS[place[1]])
    law = _count_probabilities(np.arange(most + 1), np.array([shape]), np.array([low]))
    after = np.cumsum(law[:, 0, 0])
    if is_clipped:
        after[-1] = 1.0
    seen = np.cumsum(np.bincount(objects, minlength=most + 1)) / objects.size
    estimates = {
        "objects_shape": (shape, shapes[0], shapes[-1]),
        "objects_low_count": (low, lows[0], lows[-1]),
        "objects_high_count": (most + low, most + lows[0], most + lows[-1] if is_clipped else None),
    }
    return {
        name: Estimate(
            value=value,
            low=float(start),
            high=None if end is None else float(end),
            method=_OF_COUNTS,
        )
        for name, (value, start, end) in estimates.items()
    }, float(np.abs(after - seen).max())


def _find_clip(objects: IntArray) -> int:
    """Return where counts may be clipped: at the largest, or at a frequent one below a few others.

    A page that was taken for the objects of the one before makes a count that no page has.
    """
    values, counts = np.unique(objects, return_counts=True)
    above = objects.size - np.cumsum(counts)
    few = above <= _FEW_MISTAKEN * objects.size
    frequent = few & (counts >= _FREQUENT * np.maximum(above, 1))
    return int(values[frequent][-1] if frequent.any() else values[-1])


def _count_log_likelihoods(values: IntArray, counts: IntArray, *, most: int | None) -> FloatArray:
    """Return the log-likelihood by shape and low end, shape (shapes, low ends).

    Above ``most`` the law is clipped; None: nowhere.
    """
    law = _count_probabilities(values, _SHAPES, _LOW_COUNTS)
    if most is not None:
        law[-1] += _survival(values[-1] + 0.5, _SHAPES, _LOW_COUNTS)
    return np.asarray(np.tensordot(counts, np.log(np.maximum(law, 1e-300)), axes=1))


def _count_probabilities(values: IntArray, shapes: FloatArray, lows: IntArray) -> FloatArray:
    """Return the probability of each value, shape (values, shapes, low ends)."""
    ends = [
        np.array([_survival(value + side, shapes, lows) for value in values])
        for side in (-0.5, 0.5)
    ]
    return np.asarray(ends[0] - ends[1])


def _survival(x: float, shapes: FloatArray, lows: IntArray) -> FloatArray:
    """Return how often a Pareto law less its low end is above x, shape (shapes, low ends)."""
    return np.asarray(np.minimum(lows / np.maximum(x + lows, 1e-9), 1.0) ** shapes[:, None])
