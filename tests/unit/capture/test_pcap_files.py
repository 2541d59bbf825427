"""Classic pcap and pcapng in all their variants, plain and compressed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from trafficgen import Inspection
from trafficgen.errors import CaptureError

Inspect = Callable[..., Inspection]


@pytest.fixture
def frame(made: SimpleNamespace) -> bytes:
    return bytes(made.ethernet(made.ipv4(made.udp())))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B23C4D])
def test_both_byte_orders_and_resolutions_give_the_same_times(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes, order: str, magic: int
) -> None:
    found = inspect_bytes(
        made.pcap(made.packets([frame] * 4, every_ns=250_000), order=order, magic=magic)
    )
    assert (found.packets, found.start_time_ns, found.duration_s) == (4, made.START_NS, 0.00075)
    assert found.warnings == ()


def test_records_of_the_modified_variant_are_eight_bytes_longer(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes
) -> None:
    found = inspect_bytes(made.pcap(made.packets([frame] * 3), magic=0xA1B2CD34))
    assert (found.packets, found.ip_packets, found.frame_bytes) == (3, 3, 3 * len(frame))


def test_bits_of_the_link_type_that_tell_of_a_checksum_do_not_change_the_link_type(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes
) -> None:
    assert inspect_bytes(made.pcap(made.packets([frame]), link=1 | 0x5400_0000)).ip_packets == 1


def test_sections_of_mixed_byte_order_have_interfaces_of_their_own(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes
) -> None:
    content = b""
    for order, resolution in (("<", 9), (">", 3), ("<", 6)):
        units = made.START_NS // 10 ** (9 - resolution)
        options = made.option(9, bytes([resolution]), order=order)
        content += made.section(order=order) + made.interface(order=order, options=options)
        content += made.enhanced(units, frame, order=order)
    found = inspect_bytes(content)
    assert (found.packets, found.ip_packets, found.start_time_ns, found.duration_s) == (
        3,
        3,
        made.START_NS,
        0.0,
    )


@pytest.mark.parametrize("resolution", [3, 6, 7, 9, 12, 0x80 | 10, 0x80 | 20, 0x80 | 30])
@pytest.mark.parametrize("order", ["<", ">"])
def test_times_of_any_resolution_and_offset_become_nanoseconds(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes, resolution: int, order: str
) -> None:
    per_s = 2 ** (resolution & 0x7F) if resolution & 0x80 else 10**resolution
    offset_s, half = 1_000_000_000, per_s // 2
    options = made.option(9, bytes([resolution]), order=order)
    options += made.option(14, struct.pack(order + "q", offset_s), order=order)
    content = made.section(order=order) + made.interface(order=order, options=options)
    content += made.enhanced(5 * per_s, frame, order=order) + made.enhanced(
        5 * per_s + half, frame, order=order
    )
    found = inspect_bytes(content)
    assert found.start_time_ns == (offset_s + 5) * 1_000_000_000
    assert found.duration_s == 0.5


def test_simple_packets_have_the_captured_length_of_the_first_interface_and_no_time(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes
) -> None:
    whole = made.section() + made.interface() + made.simple(frame)
    assert (inspect_bytes(whole).frame_bytes, inspect_bytes(whole).ip_packets) == (len(frame), 1)
    cut = made.section() + made.interface(snap=60) + made.simple(frame[:60], length=len(frame))
    found = inspect_bytes(cut)
    assert (found.frame_bytes, found.ip_packets) == (len(frame), 1)
    assert any("without a time stamp" in text for text in found.warnings)
    assert any("at most 60 bytes" in text for text in found.warnings)


def test_obsolete_unknown_and_custom_blocks_are_read_or_passed_over(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes
) -> None:
    custom = made.block(0xBAD, struct.pack("<I", 32473) + b"anything")
    units = made.START_NS // 1000
    content = made.section() + custom + made.interface() + made.block(0x7FFF_0001, bytes(400))
    found = inspect_bytes(
        content + made.obsolete(units, frame) + custom + made.enhanced(units, frame)
    )
    assert (found.packets, found.start_time_ns, found.warnings) == (2, made.START_NS, ())


def test_options_that_break_off_cost_nothing_but_themselves(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes
) -> None:
    broken = struct.pack("<HH", 1, 60_000) + b"..."
    content = made.section() + made.interface(options=made.option(9, b"\x09") + broken)
    found = inspect_bytes(content + made.enhanced(made.START_NS, frame, options=broken))
    assert (found.packets, found.start_time_ns) == (1, made.START_NS)


def test_a_packet_of_an_interface_that_is_not_there_ends_the_readable_part(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes
) -> None:
    good = made.section() + made.interface() + made.enhanced(1, frame)
    found = inspect_bytes(good + made.enhanced(2, frame, at=1) + made.enhanced(3, frame))
    assert found.packets == 1
    assert f"in record 2 at byte {len(good)}; 1 packet read" in found.warnings[0]


def test_a_file_of_interfaces_alone_does_not_fill_the_memory(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes
) -> None:
    good = made.section() + made.interface() + made.enhanced(1, frame)
    found = inspect_bytes(good + made.interface() * (1 << 20) + made.enhanced(2, frame))
    assert found.packets == 1
    assert "a section has more than 1048576 interfaces" in found.warnings[0]


_PACKERS = {"gz": lambda data: gzip.compress(data, mtime=0), "xz": lzma.compress}


@pytest.mark.parametrize("ending", sorted(_PACKERS))
def test_several_compressed_members_one_after_the_other_are_one_file(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes, ending: str
) -> None:
    plain = made.pcap(made.packets([frame] * 50))
    members = [plain[at : at + 700] for at in range(0, len(plain), 700)]
    found = inspect_bytes(b"".join(_PACKERS[ending](member) for member in members))
    assert (found.packets, found.warnings) == (50, ())


def test_a_compressed_file_that_breaks_off_gives_its_readable_part(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    frames = [
        bytes(made.ethernet(made.ipv4(made.udp(bytes([index % 251]) * 40))))
        for index in range(5000)
    ]
    packed = gzip.compress(made.pcap(made.packets(frames)), mtime=0)
    found = inspect_bytes(packed[: len(packed) // 2])
    assert 0 < found.packets < 5000
    assert "the compressed data breaks off" in found.warnings[0]
    assert f"; {found.packets} packets read" in found.warnings[0]


@pytest.mark.parametrize("cut", [1, 10, 16, 17, 40])
def test_a_file_cut_anywhere_gives_the_packets_before_the_cut(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes, cut: int
) -> None:
    whole = made.pcap(made.packets([frame] * 3))
    found = inspect_bytes(whole[:-cut])
    assert found.packets == 2
    assert (
        f"cut off in record 3 at byte {24 + 2 * (16 + len(frame))}; 2 packets read"
        in found.warnings[0]
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"\xd4\xc3\xb2\xa1\x02", "ends inside its file header, after 5 bytes"),
        (b"\x0a\x0d\x0d\x0a\x1c\x00", "ends inside its file header, after 6 bytes"),
        (b"hello, world", "is text in no known format; give a capture, or name the format"),
        (b"{8 and no JSON", "is text in no known format"),
        (b'{"', "is text in no known format"),
        (b"[world]", "is text in no known format"),
        (b"\xffhello", "begins with the bytes ff 68 65 6c"),
        (bz2.compress(b"x" * 100), "bzip2"),
        (b"\x1f\x8bnot gzip at all", "cannot be unpacked"),
        (b"\x28\xb5\x2f\xfdno zstandard", "cannot be unpacked"),
        (b"\xfd7zXZ\x00no xz either", "cannot be unpacked"),
    ],
)
def test_what_is_no_capture_is_refused_in_one_line(
    inspect_bytes: Inspect, content: bytes, problem: str
) -> None:
    with pytest.raises(CaptureError) as refusal:
        inspect_bytes(content)
    assert problem in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


def test_files_with_overlapping_times_are_merged(
    made: SimpleNamespace, inspect_bytes: Inspect, frame: bytes
) -> None:
    odd = [made.Packet(made.START_NS + 2_000_000 * index + 1_000_000, frame) for index in range(10)]
    even = [made.Packet(made.START_NS + 2_000_000 * index, frame) for index in range(10)]
    found = inspect_bytes(made.pcap(odd), made.pcap(even, order=">"))
    assert (found.packets, found.start_time_ns, found.warnings) == (20, made.START_NS, ())
    assert found.flows.num_rows == 1
