from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import trafficgen
from trafficgen.calibration.fit import _doubt_transfer
from trafficgen.calibration.options import FitOptions
from trafficgen.calibration.session_fit import Calibration, SessionInputs, fit_session
from trafficgen.capture.reading import read_capture
from trafficgen.errors import TooFewObservationsError
from trafficgen.flows import choose_session
from trafficgen.models import Application, BurstProcess, Model, RenewalProcess, dump_model
from trafficgen.tables import PacketTable

SwitchingMaker = Callable[..., Any]
MmppMaker = Callable[..., Any]
TableMaker = Callable[..., PacketTable]
CaptureFinder = Callable[[str], Path]
KEYS = {
    "packets",
    "duration_s",
    "phases",
    "packet_bytes",
    "gap_s",
    "bursts",
    "levels",
    "loss",
    "dependence",
    "measures",
    "warnings",
}


def fitted(table: PacketTable, **options: Any) -> Calibration:
    inputs = SessionInputs(files=("folder/a.pcap",), digests=("sha256:0",))
    return fit_session(choose_session(table), inputs, FitOptions(**options))


def renewal_table(make_table: TableMaker, n: int = 10_000) -> PacketTable:
    rng = np.random.default_rng(1)
    sizes = np.where(
        rng.random(n) < 0.35, 1500, np.clip(np.rint(rng.lognormal(np.log(400), 0.3, n)), 60, 1499)
    )
    return make_table(np.cumsum(rng.gamma(2.0, 0.002, n)), ip_bytes=sizes.astype(int))


def burst_table(make_table: TableMaker) -> PacketTable:
    rng = np.random.default_rng(2)
    parts, start_s = [], 0.0
    while start_s < 100:
        fast = start_s < 20
        packets = 1 + rng.poisson(40 if fast else 21)
        parts.append(start_s + np.cumsum(rng.exponential(0.001, packets)))
        start_s += 0.3 if fast else 0.5
    return make_table(np.concatenate(parts))


def test_renewal_stream_gives_back_its_laws(make_table: TableMaker) -> None:
    result = fitted(renewal_table(make_table))
    process = result.model.streams[0].phases[0].process
    assert isinstance(process, RenewalProcess)
    assert process.gap_s.family == "gamma"
    n = 10_000
    # standard errors of the gamma law's shape 2: 2 * sqrt(2 / n) / sqrt(2 * trigamma(2) * 2 / 2 -
    # 1) is about 0.027
    assert process.gap_s.params["a"] == pytest.approx(2.0, abs=3 * 0.027)
    assert process.gap_s.params["a"] * process.gap_s.params["scale"] == pytest.approx(
        0.004, abs=3 * 0.0028 / np.sqrt(n)
    )
    (atom,) = process.packet_bytes.atoms
    assert atom.value == 1500
    assert atom.p == pytest.approx(0.35, abs=3 * np.sqrt(0.35 * 0.65 / n))
    assert process.packet_bytes.params["s"] == pytest.approx(
        0.3, abs=3 * 0.3 / np.sqrt(2 * 0.65 * n)
    )
    assert result.summary()["dependence"]["model"] == "renewal"  # type: ignore[index]
    assert result.summary()["bursts"] is None
    assert result.warnings == []


def test_bursts_in_two_phases_are_described_as_they_were_sent(make_table: TableMaker) -> None:
    result = fitted(burst_table(make_table))
    summary: Any = result.summary()
    buffering, playout = summary["bursts"]["buffering"], summary["bursts"]["playout"]
    assert summary["phases"]["buffering"]["end_s"] == pytest.approx(20, abs=0.5)
    assert summary["phases"]["buffering"]["low"] <= 20 <= summary["phases"]["buffering"]["high"]
    assert buffering["spacing_s"] == pytest.approx(0.3, rel=0.01)
    assert playout["spacing_s"] == pytest.approx(0.5, rel=0.01)
    # Poisson counts: three standard errors, sqrt(40 / 67) and sqrt(21 / 160)
    assert buffering["packets"] == pytest.approx(41, abs=3 * np.sqrt(40 / 67))
    assert playout["packets"] == pytest.approx(22, abs=3 * np.sqrt(21 / 160))
    assert playout["idle_s"] == pytest.approx(0.5 - 0.022, abs=0.005)
    processes = [phase.process for phase in result.model.streams[0].phases]
    assert all(isinstance(process, BurstProcess) for process in processes)
    assert summary["dependence"]["model"] == "bursts"


