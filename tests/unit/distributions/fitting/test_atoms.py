"""Atoms of a sample: values that are taken far more often than their neighbours."""

from __future__ import annotations

import numpy as np

from trafficgen.distributions.fitting.ticks import split_atoms


def test_atom_between_clock_ticks_keeps_its_value() -> None:
    # Pieces of an offload packet are 9.92 us apart, which a clock of 1 us ticks would show as 10
    # us.
    others = np.random.default_rng(1).uniform(20e-6, 2e-3, 500)
    found = split_atoms(np.concatenate((np.full(500, 9.92e-6), others)), tick=1e-6)
    assert found.values.tolist() == [9.92e-6]
    assert found.probabilities.tolist() == [0.5]


def test_atom_on_a_tick_is_that_tick() -> None:
    others = np.random.default_rng(1).integers(100, 1400, 600).astype(np.float64)
    found = split_atoms(np.concatenate((np.full(400, 1500.0), others)), tick=1.0)
    assert found.values.tolist() == [1500.0]
