"""Named independent random streams from one seed.

Session *k* draws each purpose (gaps, sizes, ...) from a stream of its own, derived from (seed, session, purpose).
Which worker makes a session, and in which order, therefore changes nothing: the same seed gives the same bytes.

The generator is Philox (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011),
keyed by numpy's ``SeedSequence``.
"""

from __future__ import annotations

import zlib

import numpy as np


def random_stream(seed: int, *, session: int, purpose: str) -> np.random.Generator:
    """Return the random generator of one purpose of one session.

    Args:
        seed: Seed of the run, >= 0.
        session: Number of the session, >= 0.
        purpose: What is drawn, such as ``"playout/gap_s"``. Different purposes are independent.

    Raises:
        ValueError: If the seed or the session is negative.
    """
    if seed < 0 or session < 0:
        raise ValueError(f"seed and session must not be negative; got seed={seed}, session={session}")
    key = (session, zlib.crc32(purpose.encode()))
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=key)))
