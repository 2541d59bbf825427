"""Models that benchmarks play: one by hand with long sessions, and fits of two shipped captures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import OURS, ROOT, role, run_once

_CAPTURES = ROOT / "examples" / "captures"
_FITTED = {"frames": "rtsp_rtp_two_streams.pcap.gz", "tcp": "http_burst_then_paced.pcap.gz"}


def models_in(work: Path) -> dict[str, Path]:
    """Make the models in a folder and return their files by name: renewal, frames, tcp."""
    models = {name: work / f"{name}.json" for name in ("renewal", *_FITTED)}
    run_once(role("make_renewal_model", models["renewal"], 0))
    for name, capture in _FITTED.items():
        run_once([str(OURS), "fit", str(_CAPTURES / capture), "-o", str(models[name])])
    return models
