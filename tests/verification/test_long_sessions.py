"""What every process plays in a minute, an hour and ten hours is fitted, and plays on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from tests.verification.test_round_trip import model_of

import trafficgen
from trafficgen.models import Estimate, PacketProcess, Phase
from trafficgen.tables import PacketTable


def law(unit: str, family: str, **params: float) -> dict[str, Any]:
    whole = unit in {"bytes", "packets"}
    bounds = {"bytes": {"minimum": 60, "maximum": 1460}, "packets": {"minimum": 1}}.get(unit, {})
    return {
        "unit": unit,
        "family": family,
        "params": params,
        "integer": whole,
        "observations": 1,
        **bounds,
    }


def estimate(value: float) -> dict[str, Any]:
    return Estimate(value=value, method="by hand").model_dump()


SIZES = law("bytes", "lognorm", s=0.4, scale=700.0)
RENEWAL = {"kind": "renewal", "gap_s": law("s", "gamma", a=0.7, scale=0.08), "packet_bytes": SIZES}
SLOW = {"kind": "renewal", "gap_s": law("s", "expon", scale=0.5), "packet_bytes": SIZES}
CHAIN = [[0.0, 1.0], [1.0, 0.0]]
PROCESSES: dict[str, dict[str, Any]] = {
    "renewal": RENEWAL,
    "bursts": {
        "kind": "bursts",
        "threshold_s": 0.05,
        "spacing_s": law("s", "lognorm", s=0.8, scale=0.5),
        "burst_packets": law("packets", "gamma", a=3.0, scale=2.0),
        "gap_within_s": law("s", "expon", scale=0.002) | {"maximum": 0.04},
        "packet_bytes": SIZES,
        "last_packet_bytes": SIZES,
    },
    "frames": {
        "kind": "frames",
        "frame_rate_hz": estimate(10.0),
        "clock_ratio": estimate(1.0),
        "spacing_s": law("s", "norm", loc=0.1, scale=0.001),
        "types": [{"name": "frame", "frame_bytes": law("bytes", "gamma", a=8.0, scale=300.0)}],
        "packetisation": "filled",
        "packet_bytes": law("bytes", "atoms") | {"atoms": [{"value": 1400, "p": 1.0}]},
        "gap_within_s": law("s", "expon", scale=0.0005),
    },
    "modulated": {
        "kind": "modulated",
        "bin_s": 0.5,
        "bin_bytes": law("bytes", "gamma", a=2.0, scale=4000.0) | {"maximum": 100_000},
        "autocorrelation": [0.8, 0.6, 0.4, 0.2],
        "classes": [
            {"up_to_bytes": 6000, "gap_s": law("s", "expon", scale=0.05), "packet_bytes": SIZES},
            {"up_to_bytes": None, "gap_s": law("s", "expon", scale=0.02), "packet_bytes": SIZES},
        ],
    },
    "fgn": {
        "kind": "fgn",
        "bin_s": 0.1,
        "hurst": estimate(0.8),
        "bin_bytes": law("bytes", "gamma", a=3.0, scale=400.0) | {"maximum": 50_000},
        "packet_bytes": SIZES,
        "placement": "poisson",
    },
    "mmpp": {
        "kind": "mmpp",
        "states": [
            {"rate_per_s": estimate(30.0), "mean_sojourn_s": estimate(4.0)},
            {"rate_per_s": estimate(2.0), "mean_sojourn_s": estimate(6.0)},
        ],
        "transition": CHAIN,
        "packet_bytes": SIZES,
        "mean_rate_per_s": 13.2,
        "observed_s": 60.0,
    },
    "semi_markov": {
        "kind": "semi_markov",
        "states": [
            {"rate_bps": 12_000, "dwell_s": law("s", "gamma", a=3.0, scale=5.0), "process": SLOW},
            {
                "rate_bps": 100_000,
                "dwell_s": law("s", "gamma", a=3.0, scale=8.0),
                "process": RENEWAL,
            },
        ],
        "transition": CHAIN,
        "mean_rate_bps": 66_000,
        "observed_s": 60.0,
    },
}


def test_every_kind_of_process_is_played() -> None:
    kinds = {kind.model_fields["kind"].default for kind in get_args(get_args(PacketProcess)[0])}
    assert set(PROCESSES) == kinds - {"registered"}


def rate_bps(table: PacketTable) -> float:
    return 8 * float(table.ip_bytes.sum()) / float(np.ptp(table.time_s))


@pytest.mark.long
@pytest.mark.parametrize("duration_s", [60, 3600, pytest.param(36_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", PROCESSES)
def test_what_a_process_plays_is_fitted(kind: str, duration_s: int, tmp_path: Path) -> None:
    phase = Phase.model_validate(
        {
            "name": "playout",
            "start_s": 0.0,
            "duration_s": float(duration_s),
            "rate_bps": 0.0,
            "process": PROCESSES[kind],
        }
    )
    played = trafficgen.generate(
        model_of(phase), str(tmp_path / "played.parquet"), duration_s=duration_s, seed=duration_s
    )
    fit = trafficgen.fit(tmp_path / "played.parquet")
    again = trafficgen.generate(fit.model, duration_s=duration_s, seed=1)
    tolerance = {60: 0.3, 3600: 0.1, 36_000: 0.1}[duration_s]
    assert rate_bps(again) == pytest.approx(rate_bps(played), rel=tolerance)
