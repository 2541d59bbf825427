"""Draws of ns-3's generators of standard models.

Those of web pages come with ns-3's wheel. The others are in ns-3's newer sources (802.11ax, RTA
TIG), in the 5G module (3GPP XR and FTP model 1, NGMN), in the module vr-app (measured VR) and in
syncodecs, the encoders of the module rmcat: they are compiled from a checkout of each, which the
variables in ``CHECKOUTS`` name, against the wheel.
"""

from __future__ import annotations

import io
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.real_tools.ns3_runs import compiled

from trafficgen.units import FloatArray

_HERE = Path(__file__).parent
_NS3_MODELS = (
    "source-application",
    "rta-tig-mobile-gaming",
    "tgax-video-traffic",
    "tgax-virtual-desktop",
    "tgax-voip-traffic",
)
#: Project -> the variable that names its checkout.
CHECKOUTS = {
    "ns-3": "TRAFFICGEN_NS3_SOURCE",
    "5G-LENA": "TRAFFICGEN_NR_SOURCE",
    "vr-app": "TRAFFICGEN_VR_SOURCE",
    "syncodecs": "TRAFFICGEN_SYNCODECS_SOURCE",
}
_NR_MODELS = "utils/traffic-generators/model"
_NR_HELPERS = "utils/traffic-generators/helper"
_TIMEOUT_S = 300


@cache
def sent(generator: str, seconds: float) -> tuple[FloatArray, FloatArray]:
    """Return times, s, and sizes, bytes, of what an application of ns-3 sends.

    Args:
        generator: Its type, with attributes: ``ns3::TgaxVoipTraffic[BoundDelayJitter=0ms]``.
        seconds: Length of the simulation.
    """
    rows = _run(_generators(), generator, str(seconds))
    return rows[:, 0] / 1e9, rows[:, 1]


@cache
def web_pages(count: int) -> dict[str, FloatArray]:
    """Return draws of ns-3's variables of web pages, as its wheel has them."""
    rows = _run(compiled(_HERE / "ns3_http_variables.cc", "wheel"), str(count))
    names = ("main", "embedded", "objects", "reading", "parsing")
    return dict(zip(names, rows.T, strict=True))


@cache
def vr_bursts(generator: str, count: int, rate: str = "") -> tuple[FloatArray, FloatArray]:
    """Return sizes, bytes, and gaps, s, of bursts of ns-3's vr-app.

    Args:
        generator: Its type, with attributes: ``ns3::VrBurstGenerator[VrAppName=Minecraft]``.
        count: Number of draws.
        rate: Target rate (``30Mbps``), set once the attributes are there.
    """
    rows = _run(_vr_bursts(), generator, str(count), *([rate] if rate else []))
    return rows[:, 0], rows[:, 1]


@cache
def ftp_model_1(size: int, per_s: float, count: int) -> tuple[FloatArray, FloatArray]:
    """Return times, s, and sizes, bytes, of files that ns-3's helper of FTP model 1 starts."""
    rows = _run(_ftp_model_1(), str(size), str(per_s), str(count))
    return rows[:, 0] / 1e9, rows[:, 1]


@cache
def encoded(rate_bps: float, fps: float, count: int) -> tuple[FloatArray, FloatArray]:
    """Return sizes, bytes, and gaps, s, of frames of the encoder of ns-3's rmcat module."""
    rows = _run(_encoder(), str(rate_bps), str(fps), str(count))
    return rows[:, 0], rows[:, 1]


def _run(program: Path, *arguments: str) -> FloatArray:
    done = subprocess.run(
        [str(program), *arguments], check=True, capture_output=True, text=True, timeout=_TIMEOUT_S
    )
    return np.loadtxt(io.StringIO(done.stdout), ndmin=2)


def _sources(project: str, folder: str, *names: str) -> list[Path]:
    """Return the sources of these names in a checkout, or skip the test."""
    variable = CHECKOUTS[project]
    place = os.environ.get(variable)
    if not place:
        pytest.skip(f"{variable} does not name a checkout of {project}")
    found = [one for name in names for one in (Path(place) / folder).glob(f"{name}.cc")]
    assert found, f"{variable}: {place} has no {folder}"
    return found


def _compiled(program: str, sources: list[Path], *options: str) -> Path:
    """Compile a program with sources whose headers it finds as if ns-3 had them."""
    with tempfile.TemporaryDirectory(prefix="trafficgen-ns3-") as include:
        headers = Path(include) / "ns3"
        headers.mkdir()
        # Newer sources mark what a library shows, by a header that the wheel does not have yet.
        (headers / "applications-export.h").write_text(
            "#define APPLICATIONS_EXPORT\n", encoding="utf-8"
        )
        for source in sources:
            if (header := source.with_suffix(".h")).exists():
                (headers / header.name).symlink_to(header.resolve())
        return compiled(_HERE / program, "wheel", *map(str, sources), f"-I{include}", *options)


@cache
def _generators() -> Path:
    sources = _sources("ns-3", "src/applications/model", *_NS3_MODELS)
    return _compiled("ns3_generators.cc", sources + _sources("5G-LENA", _NR_MODELS, "*"))


@cache
def _vr_bursts() -> Path:
    names = ("burst-generator", "vr-burst-generator", "my-random-variable-stream")
    return _compiled("ns3_vr_bursts.cc", _sources("vr-app", "model", *names))


@cache
def _encoder() -> Path:
    return _compiled("ns3_encoder.cc", _sources("syncodecs", ".", "syncodecs", "traces-reader"))


@cache
def _ftp_model_1() -> Path:
    sources = [
        *_sources("5G-LENA", "helper", "three-gpp-ftp-m1-helper"),
        *_sources("5G-LENA", _NR_HELPERS, "traffic-generator-helper"),
        *_sources("5G-LENA", _NR_MODELS, "traffic-generator", "traffic-generator-ftp-single"),
    ]
    return _compiled("ns3_ftp_model_1.cc", sources, "-lns3.44-internet-apps")
