"""What scapy does of the same, in a process of its own: its import costs others time and memory."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from benchmarks.workload import make_table
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.rtp import RTP
from scapy.utils import PcapWriter, RawPcapReader


def read_scapy(path: Path, packets: int) -> float:
    started = time.process_time()
    with RawPcapReader(str(path)) as reader:
        found = sum(1 for data, _ in reader if Ether(data).type)
    elapsed_s = time.process_time() - started
    if found != packets:
        raise SystemExit(f"{found} packets read where {packets} were written")
    return elapsed_s


def write_scapy(path: Path, packets: int) -> float:
    """Build the same frames with scapy, and write them with its writer."""
    table = make_table(packets)
    rows, flows = table.packets.to_pylist(), table.flows.to_pylist()
    started = time.process_time()
    with PcapWriter(str(path), nano=True) as writer:
        for row in rows:
            frame = _scapy_frame(row, flows[row["flow"]])
            frame.time = row["time_ns"] / 1e9
            writer.write(frame)
    return time.process_time() - started


def _scapy_frame(row: dict[str, int], flow: dict[str, str]) -> Ether:
    head = Ether() / IP(src=flow["server"], dst=flow["client"])
    if flow["protocol"] == "udp":
        payload = bytes(row["payload_bytes"] - 12)
        rtp = RTP(
            sequence=row["rtp_sequence"], timestamp=row["rtp_timestamp"], sourcesync=row["rtp_ssrc"]
        )
        return head / UDP(sport=flow["server_port"], dport=flow["client_port"]) / rtp / payload
    tcp = TCP(
        sport=int(flow["server_port"]),
        dport=int(flow["client_port"]),
        seq=row["tcp_sequence"],
        ack=row["tcp_acknowledgement"],
        flags=row["tcp_flags"],
    )
    return head / tcp / bytes(row["payload_bytes"])


if __name__ == "__main__":
    role = {"read": read_scapy, "write": write_scapy}[sys.argv[1]]
    print(f"elapsed_s={role(Path(sys.argv[2]), int(sys.argv[3]))}")
