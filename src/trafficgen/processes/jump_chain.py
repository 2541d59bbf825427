"""Jump chains of processes with states: which state follows which."""

from __future__ import annotations

import math
from collections.abc import Sequence

JumpRow = tuple[float, ...]


def check_jump_chain(rows: Sequence[JumpRow | None], *, states: int) -> None:
    """Check the transition probabilities of a jump chain.

    There is a row a state, from which, with a probability a state, to which; None for a state that
    is never left.

    Raises:
        ValueError: If the chain is not square, has a jump from a state to itself, or a row does not
            sum to 1.
    """
    if len(rows) != states:
        raise ValueError(f"transition has {len(rows)} rows for {states} states")
    for number, row in enumerate(rows):
        if row is None:
            continue
        if len(row) != states:
            raise ValueError(
                f"row {number} of transition has {len(row)} numbers for {states} states"
            )
        if min(row) < 0 or row[number] != 0 or not math.isclose(sum(row), 1.0, abs_tol=1e-6):
            raise ValueError(
                f"row {number} of transition must have a zero diagonal, no negative number and sum"
                " to 1"
            )


#: No capture distinguishes more states than this.
MOST_STATES = 16
