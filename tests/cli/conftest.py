"""Small inputs for the tests of the command line, and a way to run it in-process."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.generation.conftest import model_with, phase, stream

from trafficgen.cli.app import run
from trafficgen.models import Atom, BurstProcess, Law, Model, RenewalProcess, RtpFormat, save_model
from trafficgen.packet_files.writing import write_packets
from trafficgen.randomness import random_stream
from trafficgen.tables import PacketTable

Json = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Json:
        """The one JSON object on stdout; anything else fails, NaN and infinity too."""
        value = json.loads(self.out, parse_constant=_refuse)
        assert isinstance(value, dict)
        return value


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


Command = Callable[..., Result]


@pytest.fixture
def command(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Return a function that runs a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Result:
        capfd.readouterr()
        code = run(arguments)
        captured = capfd.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    """Write a model of one UDP stream: 10 s of gamma gaps."""
    gap = Law(
        unit="s", family="gamma", params={"a": 2.0, "loc": 0.0, "scale": 0.005}, observations=1
    )
    save_model(_model(RenewalProcess(gap_s=gap, packet_bytes=_sizes())), tmp_path / "model.json")
    return tmp_path / "model.json"


@pytest.fixture
def rtp_model_file(tmp_path: Path) -> Path:
    """Write a model of video frames over RTP: bursts every 40 ms."""
    process = BurstProcess(
        threshold_s=0.01,
        spacing_s=_only(0.04, "s"),
        burst_packets=_only(5, "packets"),
        gap_within_s=_only(0.0005, "s"),
        packet_bytes=_only(1400, "bytes"),
        last_packet_bytes=_sizes(),
    )
    rtp = RtpFormat(payload_type=96, clock_hz=90_000, frame_per_burst=True)
    save_model(_model(process, rtp=rtp), tmp_path / "rtp.json")
    return tmp_path / "rtp.json"


def _only(value: float, unit: str) -> Law:
    fields = {
        "unit": unit,
        "family": "atoms",
        "atoms": [{"value": value, "p": 1.0}],
        "integer": unit != "s",
    }
    return Law.model_validate({**fields, "observations": 1})


def _sizes() -> Law:
    atoms = (Atom(value=1400, p=0.5),)
    params = {"s": 0.4, "loc": 0.0, "scale": 600.0}
    return Law(
        unit="bytes",
        family="lognorm",
        params=params,
        atoms=atoms,
        minimum=100,
        maximum=1399,
        integer=True,
        observations=1,
    )


def _model(process: RenewalProcess | BurstProcess, *, rtp: RtpFormat | None = None) -> Model:
    played = stream(phases=(phase("playout", 0.0, 10.0, process),), rtp=rtp)
    return model_with(played, silence_s=1.0, rate_bps=8e5)


@pytest.fixture
def table_file(tmp_path: Path, make_table: Callable[..., PacketTable]) -> Path:
    """Write a packet table of one UDP flow: 1000 packets at exponential gaps of 20 ms."""
    generator = random_stream(1, session=0, purpose="test")
    time_s = np.cumsum(generator.exponential(0.02, 1000))
    table = make_table(time_s, ip_bytes=generator.integers(100, 1400, 1000))
    write_packets(table, tmp_path / "table.parquet")
    return tmp_path / "table.parquet"


@pytest.fixture
def write_table(tmp_path: Path, make_table: Callable[..., PacketTable]) -> Callable[..., str]:
    """Return a function that writes a packet table and returns its name."""

    def write(time_s: Sequence[float], **columns: Any) -> str:
        write_packets(
            make_table(np.asarray(time_s, dtype=np.float64), **columns), tmp_path / "made.parquet"
        )
        return "made.parquet"

    return write
