"""Named independent random streams from one seed.

Session *k* draws each purpose (gaps, sizes, ...) from a stream of its own, derived from (seed,
session, purpose). Which worker makes a session, and in which order, therefore changes nothing: the
same seed gives the same bytes.

The generator is Philox (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
3", SC 2011), keyed as by numpy's ``SeedSequence``.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence

from trafficgen import _core

_WORD_BITS = 32
_WORD = (1 << _WORD_BITS) - 1


def random_stream(seed: int, *, session: int, purpose: str) -> np.random.Generator:
    """Return the random generator of one purpose of one session.

    Args:
        seed: Seed of the run, >= 0.
        session: Number of the session, >= 0.
        purpose: What is drawn, such as ``"playout/gap_s"``. Different purposes are independent.

    Raises:
        ValueError: If the seed or the session is negative.
    """
    for name, value in {"seed": seed, "session": session}.items():
        if value < 0:
            raise ValueError(f"{name} must not be negative, not {value}; use 0 or more")
    words = [*_words(session), zlib.crc32(purpose.encode())]
    key: Any = _Key(
        _core.stream_key(_words(seed), words)
    )  # numpy takes any ISeedSequence, its stubs do not know
    return np.random.Generator(np.random.Philox(key))


def _words(number: int) -> list[int]:
    """Return a number's words of 32 bits, lowest first, at least one."""
    if number <= _WORD:
        return [number]
    return [number >> shift & _WORD for shift in range(0, number.bit_length(), _WORD_BITS)]


class _Key(ISeedSequence):
    """Hands a key to Philox.

    numpy's own way of making one takes longer than drawing a thousand numbers.
    """

    def __init__(self, state: npt.NDArray[np.uint64]) -> None:
        self._state = state

    def generate_state(
        self, n_words: int, dtype: npt.DTypeLike = np.uint32
    ) -> npt.NDArray[np.uint32] | npt.NDArray[np.uint64]:
        """Return the key."""
        assert (n_words, dtype) == (self._state.size, np.uint64)
        return self._state
