"""Pages that a session visited: which requests were for them, and their laws.

A page is a main object, the parsing of it, and embedded objects, each requested as soon as the one
before has come; then the page is read (3GPP2 C.R1002-0; NGMN 2008, annex A). The waits before
requests alone distinguish main from embedded objects: next to none, parsing, and reading. They are
a hidden Markov chain of two states, whose likeliest path is found, with the means of its three
exponential waits in turn (Viterbi training: Juang and Rabiner, IEEE Trans. ASSP 38, 1990).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.critical_values import NORMAL_95
from trafficgen.distributions import Distribution
from trafficgen.distributions.fitting.cells import group_into_cells
from trafficgen.distributions.fitting.likelihood import Bounds, FamilyLaw, fit_closed_form
from trafficgen.distributions.fitting.selection import Candidate, fit_candidates
from trafficgen.distributions.fitting.ticks import count_ticks
from trafficgen.distributions.fitting.uncertainty import law_cells, share_ticks, wald_intervals
from trafficgen.flows import Exchanges
from trafficgen.models import Estimate, WebPages
from trafficgen.units import NS_PER_S, BoolArray, FloatArray, IntArray

#: Fewer pages show no laws.
_FEWEST_PAGES = 10
#: Part of the waits below which the shortest ones are the path's delay alone.
_SHORTEST = 0.1
#: An acknowledgement is put off for no longer than this, s (RFC 9293 allows 0.5, Linux has 0.04).
_LONGEST_PUT_OFF_S = 0.05
#: Means of waits that the search starts with, s: of none, parsing and reading; and the least that
#: they become: a client that does not wait takes a little.
_STARTS_S = ((0.005, 0.1, 3.0), (0.005, 0.3, 30.0), (0.02, 0.5, 10.0))
_LEAST_WAIT_S = (0.002, 0.001, 0.001)
_MOST_ROUNDS = 50
#: Reading takes this many times as long as parsing, and as this, s: below, they look alike.
#: Parsing is a wait, and not what a client takes anyway, from this mean on, s.
_LEAST_RATIO, _LEAST_READING_S, _LEAST_PARSING_S = 5.0, 1.0, 0.04
#: Readers differ in their times (standard deviation over mean), where players keep a clock.
_LEAST_SPREAD = 0.4
#: Objects differ in size (standard deviation of logarithms) by more than segments of one title.
_LEAST_SIZE_SPREAD = 1.0


@dataclass(frozen=True)
class PageVisits:
    """Pages in the order in which they were visited.

    Attributes:
        main_bytes: Sizes of main objects, shape (pages,).
        embedded_bytes: Sizes of embedded objects, shape (objects,).
        objects: Embedded objects of each page but the last, shape (pages - 1,).
        parsing_s: Times between a main object and the first embedded one, s.
        reading_s: Times from the last object of a page to the next page, s.
        request_bytes: Payload of the requests, shape (pages + objects,).
        overlapping_share: Share of the requests before which a response was still coming.
    """

    main_bytes: FloatArray
    embedded_bytes: FloatArray
    objects: IntArray
    parsing_s: FloatArray
    reading_s: FloatArray
    request_bytes: FloatArray
    overlapping_share: float


@dataclass(frozen=True)
class _Chain:
    """Means of the waits, s, and how likely the states follow each other."""

    at_once_s: float
    parsing_s: float
    reading_s: float
    no_object: float  #: share of main objects that another one follows
    last_object: float  #: share of embedded objects that a main one follows

    def scores(self, wait_s: FloatArray) -> FloatArray:
        """Return log-likelihoods of each wait by the states before and after, shape (n, 2, 2).

        State 0 is a main object.
        """
        means_s = np.array([[self.reading_s, self.parsing_s], [self.reading_s, self.at_once_s]])
        shares = np.array(
            [[self.no_object, 1 - self.no_object], [self.last_object, 1 - self.last_object]]
        )
        return np.asarray(np.log(shares / means_s) - wait_s[:, None, None] / means_s)


def find_page_visits(exchanges: Exchanges) -> PageVisits | None:
    """Return the pages that a session visited; None if its requests are not those of pages."""
    table = exchanges.table
    known = (exchanges.column("kind") != "control") & np.asarray(
        table.column("request_ns").is_valid()
    )
    known &= np.asarray(table.column("last_byte_ns").is_valid())
    if np.count_nonzero(known) < 2 * _FEWEST_PAGES:
        return None
    request_ns, last_ns = (
        table.column(name).fill_null(0).to_numpy()[known] for name in ("request_ns", "last_byte_ns")
    )
    sizes, asked = (
        exchanges.column(name)[known].astype(np.float64)
        for name in ("response_bytes", "request_bytes")
    )
    overlaps = request_ns[1:] < np.maximum.accumulate(last_ns)[:-1]
    if overlaps.all():
        return None
    least_s, wait_s = _measure_waits(request_ns, last_ns, exchanges.heard_ns[known])
    is_main = _label(least_s)
    visits = _collect(is_main, wait_s, sizes, asked, float(np.mean(overlaps)))
    return visits if _are_pages(visits) else None


def _measure_waits(
    request_ns: IntArray, last_ns: IntArray, heard_ns: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return how long the client waited before each request but the first, s: least, and likely.

    Its acknowledgement of the last response shows when that had come, but a client may put it off
    for a little, so that a wait is at least as long as the time since then. The time since the
    last byte is exact near the client; near the server it has the path's delay, which the shortest
    times show, and that of its queue, for which there is the acknowledgement alone.
    """
    since_heard_s, since_last_s = (
        _take_shortest_off((request_ns[1:] - np.maximum.accumulate(end_ns)[:-1]) / NS_PER_S)
        for end_ns in (heard_ns, last_ns)
    )
    was_queued = since_last_s - since_heard_s > _LONGEST_PUT_OFF_S
    likely_s = np.where(was_queued, since_heard_s, since_last_s)
    return np.maximum(since_heard_s, 0.0), np.maximum(likely_s, 0.0)


