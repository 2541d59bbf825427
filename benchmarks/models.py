"""Models that benchmarks play: one by hand with long sessions, and fits of captures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import OURS, ROOT, role, run_once

_CAPTURES = ROOT / "examples" / "captures"
#: Captures beside the repository, which it may not ship.
_SHARED_CAPTURES = ROOT.parent / "shared" / "captures"
_SESSIONS = {
    "RTP, H.264": "streaming/sipp_rtp_h264.pcap",
    "RTSP, video and audio": "lab/rtsp_gst_clear-src.pcap",
    "YouTube over QUIC": "streaming/requet_C_baseline_May14_exp_320.pcap",
    "chunks over QUIC": "lab-chunks/quic_p1000_40-src.pcap",
    "DASH": "lab-chunks/abr_p3000_25-src.pcap",
    "bulk over TCP": "bulk/mlab_ndt7_ipv4.pcap.gz",
}
_FITTED = {"frames": "rtsp_rtp_two_streams.pcap.gz", "tcp": "http_burst_then_paced.pcap.gz"}


def models_in(work: Path) -> dict[str, Path]:
    """Make the models in a folder and return their files by name: renewal, frames, tcp."""
    models = {name: work / f"{name}.json" for name in ("renewal", *_FITTED)}
    run_once(role("make_renewal_model", models["renewal"], 0))
    for name, capture in _FITTED.items():
        run_once([str(OURS), "fit", str(_CAPTURES / capture), "-o", str(models[name])])
    return models


def captures_of_sessions() -> dict[str, Path]:
    """Return captures of real sessions by name, which need not be there."""
    return {name: _SHARED_CAPTURES / capture for name, capture in _SESSIONS.items()}


def models_of_sessions(work: Path) -> dict[str, Path | None]:
    """Fit real sessions into a folder; return the files by name, None without the capture."""
    models: dict[str, Path | None] = {}
    for number, (name, path) in enumerate(captures_of_sessions().items()):
        models[name] = work / f"session-{number}.json" if path.exists() else None
        if path.exists():
            run_once([str(OURS), "fit", str(path), "-o", str(models[name])])
    return models
