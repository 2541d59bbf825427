"""Files and texts of strangers, damaged or made up: each is read, or refused by one of the
documented errors.
"""

from __future__ import annotations

import functools
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import trafficgen
from trafficgen.calibration.player_log.log_files import read_player_log
from trafficgen.capture.rtsp import parse_media_clocks, parse_rtsp
from trafficgen.capture.table_files import read_table
from trafficgen.capture.traces.formats import FORMATS
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.reading import read_trace
from trafficgen.errors import SimulationError, TrafficgenError
from trafficgen.models import dump_model
from trafficgen.models.io import read_model
from trafficgen.models.published.registry import load_entry
from trafficgen.models.published.settings import with_settings
from trafficgen.packet_files.writing import write_packets
from trafficgen.simulation.competitors import Competitor
from trafficgen.simulation.path import Path as NetworkPath
from trafficgen.simulation.sources import Source
from trafficgen.simulation.traces import load_trace
from trafficgen.tables import PacketTable
from trafficgen.units import (
    bytes_from_text,
    per_s_from_text,
    rate_from_text,
    s_from_text,
    share_from_text,
)
from trafficgen.workloads.column_files import read_numbers

ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")

#: What breaks readers: numbers without end, brackets without end, what is not text, what is no
#: number.
_BREAKERS = st.sampled_from(
    [
        *(
            "",
            "0",
            "-1",
            "1e999",
            "-0.0",
            "nan",
            "Infinity",
            "null",
            "true",
            "9" * 30,
            "9" * 5000,
            "1e-400",
            "2**64",
        ),
        *(
            "[",
            "]",
            "{",
            "}",
            "[" * 3000,
            '{"a":' * 3000,
            '"',
            "'",
            ",",
            ",,,,",
            ":",
            ";",
            "=",
            "\\",
            "\n",
            "\r\n",
            "\t",
        ),
        *(
            "\x00",
            "\x1b[2J",
            "\ufeff",
            "\u2028",
            "\udc80",
            "é",
            "٣",
            " " * 5000,
            "a" * 5000,
            "(",
            ")",
            "@",
            "..",
            "%",
            "&a",
        ),
        *(
            "<<: *a",
            "!!python/object:os.system",
            "../../etc/passwd",
            "-",
            "$(id)",
            "kbps",
            "ms",
            "-1s",
            "1e9d",
        ),
    ]
)
_EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 60), _BREAKERS | st.text(max_size=5)),
    min_size=1,
    max_size=4,
)


def _edited(text: str, edits: list[tuple[float, int, str]]) -> str:
    for place, gone, put in edits:
        at = int(place * len(text))
        text = text[:at] + put + text[at + gone :]
    return text


