"""An experiment without a simulation, in a module that other processes can import too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from trafficgen.reproduction import Experiment, Finding
from trafficgen.reproduction.finding import Measures, Piece


def dice_finding(**parts: Any) -> Finding:
    """Return a finding about dice with some parts replaced."""
    given = {
        "id": "DICE-1",
        "quantity": "mean",
        "unit": "",
        "published": 3.5,
        "low": 1.0,
        "high": 6.0,
    }
    return Finding(**{**given, "role": "predicted", "entry": "cbr", "key": "mean", **parts})


def _throw(part: int, seed: int) -> Measures:
    """Throw a few times."""
    return {
        "part": part,
        "seed": seed,
        "throws": np.random.default_rng(seed).integers(1, 7, size=4).tolist(),
    }


def _average_throws(parts: Sequence[Measures]) -> Measures:
    """Return the mean of all throws; pieces must come in order."""
    if [part["part"] for part in parts] != list(range(3)):
        return {"mean": math.nan, "six": math.nan}
    return {"mean": np.mean([throw for part in parts for throw in part["throws"]]), "six": math.nan}


@dataclass(frozen=True)
class Dice(Experiment):
    """Throws of a die; the number six cannot be measured."""

    name: str = "dice"
    pieces: tuple[Piece, ...] = tuple(partial(_throw, part) for part in range(3))
    combine: Callable[[Sequence[Measures]], Measures] = _average_throws
    findings: tuple[Finding, ...] = (
        dice_finding(),
        dice_finding(id="DICE-10", quantity="six", key="six", published="six"),
    )