def _take_shortest_off(since_s: FloatArray) -> FloatArray:
    later_s = since_s[since_s >= 0]
    return since_s - np.quantile(later_s, _SHORTEST) if later_s.size else since_s


def _label(wait_s: FloatArray) -> BoolArray:
    """Return which objects are main ones, shape (n,), by the waits before all but the first."""
    found = []
    for start_s in _STARTS_S:
        chain = _Chain(*start_s, no_object=0.2, last_object=0.2)
        is_main, before, score = np.zeros(0, np.bool_), np.zeros(0, np.bool_), -np.inf
        for _ in range(_MOST_ROUNDS):
            is_main, score = _likeliest(chain.scores(wait_s))
            if np.array_equal(is_main, before):
                break
            chain, before = _estimate(is_main, wait_s), is_main
        found.append((score, is_main))
    return max(found, key=lambda one: one[0])[1]


def _likeliest(scores: FloatArray) -> tuple[BoolArray, float]:
    """Return the likeliest path of states, as whether each is main, and its log-likelihood."""
    came_from = np.zeros((len(scores), 2), dtype=np.bool_)  # whether from an embedded object
    main, embedded = 0.0, -np.inf  # the first object is a page
    for place, ((to_main, to_first), (to_next_page, to_next)) in enumerate(scores.tolist()):
        came_from[place] = (
            embedded + to_next_page > main + to_main,
            embedded + to_next > (main + to_first),
        )
        main, embedded = (
            max(main + to_main, embedded + to_next_page),
            max(main + to_first, embedded + to_next),
        )
    is_main = np.zeros(len(scores) + 1, dtype=np.bool_)
    state = int(embedded > main)
    for place in range(len(scores), 0, -1):
        is_main[place] = state == 0
        state = int(came_from[place - 1, state])
    is_main[0] = True
    return is_main, max(main, embedded)


def _estimate(is_main: BoolArray, wait_s: FloatArray) -> _Chain:
    """Return the chain that a path of states shows; what it does not show is near none."""
    before, after = is_main[:-1], is_main[1:]
    rows = (~before & ~after, before & ~after, after)
    at_once_s, parsing_s, reading_s = (
        max(float(wait_s[one].mean()) if one.any() else 0.0, least_s)
        for one, least_s in zip(rows, _LEAST_WAIT_S, strict=True)
    )
    no_object, last_object = (
        (np.count_nonzero(one & after) + 1) / (np.count_nonzero(one) + 2)
        for one in (before, ~before)
    )
    return _Chain(at_once_s, parsing_s, reading_s, no_object, last_object)


def _collect(
    is_main: BoolArray,
    wait_s: FloatArray,
    sizes: FloatArray,
    asked: FloatArray,
    overlapping_share: float,
) -> PageVisits:
    before, after = is_main[:-1], is_main[1:]
    parsing_s = wait_s[before & ~after]
    # A page without objects is parsed too before it is read.
    parsed_s = float(parsing_s.mean()) if parsing_s.size else 0.0
    reading_s = np.maximum(wait_s - np.where(before, parsed_s, 0.0), 0.0)[after]
    return PageVisits(
        main_bytes=sizes[is_main],
        embedded_bytes=sizes[~is_main],
        objects=np.diff(np.flatnonzero(is_main)) - 1,
        parsing_s=parsing_s,
        reading_s=reading_s,
        request_bytes=asked,
        overlapping_share=overlapping_share,
    )


def _are_pages(visits: PageVisits) -> bool:
    """Return whether what was found is pages that someone read, and not a player's segments."""
    if visits.reading_s.size < _FEWEST_PAGES or visits.parsing_s.size < _FEWEST_PAGES:
        return False
    mean_s, parsed_s = float(visits.reading_s.mean()), float(visits.parsing_s.mean())
    sizes = np.concatenate((visits.main_bytes, visits.embedded_bytes))
    return bool(
        mean_s >= max(_LEAST_RATIO * parsed_s, _LEAST_READING_S)
        and parsed_s >= _LEAST_PARSING_S
        and visits.reading_s.std() >= _LEAST_SPREAD * mean_s
        and np.std(np.log(np.maximum(sizes, 1.0))) >= _LEAST_SIZE_SPREAD
        and np.ptp(visits.objects) > 0
    )


#: An end of a law is seen where cutting the law off there gains this much more log-likelihood than
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
#: Counts above a clip are mistakes: this share of them at most, and of a clip this many times more.
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
