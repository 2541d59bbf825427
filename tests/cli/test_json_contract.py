"""What `--json` prints has exactly the published keys, nested ones too, and nothing else is on
stdout.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., Any]

FLOW = {
    *("application", "name"),
    *(
        "flow",
        "session",
        "protocol",
        "server",
        "server_port",
        "client",
        "client_port",
        "media",
        "packets",
    ),
    *("frame_bytes", "start_s", "duration_s", "to_client", "to_server", "rtp"),
}
RTP = {"ssrc", "payload_type", "clock_hz", "expected", "lost", "reordered", "jitter_s"}
DIRECTION = {"packets", "frame_bytes"}
INSPECT = {
    *("files", "packets", "ip_packets", "frame_bytes", "start_time_ns", "duration_s"),
    *("warnings", "sessions", "flows"),
}
FIT = {
    *(
        "flow",
        "packets",
        "duration_s",
        "phases",
        "packet_bytes",
        "gap_s",
        "bursts",
        "levels",
        "loss",
    ),
    *("dependence", "measures", "warnings"),
}
LAW = {"family", "params", "atoms", "low", "high", "ks", "p_value"}
MEASURES = {"buffering_data_rate_kbps", "steady_playout_rate_kbps", "ratio", "tcp_friendly_kbps"}
DELIVERY = {"offered_kbps", "achieved_kbps", "loss"}
DEPENDENCE = {"hurst", "hurst_low", "hurst_high", "gap_acf", "model", "long_range"}
METRICS = {
    *(
        "packet_bytes",
        "gap_s",
        "rate",
        "smoothness",
        "burst_packets",
        "burst_spacing_s",
        "rate_acf",
    ),
    *("variance_time", "hurst", "phases", "packets", "bytes", "duration"),
}
REPORT = {
    *("target", "files", "packets", "packets_changed", "bytes_before", "bytes_after"),
    *("timing_error_s", "cannot_express"),
}


def test_inspect_prints_the_published_keys(command: Command, rtp_model_file: Path) -> None:
    command("generate", str(rtp_model_file), "-o", "a.pcap")
    result = command("inspect", "a.pcap", "--json")
    assert result.code == 0
    found = result.json
    assert set(found) >= INSPECT
    assert {"session", "kind", "flows"} <= set(found["sessions"][0])
    (flow,) = found["flows"]
    assert set(flow) == FLOW
    assert set(flow["to_client"]) == set(flow["to_server"]) == DIRECTION
    assert set(flow["rtp"]) >= RTP


def test_fit_prints_the_published_keys(command: Command, rtp_model_file: Path) -> None:
    command("generate", str(rtp_model_file), "-o", "a.pcap")
    result = command("fit", "a.pcap", "--json", "-q")
    assert (result.code, result.err) == (0, "")
    found = result.json
    assert set(found) >= FIT
    assert set(found["flow"]) == FLOW
    assert set(found["phases"]) >= {"silence_s", "buffering", "playout", "buffering_ratio"}
    assert set(found["phases"]["playout"]) == {"start_s", "end_s", "rate_kbps"}
    for law in (found["packet_bytes"], found["gap_s"]):
        assert set(law) == LAW | {"alternatives"}
        assert all(set(atom) == {"value", "p"} for atom in law["atoms"])
        assert all(set(other) == {"family", "delta_bic"} for other in law["alternatives"])
    assert set(found["bursts"]) == {"threshold_s", "buffering", "playout"}
    assert set(found["bursts"]["playout"]) == {"spacing_s", "packets", "idle_s"}
    assert set(found["loss"]) >= {"rate", "mean_burst_packets", "source"}
    assert set(found["dependence"]) == DEPENDENCE
    assert set(found["measures"]) >= MEASURES
    assert set(found["measures"]["scale_changes"]) == {"count", "source"}
    delivery = found["measures"]["delivery"]
    assert set(delivery) == {"source", "buffering", "playout", "session"}
    assert set(delivery["playout"]) == set(delivery["session"]) == DELIVERY


def test_compare_prints_the_published_keys(command: Command, table_file: Path) -> None:
    result = command("compare", str(table_file), str(table_file), "--json")
    assert (result.code, result.err) == (0, "")
    found = result.json
    assert {"metrics", "baselines", "wins", "ties"} <= set(found)
    assert set(found["baselines"]) == {"cbr", "poisson", "renewal"}
    for metrics in (found["metrics"], *found["baselines"].values()):
        assert set(metrics) == METRICS
        assert set(metrics["packet_bytes"]) == set(metrics["gap_s"]) == {"ks", "wasserstein"}
        assert set(metrics["rate"]) == {"0.1", "0.5", "1", "10"}
        assert all(set(rate) == {"ks", "wasserstein"} for rate in metrics["rate"].values())
        assert all(
            set(metrics[name]) == {"ks"}
            for name in ("smoothness", "burst_packets", "burst_spacing_s")
        )
        assert set(metrics["rate_acf"]) == {"max_abs_difference"}
        assert set(metrics["variance_time"]) == {"max_abs_log10_ratio"}
        assert set(metrics["hurst"]) == {"reference", "candidate"}
        assert set(metrics["phases"]) == {"buffering_end_s", "buffering_ratio"}
        assert all(
            set(metrics[name]) == {"relative_difference"}
            for name in ("packets", "bytes", "duration")
        )
    assert set(found["totals"]) == {"packets", "ip_bytes", "payload_bytes", "duration_s"}


def test_a_table_is_at_no_distance_from_itself(command: Command, table_file: Path) -> None:
    metrics = command("compare", str(table_file), str(table_file), "--json").json["metrics"]
    assert metrics["packet_bytes"] == metrics["gap_s"] == {"ks": 0, "wasserstein": 0}
    assert metrics["variance_time"]["max_abs_log10_ratio"] == 0


def test_export_prints_the_published_keys(command: Command, table_file: Path) -> None:
    for target in ("pcap", "pcapng", "csv", "parquet"):
        result = command("export", str(table_file), "--to", target, "-o", target, "--json")
        assert (result.code, result.err) == (0, "")
        found = result.json
        assert set(found) == REPORT | {"kind", "distances", "removed"}
        assert set(found["timing_error_s"]) == {"max", "mean"}
        assert found["packets"] == 1000
        assert {entry.name for entry in Path(target).iterdir()} == {
            *found["files"],
            "README.md",
            ".trafficgen-export.json",
        }


PHASE = {"duration_s", "rate_kbps", "loss", "offered_kbps"}
SESSION = {
    *(
        "silence_s",
        "buffering",
        "playout",
        "level_changes",
        "stalls",
        "thinned_s",
        "adapted_s",
        "times",
        "frames",
    ),
    "retransmissions",
}
TIMES = {"request_s", "play_s", "playback_start_s", "buffer_full_s", "end_s"}
SERIES = {
    *(
        "interval_s",
        "start_s",
        "media_kbps",
        "media_offered_kbps",
        "media_loss",
        "encoding_kbps",
        "frame_rate",
    ),
    "buffer_s",
}


def test_simulate_prints_the_published_keys(command: Command) -> None:
    path = "rate=500kbps,delay=45ms,queue=20p"
    options = [
        "--path",
        path,
        "--compete",
        "tcp@-3s",
        "--compete",
        "cbr:50kbps",
        "--set",
        "duration_s=5",
        "--json",
    ]
    result = command("simulate", "cbr", *options)
    assert (result.code, result.err) == (0, "")
    found = result.json
    assert set(found) >= {"session", "flows", "series", "seed"}
    assert set(found["session"]) >= SESSION
    assert found["session"]["buffering"] is None
    assert set(found["session"]["playout"]) == PHASE
    assert set(found["session"]["times"]) == TIMES
    assert set(found["session"]["frames"]) == {"sent", "dropped_at_sender"}
    assert [flow["name"] for flow in found["flows"]] == ["media", "tcp-1", "cbr-1"]
    for flow in found["flows"]:
        assert set(flow) >= {"name", "mean_kbps", "loss", "delay_s", "retransmissions"}
        assert set(flow["delay_s"]) == {"mean", "p95", "max"}
    series = found["series"]
    assert set(series) == SERIES | {"tcp-1_kbps", "cbr-1_kbps"}
    assert (series["interval_s"], series["start_s"], found["seed"]) == (0.5, -3.0, 0)
    lengths = {len(values) for values in series.values() if isinstance(values, list)}
    assert len(lengths) == 1
