"""Where an ascending function is zero."""

from __future__ import annotations

from collections.abc import Callable

#: Halvings of the range: 13 digits.
_HALVINGS = 44


def find_root(ascending: Callable[[float], float], low: float, high: float) -> float:
    """Return where an ascending function is 0 by bisection, or the end of the range nearest to it.

    Loading scipy.optimize takes longer than the few roots of a fit.
    """
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if ascending(middle) < 0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
