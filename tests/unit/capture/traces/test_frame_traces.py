"""Frame traces: cut into packets as worked out by hand, with the times that the traces give."""

from __future__ import annotations

from pathlib import Path

import pytest

from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.reading import read_trace, recognise_format
from trafficgen.capture.traces.trace_format import ReadTrace
from trafficgen.errors import CaptureWarning, PacketTableError, SettingError
from trafficgen.process_memory import limit_memory
from trafficgen.units import NS_PER_S

UDP_HEADERS_BYTES = 28
RTP_HEADER_BYTES = 12


def _read(folder: Path, text: str, **options: object) -> ReadTrace:
    (folder / "trace").write_text(text)
    return read_trace(str(folder / "trace"), options=TraceOptions(**options))  # type: ignore[arg-type]


def _payloads(trace: ReadTrace) -> list[int]:
    return [int(size) for size in trace.table.payload_bytes]


def _times_ms(trace: ReadTrace) -> list[float]:
    return [float(time_ns) / 1e6 for time_ns in trace.table.time_ns]


def test_frames_are_cut_into_full_packets_and_a_rest(tmp_path: Path) -> None:
    trace = _read(
        tmp_path, "2500\n1000\n0\n999\n", frame_rate_fps=20, payload_bytes=1000, rtp=False
    )
    assert trace.format == "frame-sizes"
    assert _payloads(trace) == [1000, 1000, 500, 1000, 999]
    assert trace.table.ip_bytes.tolist() == [size + UDP_HEADERS_BYTES for size in _payloads(trace)]
    assert _times_ms(trace) == [0, 0, 0, 50, 150]
    assert any("1 frame of 0 bytes" in text for text in trace.assumptions)


def test_frames_in_rtp_have_timestamps_of_the_frame_and_a_marker_on_its_last_packet(
    tmp_path: Path,
) -> None:
    table = _read(tmp_path, "2500\n1000\n", frame_rate_fps=25, payload_bytes=1000).table
    assert table.payload_bytes.tolist() == [
        size + RTP_HEADER_BYTES for size in (1000, 1000, 500, 1000)
    ]
    assert table.values("rtp_timestamp").tolist() == [0, 0, 0, 3600]
    assert table.values("rtp_sequence").tolist() == [0, 1, 2, 3]
    assert table.values("rtp_marker").tolist() == [False, False, True, True]
    assert table.flows.column("clock_hz").to_pylist() == [90_000]


def test_without_a_limit_packets_fill_1500_bytes_of_ip(tmp_path: Path) -> None:
    for rtp, rest in ((False, 84), (True, 120)):
        table = _read(tmp_path, "3000\n3000\n", frame_rate_fps=25, rtp=rtp).table
        assert table.ip_bytes.tolist() == [1500, 1500, rest] * 2


def test_at_a_line_rate_packets_follow_one_another_and_frames_wait(tmp_path: Path) -> None:
    # 1028 bytes of IP at 1.028 Mbit/s take 8 ms; the second frame comes at 10 ms while the first
    # still leaves.
    options = {"payload_bytes": 1000, "rtp": False, "line_rate_bps": 1_028_000.0}
    trace = _read(tmp_path, "2000\n1000\n1000\n", frame_rate_fps=100, **options)
    assert _times_ms(trace) == [0, 8, 16, 24]


def test_a_frame_list_without_a_rate_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    with pytest.raises(
        PacketTableError, match=r"without times; give their rate: convert.*frame_rate=25"
    ):
        _read(tmp_path, "1500\n900\n")
    with pytest.raises(PacketTableError, match="belongs to a path"):
        _read(tmp_path, "".join(f"{number}\n" for number in range(20)))


def test_a_comment_may_give_the_frame_rate(tmp_path: Path) -> None:
    assert _times_ms(_read(tmp_path, "# FPS: 50\n100\n100\n")) == [0, 20]


def test_bits_are_rounded_up_to_bytes(tmp_path: Path) -> None:
    trace = _read(tmp_path, "800\n801\n", frame_rate_fps=25, rtp=False, size_unit="bits")
    assert _payloads(trace) == [100, 101]


def test_syncodecs_frames_are_read_with_their_comments(tmp_path: Path) -> None:
    text = (
        "% number | type | QP | PSNR | size\n0 I 26.67 40.23 2423\n1 P 28.73 39.79 1169 # second\n2"
        " U 1 2 7\n"
    )
    trace = _read(tmp_path, text, frame_rate_fps=10, rtp=False, payload_bytes=9000)
    assert (trace.format, _payloads(trace), _times_ms(trace)) == (
        "syncodecs",
        [2423, 1169, 7],
        [0, 100, 200],
    )


_SYNCODECS = (
    "% Nframe | type | X | timestamp | size (Bytes)\n0 U 0. 0.5 2423\n1 U 0. 0.506415 1169\n"
)


def test_syncodecs_frames_are_sent_at_their_times(tmp_path: Path) -> None:
    trace = _read(tmp_path, _SYNCODECS, rtp=False, payload_bytes=9000)
    assert (trace.format, _payloads(trace)) == ("syncodecs", [2423, 1169])
    assert _times_ms(trace) == pytest.approx([0, 6.415])


def test_a_frame_rate_goes_before_the_times_of_syncodecs(tmp_path: Path) -> None:
    with pytest.warns(CaptureWarning, match="times of its own, which are not used"):
        trace = _read(tmp_path, _SYNCODECS, frame_rate_fps=10, rtp=False, payload_bytes=9000)
    assert _times_ms(trace) == [0, 100]


@pytest.mark.parametrize("second", ["40.23", "39.79"], ids=["same", "lower"])
def test_values_that_do_not_rise_are_no_times_of_syncodecs(tmp_path: Path, second: str) -> None:
    with pytest.raises(PacketTableError, match="frame_rate="):
        _read(tmp_path, f"0 I 26.67 40.23 2423\n1 P 28.73 {second} 1169\n")


