"""Sums over the stored packets of a simulation are those of the engine."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import trafficgen
from trafficgen._core import SimulationOutcome
from trafficgen.simulation import run

CONGESTED = "rate=500kbps,delay=30ms,queue=15p,loss=2%,access=2Mbps,reverse_loss=1%"


def test_sums_are_those_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    engine: list[SimulationOutcome] = []
    run_scenario = run.run_scenario

    def keep(*given: object, **keywords: object) -> SimulationOutcome:
        engine.append(run_scenario(*given, **keywords))  # type: ignore[arg-type]
        return engine[-1]

    monkeypatch.setattr(run, "run_scenario", keep)
    result = trafficgen.simulate(
        "wmedia9_nichols2004", path=CONGESTED, compete=["tcp@1s..6s", "ping"], duration_s=12
    )
    (theirs,), ours = engine, result.run.outcome
    assert (ours.packets, ours.end_ns) == (theirs.packets, theirs.end_ns)
    everything = list(range(len(ours.flows)))
    for flows, way, media in itertools.product(([], [0], everything), (True, False), (True, False)):
        for start_ns, end_ns in ((None, None), (2 * 10**9, 5 * 10**9)):
            interval = {"start_ns": start_ns, "end_ns": end_ns}
            wanted = theirs.totals(flows, **interval, to_client=way, media_only=media)
            found = ours.totals(flows, **interval, to_client=way, media_only=media)
            delay_s = wanted.pop("mean_delay_s"), found.pop("mean_delay_s")  # type: ignore[misc]
            assert found == wanted
            assert delay_s[0] is delay_s[1] or delay_s[1] == pytest.approx(delay_s[0], rel=1e-12)
    for by in ("sent", "arrived", "dropped"):
        bins = {"by": by, "origin_ns": 10**9, "interval_ns": 5 * 10**8, "bins": 10}
        for got, want in zip(
            ours.bin_packets(everything, **bins),  # type: ignore[arg-type]
            theirs.binned(everything, **bins),  # type: ignore[arg-type]
            strict=True,
        ):
            assert want.any()
            np.testing.assert_array_equal(got, want)
