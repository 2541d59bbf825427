"""Captures that can be shared: nothing of who sent them is left, and what makes traffic what it is
stays.
"""

from __future__ import annotations

import ipaddress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trafficgen
from trafficgen.capture.anonymise import Anonymiser
from trafficgen.errors import InputFileError, SettingError
from trafficgen.tables import DEFAULT_ORIGIN_NS, PacketTable

CAPTURE = "examples/captures/rtsp_rtp_two_streams.pcap.gz"
KEY = bytes(range(32))
ENDS = ("server", "client")
#: Of the capture: that its packets were captured in part.
pytestmark = pytest.mark.filterwarnings("ignore::trafficgen.errors.CaptureWarning")


@pytest.fixture(scope="module")
def original() -> PacketTable:
    return trafficgen.read_packets(CAPTURE)


@pytest.fixture(scope="module")
def shared(original: PacketTable) -> PacketTable:
    return Anonymiser(KEY, ports="map")(original)


def _bits(text: str) -> str:
    address = ipaddress.ip_address(text)
    return f"{int(address):0{address.max_prefixlen}b}"


def _common_prefix(one: str, other: str) -> int:
    pairs = list(zip(_bits(one), _bits(other), strict=True))
    return next((place for place, (a, b) in enumerate(pairs) if a != b), len(pairs))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.ip_addresses(v=4).map(str), min_size=2, max_size=6, unique=True),
    st.binary(min_size=32, max_size=32),
)
def test_addresses_keep_the_prefixes_that_they_share(addresses: list[str], key: bytes) -> None:
    mapped = [_mapped(address, key) for address in addresses]
    for place, one in enumerate(addresses):
        for other in range(place):
            assert _common_prefix(one, addresses[other]) == _common_prefix(
                mapped[place], mapped[other]
            )


def _mapped(address: str, key: bytes) -> str:
    from trafficgen.capture import anonymise  # noqa: PLC0415

    return anonymise._mapped_addresses(key, [address])[address]


def test_addresses_are_mapped_as_the_authors_of_the_method_map_them() -> None:
    # Key and pairs of the sample that Xu et al. published with their program.
    key = bytes(
        [21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16, 216, 152, 143, 131]
    ) + bytes([121, 121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2])
    for address, expected in (
        ("128.11.68.132", "135.242.180.132"),
        ("129.118.74.4", "134.136.186.123"),
        ("192.41.57.43", "252.222.221.184"),
    ):
        assert _mapped(address, key) == expected


def test_no_address_of_the_capture_is_left(original: PacketTable, shared: PacketTable) -> None:
    for end in ENDS:
        assert not set(original.flows.column(end).to_pylist()) & set(
            shared.flows.column(end).to_pylist()
        )


def test_what_is_measured_stays(original: PacketTable, shared: PacketTable) -> None:
    assert np.diff(shared.time_ns).tolist() == np.diff(original.time_ns).tolist()
    for name in (
        "flow",
        "to_client",
        "ip_bytes",
        "payload_bytes",
        "rtp_marker",
        "tcp_flags",
        "tcp_window",
    ):
        assert shared.column(name).equals(original.column(name)), name
    assert shared.origin_ns + int(shared.time_ns[0]) == DEFAULT_ORIGIN_NS


@pytest.mark.parametrize("name", ["rtp_sequence", "rtp_timestamp", "tcp_sequence"])
def test_numbers_of_a_stream_are_shifted_as_one(
    original: PacketTable, shared: PacketTable, name: str
) -> None:
    known = original.known(name)
    before, after = (
        np.asarray(pc.fill_null(table.column(name), 0))[known] for table in (original, shared)
    )
    assert known.any()
    assert not np.array_equal(before, after)
    group = original.flow[known] * 2 + original.to_client[known]
    for one in np.unique(group):
        assert len(np.unique((after - before)[group == one])) == 1  # unsigned: round at the width


