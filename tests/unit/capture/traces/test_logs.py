"""Logs of MGEN and D-ITG: lines as the tools write them, joined by hand."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from trafficgen.capture.inputs import is_trace
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.reading import read_trace
from trafficgen.capture.traces.trace_format import ReadTrace
from trafficgen.errors import CaptureWarning, PacketTableError, SettingError
from trafficgen.units import NS_PER_S

SENT = """17:18:56.680510 START Mgen Version 5.02b
17:18:56.780689 ON flow>1 srcPort>5801 dst>127.0.0.1/5811
17:18:56.780713 SEND proto>UDP flow>1 seq>0 srcPort>5801 dst>127.0.0.1/5811 size>256
17:18:56.830799 SEND proto>UDP flow>1 seq>1 srcPort>5801 dst>127.0.0.1/5811 size>256
17:18:56.880805 SEND proto>UDP flow>2 seq>0 srcPort>5802 dst>127.0.0.1/5811 size>28
17:18:57.183212 STOP
"""
RECEIVED = """17:18:56.380340 LISTEN proto>UDP port>5811
17:18:56.780895 RECV proto>UDP flow>1 seq>0 src>127.0.0.1/5801 dst>127.0.0.1/5811 \
sent>17:18:56.780713 size>256
17:18:56.880818 RECV proto>UDP flow>2 seq>0 src>127.0.0.1/5802 dst>127.0.0.1/5811 \
sent>17:18:56.880805 size>28
"""
DITG = (
    "Flow>0001 Seq>      1 Src>                 127.0.0.1/46915 Dest>               "
    " 127.0.0.1/10411 txTime>17:19:0.369577 rxTime>17:19:0.369623 Size>  200\nFlow>0001 Seq>      2"
    " Src>                 127.0.0.1/46915 Dest>                127.0.0.1/10411"
    " txTime>17:19:0.395113 rxTime>17:19:0.395182 Size>  300\n"
)


def _read(folder: Path, text: str) -> ReadTrace:
    (folder / "log").write_text(text)
    options = TraceOptions(protocol="udp" if text.startswith("Flow>") else None)
    return read_trace(str(folder / "log"), options=options)


def test_an_mgen_sender_log_gives_times_and_sizes_and_no_arrivals(tmp_path: Path) -> None:
    trace = _read(tmp_path, SENT)
    table = trace.table
    assert (trace.format, trace.records, trace.unread, trace.doubts) == ("mgen", 3, 0, ())
    assert table.time_ns.tolist() == [0, 50_086_000, 100_092_000]
    assert table.payload_bytes.tolist() == [256, 256, 28]
    assert table.ip_bytes.tolist() == [284, 284, 56]
    assert table.flow.tolist() == [0, 0, 1]
    assert not table.is_known("arrival_ns").any()
    assert table.flows.column("server_port").to_pylist() == [5801, 5802]
    assert table.flows.column("client").to_pylist() == ["127.0.0.1"] * 2


def test_times_of_day_stand_on_a_day_without_a_date(tmp_path: Path) -> None:
    table = _read(tmp_path, SENT).table
    of_day_ns = ((17 * 60 + 18) * 60 + 56) * NS_PER_S + 780_713_000
    assert table.origin_ns == 1_577_836_800 * NS_PER_S + of_day_ns


def test_an_mgen_receiver_log_gives_arrivals_and_counts_what_is_missing(tmp_path: Path) -> None:
    table = _read(tmp_path, RECEIVED).table
    assert table.time_ns.tolist() == [0, 100_092_000]
    assert table.values("arrival_ns").tolist() == [182_000, 100_105_000]
    assert table.flows.column("server").to_pylist() == ["127.0.0.1"] * 2
    later = RECEIVED.replace("flow>2 seq>0", "flow>2 seq>5") + RECEIVED.splitlines()[2] + "\n"
    with pytest.warns(CaptureWarning, match="4 packets lost by the gaps"):
        _read(tmp_path, later)


def test_an_mgen_receiver_of_many_flows_is_recognised_by_its_ports(tmp_path: Path) -> None:
    first, rest = RECEIVED.split("\n", 1)
    (tmp_path / "sink.log").write_text("".join(f"{first}{n}\n" for n in range(3000)) + rest)
    assert is_trace(str(tmp_path / "sink.log"))
    assert read_trace(str(tmp_path / "sink.log")).records == 2


def test_both_mgen_logs_in_one_file_tell_which_packets_were_lost(tmp_path: Path) -> None:
    trace = _read(tmp_path, SENT + RECEIVED)
    table = trace.table
    assert table.time_ns.tolist() == [0, 50_086_000, 100_092_000]
    assert table.column("arrival_ns").to_pylist() == [182_000, None, 100_105_000]
    assert any(
        "1 packet without a line of the receiver: lost" in text for text in trace.assumptions
    )


def test_a_packet_that_arrives_twice_counts_once_at_its_first_arrival(tmp_path: Path) -> None:
    again = RECEIVED.splitlines()[1].replace("17:18:56.780895", "17:18:56.990000") + "\n"
    with pytest.warns(CaptureWarning, match="1 line for a packet that had one already"):
        table = _read(tmp_path, RECEIVED + again).table
    assert table.values("arrival_ns").tolist() == [182_000, 100_105_000]


def test_a_flow_that_starts_again_counts_from_the_beginning(tmp_path: Path) -> None:
    send = (
        "10:00:0{}.000000 SEND proto>UDP flow>1 seq>{} srcPort>5801 dst>127.0.0.1/5811 size>100\n"
    )
    receive = (
        "10:00:0{0}.5 RECV proto>UDP flow>1 seq>{1} src>::1/5801 dst>127.0.0.1/5811"
        " sent>10:00:0{0}.0 size>100\n"
    )
    receive = receive.replace("::1", "127.0.0.1")
    runs = [(0, 0), (1, 1), (3, 0), (4, 1)]
    text = "".join(send.format(*line) for line in runs) + "".join(
        receive.format(*line) for line in runs if line[0] != 1
    )
    table = _read(tmp_path, text).table
    assert table.time_ns.tolist() == [0, 1_000_000_000, 3_000_000_000, 4_000_000_000]
    assert table.column("arrival_ns").to_pylist() == [
        500_000_000,
        None,
        3_500_000_000,
        4_500_000_000,
    ]


def test_a_log_goes_on_over_midnight(tmp_path: Path) -> None:
    line = "{} SEND proto>UDP flow>1 seq>{} srcPort>5801 dst>127.0.0.1/5811 size>256\n"
    text = (
        line.format("23:59:59.500000", 0)
        + line.format("00:00:00.250000", 1)
        + line.format("00:00:01.250000", 2)
    )
    assert _read(tmp_path, text).table.time_ns.tolist() == [0, 750_000_000, 1_750_000_000]
    received = (
        "00:00:00.100000 RECV proto>UDP flow>1 seq>0 src>127.0.0.1/1 dst>127.0.0.1/2"
        " sent>23:59:59.900000 size>99 \n"
    )
    assert _read(tmp_path, received).table.values("arrival_ns").tolist() == [200_000_000]


def test_mgen_times_since_1970_are_kept_to_the_microsecond(tmp_path: Path) -> None:
    text = (
        "1700000000.123457 SEND proto>UDP flow>1 seq>0 srcPort>5801 dst>2001:db8::1/5811"
        " size>100 \n"
    )
    table = _read(tmp_path, text).table
    assert table.origin_ns + int(table.time_ns[0]) == 1_700_000_000_123_457_000
    assert table.ip_bytes.tolist() == [148]
    assert table.flows.column("server").to_pylist() == ["2001:db8:0:1::1"]


def test_flows_of_mgen_that_share_a_5_tuple_are_one_flow(tmp_path: Path) -> None:
    line = "10:00:00.{0} SEND proto>UDP flow>{1} seq>0 srcPort>15100 dst>127.0.0.1/5100 size>{0}\n"
    trace = _read(tmp_path, line.format(100, 1) + line.format(200, 2) + line.format(300, 3))
    assert trace.table.payload_bytes.tolist() == [100, 200, 300]
    assert trace.table.flow.tolist() == [0, 0, 0]
    assert any("3 flows of the tool share 5-tuples" in text for text in trace.assumptions)


def test_senders_with_the_same_ports_stay_apart_in_a_receivers_log(tmp_path: Path) -> None:
    other = RECEIVED.splitlines()[1].replace("src>127.0.0.1", "src>10.0.0.9") + "\n"
    flows = _read(tmp_path, RECEIVED + other).table.flows.to_pydict()
    assert flows["server"] == ["127.0.0.1", "127.0.0.1", "10.0.0.9"]


def test_tcp_messages_are_cut_into_segments(tmp_path: Path) -> None:
    text = (
        "10:00:00.000000 SEND proto>TCP flow>1 seq>0 srcPort>5801 dst>127.0.0.1/5811 size>3000 \n"
    )
    table = _read(tmp_path, text).table
    assert table.payload_bytes.tolist() == [1460, 1460, 80]
    assert table.flows.column("protocol").to_pylist() == ["tcp"]


def test_damaged_lines_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    lines = SENT.splitlines()
    lines[3] = lines[3][:40]
    with pytest.warns(
        CaptureWarning, match=r"1 line was not understood \(the first is line 4\); 2 were read"
    ):
        trace = _read(tmp_path, "\n".join(lines))
    assert len(trace.table) == 2


def test_impossible_ports_and_addresses_are_damage(tmp_path: Path) -> None:
    bad = (
        SENT.splitlines()[2].replace("5801", "99999")
        + "\n"
        + SENT.splitlines()[3].replace("127.0.0.1", "1.2.3.4.5")
    )
    with pytest.warns(CaptureWarning, match="2 lines were not understood"):
        trace = _read(tmp_path, SENT.splitlines()[4] + "\n" + bad)
    assert trace.table.payload_bytes.tolist() == [28]
    with pytest.raises(
        PacketTableError, match=r"line 1: .* is not a line of a packet in an MGEN log"
    ):
        _read(tmp_path, bad)


def test_a_ditg_receiver_log_has_arrivals_and_a_sender_log_has_none(tmp_path: Path) -> None:
    table = _read(tmp_path, DITG).table
    assert table.time_ns.tolist() == [0, 25_536_000]
    assert table.values("arrival_ns").tolist() == [46_000, 25_605_000]
    assert table.payload_bytes.tolist() == [200, 300]
    sender = DITG.replace("rxTime>17:19:0.369623", "rxTime>17:19:0.369577").replace(
        "rxTime>17:19:0.395182", "rxTime>17:19:0.395113"
    )
    assert not _read(tmp_path, sender).table.is_known("arrival_ns").any()
    lost = _read(tmp_path, sender + DITG.splitlines()[0] + "\n").table
    assert lost.column("arrival_ns").to_pylist() == [46_000, None]


def test_a_ditg_packet_that_arrives_within_a_microsecond_is_not_lost(tmp_path: Path) -> None:
    at_once = DITG.replace("rxTime>17:19:0.369623", "rxTime>17:19:0.369577")
    assert _read(tmp_path, at_once).table.values("arrival_ns").tolist() == [0, 25_605_000]


def test_a_ditg_log_names_no_protocol_which_is_told_or_given(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(DITG)
    with pytest.warns(
        CaptureWarning, match="taken for one of UDP; of TCP, convert it with protocol='tcp'"
    ):
        guessed = read_trace(str(tmp_path / "log")).table
    given = read_trace(str(tmp_path / "log"), options=TraceOptions(protocol="tcp")).table
    assert [table.flows.column("protocol").to_pylist() for table in (guessed, given)] == [
        ["udp"],
        ["tcp"],
    ]
    assert (given.ip_bytes - guessed.ip_bytes).tolist() == [12, 12]


def test_clocks_that_differ_are_told(tmp_path: Path) -> None:
    with pytest.warns(CaptureWarning, match="up to 0.005 s before they were sent"):
        _read(tmp_path, DITG.replace("rxTime>17:19:0.369623", "rxTime>17:19:0.364577"))


def test_a_format_that_is_not_the_named_one_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(DITG)
    with pytest.raises(
        PacketTableError,
        match=r"line 1: 'Flow>0001 .*' is not a line of a packet in an MGEN log; give",
    ):
        read_trace(str(tmp_path / "log"), format_name="mgen")
    with pytest.raises(SettingError, match=r"Unknown trace format 'pcapng'\. Use one of ditg"):
        read_trace(str(tmp_path / "log"), format_name="pcapng")
    with pytest.raises(SettingError, match=r"frame_rate_fps=... means nothing for ditg"):
        read_trace(str(tmp_path / "log"), options=TraceOptions(frame_rate_fps=25))


def test_reading_an_undamaged_log_warns_of_nothing(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _read(tmp_path, SENT + RECEIVED)
        _read(tmp_path, DITG)
