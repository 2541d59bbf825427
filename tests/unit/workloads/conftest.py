"""Workload files with models beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.generation.conftest import bursts, model_with, phase, renewal, stream

from trafficgen.models import Model, RtpFormat, save_model
from trafficgen.workloads.files import load_workload
from trafficgen.workloads.plan import PlannedWorkload

#: Loads a workload file of this text, with the models ``udp.json``, ``rtp.json``, ``tcp.json`` and
#: ``six.json`` beside.
Load = Callable[[str], PlannedWorkload]


def _models() -> dict[str, Model]:
    rtp = RtpFormat(payload_type=96, clock_hz=90_000, frame_per_burst=True)
    short = phase("playout", 0.0, 6.0, renewal(mean_s=0.05))
    framed = phase("playout", 0.0, 5.0, bursts(spacing_s=0.2, packets=3.0))
    return {
        "udp": model_with(stream(phases=(short,))),
        "rtp": model_with(stream(phases=(framed,), rtp=rtp), silence_s=0.0),
        "tcp": model_with(stream(phases=(framed,), protocol="tcp")),
        "six": model_with(stream(phases=(short,), ip_version=6, header_bytes=48)),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with models."""
    for name, model in _models().items():
        save_model(model.model_copy(update={"name": name}), tmp_path / f"{name}.json")
    return tmp_path


@pytest.fixture
def load(folder: Path) -> Load:
    """Return what writes a workload file and loads it."""

    def loaded(text: str) -> PlannedWorkload:
        path = folder / "workload.yaml"
        path.write_text(text, encoding="utf-8")
        return load_workload(path)

    return loaded
