"""A player over several paths: its captures together show its ladder and its policy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

import trafficgen

CaptureFinder = Callable[[str], Path]
LADDER: list[JsonValue] = [250, 450, 800, 1400, 2400]


@pytest.mark.slow
def test_three_paths_show_the_ladder_that_one_does_not(tmp_path: Path) -> None:
    paths = {"700kbps": "60ms", "1.8Mbps": "30ms", "4Mbps": "15ms"}
    files = []
    for rate, delay in paths.items():
        file = tmp_path / f"{rate}.parquet"
        trafficgen.simulate(
            "chunked",
            settings={
                **{"ladder_kbps": LADDER, "segment_s": 3, "buffer_target_s": 15},
                **{"size_sigma": 0.2, "policy": "throughput", "throughput_average": "smoothed"},
                **{"throughput_share": 0.8, "throughput_up_steps": 1},
            },
            path=f"rate={rate},delay={delay},queue=40kB",
            duration_s=80,
            seed=4,
            out=file,
        )
        files.append(file)
    found = trafficgen.fit_same_source(files)
    application = found.model.application
    assert application is not None
    rates = [rung.rate_kbps.value for rung in application.rungs]
    # The lowest rung is at the first segment alone, in all of them.
    missing = len(LADDER) - len(rates)
    assert missing <= 1
    for kbps, true in zip(rates, LADDER[missing:], strict=True):
        assert kbps == pytest.approx(true, rel=0.06)
    assert application.policy is not None
    assert application.policy.family == "throughput"
    assert application.policy.parameters["throughput_up_steps"] == 1
    assert application.segment_s is not None
    assert application.segment_s.value == pytest.approx(3, rel=0.01)


@pytest.mark.slow
def test_recorded_paths_of_one_title_show_exact_ratios(shared_capture: CaptureFinder) -> None:
    names = ("abr_p1000_40", "abr_p3000_25")
    files = [shared_capture(f"lab-chunks/{name}-dst.pcap") for name in names]
    application = trafficgen.fit_same_source(files).model.application
    assert application is not None
    rates = [rung.rate_kbps.value for rung in application.rungs]
    # 300 was fetched once, by each at the same segment, so that it is known up to the content.
    assert rates[0] == pytest.approx(300, rel=0.2)
    assert [rate / rates[1] for rate in rates[1:]] == pytest.approx([1, 2, 2000 / 600], rel=0.01)
