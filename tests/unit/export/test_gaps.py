"""Gaps as tools see them."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.export.gaps import gaps_s


def test_gaps_are_those_within_a_flow_in_whole_microseconds() -> None:
    gaps = gaps_s([np.array([0, 1_500, 10_000]), np.array([500]), np.array([7_000, 9_999])])
    assert gaps.tolist() == pytest.approx([1e-6, 9e-6, 2e-6])
