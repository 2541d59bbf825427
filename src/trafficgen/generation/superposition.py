"""Many sessions on one time axis: when each starts, and their packets in order of time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trafficgen._core import time_order
from trafficgen.errors import GenerationError
from trafficgen.models import LONGEST_S
from trafficgen.randomness import random_stream
from trafficgen.tables.buffers import rows_taken
from trafficgen.units import IntArray, ns_array_from_s


def session_starts(sessions: int, *, arrival_rate_per_s: float | None, seed: int) -> IntArray:
    """Return when each session starts, ns from the origin, shape (sessions,).

    Args:
        sessions: Number of sessions.
        arrival_rate_per_s: Mean number of sessions that start in a second, a Poisson process; None: all start at 0.
        seed: Seed of the run.

    Raises:
        GenerationError: If the last would start later than times can hold.
    """
    if arrival_rate_per_s is None:
        return np.zeros(sessions, dtype=np.int64)
    expected_s = sessions / arrival_rate_per_s
    if expected_s > LONGEST_S:
        raise GenerationError(
            f"{sessions} sessions at {arrival_rate_per_s:g} a second take {expected_s:g} s,"
            f" longer than {LONGEST_S:g} s; ask for a higher arrival rate"
        )
    generator = random_stream(seed, session=0, purpose="session arrivals")
    return ns_array_from_s(np.cumsum(generator.exponential(1 / arrival_rate_per_s, sessions)))


def superposed(parts: list[pa.Table]) -> pa.Table:
    """Return the packets of all parts in order of time, at equal times in order of their flows.

    Within a flow packets keep their order. The result does not depend on how sessions were cut into parts, nor on the
    order of the parts, as long as a flow's packets are in one of them or in several in order.
    """
    # Parts that follow one another in time are often in order as they are.
    parts = sorted((part for part in parts if part.num_rows), key=_first_ns) or parts[:1]
    table = pa.concat_tables(parts, promote_options="default")
    order = time_order(table.column("time_ns").to_numpy(), table.column("flow").to_numpy())
    return table if order is None else rows_taken(table, order)


def _first_ns(part: pa.Table) -> int:
    return int(part.column("time_ns")[0].as_py())
