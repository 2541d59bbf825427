from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.unit.export.targets.test_mgen import lines_of
from tests.unit.generation.conftest import model_with, phase, renewal, stream

import trafficgen
from trafficgen.errors import ExportError
from trafficgen.models import Law, RenewalProcess


def test_a_poisson_model_is_a_superposition_of_flows_of_one_size(tmp_path: Path) -> None:
    gap = Law(unit="s", family="expon", params={"loc": 0.0, "scale": 0.01}, observations=1)
    size = Law(
        unit="bytes",
        family="norm",
        params={"loc": 800.0, "scale": 100.0},
        integer=True,
        observations=1,
    )
    process = RenewalProcess(gap_s=gap, packet_bytes=size)
    model = model_with(stream(phases=(phase("playout", 2.0, 60.0, process),)))
    report = trafficgen.export(model, to="mgen", directory=tmp_path, settings={"sizes": 20})
    lines = lines_of(tmp_path / "model.mgn")
    drawn = [re.findall(r"POISSON \[(\S+) (\d+)\]", line)[0] for line in lines if " ON " in line]
    assert sum(float(rate) for rate, _ in drawn) == pytest.approx(100, rel=0.03)
    assert np.mean([int(size_bytes) for _, size_bytes in drawn]) == pytest.approx(800 - 28, abs=5)
    assert report.kind == "model"
    assert report.distances["video-playout gap_s.ks"] < 0.02
    assert report.distances["video-playout packet_bytes.ks"] < 1 / 20
    assert lines[0].startswith("2.000000 ON 1 ")
    assert lines[1] == "62.000000 OFF 1"


def test_a_law_that_mgen_cannot_draw_is_refused_unless_allowed(tmp_path: Path) -> None:
    model = model_with(
        stream(phases=(phase("playout", 0.0, 60.0, renewal(mean_s=0.01, shape=0.1)),))
    )
    with pytest.raises(
        ExportError,
        match=r"mgen cannot draw video-playout gap_s: .* more than 0\.2; .*'approximate': 'on'",
    ):
        trafficgen.export(model, to="mgen", directory=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    report = trafficgen.export(
        model, to="mgen", directory=tmp_path / "out", settings={"approximate": "on"}
    )
    assert report.distances["video-playout gap_s.ks"] > 0.2
