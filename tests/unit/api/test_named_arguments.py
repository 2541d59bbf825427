"""Errors name the argument that is wrong, as it was given; listeners take every step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trafficgen

CAPTURE = "examples/captures/http_burst_then_paced.pcap.gz"
INVALID: list[tuple[Callable[..., Any], str]] = [
    (lambda: trafficgen.fit(CAPTURE, seed=-1), "^fit: seed must not be negative, not -1"),
    (lambda: trafficgen.inspect(b"abc"), "not b'abc'"),  # type: ignore[arg-type]
    (lambda: trafficgen.Path.parse("rate=-1Mbps"), "rate=-1Mbps"),
    (lambda: trafficgen.Path.parse("rate=1Mbps,delay=-20ms"), "delay=-20ms"),
]


@pytest.mark.parametrize(("work", "message"), INVALID)
def test_what_is_wrong_is_named_as_it_was_given(work: Callable[..., Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError, trafficgen.TrafficgenError), match=message):
        work()


def test_limits_may_be_a_dictionary() -> None:
    table = trafficgen.generate("cbr", duration_s=5)
    comparison = trafficgen.compare(table, trafficgen.generate("cbr", duration_s=10))
    texts = trafficgen.exceeded_limits(comparison, ["packets=0.1", "gap_s.ks=0.9"])
    assert texts == trafficgen.exceeded_limits(comparison, {"packets": 0.1, "gap_s.ks": 0.9})
    assert [one.metric for one in texts] == ["packets.relative_difference"]
    with pytest.raises(trafficgen.SelectionError, match="no metric 'big'"):
        trafficgen.exceeded_limits(comparison, {"big": 0.1})


def test_the_listener_of_the_example_takes_every_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = str(trafficgen.following.__doc__)
    lines = [
        line.strip()[4:] for line in example.splitlines() if line.strip()[:4] in (">>> ", "... ")
    ]
    names: dict[str, Any] = {}
    exec("\n".join(lines[: lines.index("with trafficgen.following(show):")]), names)
    with trafficgen.following(names["show"]):
        trafficgen.fit(CAPTURE)
    assert "fitting" in capsys.readouterr().out
