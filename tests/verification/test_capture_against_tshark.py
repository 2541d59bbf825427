"""Packets, conversations and RTP streams of the developers' captures, as capinfos and tshark count
them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trafficgen import inspect
from trafficgen.cli.app import run

_CAPTURES = Path(__file__).resolve().parents[2] / ".." / "shared" / "captures"
_FOLDERS = ("streaming", "conferencing", "bulk", "mixed", "formats", "lab")
_REASON = (
    "tshark and capinfos are not installed, or the developers' captures are not beside the"
    " repository"
)
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        shutil.which("tshark") is None
        or shutil.which("capinfos") is None
        or not _CAPTURES.exists(),
        reason=_REASON,
    ),
]


def _files(*folders: str) -> list[Any]:
    found = [path for folder in folders for path in sorted((_CAPTURES / folder).glob("*"))]
    captures = [path for path in found if path.suffix not in {".json", ".md"}]
    return [pytest.param(path, id=f"{path.parent.name}/{path.name}") for path in captures]


def _tool(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def _capinfos_packets(path: Path) -> int | None:
    """Packets that capinfos counts, those before the damage in a damaged file; None where it reads
    nothing.
    """
    done = _tool("capinfos", "-T", "-r", "-m", "-c", "-M", str(path))
    if done.stdout.strip():
        return int(done.stdout.strip().split(",")[-1])
    before = re.search(r"after reading (\d+) packets", done.stderr)
    return int(before.group(1)) if before else None


#: Where Wireshark reads something else than the file says, or another format.
_OTHERWISE: dict[str, int | str] = {
    # Its heuristics take the whole file for another variant of pcap, so that it gets over the
    # broken length once.
    "bad_huge_caplen.pcap": 1,
    # A link type that it does not know; ours are packets without a flow.
    "tcpdump_dsa.pcap": 8,
    # It reads snoop, and an empty file as one of its other formats without packets.
    "pcpp_solaris.snoop": "refused",
    "bad_zero_bytes.pcap": "refused",
}


@pytest.mark.parametrize("path", _files(*_FOLDERS))
def test_the_packet_count_is_that_of_capinfos_or_the_file_is_refused_in_one_line(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = _capinfos_packets(path)
    status = run(["inspect", str(path), "--json"])
    out, err = capsys.readouterr()
    expected = _OTHERWISE.get(path.name, "refused" if theirs is None else theirs)
    if expected == "refused":
        assert (status, out, len(err.splitlines())) == (2, "", 1)
    else:
        assert (status, json.loads(out)["packets"]) == (0, expected)
        assert all(line.startswith("warning: ") for line in err.splitlines())


Ends = tuple[tuple[str, int], tuple[str, int]]
Key = tuple[str, Ends]


@dataclass
class _Conversation:
    """Packets and frame bytes from the lower end and from the upper end, and when it was."""

    packets: tuple[int, int]
    frame_bytes: tuple[int, int]
    start_s: float
    end_s: float

    def joined(self, other: _Conversation) -> _Conversation:
        return _Conversation(
            packets=(self.packets[0] + other.packets[0], self.packets[1] + other.packets[1]),
            frame_bytes=(
                self.frame_bytes[0] + other.frame_bytes[0],
                self.frame_bytes[1] + other.frame_bytes[1],
            ),
            start_s=min(self.start_s, other.start_s),
            end_s=max(self.end_s, other.end_s),
        )


_END = r"(\S+):(\d+)"
_COUNT = r"(\d+) (\d+) (bytes|kB|MB)"
_ROW = re.compile(
    rf"^{_END}\s+<->\s+{_END}\s+{_COUNT}\s+{_COUNT}\s+{_COUNT}\s+([\d.]+)\s+([\d.]+)\s*$"
)
_UNIT_BYTES = {"bytes": 1, "kB": 1000, "MB": 1_000_000}


def _tshark_conversations(path: Path, *options: str) -> dict[Key, _Conversation]:
    """TCP and UDP conversations, those that tshark lists several times (ports used anew) added
    up.
    """
    found: dict[Key, _Conversation] = {}
    protocol = ""
    taps = ("-z", "conv,tcp", "-z", "conv,udp")
    for line in _tool("tshark", "-n", "-q", "-r", str(path), *options, *taps).stdout.splitlines():
        if line.endswith(" Conversations"):
            protocol = line.split()[0].lower()
        row = _ROW.match(line)
        if row is None:
            continue
        one, other = (row[1], int(row[2])), (row[3], int(row[4]))
        # The first pair of columns counts from the right end to the left one.
        from_other = (int(row[5]), int(row[6]) * _UNIT_BYTES[row[7]])
        from_one = (int(row[8]), int(row[9]) * _UNIT_BYTES[row[10]])
        (lower, first), (upper, second) = sorted([(one, from_one), (other, from_other)])
        start_s = float(row[14])
        end_s = start_s + float(row[15])
        conversation = _Conversation((first[0], second[0]), (first[1], second[1]), start_s, end_s)
        _add(found, (protocol, (lower, upper)), conversation)
    return found


def _add(found: dict[Key, _Conversation], key: Key, conversation: _Conversation) -> None:
    found[key] = found[key].joined(conversation) if key in found else conversation


_FIELDS = ("ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "frame.len", "frame.time_relative")
_LENGTHS = ("frame.cap_len", "frame.protocols", "ip.hdr_len", "tcp.hdr_len")


def _with_cut_headers(path: Path, found: dict[Key, _Conversation]) -> dict[Key, _Conversation]:
    """Add what `-z conv` leaves out: TCP packets whose options were cut off by the snapshot length.

    Their ports were captured and tshark's own fields show them, but its TCP dissector gives up
    before it counts.
    """
    fields = [part for name in (*_FIELDS, *_LENGTHS) for part in ("-e", name)]
    filtered = ("-Y", "tcp && frame.cap_len < frame.len", "-T", "fields", "-E", "occurrence=f")
    for line in _tool("tshark", "-n", "-r", str(path), *filtered, *fields).stdout.splitlines():
        (
            source,
            source_port,
            to,
            to_port,
            length,
            time_s,
            captured,
            protocols,
            ip_bytes,
            tcp_bytes,
        ) = line.split("\t")
        link_bytes = 14 if protocols.startswith("eth") else 0
        if not tcp_bytes or link_bytes + int(ip_bytes) + int(tcp_bytes) <= int(captured):
            continue
        sent, received = (1, int(length)), (0, 0)
        ends = [((source, int(source_port)), sent), ((to, int(to_port)), received)]
        (lower, first), (upper, second) = sorted(ends)
        one = _Conversation(
            (first[0], second[0]), (first[1], second[1]), float(time_s), float(time_s)
        )
        _add(found, ("tcp", (lower, upper)), one)
    return found


def _our_conversations(path: Path, **options: Any) -> dict[Key, _Conversation]:
    found: dict[Key, _Conversation] = {}
    flows: list[Any] = inspect(path, **options).describe_flows()
    for flow in flows:
        if flow["protocol"] not in {"tcp", "udp"}:
            continue
        server, client = (
            (flow["server"], flow["server_port"]),
            (flow["client"], flow["client_port"]),
        )
        ways = [(server, flow["to_client"]), (client, flow["to_server"])]
        (lower, first), (upper, second) = sorted(ways, key=lambda way: way[0])
        found[flow["protocol"], (lower, upper)] = _Conversation(
            packets=(first["packets"], second["packets"]),
            frame_bytes=(first["frame_bytes"], second["frame_bytes"]),
            start_s=flow["start_s"],
            end_s=flow["start_s"] + flow["duration_s"],
        )
    return found


def _differences(
    ours: dict[Key, _Conversation], theirs: dict[Key, _Conversation]
) -> dict[Key, str]:
    return {
        key: f"ours {ours.get(key)}, tshark's {theirs.get(key)}"
        for key in ours.keys() | theirs.keys()
        if key not in ours or key not in theirs or not _same(ours[key], theirs[key])
    }


def _same(ours: _Conversation, theirs: _Conversation) -> bool:
    """Packets agree; bytes within what tshark's rounding to kB and MB leaves; times within its
    printed digits.
    """
    bytes_agree = all(
        a == b
        or (b >= 10_000 and abs(a - b) < 1000)
        or (b >= 10_000_000 and abs(a - b) < 1_000_000)
        for a, b in zip(ours.frame_bytes, theirs.frame_bytes, strict=True)
    )
    times_agree = (
        abs(ours.start_s - theirs.start_s) < 2e-4 and abs(ours.end_s - theirs.end_s) < 2e-4
    )
    return ours.packets == theirs.packets and bytes_agree and times_agree


#: A later fragment is of its first fragment's flow here, as `inspect` promises; tshark has it in no
#: conversation when the snapshot length kept it from putting the datagram together.
_WITH_FRAGMENTS = {
    "netshare_caida_small.pcap": {("udp", (("194.102.249.26", 18039), ("194.131.212.187", 50321)))}
}


@pytest.mark.parametrize("path", _files("streaming", "conferencing", "bulk", "mixed"))
def test_tcp_and_udp_conversations_are_those_of_tshark(path: Path) -> None:
    ours, theirs = _our_conversations(path), _with_cut_headers(path, _tshark_conversations(path))
    assert len(ours) > 0
    assert set(_differences(ours, theirs)) == _WITH_FRAGMENTS.get(path.name, set())


#: Outer UDP conversations of Geneve, VXLAN and Teredo, which tshark counts beside the inner ones.
_TUNNEL_PORTS = {6081, 4789, 8472, 3544}
_TUNNELS = (
    "ndpi42_4in6tunnel.pcap",
    "ndpi42_teredo.pcap",
    "ndpi_vxlan.pcap",
    "pcpp_GrePackets.cap",
    "pcpp_MplsPackets.pcap",
    "pcpp_Vxlan1.pcap",
    "tcpdump_geneve.pcap",
    "tcpdump_mpls-traceroute.pcap",
    "wireshark_ipoipoip.pcap",
    "zeek_erspan.pcap",
)


@pytest.mark.parametrize("name", _TUNNELS)
def test_decapsulated_conversations_are_the_inner_ones_of_tshark(name: str) -> None:
    path = _CAPTURES / "formats" / name
    # Fragments of outer packets are not put together: tshark would count the inner packet with the
    # last one's bytes.
    counted = _with_cut_headers(path, _tshark_conversations(path, "-o", "ip.defragment:FALSE"))
    theirs = {
        key: conversation
        for key, conversation in counted.items()
        if not {port for _, port in key[1]} & _TUNNEL_PORTS
    }
    assert _differences(_our_conversations(path, decapsulate=True), theirs) == {}


_RTP_ROW = re.compile(
    r"^\s*([\d.]+)\s+([\d.]+)\s+(\S+)\s+(\d+)\s+(\S+)\s+(\d+)\s+0x([0-9A-F]{8})"
    r"\s+(.+?)\s+(\d+)\s+(-?\d+)"
    r" \(-?[\d.]+%\)"
    r"\s+(-?[\d.]+)\s+(-?[\d.]+)\s+(-?[\d.]+)\s+(-?[\d.]+)\s+(-?[\d.]+)\s+(-?[\d.]+)"
)
_WITH_RTP = (
    "conferencing/ndpi42_kakaotalk_talk_sll.pcap",
    "conferencing/sipp_rtp_g711a.pcap",
    "conferencing/trex_video_call.pcap",
    "conferencing/wsw_sip_call_rtp_g711.pcap",
    "lab/rtp_below_near_above-dst.pcap",
    "lab/rtsp_gst_cubic-dst.pcap",
    "lab/rtsp_vlc_reno-dst.pcap",
    "streaming/sipp_rtp_h264.pcap",
    "streaming/trex_rtsp_rtp_250k_av.pcap",
)
_FEWEST_PACKETS = 5


@pytest.mark.parametrize("name", _WITH_RTP)
def test_rtp_streams_with_their_losses_and_jitter_are_those_of_tshark(name: str) -> None:
    path = _CAPTURES / name
    done = _tool(
        "tshark", "-n", "-q", "-r", str(path), "--enable-heuristic", "rtp_udp", "-z", "rtp,streams"
    )
    theirs: dict[tuple[str, int, str, int, int], tuple[int, int, float]] = {}
    for row in filter(None, map(_RTP_ROW.match, done.stdout.splitlines())):
        packets, lost = int(row[9]), int(row[10])
        # Below that nothing proves RTP: its heuristics take single packets that open a port for a
        # stream.
        if packets >= _FEWEST_PACKETS:
            theirs[row[3], int(row[4]), row[5], int(row[6]), int(row[7], 16)] = (
                packets + lost,
                lost,
                float(row[15]),
            )
    ours = _our_rtp_streams(path)
    assert ours.keys() == theirs.keys()
    for key, (expected, lost, jitter_ms) in theirs.items():
        assert ours[key][:2] == (expected, lost)
        if jitter_ms > 0:
            # It knows the clocks of static payload types only, prints 0.001 ms, and counts the
            # first packet as a step.
            assert ours[key][2] == pytest.approx(jitter_ms, rel=1 / (expected - lost), abs=0.001)


def _our_rtp_streams(path: Path) -> dict[tuple[str, int, str, int, int], tuple[int, int, float]]:
    found = inspect(path)
    flows = found.flows.to_pylist()
    streams: dict[tuple[str, int, str, int, int], tuple[int, int, float]] = {}
    for stream in found.rtp_streams:
        flow = flows[stream.flow]
        server, client = (
            (flow["server"], flow["server_port"]),
            (flow["client"], flow["client_port"]),
        )
        ends = (*server, *client) if stream.to_client else (*client, *server)
        streams[*ends, stream.ssrc] = (
            stream.expected,
            stream.lost,
            1000 * (stream.jitter_s or 0.0),
        )
    return streams
