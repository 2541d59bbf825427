"""No model, and nothing made of one, holds an address, a name or another identifier of the captures
behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.privacy.conftest import CAPTURES
from tests.privacy.telling import Secrets

import trafficgen
from trafficgen.export.targets import TARGETS
from trafficgen.models import Model, dump_model

pytestmark = pytest.mark.filterwarnings("ignore::trafficgen.TrafficgenWarning")
_PLAYER_LOG = "time_s,buffer_s\n0,0\n1,2\n2,4\n3,6\n30,6\n60,6\n"


@pytest.fixture(scope="module")
def fitted(telling_capture: Path) -> trafficgen.Fit:
    return trafficgen.fit(telling_capture)


@pytest.fixture(scope="module")
def model_file(fitted: trafficgen.Fit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.json"
    trafficgen.save_model(fitted.model, path)
    return path


def test_the_model_of_a_capture_tells_nothing(model_file: Path, secrets: Secrets) -> None:
    assert secrets.found_in(model_file.read_bytes(), binary=True) == []
    assert trafficgen.load_model(model_file).name == "address address"  # of the file, masked


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap.gz")), ids=lambda path: path.name)
def test_models_of_the_shipped_captures_tell_nothing(path: Path, secrets: Secrets) -> None:
    assert secrets.found_in(dump_model(trafficgen.fit(path).model).encode(), binary=True) == []


@dataclass(frozen=True)
class Given:
    """Captures to fit, and a folder for what goes with them."""

    rtsp: Path
    http: Path
    folder: Path


def _with_a_player_log(given: Given) -> Model:
    log = given.folder / "21.0.0.12.csv"
    log.write_text(_PLAYER_LOG, encoding="utf-8")
    return trafficgen.fit(given.rtsp, player_log=log, player_log_offset_s=0.3).model


def _at_both_ends(given: Given) -> Model:
    received = given.folder / given.rtsp.with_suffix(".2.pcapng").name
    received.write_bytes(given.rtsp.read_bytes())
    return trafficgen.fit(given.rtsp, receiver=received).model


_VARIANTS: dict[str, Callable[[Given], Model]] = {
    "a part": lambda given: trafficgen.fit(given.http, memory_bytes=100_000).model,
    "player log": _with_a_player_log,
    "receiver": _at_both_ends,
    "population": lambda given: (
        trafficgen.fit_population([given.rtsp, given.http], workers=1).model
    ),
    "same source": lambda given: trafficgen.fit_same_source([given.rtsp, given.http]).model,
}


@pytest.mark.parametrize("name", _VARIANTS)
def test_models_of_every_kind_of_fit_tell_nothing(
    name: str, telling_capture: Path, telling_download: Path, tmp_path: Path, secrets: Secrets
) -> None:
    model = _VARIANTS[name](Given(telling_capture, telling_download, tmp_path))
    assert secrets.found_in(dump_model(model).encode(), binary=True) == []


@pytest.mark.parametrize("name", ["out.pcap", "out.pcapng", "out.parquet", "out.csv", "dataset"])
def test_packets_made_of_a_model_tell_nothing(
    name: str, model_file: Path, tmp_path: Path, secrets: Secrets
) -> None:
    trafficgen.generate(model_file, tmp_path / name, duration_s=10)
    _tell_nothing(tmp_path, secrets)


def test_packets_played_over_a_path_tell_nothing(
    model_file: Path, tmp_path: Path, secrets: Secrets
) -> None:
    trafficgen.simulate(
        model_file, path="rate=1Mbps,delay=20ms", duration_s=10, out=tmp_path / "o.parquet"
    )
    _tell_nothing(tmp_path, secrets)


def test_exports_of_a_model_tell_nothing(
    model_file: Path, tmp_path: Path, secrets: Secrets
) -> None:
    table = trafficgen.generate(model_file, duration_s=10)
    done = []
    for target in TARGETS:
        try:
            trafficgen.export(table, to=target, directory=tmp_path / target)
        except trafficgen.ExportError:
            continue
        done.append(target)
    assert {"pcap", "mgen", "ns3", "tcpreplay"} <= set(done)
    _tell_nothing(tmp_path, secrets)


def _tell_nothing(folder: Path, secrets: Secrets) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert secrets.found_in(path.read_bytes(), binary=True) == [], path.name
