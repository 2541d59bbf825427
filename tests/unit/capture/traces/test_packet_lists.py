"""Packet lists of others: columns by their usual names, ambiguities told, damage counted."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trafficgen
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.reading import read_trace, recognise_format
from trafficgen.capture.traces.trace_format import ReadTrace
from trafficgen.errors import CaptureWarning, PacketTableError, SettingError

WIRESHARK = """"No.","Time","Source","Destination","Protocol","Length","Info"
"1","0.000000","10.0.0.1","10.0.0.2","RTP","1214","PT=DynamicRTP-Type-96, SSRC=0x1"
"2","0.010000","10.0.0.2","10.0.0.1","RTCP","86","Receiver Report"
"3","0.020000","10.0.0.1","10.0.0.2","RTP","1214","PT=DynamicRTP-Type-96"
"4","0.040000","10.0.0.3","10.0.0.2","TLSv1.2","1514","Application Data"
"""


def _read(folder: Path, text: str, **options: Any) -> ReadTrace:
    (folder / "list.csv").write_text(text)
    return read_trace(str(folder / "list.csv"), options=TraceOptions(**options))


@pytest.mark.parametrize(
    ("header", "times", "expected_ns"),
    [
        ("time_s", ["0", "0.5", "1e0"], [0, 500_000_000, 1_000_000_000]),
        ("time_ms", ["0", "0.5", "7"], [0, 500_000, 7_000_000]),
        ("Time (us)", ["0.0004", "0.0005", "7"], [0, 1, 7_000]),
        ("time_ns", ["-5", "3", "7.0"], [-5, 3, 7]),
        ("frame.time_relative", ["0.000000000", "0.000000001", "2"], [0, 1, 2_000_000_000]),
        ("timestamp", ["0.1", "+0.2", " 0.3"], [100_000_000, 200_000_000, 300_000_000]),
    ],
)
def test_times_are_read_exactly_in_the_unit_of_their_name(
    tmp_path: Path, header: str, times: list[str], expected_ns: list[int]
) -> None:
    table = _read(
        tmp_path, f"{header},ip_bytes\n" + "".join(f"{time},100\n" for time in times)
    ).table
    assert table.time_ns.tolist() == expected_ns
    assert table.origin_ns == 1_577_836_800_000_000_000


@pytest.mark.parametrize(
    ("times", "first_ns"),
    [
        (["1700000000.123456789", "1700000001"], 1_700_000_000_123_456_789),
        (["1700000000123", "1700000001000"], 1_700_000_000_123_000_000),
        (["1700000000123456", "1700000001000000"], 1_700_000_000_123_456_000),
        (["1700000000123456789", "1700000001000000000"], 1_700_000_000_123_456_789),
        (["2023-11-14 22:13:20.123456789", "2023-11-14 22:13:21"], 1_700_000_000_123_456_789),
        (["2023-11-14T22:13:20.5Z", "2023-11-14T23:13:21+01:00"], 1_700_000_000_500_000_000),
    ],
)
def test_times_since_1970_keep_their_last_digit(
    tmp_path: Path, times: list[str], first_ns: int
) -> None:
    table = _read(
        tmp_path, "timestamp,ip_bytes\n" + "".join(f"{time},100\n" for time in times)
    ).table
    assert table.time_ns[0] == 0
    assert table.origin_ns == first_ns
    assert table.origin_ns + int(table.time_ns[1]) == 1_700_000_001_000_000_000


@pytest.mark.parametrize(
    ("column", "ip_bytes", "frame_bytes", "payload_bytes"),
    [("ip_bytes", 128, 142, 100), ("frame.len", 114, 128, 86), ("payload_bytes", 156, 170, 128)],
)
def test_sizes_are_of_what_their_column_says(
    tmp_path: Path, column: str, ip_bytes: int, frame_bytes: int, payload_bytes: int
) -> None:
    table = _read(tmp_path, f"time_s,{column}\n0,128\n").table
    assert table.ip_bytes.tolist() == [ip_bytes]
    assert table.frame_bytes.tolist() == [frame_bytes]
    assert table.payload_bytes.tolist() == [payload_bytes]


def test_a_size_that_does_not_say_what_it_is_of_is_the_ip_length_with_a_warning(
    tmp_path: Path,
) -> None:
    with pytest.warns(
        CaptureWarning, match="column size was taken for the IP length; .*sizes='frame'"
    ):
        assert _read(tmp_path, "time,size\n0,128\n").table.ip_bytes.tolist() == [128]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _read(tmp_path, "time,size\n0,128\n", sizes="payload").table.ip_bytes.tolist() == [
            156
        ]
        assert _read(tmp_path, "time,size\n0,128\n", sizes="frame").table.ip_bytes.tolist() == [114]


def test_all_sizes_of_a_list_are_kept(tmp_path: Path) -> None:
    table = _read(tmp_path, "time_s,frame_len,ip_len,payload\n0,150,128,90\n").table
    row = (table.frame_bytes.tolist(), table.ip_bytes.tolist(), table.payload_bytes.tolist())
    assert row == ([150], [128], [90])


def test_a_row_may_have_some_of_the_sizes(tmp_path: Path) -> None:
    text = (
        "time_s,frame.len,tcp.len,udp.srcport,tcp.srcport\n"
        "0,1514,1448,,443\n1,142,,5004,\n2,,,5004,\n3,142,x,5004,\n"
    )
    with pytest.warns(CaptureWarning, match="2 lines were not understood"):
        table = _read(tmp_path, text).table
    assert table.payload_bytes.tolist() == [1448, 100]
    assert table.frame_bytes.tolist() == [1514, 142]


def test_seconds_that_last_for_weeks_are_told(tmp_path: Path) -> None:
    with pytest.warns(CaptureWarning, match="taken for seconds, so the list lasts 3e.07 s"):
        _read(tmp_path, "time,ip_bytes\n0,100\n20000000,100\n30000000,100\n")


def test_a_day_that_no_calendar_has_is_damage_of_its_row_alone(tmp_path: Path) -> None:
    text = (
        "time,ip_bytes\n2023-11-14 22:13:20,100\n2023-02-30 00:00:00,100\n2023-11-14 22:13:21,100\n"
    )
    with pytest.warns(CaptureWarning, match=r"1 line was not understood \(the first is line 3\)"):
        assert _read(tmp_path, text).table.time_ns.tolist() == [0, 1_000_000_000]


def test_an_export_of_wireshark_becomes_flows_served_by_who_sends_more(tmp_path: Path) -> None:
    trace = _read(tmp_path, WIRESHARK)
    table = trace.table
    assert trace.doubts == ()
    assert table.frame_bytes.tolist() == [1214, 86, 1214, 1514]
    assert table.to_client.tolist() == [True, False, True, True]
    assert table.flow.tolist() == [0, 0, 0, 1]
    flows = table.flows.to_pydict()
    assert (flows["server"], flows["client"]) == (
        ["10.0.0.1", "10.0.0.3"],
        ["10.0.0.2", "10.0.0.2"],
    )
    assert (flows["protocol"], flows["server_port"]) == (["udp", "tcp"], [0, 0])
    assert table.payload_bytes.tolist()[3] == 1514 - 14 - 40
    assert any("RTCP, RTP" in text for text in trace.assumptions)


def test_rows_without_ip_addresses_are_left_out_and_counted(tmp_path: Path) -> None:
    arp = '"5","0.05","02:00:00:00:00:01","Broadcast","ARP","42","Who has"\n'
    with pytest.warns(
        CaptureWarning, match=r"1 row without IP addresses left out \(the first is line 6\)"
    ):
        table = _read(tmp_path, WIRESHARK + arp).table
    assert (len(table), table.flows.num_rows) == (4, 2)
    with pytest.raises(PacketTableError, match="no row has two IP addresses"):
        _read(tmp_path, WIRESHARK.splitlines()[0] + "\n" + arp)


def test_damaged_rows_are_counted_with_the_line_of_the_first(tmp_path: Path) -> None:
    text = 'time_s,ip_bytes\n0,100\n1\n\n2,100,7\n3,-5\nx,100\n4,999999999\n5,1"00\n6,100\n'
    with pytest.warns(
        CaptureWarning, match=r"6 lines were not understood \(the first is line 3\); 2 were read"
    ):
        trace = _read(tmp_path, text)
    assert trace.table.time_ns.tolist() == [0, 6_000_000_000]
    assert (trace.unread, trace.first_unread) == (6, 3)


def test_a_list_without_a_readable_row_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(
        PacketTableError,
        match=r"list\.csv: line 2: 'soon, big' is not a time and size, and none of",
    ):
        _read(tmp_path, "time_s,ip_bytes\nsoon,big\nlater,bigger\n")
    with pytest.raises(PacketTableError, match="has no rows"):
        _read(tmp_path, "time_s,ip_bytes\n")


def test_directions_redact_addresses_are_understood(tmp_path: Path) -> None:
    table = _read(
        tmp_path,
        "time_s;ip_bytes;direction;flow\n0;100;down;a\n1;60;UP;a\n2;90;server-to-client;b\n",
    ).table
    assert table.to_client.tolist() == [True, False, True]
    assert table.flow.tolist() == [0, 0, 1]
    assert _read(
        tmp_path, "t\tsize\tdir\n0\t100\t-1\n1\t60\t1\n", sizes="ip"
    ).table.to_client.tolist() == [True, False]
    with pytest.raises(PacketTableError, match="holds 'left'; write down or up"):
        _read(tmp_path, "time_s,ip_bytes,direction\n0,100,left\n")


def test_a_tshark_list_of_both_ip_versions_and_transports_is_read(tmp_path: Path) -> None:
    text = (
        "frame.time_epoch\tip.src\tip.dst\tipv6.src\tipv6.dst\tudp.srcport\tudp.dstport"
        "\ttcp.srcport\ttcp.dstport"
        "\tframe.len\tip.proto\n"
        "1.5\t10.0.0.1\t10.0.0.2\t\t\t\t\t443\t50000\t1514\t6\n"
        "1.6\t\t\t2001:db8::1\t2001:db8::2\t5004\t6000\t\t\t1514\t\n"
        "1.7\t10.0.0.2\t10.0.0.1\t\t\t\t\t50000\t443\t66\t6\n"
    )
    table = _read(tmp_path, text).table
    flows = table.flows.to_pydict()
    assert flows["protocol"] == ["tcp", "udp"]
    assert flows["server_port"] == [443, 5004]
    assert flows["client_port"] == [50_000, 6000]
    assert table.to_client.tolist() == [True, True, False]
    assert table.payload_bytes.tolist() == [1460, 1452, 12]


def test_columns_of_wireshark_by_their_field_names_are_read(tmp_path: Path) -> None:
    columns = ("Time", "Source", "Destination", "Protocol", "Length", "Info")
    header = "\t".join(f"_ws.col.{name}" for name in columns) + "\n"
    table = _read(
        tmp_path,
        header + "0.5\t10.0.0.1\t10.0.0.2\tRTP\t1214\tPT=96\n0.7\t10.0.0.1\t10.0.0.2\tRTP\t214\t\n",
    ).table
    assert (table.time_ns.tolist(), table.frame_bytes.tolist()) == (
        [500_000_000, 700_000_000],
        [1214, 214],
    )
    assert table.flows.column("server").to_pylist() == ["10.0.0.1"]
    newer = (
        "_ws.col.rel_time,_ws.col.def_src,_ws.col.def_dst,_ws.col.protocol,_ws.col.packet_length\n"
    )
    table = _read(tmp_path, newer + "0.5,10.0.0.1,10.0.0.2,UDP,1214\n").table
    assert (table.frame_bytes.tolist(), table.flows.column("client").to_pylist()) == (
        [1214],
        ["10.0.0.2"],
    )


def test_transports_are_those_whose_columns_of_tshark_are_filled(tmp_path: Path) -> None:
    header = (
        "frame.time_epoch,ip.src,ip.dst,udp.srcport,udp.dstport,tcp.srcport,tcp.dstport,ip.len,"
        "_ws.col.Protocol\n"
    )
    rows = (
        "1,10.0.0.1,10.0.0.2,,,5004,6000,1500,SomeProtocol\n"
        "2,10.0.0.1,10.0.0.2,443,6000,,,1228,TLSv1.2\n"
    )
    trace = _read(tmp_path, header + rows + "3,10.0.0.1,10.0.0.2,,,,,84,ICMP\n")
    assert trace.table.flows.column("protocol").to_pylist() == ["tcp", "udp", "icmp"]
    assert trace.table.payload_bytes.tolist() == [1460, 1200, 56]
    assert not any("as far as is known" in text for text in trace.assumptions)


def test_lengths_of_udp_datagrams_and_tcp_payloads_are_sizes(tmp_path: Path) -> None:
    header = "frame.time_epoch,ip.src,ip.dst,udp.length,tcp.len\n"
    table = _read(
        tmp_path,
        header + "1,10.0.0.1,10.0.0.2,1008,\n2,10.0.0.1,10.0.0.2,,1460\n3,10.0.0.2,10.0.0.1,,0\n",
    ).table
    assert table.payload_bytes.tolist() == [1000, 1460, 0]
    assert table.ip_bytes.tolist() == [1028, 1500, 40]
    assert table.flows.column("protocol").to_pylist() == ["udp", "tcp"]


@pytest.mark.parametrize(
    ("header", "remedy"),
    [
        ("frame.time,ip.src,ip.dst,frame.len", "-e frame.time_epoch"),
        ("frame.number,frame.time_delta,frame.len", "write times, not gaps: -e frame.time_epoch"),
        (
            "frame.time_epoch,ip.src,ip.dst,_ws.col.Info",
            "write a size too: -e ip.len, -e frame.len or -e udp.length",
        ),
    ],
)
def test_lists_of_tshark_that_lack_something_name_the_field(
    tmp_path: Path, header: str, remedy: str
) -> None:
    (tmp_path / "list.csv").write_text(f"{header}\n1,2,3,4\n")
    with pytest.raises(PacketTableError, match=remedy):
        read_trace(str(tmp_path / "list.csv"), format_name="packet-list")
    with pytest.raises(PacketTableError, match=remedy):
        trafficgen.inspect(tmp_path / "list.csv")


def test_the_protocol_of_a_list_that_names_none_can_be_given(tmp_path: Path) -> None:
    table = _read(tmp_path, "time_s,ip_bytes\n0,1500\n", protocol="tcp").table
    assert (table.flows.column("protocol").to_pylist(), table.payload_bytes.tolist()) == (
        ["tcp"],
        [1460],
    )


def test_rtp_columns_of_tshark_are_kept(tmp_path: Path) -> None:
    text = (
        "time_s,ip_bytes,rtp.ssrc,rtp.seq,rtp.timestamp,rtp.marker\n"
        "0,500,0xdeadbeef,65535,90000,0\n1,500,0xdeadbeef,0,93600,1\n2,60,,,,\n"
    )
    table = _read(tmp_path, text).table
    assert table.column("rtp_ssrc").to_pylist() == [0xDEADBEEF, 0xDEADBEEF, None]
    assert table.column("rtp_sequence").to_pylist() == [65535, 0, None]
    assert table.column("rtp_timestamp").to_pylist() == [90_000, 93_600, None]
    assert table.column("rtp_marker").to_pylist() == [False, True, None]


def test_arrivals_are_kept_and_a_packet_without_one_is_lost(tmp_path: Path) -> None:
    trace = _read(tmp_path, "time_s,ip_bytes,arrival_ms\n0,100,45\n1,100,\n2,100,2045.5\n")
    assert trace.table.column("arrival_ns").to_pylist() == [45_000_000, None, 2_045_500_000]
    assert any("1 packet without an arrival: lost" in text for text in trace.assumptions)


def test_a_parquet_list_of_others_is_read_with_its_types(tmp_path: Path) -> None:
    start = datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=datetime.UTC)
    columns = {
        "timestamp": pa.array(
            [start, start + datetime.timedelta(microseconds=1500)], pa.timestamp("us", "UTC")
        ),
        "length": pa.array([100.0, 200.0]),
        "to_client": pa.array([True, False]),
        "colour": ["red", "green"],
    }
    pq.write_table(pa.table(columns), tmp_path / "list.parquet")
    trace = read_trace(str(tmp_path / "list.parquet"), options=TraceOptions(sizes="ip"))
    assert trace.table.origin_ns == 1_700_000_000_000_000_000
    assert trace.table.time_ns.tolist() == [0, 1_500_000]
    assert trace.table.ip_bytes.tolist() == [100, 200]
    assert trace.table.to_client.tolist() == [True, False]
    assert any("not used: colour" in text for text in trace.assumptions)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty|no known format"),
        ("a,b\n1,2\n", "no known format"),
        ("time_s,colour\n0,red\n", "no known format"),
    ],
)
def test_files_without_time_or_size_name_what_can_be_given(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(PacketTableError, match=problem):
        _read(tmp_path, text)
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises(PacketTableError, match="give a header line with a time"):
        read_trace(str(tmp_path / "list.csv"), format_name="packet-list")


def test_files_that_cannot_be_read_are_one_error(tmp_path: Path) -> None:
    with pytest.raises(PacketTableError, match=r"cannot be read \(No such file"):
        read_trace(str(tmp_path / "missing.csv"))
    (tmp_path / "binary").write_bytes(b"\0\1\2" * 100)
    with pytest.raises(PacketTableError, match="is not text"):
        read_trace(str(tmp_path / "binary"))


def test_a_time_beyond_all_numbers_is_damage_of_its_row(tmp_path: Path) -> None:
    with pytest.warns(CaptureWarning, match="1 line was not understood") as told:
        assert len(_read(tmp_path, "time_s,ip_bytes\n1e308,100\n2,100\n").table) == 1
    assert len(told) == 1


def test_times_centuries_apart_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PacketTableError, match="centuries apart"):
        _read(tmp_path, "time_s,ip_bytes\n-9e9,100\n9e9,100\n")


def test_rows_out_of_order_are_sorted_and_that_is_told(tmp_path: Path) -> None:
    with pytest.warns(CaptureWarning, match="goes back 1 time; packets were sorted"):
        assert _read(
            tmp_path, "time_s,ip_bytes\n1,100\n0,200\n2,300\n"
        ).table.ip_bytes.tolist() == [200, 100, 300]


def test_rows_of_parquet_that_are_damaged_are_counted_as_rows(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"time_s": [0.0, 1.0, None], "ip_bytes": [100, -1, 100]}),
        tmp_path / "list.parquet",
    )
    with pytest.warns(
        CaptureWarning, match=r"2 rows were not understood \(the first is row 2\); 1 were read"
    ):
        read_trace(str(tmp_path / "list.parquet"))


def test_text_in_utf_16_as_some_shells_write_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_bytes("time_s,ip_bytes\r\n0,100\r\n1,200\r\n".encode("utf-16"))
    assert read_trace(str(tmp_path / "list.csv")).table.ip_bytes.tolist() == [100, 200]


def test_an_option_for_frames_means_nothing_for_a_list(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"payload_bytes=... means nothing for packet-list"):
        _read(tmp_path, "time_s,ip_bytes\n0,100\n", payload_bytes=100)


@pytest.mark.parametrize(
    ("header", "remedy"),
    [("time_s,rate_per_s", "arrivals='rates:FILE'"), ("second,count", "give a header line with")],
)
def test_a_list_without_sizes_is_no_headerless_trace(
    tmp_path: Path, header: str, remedy: str
) -> None:
    file = tmp_path / "evening.csv"
    file.write_text(f"{header}\n0,1\n60,2\n120,1\n")
    names = header.replace(",", ", ")
    with pytest.raises(
        PacketTableError, match=f"no columns of a time and a size among {names}"
    ) as no:
        trafficgen.inspect(file)
    assert remedy in str(no.value)
    assert recognise_format(str(file)) is None