def test_summary_has_the_published_keys_and_is_plain_json(make_table: TableMaker) -> None:
    summary: Any = fitted(burst_table(make_table)).summary()
    assert set(summary) >= KEYS
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert set(summary["phases"]) >= {
        "silence_s",
        "buffering",
        "playout",
        "buffering_ratio",
        "stalls",
        "end",
    }
    assert {"family", "params", "atoms", "low", "high", "ks", "p_value", "alternatives"} <= set(
        summary["gap_s"]
    )
    assert set(summary["dependence"]) == {
        "hurst",
        "hurst_low",
        "hurst_high",
        "gap_acf",
        "model",
        "long_range",
    }
    assert set(summary["measures"]) >= {
        "buffering_data_rate_kbps",
        "steady_playout_rate_kbps",
        "ratio",
        "tcp_friendly_kbps",
    }
    assert summary["levels"] is None


def test_model_is_valid_named_after_its_file_and_the_same_for_the_same_seed(
    make_table: TableMaker,
) -> None:
    table = renewal_table(make_table, 2000)
    first, second = fitted(table, seed=5), fitted(table, seed=5)
    assert Model.model_validate_json(dump_model(first.model)) == first.model == second.model
    assert (first.model.name, first.model.provenance.kind) == ("a", "fitted")
    assert len(dump_model(first.model)) < 64_000


def test_flows_with_little_media_are_left_out_and_named(make_table: TableMaker) -> None:
    table = make_table(
        np.concatenate((np.arange(0, 10, 0.01), [5.001, 5.002])),
        flow=np.concatenate((np.zeros(1000, dtype=int), [1, 1])),
        ip_bytes=1000,
    )
    result = fitted(table)
    assert [stream.name for stream in result.model.streams] == ["video"]
    assert result.model.absent["flow 1"].startswith("carries 0.20%")


def test_audio_and_video_of_a_session_are_streams_of_their_own(make_table: TableMaker) -> None:
    audio, video = np.arange(0, 30, 0.02), np.arange(0.5, 30, 0.04)
    table = make_table(
        np.concatenate((audio, video)),
        flow=np.repeat([0, 1], [audio.size, video.size]),
        ip_bytes=np.repeat([200, 1200], [audio.size, video.size]),
        flows=[{"flow": 0, "media": "audio"}, {"flow": 1, "media": "video"}],
    )
    result = fitted(table)
    assert [(stream.name, stream.phases[0].start_s) for stream in result.model.streams] == [
        ("video", 0.5),
        ("audio", 0),
    ]
    assert result.model.playout.rate_bps.value == pytest.approx((10_000 + 30_000) * 8, rel=0.03)


def test_super_packets_are_cut_and_counted_unless_asked_otherwise(make_table: TableMaker) -> None:
    sizes = np.where(np.arange(600) % 3 == 0, 40 + 3 * 1460, 1500)
    flows = [{"flow": 0, "protocol": "tcp"}]
    table = make_table(np.arange(600) * 0.01, ip_bytes=sizes, header_bytes=40, flows=flows)
    cut, whole = fitted(table), fitted(table, resegment=False)
    assert cut.model.provenance.resegmented_packets == 200  # type: ignore[union-attr]
    assert "200 packets above the MTU" in cut.warnings[-1]
    assert [atom.value for atom in cut.session.packet_bytes.law.atoms] == [1500]
    assert max(atom.value for atom in whole.session.packet_bytes.law.atoms) == 4420


def test_small_flows_that_are_left_out_are_one_warning(make_table: TableMaker) -> None:
    times_s = np.arange(2010) * 0.01
    flow = np.where(np.arange(2010) < 2000, 0, 1 + np.arange(2010) % 5)
    flows = [{"flow": number, "session": 0} for number in range(6)]
    found = fitted(make_table(times_s, flow=flow, flows=flows))
    (warning,) = (text for text in found.warnings if "flow" in text)
    assert warning == "5 small flows (0.5% of the media bytes) are not in the model"
    assert {name for name in found.model.absent if name.startswith("flow ")} == {
        f"flow {number}" for number in range(1, 6)
    }