def test_acknowledgements_still_acknowledge_the_other_end(
    original: PacketTable, shared: PacketTable
) -> None:
    rows = np.flatnonzero(original.known("tcp_acknowledgement"))
    for table in (original, shared):
        assert table.known("tcp_acknowledgement").any()
    back, forth = (
        [
            int(table.column("tcp_acknowledgement")[int(row)].as_py() or 0)
            - int(table.column("tcp_sequence")[int(before)].as_py())
            for before, row in pairwise(rows)
            if original.to_client[before] != original.to_client[row]
            and original.column("tcp_flags")[int(row)].as_py() & 0x10
        ]
        for table in (original, shared)
    )
    assert len(back) > 3
    assert [value % 2**32 for value in back] == [value % 2**32 for value in forth]


def test_ports_are_exchanged_from_1024_on(original: PacketTable, shared: PacketTable) -> None:
    for end in ENDS:
        before = original.flows.column(f"{end}_port").to_numpy()
        after = shared.flows.column(f"{end}_port").to_numpy()
        assert np.array_equal(before[before < 1024], after[before < 1024])
        assert (after[before >= 1024] >= 1024).all()
    assert (
        original.flows.column("client_port").to_pylist()
        != shared.flows.column("client_port").to_pylist()
    )


def test_text_of_the_signalling_is_left_out(original: PacketTable, shared: PacketTable) -> None:
    assert original.signalling.column("uri").null_count < original.signalling.num_rows
    assert shared.signalling.column("uri").null_count == shared.signalling.num_rows
    assert shared.signalling.column("method").equals(original.signalling.column("method"))
    assert shared.notes == {}


@pytest.mark.parametrize("ending", ["pcap", "pcapng", "parquet", "csv"])
def test_nothing_of_the_capture_leaks_into_a_file(
    original: PacketTable, tmp_path: Path, ending: str
) -> None:
    trafficgen.anonymise(CAPTURE, tmp_path / f"shared.{ending}", key=KEY, ports="map")
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    found = trafficgen.read_packets(tmp_path / f"shared.{ending}")
    texts = [str(value) for end in ENDS for value in original.flows.column(end).to_pylist()]
    texts += [text for text in original.signalling.column("uri").to_pylist() if text]
    for text in texts:
        assert text.encode() not in content
    if ending.startswith("pcap"):  # frames hold addresses and SSRCs as bytes
        for end in ENDS:
            for text in original.flows.column(end).to_pylist():
                assert ipaddress.ip_address(text).packed not in content
    known = {value for value in original.flows.column("ssrc").to_pylist() if value is not None}
    assert known
    assert not known & set(found.flows.column("ssrc").to_pylist())


def test_the_model_of_a_shared_capture_is_that_of_the_original(tmp_path: Path) -> None:
    trafficgen.anonymise(CAPTURE, tmp_path / "shared.parquet", key=KEY)
    models = [trafficgen.fit(capture).model for capture in (CAPTURE, tmp_path / "shared.parquet")]
    assert models[0].startup == models[1].startup
    one, other = (
        [(stream.media, [phase.process for phase in stream.phases]) for stream in model.streams]
        for model in models
    )
    assert one == other


def test_the_same_key_gives_the_same_bytes_and_no_key_others(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY.hex() + "\n")
    for name, key in (("a", KEY), ("b", tmp_path / "key"), ("c", None), ("d", None)):
        trafficgen.anonymise(CAPTURE, tmp_path / f"{name}.pcap", key=key)
    a, b, c, d = ((tmp_path / f"{name}.pcap").read_bytes() for name in "abcd")
    assert a == b
    assert len({a, c, d}) == 3


def test_a_file_that_holds_no_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")
    for key in (tmp_path / "key", tmp_path / "none"):
        with pytest.raises(InputFileError, match=r"urandom"):
            trafficgen.anonymise(CAPTURE, tmp_path / "o.pcap", key=key)
    with pytest.raises(SettingError, match="32 bytes"):
        trafficgen.anonymise(CAPTURE, tmp_path / "o.pcap", key=b"short")
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
