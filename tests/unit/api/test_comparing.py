"""Which packets of reference and candidate are compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import trafficgen
from trafficgen.flows import swap_ends
from trafficgen.packet_files.writing import write_packets
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]

TIME_S = np.arange(400) / 50


@pytest.fixture
def two_flows(make_table: TableMaker, tmp_path: Path) -> Callable[[bool], str]:
    """Return a function that writes a table of a 500- and a 900-byte flow, in either order, and
    returns its name.
    """

    def write(small_first: bool) -> str:
        path = tmp_path / f"two_{small_first}.parquet"
        small = np.arange(TIME_S.size) % 2 == (0 if small_first else 1)
        flow = np.where(small, 0, 1) if small_first else np.where(small, 1, 0)
        write_packets(make_table(TIME_S, ip_bytes=np.where(small, 500, 900), flow=flow), path)
        return str(path)

    return write


def test_the_candidate_may_have_another_number_for_the_same_flow(
    two_flows: Callable[[bool], str],
) -> None:
    reference, candidate = two_flows(True), two_flows(False)
    assert trafficgen.compare(reference, candidate, flow=0).flat()["packet_bytes.ks"] == 1.0
    assert (
        trafficgen.compare(reference, candidate, flow=0, candidate_flow=1).flat()["packet_bytes.ks"]
        == 0.0
    )
    whole = trafficgen.compare(reference, candidate, candidate_flow=1)
    assert [side.packets for side in whole.totals] == [400, 200]
    assert (
        trafficgen.compare(reference, candidate, flow=0, candidate_session=0).totals[1].packets
        == 400
    )


def test_the_candidate_takes_one_choice(two_flows: Callable[[bool], str]) -> None:
    name = two_flows(True)
    with pytest.raises(ValueError, match="one of candidate_flow, candidate_session and every"):
        trafficgen.compare(name, name, candidate_flow=0, candidate_session=0)
    with pytest.raises(ValueError, match="one of candidate_flow, candidate_session and every"):
        trafficgen.compare(name, name, candidate_flow=0, every=True)
    with pytest.raises(trafficgen.SelectionError, match="no flow 7"):
        trafficgen.compare(name, name, candidate_flow=7)


def _upload(make_table: TableMaker) -> PacketTable:
    """Return an upload over TCP: a handshake, 298 data packets from the end that connects, and 100
    short ones back.
    """
    up = np.arange(TIME_S.size) % 4 != 3
    size = np.where(up, 900, 100)
    up[:2], size[:2] = [True, False], 40
    flags = np.full(TIME_S.size, 16)
    flags[:2] = [2, 18]
    sent = np.where(
        up, np.cumsum(np.where(up, size - 40, 0)), np.cumsum(np.where(up, 0, size - 40))
    ) - (size - 40)
    return make_table(
        TIME_S,
        ip_bytes=size,
        to_client=~up,
        header_bytes=40,
        flows=[{"flow": 0, "protocol": "tcp"}],
        tcp_flags=flags,
        tcp_sequence=sent + 1 - (np.arange(TIME_S.size) < 2),
    )


@pytest.mark.parametrize("ending", ["parquet", "pcap"])
def test_of_an_upload_the_candidate_is_turned_as_it_needs(
    make_table: TableMaker, tmp_path: Path, ending: str
) -> None:
    """The sender is the server in traffic made from a model of an upload, the client in a capture
    where it connects.
    """
    captured = _upload(make_table)
    sent, made = str(tmp_path / f"upload.{ending}"), str(tmp_path / "made.parquet")
    write_packets(captured, sent)
    write_packets(swap_ends(captured), made)

    def sizes(
        reference: str,
        candidate: str,
        *,
        upload: bool = False,
        candidate_upload: bool | None = None,
    ) -> tuple[float, list[int]]:
        found = trafficgen.compare(
            reference, candidate, upload=upload, candidate_upload=candidate_upload
        )
        return found.flat()["packet_bytes.ks"], [side.packets for side in found.totals]

    assert sizes(sent, sent, upload=True) == (0.0, [298, 298])
    assert sizes(sent, made, upload=True) == (0.0, [298, 298])
    assert sizes(made, sent) == (1.0, [298, 100])
    assert sizes(made, sent, candidate_upload=True) == (0.0, [298, 298])
    assert sizes(sent, sent, upload=True, candidate_upload=False) == (1.0, [298, 100])