def test_small_flows_that_carry_much_together_are_one_stream(make_table: TableMaker) -> None:
    """Forty short connections in turn, each with less than a hundredth of the bytes."""
    short = 400
    times_s = np.arange(2000 + short) * 0.01
    flow = np.where(times_s < 20, 0, 1 + (np.arange(times_s.size) - 2000) // 10)
    flows = [{"flow": number, "session": 0, "server_port": 80 + number} for number in range(41)]
    found = fitted(make_table(times_s, flow=flow, flows=flows))
    first, together = found.model.streams
    assert not [text for text in found.warnings if "flow" in text]
    assert together.phases[0].start_s == pytest.approx(20.0)
    assert together.transport.server_port == 81
    assert set(found.model.provenance.flows) == set(range(41))  # type: ignore[union-attr]
    rates_bps = [stream.phases[0].rate_bps for stream in (first, together)]
    assert rates_bps[1] == pytest.approx(rates_bps[0], rel=0.02)


def test_a_download_that_ends_is_not_said_to_be_a_start_up_burst(make_table: TableMaker) -> None:
    times_s = np.concatenate((np.arange(2000) * 0.01, 20 + np.arange(1, 16) * 1.3))
    sizes = np.where(times_s < 20, 1500, 76)
    found = fitted(make_table(times_s, ip_bytes=sizes))
    assert found.model.buffering is not None
    (warning,) = (text for text in found.warnings if "download" in text)
    assert warning.startswith("this looks like a download: more than 99% of the bytes come in")
    assert not any("start-up burst" in text for text in found.warnings)


@pytest.mark.parametrize(("kind", "doubts"), [("bulk", 1), ("chunked", 0)])
def test_one_response_at_one_rate_may_be_a_download(
    make_table: TableMaker, kind: Literal["bulk", "chunked"], doubts: int
) -> None:
    found = fitted(make_table(np.arange(2000) * 0.01))
    application = Application(kind=kind, connections=1, exchanges=1)
    model = found.model.model_copy(update={"application": application})
    said = _doubt_transfer(replace(found, model=model))
    assert len(said) == doubts
    assert all("this is a download and no stream" in text for text in said)


@pytest.mark.parametrize("time_s", [[0.0, 1.0], [1.0, 1.0, 1.0]])
def test_too_little_media_is_refused(make_table: TableMaker, time_s: list[float]) -> None:
    with pytest.raises(TooFewObservationsError):
        fitted(make_table(time_s))


@pytest.mark.parametrize(
    "name",
    [
        "streaming/trex_rtsp_rtp_250k_av.pcap",
        "streaming/requet_C_baseline_May14_exp_320.pcap",
        "streaming/requet_A_baseline_Mar19_exp_229.pcap",
        "streaming/requet_A_movement_Apr20_exp_135.pcap",
        "streaming/ndpi42_netflix.pcap",
        "bulk/mlab_ndt7_ipv4.pcap.gz",
    ],
)
def test_real_captures_give_valid_models_and_plain_summaries(
    shared_capture: CaptureFinder, name: str
) -> None:
    result = fitted(read_capture([shared_capture(name)]).table)
    json.dumps(result.summary(), allow_nan=False)
    assert Model.model_validate_json(dump_model(result.model)) == result.model
    assert len(dump_model(result.model)) < 64_000


def test_a_voice_call_of_constant_rate_is_one_atom_and_one_phase(
    shared_capture: CaptureFinder,
) -> None:
    table = read_capture([shared_capture("conferencing/sipp_rtp_g711a.pcap")]).table
    summary: Any = fitted(table).summary()
    assert summary["packet_bytes"]["atoms"] == [{"value": 200.0, "p": 1.0}]
    assert summary["phases"]["buffering"] is None
    assert summary["bursts"] is None
    # 200 bytes each 20 ms
    assert summary["phases"]["playout"]["rate_kbps"] == pytest.approx(80, rel=0.001)
    assert summary["measures"]["ratio"] == pytest.approx(1, abs=0.01)
    assert {"rate": 0.0, "mean_burst_packets": None, "source": "rtp"}.items() <= summary[
        "loss"
    ].items()


@pytest.mark.parametrize(
    ("name", "end_s"),
    [
        (
            "streaming/requet_C_baseline_May14_exp_330.pcap",
            (11.7, 14.3),
        ),  # people see a start-up burst of about 13 s
        (
            "lab/http_throttled-dst.pcap",
            (1.6, 3.5),
        ),  # 500 kB at the line's 2.5 Mbit/s, then the server paces itself
    ],
)
def test_start_up_bursts_of_real_players_are_buffering(
    shared_capture: CaptureFinder, name: str, end_s: tuple[float, float]
) -> None:
    phases = fitted(read_capture([shared_capture(name)]).table).session.phases
    assert phases.buffering_end_s is not None
    assert end_s[0] <= phases.buffering_end_s <= end_s[1]


def test_a_steady_stream_over_rtsp_has_no_buffering(shared_capture: CaptureFinder) -> None:
    table = read_capture([shared_capture("streaming/trex_rtsp_rtp_250k_av.pcap")]).table
    assert fitted(table).session.phases.buffering_end_s is None


def test_levels_are_in_the_summary_and_played_by_the_model(
    make_table: TableMaker, switching: SwitchingMaker
) -> None:
    source = switching(8, switches=25)
    result = fitted(make_table(source.time_ns / 1e9, ip_bytes=1000))
    summary: Any = result.summary()
    levels = summary["levels"]
    assert summary["dependence"]["model"] == "semi_markov"
    assert levels["switches"] == 25
    assert levels["kbps"] == pytest.approx([80, 150, 260, 450], rel=0.02)
    assert sorted(levels["kbps"]) == levels["kbps"]
    for number, row in enumerate(levels["transition"]):
        assert row is None or (sum(row) == pytest.approx(1) and row[number] == 0)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert Model.model_validate_json(dump_model(result.model)) == result.model


def test_states_of_an_mmpp_are_in_the_summary(
    make_table: TableMaker, mmpp_times: MmppMaker
) -> None:
    time_ns = mmpp_times(2, rates=(200.0, 20.0), sojourns_s=(0.5, 0.5), packets=10_000)
    summary: Any = fitted(make_table(time_ns / 1e9, ip_bytes=1000)).summary()
    assert summary["dependence"]["model"] == "mmpp"
    assert [
        rate["value"] for rate in summary["dependence"]["mmpp"]["rates_per_s"]
    ] == pytest.approx([200, 20], rel=0.1)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


@pytest.mark.parametrize(
    "times_s",
    [np.arange(20) * 0.02, np.arange(60) * 0.01, np.arange(100) * 30.0],
    ids=["few packets", "a short part", "a slow trickle"],
)
def test_what_no_model_can_stand_on_is_one_warning(
    make_table: TableMaker, times_s: np.ndarray[Any, Any]
) -> None:
    (warning,) = fitted(make_table(times_s)).warnings
    assert warning.startswith("too little media traffic for a model: ")
    assert "at least 100 packets, 2.5 s and 10 kbit/s are needed" in warning
    assert "do not rely on this model; choose another session with session=..." in warning


def test_a_transfer_that_is_only_too_short_is_called_so(make_table: TableMaker) -> None:
    (warning,) = fitted(make_table(np.arange(700) * 0.0004)).warnings
    assert "700 media packets in 280 ms at" in warning
    assert "(too short: a download, or a capture that ends early); at least" in warning


def test_the_sessions_that_are_left_out_are_totalled_in_one_line(make_table: TableMaker) -> None:
    table = make_table(
        np.arange(3000) * 0.005,
        ip_bytes=1000,
        flow=np.repeat([0, 1, 2], [1500, 1000, 500]),
        flows=[{"flow": number, "session": number} for number in range(3)],
    )
    (warning,) = (text for text in trafficgen.fit(table).warnings if "not in the model" in text)
    assert warning.startswith("2 other sessions (1.52 MB to their clients, 50% of the media; ")
    assert warning.endswith("session=1 fits the largest of them")
    assert "are not in the model, which is of session 0 alone" in warning


def test_sessions_of_protocols_that_cannot_be_fitted_are_not_recommended(
    make_table: TableMaker,
) -> None:
    flows = [{"flow": number, "session": number} for number in range(3)]
    flow = np.repeat([0, 1, 2], [500, 1500, 1000])
    flows[1]["protocol"] = "sctp"  # type: ignore[assignment]
    table = make_table(np.arange(3000) * 0.005, ip_bytes=1000, flow=flow, flows=flows)
    said = trafficgen.fit(table).warnings
    assert not any("session=1" in text for text in said)


@pytest.mark.parametrize(
    ("capture", "choice", "problem"),
    [
        ("http_burst_then_paced", {}, "too little media traffic"),
        ("http_burst_then_paced", {"session": 0}, "too little media traffic"),
        ("rtsp_rtp_two_streams", {}, "there is no uploaded packet; "),
        ("rtsp_rtp_two_streams", {"flow": 1}, "there is no uploaded packet in flow 1; "),
    ],
)
def test_a_missing_upload_is_not_advised_again(
    capture: str, choice: dict[str, Any], problem: str
) -> None:
    path = f"examples/captures/{capture}.pcap.gz"
    with pytest.raises(trafficgen.TrafficgenError, match=f"{problem}.*leave upload=True out") as no:
        trafficgen.fit(path, upload=True, **choice)
    assert "session=" not in str(no.value)
    assert "(upload=True" not in str(no.value)


@pytest.mark.parametrize(("sent_bytes", "is_named"), [(53, False), (1000, True)])
def test_an_upload_is_named_where_it_could_be_a_stream(
    make_table: TableMaker, sent_bytes: int, is_named: bool
) -> None:
    is_down = np.arange(80) % 2 == 1
    sizes = np.where(is_down, 80, 28 + sent_bytes)  # 52 bytes of payload to the client
    table = make_table(0.05 * np.arange(80), ip_bytes=sizes, to_client=is_down)
    assert ("upload=True" in " ".join(trafficgen.fit(table).warnings)) is is_named


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("lab/rtsp_gst_cubic-src.pcap", "frames"),  # one rate is a little beyond chance
        ("streaming/sipp_rtp_h264.pcap", "renewal"),  # gaps are far from those within frames
    ],
)
def test_frames_of_timestamps_are_kept_where_their_gaps_are_near(
    shared_capture: CaptureFinder, name: str, kind: str
) -> None:
    model = fitted(read_capture([shared_capture(name)]).table).model
    (video,) = (stream for stream in model.streams if stream.media == "video")
    assert [phase.process.kind for phase in video.phases] == [kind]


