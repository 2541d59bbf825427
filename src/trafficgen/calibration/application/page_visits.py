"""Which requests of a session were for pages, and which for the objects in them.

A page is a main object, the parsing of it, and embedded objects, each requested as soon as the one
before has come; then the page is read (3GPP2 C.R1002-0; NGMN 2008, annex A). The waits before
requests alone distinguish main from embedded objects: next to none, parsing, and reading. They are
a hidden Markov chain of two states, whose likeliest path is found, with the means of its three
exponential waits in turn (Viterbi training: Juang and Rabiner, IEEE Trans. ASSP 38, 1990).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.flows import Exchanges
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
_LEAST_S = (0.002, 0.001, 0.001)
_MOST_ROUNDS = 50
#: Reading takes so many times as long as parsing, and as this, s: below, they look alike.
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
        for one, least_s in zip(rows, _LEAST_S, strict=True)
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
