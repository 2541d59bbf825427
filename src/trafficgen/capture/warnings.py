"""Describe what is odd about a capture."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from trafficgen._core.types import CountsDict
from trafficgen.formatting import format_count, format_duration
from trafficgen.option_names import name_options
from trafficgen.units import s_from_ns

_SECONDS_PER_DAY = 86_400
#: Captures that agree so far are read whole to see whether one is a copy.
_BEGINNING_BYTES = 1 << 16
#: Tunnels that the readers look into: protocols, and ports of VXLAN, Geneve and Teredo (IANA).
_TUNNEL_PROTOCOLS = ("gre", "ipip", "ipv6")
_TUNNEL_PORTS = (4789, 8472, 6081, 3544)
#: Share of the bytes up to which what is in tunnels is not what the capture was made for.
_MOST_IN_TUNNELS = 0.5
#: pcap's own numbers of link types that people meet and that carry no IP header we read.
_LINK_TYPE_NAMES = {
    105: "IEEE 802.11",
    127: "802.11 with radiotap",
    147: "user-defined 0",
    189: "USB",
    220: "USB",
    253: "netlink",
}


def describe_oddities(counts: CountsDict, *, name: str, flows: int) -> list[str]:
    """Return one sentence for each oddity that a reader of the results should know.

    ``counts`` are over all files; sentences begin with ``name``, the file or the number of files.
    """
    texts = [text for check in (_time, _lengths, _undecoded) for text in check(counts)]
    if counts["beyond_most_flows"]:
        beyond = _packets(counts["beyond_most_flows"])
        texts.append(
            f"{beyond} of flows behind the first {flows:,}, for which there is no room; give more"
            " [--memory]"
        )
    return [f"{name}: {name_options(text)}" for text in texts]


def describe_copies(files: Sequence[str]) -> list[str]:
    """Return a warning if a file has the same bytes as another: its packets count twice."""
    alike = [name for name in files if os.path.isfile(name) and os.path.getsize(name)]  # noqa: PTH113, PTH202 - any text
    for key in (os.path.getsize, _digest_beginning, _digest_file):  # each file is read once at most
        groups: dict[int | bytes, list[str]] = {}
        for name in alike:
            groups.setdefault(key(name), []).append(name)
        alike = [name for names in groups.values() if len(names) > 1 for name in names]
    if not alike:
        return []
    other, name = alike[:2]
    return [f"{name}: has the contents of {other}, and its packets count twice: give one"]


def _digest_beginning(name: str) -> bytes:
    with open(name, "rb") as file:  # noqa: PTH123 - any text
        return hashlib.sha256(file.read(_BEGINNING_BYTES)).digest()


def _digest_file(name: str) -> bytes:
    with open(name, "rb") as file:  # noqa: PTH123 - any text
        return hashlib.file_digest(file, "sha256").digest()


def describe_tunnels(flows: pa.Table, *, name: str) -> list[str]:
    """Return a sentence where tunnels that nobody looked into carry most of the bytes."""
    frame_bytes = pc.add(
        flows.column("frame_bytes_to_client"), flows.column("frame_bytes_to_server")
    )
    over_udp = pc.equal(flows.column("protocol"), "udp")
    ports = pa.array(sorted(_TUNNEL_PORTS), pa.uint16())
    of_tunnel = [
        pc.is_in(flows.column(f"{end}_port"), value_set=ports) for end in ("server", "client")
    ]
    inside = pc.or_(
        pc.is_in(flows.column("protocol"), value_set=pa.array(_TUNNEL_PROTOCOLS)),
        pc.and_(over_udp, pc.or_(*of_tunnel)),
    )
    total_bytes = pc.sum(frame_bytes).as_py() or 0
    tunnel_bytes = pc.sum(frame_bytes.filter(inside)).as_py() or 0
    if tunnel_bytes <= _MOST_IN_TUNNELS * total_bytes:
        return []
    text = f"{tunnel_bytes / total_bytes:.0%} of the bytes are in tunnels: [--decapsulate] reads"
    return [f"{name}: {name_options(text)} the packets that they carry"]


def _time(counts: CountsDict) -> list[str]:
    texts = []
    if counts["steps_back"]:
        step = format_duration(s_from_ns(counts["largest_step_back_ns"]))
        texts.append(
            f"{_packets(counts['steps_back'])} earlier than one before (by up to {step});"
            " sorted by time"
        )
    if counts["jumps"]:
        days = abs(s_from_ns(counts["largest_jump_ns"])) / _SECONDS_PER_DAY
        way = "forward" if counts["largest_jump_ns"] > 0 else "back"
        texts.append(
            f"time jumps {way} by {days:.0f} days after packet {counts['largest_jump_packet']}: "
            "durations and rates across the jump mean nothing"
        )
    if counts["timeless"]:
        texts.append(
            f"{_packets(counts['timeless'])} without a time stamp; each has that of the packet"
            " before"
        )
    return texts


def _lengths(counts: CountsDict) -> list[str]:
    texts = []
    if counts["above_mtu"]:
        texts.append(
            f"{_packets(counts['above_mtu'])} longer than 1,500 bytes (up to"
            f" {counts['longest_ip_bytes']:,}): segmentation offload or a larger MTU;"
            " [`trafficgen fit`|fit()] cuts them back to segments"
        )
    if counts["cut_by_snaplen"]:
        texts.append(
            f"{_packets(counts['cut_by_snaplen'])} captured in part "
            f"(at most {counts['longest_captured_bytes']} bytes); lengths are the original ones"
        )
    return texts


def _undecoded(counts: CountsDict) -> list[str]:
    texts = []
    if counts["undecodable"]:
        texts.append(
            f"{_packets(counts['undecodable'])} with IP headers cut off or wrong; in no flow"
        )
    if counts["unknown_link_type"]:
        number = counts["example_link_type"] or 0
        known = f" ({_LINK_TYPE_NAMES[number]})" if number in _LINK_TYPE_NAMES else ""
        texts.append(
            f"{_packets(counts['unknown_link_type'])} of link type {number}{known}, not decoded; in"
            " no flow"
        )
    return texts


def _packets(count: int) -> str:
    return format_count(count, "packet")