@pytest.mark.filterwarnings("ignore::trafficgen.TrafficgenWarning")
@pytest.mark.parametrize("to_client", ["true", "false"])
@pytest.mark.parametrize("row", [1, 2, 200, -1])
@pytest.mark.parametrize("time_ns", [-(2**60), 0, 5, 2**59, 2**60, 2**62])
def test_a_packet_at_an_odd_time_is_fitted_or_refused_in_one_line(
    tmp_path: Path, row: int, time_ns: int, to_client: str
) -> None:
    file, message = tmp_path / "cbr.csv", ""
    trafficgen.generate("cbr", file, settings={"duration_s": 12})
    lines = file.read_text().splitlines()
    if row == 1:  # the others are so much later
        head, *packets = lines
        later = [line.partition(",") for line in packets]
        lines = [head, *(f"{int(time) + 2**60},{rest}" for time, _, rest in later)]
    _, flow, _, *rest = lines[row].split(",")
    lines[row] = ",".join([str(time_ns), flow, to_client, *rest])
    file.write_text("\n".join(lines) + "\n")
    try:
        model = trafficgen.fit(file, idle_timeout_s=float("inf")).model
        trafficgen.save_model(model, tmp_path / "model.json")
    except trafficgen.TrafficgenError as error:
        message = str(error)
    assert bool(message) != (tmp_path / "model.json").exists()
    assert not message or message.isprintable()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the packets of a player of segments."""
    file = tmp_path_factory.mktemp("watched") / "player.pcap"
    path = "rate=20Mbps,delay=20ms"
    trafficgen.simulate("chunked", path=path, settings={"duration_s": 100}, out=file)
    return file


@pytest.mark.filterwarnings("ignore::trafficgen.TrafficgenWarning")
@pytest.mark.parametrize("playing_s", [-2e9, 0, 1.5, 2e9, 9e12])
@pytest.mark.parametrize("offset_s", [-5.0, 0.0])
def test_a_player_log_of_odd_times_is_fitted_or_refused_in_one_line(
    tmp_path: Path, watched: Path, playing_s: float, offset_s: float
) -> None:
    states = [
        {"timestamp": 0.0, "state": "buffering", "duration": 1.5},
        {"timestamp": playing_s, "state": "playing", "duration": 38.0},
    ]
    switches = [{"timestamp": 0.0, "id": 4, "type": "variant", "bandwidth": 800_000}]
    log, message = tmp_path / "shaka.json", ""
    log.write_text(json.dumps({"stateHistory": states, "switchHistory": switches}))
    try:
        trafficgen.fit(watched, player_log=log, player_log_offset_s=offset_s)
    except trafficgen.TrafficgenError as error:
        message = str(error)
    assert not message or abs(playing_s) > 2
    assert not message or (
        message.isprintable() and (str(watched) in message or str(log) in message)
    )
