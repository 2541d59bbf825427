"""Draws of ns-3's generators of standard models.

Those of web pages come with ns-3's wheel. The others are in ns-3's newer sources (802.11ax, RTA
TIG) and in the 5G module (3GPP XR, NGMN): they are compiled from a checkout of each, which
``TRAFFICGEN_NS3_SOURCE`` and ``TRAFFICGEN_NR_SOURCE`` name, against the wheel.
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
#: ns-3 checkout -> its variable, the folder of the models, and their files.
_CHECKOUTS = {
    "ns-3": ("TRAFFICGEN_NS3_SOURCE", "src/applications/model", _NS3_MODELS),
    "5G module": ("TRAFFICGEN_NR_SOURCE", "utils/traffic-generators/model", ("*",)),
}
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


def _run(program: Path, *arguments: str) -> FloatArray:
    done = subprocess.run(
        [str(program), *arguments], check=True, capture_output=True, text=True, timeout=_TIMEOUT_S
    )
    return np.loadtxt(io.StringIO(done.stdout), ndmin=2)


@cache
def _generators() -> Path:
    """Return the program that runs a generator, or skip the test."""
    sources: list[str] = []
    for what, (variable, folder, names) in _CHECKOUTS.items():
        place = os.environ.get(variable)
        if not place:
            pytest.skip(f"{variable} does not name a checkout of {what}")
        found = [str(one) for name in names for one in (Path(place) / folder).glob(f"{name}.cc")]
        assert found, f"{variable}: {place} has no {folder}"
        sources += found
    with tempfile.TemporaryDirectory(prefix="trafficgen-ns3-") as include:
        # Newer sources mark what a library shows, by a header that the wheel does not have yet.
        mark = Path(include) / "ns3" / "applications-export.h"
        mark.parent.mkdir()
        mark.write_text("#define APPLICATIONS_EXPORT\n", encoding="utf-8")
        return compiled(_HERE / "ns3_generators.cc", "wheel", *sources, f"-I{include}")