def test_an_ns3_trace_plays_as_udp_trace_client_does(tmp_path: Path) -> None:
    # The first frame goes at once; the B frame with the frame before; times are of ms.
    trace = _read(tmp_path, "1 I 7 1000\n2 P 47 200\n3 B 27 300\n4 P 87 40")
    assert (trace.format, _payloads(trace), _times_ms(trace)) == (
        "ns3",
        [1000, 200, 300, 40],
        [0, 40, 40, 80],
    )


def test_what_ns3_would_play_otherwise_is_told(tmp_path: Path) -> None:
    with pytest.warns(CaptureWarning) as told:
        trace = _read(tmp_path, "0 P 0 100\n1 P 50 100\n2 P 40 100\n")
    texts = [str(warning.message) for warning in told]
    assert any("1 line with the number of the line before (or 0)" in text for text in texts)
    assert any("goes back 1 time" in text for text in texts)
    assert _times_ms(trace) == [0, 40, 50]


def test_netperfmeter_delays_come_before_the_frame_and_streams_are_flows(tmp_path: Path) -> None:
    with pytest.warns(
        CaptureWarning, match="1 line was not understood .the first is line 3.; 4 were read"
    ):
        trace = _read(tmp_path, "0.5 1200\n0.04 500 7\nwhat is this\n0.02 100\n1e-3 90 7\n")
    table = trace.table
    assert (trace.format, _payloads(trace), _times_ms(trace)) == (
        "inet",
        [1200, 500, 100, 90],
        [0, 40, 60, 61],
    )
    assert table.flow.tolist() == [0, 1, 0, 1]
    assert (trace.records, trace.unread, trace.first_unread) == (4, 1, 3)


def test_delays_that_only_grow_are_told_to_look_like_times(tmp_path: Path) -> None:
    with pytest.warns(CaptureWarning, match="only grows, as times do"):
        _read(tmp_path, "0.0 1200\n0.02 1200\n0.04 1200\n0.06 1200\n")


def test_vr_app_bursts_follow_after_the_time_on_their_line(tmp_path: Path) -> None:
    trace = _read(tmp_path, "# size, gap\n5000,0.02\n\n100, 0.03\n7,0\n", payload_bytes=4000)
    assert (trace.format, _payloads(trace), _times_ms(trace)) == (
        "vr-app",
        [4000, 1000, 100, 7],
        [0, 0, 20, 50],
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"payload_bytes": 0}, "payload_bytes=0"),
        ({"payload_bytes": 65_508, "rtp": False}, "payload_bytes=65508"),
        ({"payload_bytes": 65_496, "rtp": True}, "from 1 to 65495"),
        ({"frame_rate_fps": 0.0}, "frame_rate_fps=0"),
        ({"frame_rate_fps": float("inf")}, "frame_rate_fps='inf'"),
        ({"sizes": "ip"}, "sizes=... means nothing for frame-sizes"),
    ],
)
def test_options_out_of_range_or_without_meaning_are_refused(
    tmp_path: Path, options: dict[str, object], problem: str
) -> None:
    with pytest.raises(SettingError, match=problem):
        _read(tmp_path, "100\n200\n", **({"frame_rate_fps": 25} | options))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("99999999999\n" * 3, {"frame_rate_fps": 25}),
        ("70000\n" * 20, {"frame_rate_fps": 25, "payload_bytes": 1}),
        ("0.04 999999999 1\n" * 3, {}),
        ("1 I 0 999999999\n2 P 40 999999999\n", {}),
    ],
)
def test_sizes_that_make_more_packets_than_frames_have_are_refused(
    tmp_path: Path, text: str, options: dict[str, object]
) -> None:
    with pytest.raises(PacketTableError, match=r"frames would make .* packets"):
        _read(tmp_path, text, **options)


def test_packets_that_exceed_the_memory_are_refused(tmp_path: Path) -> None:
    with limit_memory(300_000_000), pytest.raises(PacketTableError, match="is allowed"):
        _read(tmp_path, "450000000\n" * 2, frame_rate_fps=25)


def test_gaps_of_centuries_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PacketTableError, match="centuries"):
        _read(tmp_path, "0.1 100\n9e8 100\n9e8 100\n9e8 100\n")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("10\n20\n", "frame-sizes"),
        ("10\n", None),
        ("5", None),
        ("1 I 0 534\n2 P 40 1542\n", "ns3"),
        ("0 I 26.67 40.23 24232\n", "syncodecs"),
        ("0 0.000 I 24232 40.2 41 42\n", None),
        ("0 1000\n0.04 20\n", "inet"),
        ("1000,0.04\n", "vr-app"),
        ("time_s,ip_bytes\n0,100\n", "packet-list"),
        (
            (
                "17:18:56.780713 SEND proto>UDP flow>1 seq>0 srcPort>5801 dst>127.0.0.1/5811"
                " size>256\n"
            ),
            "mgen",
        ),
        ("hello world\n", None),
        ("", None),
        ("a,b\n1,2\n", None),
    ],
)
def test_a_format_is_recognised_by_its_lines(tmp_path: Path, text: str, name: str | None) -> None:
    (tmp_path / "trace").write_text(text)
    assert recognise_format(str(tmp_path / "trace")) == name


def test_the_same_trace_gives_the_same_table(tmp_path: Path) -> None:
    first, second = (_read(tmp_path, "3000\n10\n", frame_rate_fps=25).table for _ in range(2))
    assert first.packets == second.packets
    assert first.flows == second.flows
    assert first.origin_ns == second.origin_ns == 1_577_836_800 * NS_PER_S
