"""Random streams: those of numpy's ``SeedSequence`` and Philox, made faster."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trafficgen.randomness import random_stream


@given(seed=st.integers(0, 1 << 200), session=st.integers(0, 1 << 70), purpose=st.text(max_size=20))
def test_a_stream_is_that_of_numpys_seed_sequence(*, seed: int, session: int, purpose: str) -> None:
    key = np.random.SeedSequence(seed, spawn_key=(session, zlib.crc32(purpose.encode())))
    expected = np.random.Generator(np.random.Philox(key))
    assert (
        random_stream(seed, session=session, purpose=purpose).random(3).tolist()
        == expected.random(3).tolist()
    )


def test_streams_of_negative_seeds_or_sessions_are_refused() -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        random_stream(-1, session=0, purpose="gap")
    with pytest.raises(ValueError, match="must not be negative"):
        random_stream(0, session=-1, purpose="gap")
