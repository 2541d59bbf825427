"""An experiment without a simulation, in a module that other processes can import too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trafficgen.reproduction import Experiment, Finding


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


@dataclass(frozen=True)
class Dice(Experiment):
    """Throws of a die; the number six cannot be measured."""

    name: str = "dice"
    findings: tuple[Finding, ...] = (
        dice_finding(),
        dice_finding(id="DICE-10", quantity="six", key="six", published="six"),
    )
    parts: int = 3

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Throw a few times."""
        return {
            "part": part,
            "seed": seed,
            "throws": np.random.default_rng(seed).integers(1, 7, size=4).tolist(),
        }

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the mean of all throws; pieces must come in order."""
        if [part["part"] for part in parts] != list(range(self.parts)):
            return {"mean": math.nan, "six": math.nan}
        return {
            "mean": float(np.mean([throw for part in parts for throw in part["throws"]])),
            "six": math.nan,
        }
