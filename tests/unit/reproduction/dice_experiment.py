"""An experiment without a simulation, in a module that other processes can import too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trafficgen.drawings import Axis, Curve, Drawing
from trafficgen.reproduction import Finding, FindingResult
from trafficgen.reproduction.figures import (
    Figure,
    MeasuredFigure,
    Measures,
    PlayedFigure,
    Seeds,
    TabledFigure,
)


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
class Dice:
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


def _drawing(name: str, values: Sequence[float], curve: str) -> tuple[Drawing, ...]:
    axis = Axis(label="eyes")
    layers = (Curve(name=curve, x=list(range(len(values))), y=values, role="synthetic"),)
    return (Drawing(name=name, title="Dice", x=axis, y=axis, layers=layers),)


def played_again(seeds: Seeds) -> tuple[Drawing, ...]:
    """Throw once more with the seeds of the pieces."""
    dice = Dice()
    parts = [dice.measure(part, seed=seed) for part, seed in enumerate(seeds["dice"])]
    return _drawing("series", [throw for part in parts for throw in part["throws"]], "throws")


def of_measures(measures: Measures) -> tuple[Drawing, ...]:
    """Draw the throws that were measured."""
    return _drawing(
        "throws", [throw for part in measures["dice"] for throw in part["throws"]], "throws"
    )


def of_rows(rows: Sequence[FindingResult]) -> tuple[Drawing, ...]:
    """Draw the mean of the runs."""
    return _drawing("table", [row.simulated for row in rows if row.finding.key == "mean"], "mean")


FIGURES: tuple[Figure, ...] = (
    PlayedFigure(name="played", experiments=("dice",), findings=("DICE-1",), draw=played_again),
    MeasuredFigure(name="measured", experiments=("dice",), findings=("DICE-1",), draw=of_measures),
    TabledFigure(
        name="tabled", experiments=("dice",), findings=("DICE-1", "DICE-10"), draw=of_rows
    ),
)
