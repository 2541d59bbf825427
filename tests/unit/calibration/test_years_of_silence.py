"""Memory follows the packets of a capture, not the years that its times span."""

from __future__ import annotations

import json
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import build_table

import trafficgen
from trafficgen.errors import TrafficgenError, TrafficgenWarning
from trafficgen.explore.playable_models import open_model
from trafficgen.tables import PacketTable

#: A bin of a second for each of 15 years takes 4 GB; numpy and a fit of 60 packets take a tenth.
MOST_BYTES = 100_000_000

RTP: dict[str, Any] = {"rtp_ssrc": 7, "rtp_timestamp": 3000, "rtp_marker": True}


def _packets(*gaps_s: float, sizes: tuple[int, ...] = (1200,), **columns: Any) -> PacketTable:
    time_s = np.concatenate(([0.0], np.cumsum(np.tile(gaps_s, 60 // len(gaps_s)))))
    return build_table(time_s, ip_bytes=np.resize(sizes, time_s.size), **columns)


TABLES = {
    "one pause": _packets(*[0.02] * 59, 4.7e8),
    "pauses": _packets(0.02, 1.6e7),
    "numbered": _packets(0.02, 1.6e7, rtp_sequence=list(range(0, 122, 2)), **RTP),
    "nanoseconds": _packets(1e-9, 1.6e7),
    "sizes": _packets(1.6e7, sizes=(28, 2**31 - 1)),
    "steady": _packets(8e6),
    "busy": build_table(np.append(np.arange(3000) * 0.02, 4.7e8 + np.arange(3000) * 0.02)),
}
#: Of those the two that differ most.
QUICK_TABLES = ("one pause", "numbered")


def _explore(path: Path) -> object:
    opened = open_model(str(path))
    assert len(json.dumps(opened.measured)) < 3_000_000
    return opened


STEPS: dict[str, Callable[[Path], object]] = {
    "inspect": trafficgen.inspect,
    "fit": trafficgen.fit,
    "report": lambda path: trafficgen.save_report(trafficgen.fit(path), path.with_suffix(".html")),
    "population": lambda path: trafficgen.fit_population([path, path, path], workers=1),
    "same source": lambda path: trafficgen.fit_same_source([path, path]),
    "compare": lambda path: trafficgen.compare(path, path),
    "explore": _explore,
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name not in QUICK_TABLES)) for name in TABLES],
)
def test_years_take_no_memory(tmp_path: Path, name: str, step: str) -> None:
    trafficgen.export(TABLES[name], to="parquet", directory=tmp_path)
    (path,) = tmp_path.glob("*.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrafficgenWarning)
        tracemalloc.start()
        try:
            STEPS[step](path)
        except TrafficgenError:
            pass  # a reason is an answer
        finally:
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert most < MOST_BYTES
