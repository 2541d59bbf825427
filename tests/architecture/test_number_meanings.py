"""Each key of the JSON that commands print stands on the page "What the numbers mean"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import trafficgen

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "what-the-numbers-mean.md"
CAPTURE = ROOT / "examples" / "captures" / "rtsp_rtp_two_streams.pcap.gz"
#: What is below these keys has names of its own: parameters of a family, metrics, links of a path,
#: facts of a source.
OPEN = {
    "params",
    "low",
    "high",
    "metrics",
    "baselines",
    "wins",
    "ties",
    "noise",
    "absent",
    "path",
    "facts",
    "settings",
}
#: Names of flows and sums, which stand before `_kbps` in the series.
_SERIES = re.compile(r"^[a-z]+-\d+_kbps$")


def keys_of(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            if key not in OPEN:
                yield from keys_of(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from keys_of(inner)


def undocumented(value: object) -> set[str]:
    named = set(re.findall(r"`([\w.-]+)`", PAGE.read_text(encoding="utf-8")))
    words = named | {part for name in named for part in name.split(".")}
    return {key for key in keys_of(value) if key not in words and not _SERIES.match(key)}


@pytest.mark.filterwarnings("ignore::trafficgen.TrafficgenWarning")
def test_keys_of_inspect_and_fit_are_explained() -> None:
    assert undocumented(trafficgen.inspect(CAPTURE).to_json()) == set()
    assert undocumented(trafficgen.fit(CAPTURE, flow=1).to_json()) == set()


@pytest.mark.filterwarnings("ignore::trafficgen.TrafficgenWarning")
def test_keys_of_simulate_and_compare_are_explained(tmp_path: Path) -> None:
    result = trafficgen.simulate(
        "realplayer8_chung2002",
        path="rate=300kbps,delay=45ms",
        compete=["tcp@-1s", "ping"],
        duration_s=20,
        seed=1,
    )
    assert undocumented(result.to_json()) == set()
    file = tmp_path / "cbr.parquet"
    trafficgen.generate("cbr", file, duration_s=5)
    assert undocumented(trafficgen.compare(file, file).to_json()) == set()