def _unless_refused(read: Callable[[], T]) -> T | None:
    """Return what is read, None where it is refused; any other error fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read()
        except TrafficgenError:
            return None


def _of_file(name: str, text: str, read: Callable[[Path], T]) -> T | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(text.encode("utf-8", errors="surrogatepass"))
        return _unless_refused(lambda: read(path))


@functools.cache
def _fitted_text() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dump_model(
            trafficgen.fit(ROOT / "examples/captures/rtsp_rtp_two_streams.pcap.gz").model
        )


@given(edits=_EDITS)
@settings(max_examples=50, deadline=None)
def test_a_damaged_model_file_is_a_model_or_one_clear_error(
    edits: list[tuple[float, int, str]],
) -> None:
    model = _of_file("model.json", _edited(_fitted_text(), edits), read_model)
    assert model is None or dump_model(model)


@given(edits=_EDITS, entry=st.sampled_from(["cbr", "chunked", "realvideo10_turboplay_boyden2005"]))
@settings(max_examples=60, deadline=None)
def test_a_damaged_published_model_is_a_model_or_one_clear_error(
    edits: list[tuple[float, int, str]], entry: str
) -> None:
    file = ROOT / "src/trafficgen/models/published/entries" / f"{entry}.yaml"
    _of_file("model.yaml", _edited(file.read_text(encoding="utf-8")[:8000], edits), read_model)


@given(edits=_EDITS)
@settings(max_examples=60, deadline=None)
def test_a_damaged_workload_file_is_a_workload_or_one_clear_error(
    edits: list[tuple[float, int, str]],
) -> None:
    text = (ROOT / "examples/workloads/evening.yaml").read_text(encoding="utf-8")
    _of_file("workload.yaml", _edited(text, edits), trafficgen.load_workload)


_PLAYER_LOGS = {
    "own.csv": (
        "time_s,buffer_s,position_s,level_kbps,stalled\n"
        "0,0.5,0,300,1\n1.5,2.5,1,600,0\n3,4,2.5,600,0\n"
    ),
    "own.json": (
        '[{"unix_time_s": 1700000000.5, "level": "720p"}, {"unix_time_s": 1700000002,'
        ' "stalled": 1}]'
    ),
    "samples.json": (
        '{"samples": [{"time_s": 0, "buffer_s": 1}, {"time_s": 2.5, "buffer_s": 3, "stalled": 0}]}'
    ),
    "requet.csv": (
        "rel_time_s,buffer_health_s,playback_progress,quality\n0,1.5,0,hd720\n0.5,2,0.5,hd720\n"
    ),
    "events.json": (
        '{"player_log": [{"t": 0, "event": "play"}, {"t": 5, "event": "stalled"}],'
        ' "capture_start_unix": 1}'
    ),
    "dash.json": (
        '[{"t": 1700000000000, "type": "playbackPlaying"}, {"type": "metricAdded", "metric":'
        ' "BufferLevel", "mediaType": "video", "value": {"t": "2026-11-27T01:31:06Z", "level": 9}}]'
    ),
    "hls.json": (
        '[{"t": 1700000000000, "event": "hlsLevelSwitched", "level": 1}, {"t": 1700000000900,'
        ' "event": "hlsFragBuffered", "currentTime": 1, "frag": {"start": 2, "duration": 2}}]'
    ),
    "shaka.json": (
        '{"stats": {"switchHistory": [{"timestamp": 17e8, "type": "variant", "bandwidth": 8e5}],'
        ' "stateHistory": [{"timestamp": 17e8, "state": "playing", "duration": 5}]}}'
    ),
}


@given(edits=_EDITS, name=st.sampled_from(sorted(_PLAYER_LOGS)))
@settings(max_examples=250, deadline=None)
def test_a_damaged_player_log_is_a_log_or_one_clear_error(
    edits: list[tuple[float, int, str]], name: str
) -> None:
    _of_file(name, _edited(_PLAYER_LOGS[name], edits), read_player_log)


_PATHS = [
    "rate=725kbps,delay=45ms,queue=80p,loss=0.02,reorder=1%",
    (
        '{"links": [{"rate": "1Mbps", "delay": "20ms"}, {"delay": 0.1, "loss": "3%"}], "access":'
        ' "2Mbps"}'
    ),
    "trace=nothing.csv,delay=20ms",
]


@given(text=st.builds(_edited, st.sampled_from(_PATHS), _EDITS) | st.text(max_size=40))
@settings(max_examples=250, deadline=None)
def test_any_text_is_a_path_or_one_clear_error(text: str) -> None:
    path = _unless_refused(lambda: NetworkPath.parse(text))
    assert path is None or NetworkPath.parse(path.text()) == path


_COMPETITORS = [
    "tcp:reno@-10s..60s",
    "cbr:200kbps(packet_bytes=500)@5s",
    "ping(interval_s=0.5)",
    "model(a=[1,2],b={})",
]


@given(text=st.builds(_edited, st.sampled_from(_COMPETITORS), _EDITS) | st.text(max_size=40))
@settings(max_examples=250, deadline=None)
def test_any_text_is_a_competitor_or_one_clear_error(text: str) -> None:
    def refused(*_: object) -> Source:
        raise SimulationError("no such model here")

    _unless_refused(lambda: Competitor.parse(text).source(refused))


@given(
    name=st.sampled_from(["rate_kbps", "packet_bytes", "duration_s", "clip", "nothing"]),
    text=_BREAKERS | st.text(),
)
@settings(max_examples=150, deadline=None)
def test_any_text_is_a_setting_or_one_clear_error(name: str, text: str) -> None:
    model = load_entry("cbr")
    for key in (name, *model.options, *model.mechanism.parameters):
        _unless_refused(functools.partial(with_settings, model, {key: text}))


@given(
    text=_BREAKERS
    | st.text()
    | st.from_regex(r"[0-9.eE+-]{1,20} ?(kbps|ms|s|B|%|/s)", fullmatch=True)
)
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_quantity_or_none(text: str) -> None:
    for read in (rate_from_text, bytes_from_text, s_from_text, per_s_from_text, share_from_text):
        value = read(text)
        assert value is None or isinstance(value, int | float)


_RTSP = (
    "RTSP/1.0 200 OK\r\nCSeq: 4\r\nTransport:"
    " RTP/AVP;client_port=5000-5001;server_port=6000\r\n\r\nm=video 0 RTP/AVP 96 0\r\na=rtpmap:96"
    " H264/90000\r\nm=audio 0 RTP/AVP 8 0 3\r\n"
)


@given(edits=_EDITS, start=st.sampled_from(["", "SETUP rtsp://host/clip RTSP/1.0\r\n"]))
@settings(max_examples=250, deadline=None)
def test_any_rtsp_message_is_read_or_passed_over(
    edits: list[tuple[float, int, str]], start: str
) -> None:
    text = _edited(start + _RTSP, edits)
    message = parse_rtsp(text.encode("utf-8", errors="surrogatepass"))
    assert message is None or all(
        0 <= port < 1 << 16 for port in message.client_ports + message.server_ports
    )
    for clock in parse_media_clocks(text):
        assert (0 <= clock.payload_type < 128, 0 < clock.clock_hz < 1 << 32) == (True, True)


_TRACES = {
    "packet-list": (
        "time_s,ip_bytes,source,destination,direction\n"
        "0.1,500,10.0.0.1,10.0.0.2,down\n0.25,60,::1,::2,up\n"
    ),
    "mgen": (
        "17:18:56.78 SEND proto>UDP flow>1 seq>0 srcPort>5000 dst>127.0.0.1/5811 size>256\n" * 3
    ),
    "ditg": (
        "Flow>1 Seq>1 Src>10.0.0.1/5000 Dest>10.0.0.2/8999 txTime>17:0:1.5 rxTime>17:0:1.6"
        " Size>512\n" * 3
    ),
    "ns3": "1 I 0 5000\n2 P 40 900\n3 B 80 300\n",
    "syncodecs": "0 I 1.5 2.5 1000\n1 P 1.5 2.5 200\n",
    "inet": "0 I 33 1000\n1 P 33 100\n",
    "vr-app": "1000, 0.016\n1200, 0.016\n",
    "frame-sizes": "1000\n200\n300\n",
}


@given(edits=_EDITS, name=st.sampled_from(sorted(FORMATS)), told=st.booleans())
@settings(max_examples=400, deadline=None)
def test_a_damaged_trace_of_any_format_is_a_table_or_one_clear_error(
    edits: list[tuple[float, int, str]], name: str, told: bool
) -> None:
    text = _edited(_TRACES[name], edits)
    options = TraceOptions(frame_rate_fps=25 if "frame_rate_fps" in FORMATS[name].takes else None)
    _of_file(
        "trace.txt",
        text,
        lambda path: read_trace(
            str(path),
            format_name=name if told else None,
            options=options if told else TraceOptions(),
        ),
    )


def test_every_format_of_traces_has_an_example_here() -> None:
    assert set(_TRACES) == set(FORMATS)


@functools.cache
def _table_files() -> tuple[bytes, bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = trafficgen.read_packets(ROOT / "examples/captures/rtsp_rtp_two_streams.pcap.gz")
    with tempfile.TemporaryDirectory() as folder:
        one = PacketTable(
            packets=table.packets.slice(0, 40), flows=table.flows, origin_ns=table.origin_ns
        )
        write_packets(one, Path(folder) / "t.csv")
        write_packets(one, Path(folder) / "t.parquet")
        return (Path(folder) / "t.csv").read_bytes(), (Path(folder) / "t.parquet").read_bytes()


@given(edits=_EDITS)
@settings(max_examples=150, deadline=None)
def test_a_damaged_csv_table_is_a_table_or_one_clear_error(
    edits: list[tuple[float, int, str]],
) -> None:
    _of_file("t.csv", _edited(_table_files()[0].decode(), edits), read_table)


_READERS: dict[str, Callable[[Path], object]] = {
    "t.csv": read_table,
    "t.flows.csv": lambda path: read_table(path.with_name("t.csv")),
    "model.json": read_model,
    "workload.yaml": trafficgen.load_workload,
    "rates.csv": lambda path: load_trace(str(path)),
    "numbers.csv": lambda path: read_numbers(path, column=None, usual=("rate_kbps",)),
    **{f"trace-{name}": lambda path: read_trace(str(path)) for name in _TRACES},
    **dict.fromkeys(_PLAYER_LOGS, read_player_log),
}


@pytest.mark.parametrize("name", _READERS)
def test_bytes_that_are_not_utf8_are_read_or_one_clear_error(tmp_path: Path, name: str) -> None:
    """In the first line, which may be a header, and in each twentieth of the rest."""
    table = trafficgen.generate("cbr", duration_s=1)
    write_packets(table, tmp_path / "t.csv")
    (tmp_path / "rates.csv").write_text("time_s,rate_kbps\n0,900\n5,300\n")
    (tmp_path / "numbers.csv").write_text("time_s,rate_kbps\n0,900\n5,300\n")
    (tmp_path / "model.json").write_text(_fitted_text())
    workload = (ROOT / "examples/workloads/evening.yaml").read_bytes()
    (tmp_path / "workload.yaml").write_bytes(workload)
    for part, text in {**{f"trace-{one}": _TRACES[one] for one in _TRACES}, **_PLAYER_LOGS}.items():
        (tmp_path / part).write_text(text)
    path = tmp_path / name
    good = path.read_bytes()
    for at in (3, *(len(good) * part // 20 for part in range(20))):
        path.write_bytes(good[:at] + b"\xaf" + good[at:])
        _unless_refused(lambda: _READERS[name](path))


@given(flips=st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=12))
@example(flips=[(0.28125, 128)])  # a column's name that is not text
@settings(max_examples=200, deadline=None)
def test_a_damaged_parquet_table_is_a_table_or_one_clear_error(
    flips: list[tuple[float, int]],
) -> None:
    data = bytearray(_table_files()[1])
    for place, value in flips:
        data[int(place * len(data))] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        path.write_bytes(data)
        _unless_refused(lambda: read_table(path))


@pytest.mark.parametrize(
    "metadata",
    ["[" * 100_000, "9" * 10_000, "{}", '{"schema_version": "1.0", "flows": []}', "\x00"],
)
def test_odd_metadata_of_a_parquet_table_are_refused(tmp_path: Path, metadata: str) -> None:
    path = tmp_path / "t.parquet"
    columns = {
        "time_ns": [0],
        "flow": [0],
        "to_client": [True],
        "frame_bytes": [60],
        "ip_bytes": [46],
        "payload_bytes": [1],
    }
    table = pa.table(columns).replace_schema_metadata({"trafficgen": metadata})
    pq.write_table(table, path)
    with pytest.raises(TrafficgenError, match="metadata"):
        read_table(path)
