"""Numbers of numpy are numbers of Python wherever an argument is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import trafficgen
from trafficgen.options import checks_arguments, option, takes


@dataclass(frozen=True, kw_only=True)
class Counting:
    seed: int = option(0, "--seed", help="Seed.", low=0)
    settings: Mapping[str, object] = field(default_factory=dict)


@takes(Counting)
def count(things: object, options: Counting) -> list[object]:
    return [things, options.seed, options.settings]


@checks_arguments
def count_plainly(things: object, *, seed: int = 0, settings: object = None) -> list[object]:
    return [things, seed, settings]


@pytest.mark.parametrize("number", [np.int64(4), np.uint8(4), np.float32(0.5), np.bool_(True)])
def test_json_takes_every_argument(number: np.generic) -> None:
    settings = {"one": number, "nested": [number, {"two": (number,)}]}
    for work in (count, count_plainly):
        found = work([number], seed=np.int64(4), settings=settings)  # type: ignore[arg-type]
        plain = number.item()
        assert found == [[plain], 4, {"one": plain, "nested": [plain, {"two": (plain,)}]}]
        json.dumps(found)


def test_results_are_those_of_plain_numbers(tmp_path: Path) -> None:
    def play(seed: int, size: int, name: str) -> list[object]:
        model = trafficgen.load_model("cbr")
        settings = {"packet_bytes": size}
        options = {"duration_s": 3, "seed": seed, "settings": settings}
        written = trafficgen.generate_workload(
            "cbr", tmp_path / name, sessions=2, duration_s=3, seed=seed, settings=settings
        )
        return [
            trafficgen.generate(model, **options).notes,  # type: ignore[arg-type]
            trafficgen.simulate(model, path="rate=1Mbps", **options).to_json()["settings"],  # type: ignore[arg-type]
            written.packets,
        ]

    assert play(np.int64(4), np.int64(500), "numpy") == play(4, 500, "plain")  # type: ignore[arg-type]
