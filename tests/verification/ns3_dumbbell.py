"""The dumbbell in ns-3, run by a Python that has its wheel: ``ns3_dumbbell.py SETUP.json`` prints
what each flow got.

One bulk TCP flow and one constant-rate UDP flow share a point-to-point link with a drop-tail queue
in packets.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from ns import ns  # type: ignore[import-not-found]

#: Longer than any queue here takes to empty.
DRAIN_S = 5.0
UDP_PORT, TCP_PORT = 5004, 5001
#: A link that holds nothing up: bit/s, s, packets.
FAST = (1e9, 0.0, 100_000)


VARIANTS = {"reno": "ns3::TcpNewReno", "cubic": "ns3::TcpCubic", "bbr": "ns3::TcpBbr"}


def configure(setup: dict[str, Any]) -> None:
    """Set TCP as in the simulation that is compared."""
    variant = VARIANTS[setup["congestion_control"]]
    ns.Config.SetDefault(
        "ns3::TcpL4Protocol::SocketType", ns.TypeIdValue(ns.TypeId.LookupByName(variant))
    )
    configure_tcp()
    ns.Config.SetDefault("ns3::TcpSocketState::EnablePacing", ns.BooleanValue(False))


def configure_tcp() -> None:
    """Set sizes and the least timeout as in the simulation that is compared."""
    for name, value in (
        ("SegmentSize", 1448),
        ("InitialCwnd", 10),
        ("SndBufSize", 4 << 20),
        ("RcvBufSize", 6 << 20),
    ):
        ns.Config.SetDefault(f"ns3::TcpSocket::{name}", ns.UintegerValue(value))
    ns.Config.SetDefault("ns3::TcpSocketBase::MinRto", ns.TimeValue(ns.MilliSeconds(200)))


def link(nodes: tuple[Any, Any], rate_bps: float, delay_s: float, packets: int) -> Any:
    """Join two nodes by a link whose two queues hold ``packets``."""
    helper = ns.PointToPointHelper()
    helper.SetDeviceAttribute("DataRate", ns.StringValue(f"{int(rate_bps)}bps"))
    helper.SetChannelAttribute("Delay", ns.StringValue(f"{delay_s * 1e6:.0f}us"))
    helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns.StringValue(f"{packets}p"))
    pair = ns.NodeContainer()
    pair.Add(nodes[0])
    pair.Add(nodes[1])
    return helper.Install(pair)


def run(setup: dict[str, Any], *, seed: int) -> dict[str, float]:
    """Return what the two flows sent and got, payload bytes and packets, while both ran."""
    ns.RngSeedManager.SetRun(seed)
    nodes = ns.NodeContainer()
    nodes.Create(4)
    sender, left, right, receiver = (nodes.Get(number) for number in range(4))
    devices = [
        link((sender, left), *FAST),
        # ns-3's queue does not count the packet on the line.
        link((left, right), setup["rate_bps"], setup["delay_s"], setup["queue_packets"] - 1),
        link((right, receiver), *FAST),
    ]
    ns.InternetStackHelper().Install(nodes)
    addresses = ns.Ipv4AddressHelper()
    interfaces = []
    for number, pair in enumerate(devices):
        addresses.SetBase(ns.Ipv4Address(f"10.1.{number + 1}.0"), ns.Ipv4Mask("255.255.255.0"))
        interfaces.append(addresses.Assign(pair))
    # Without this a queue discipline of its own would stand before the drop-tail queue.
    traffic_control = ns.TrafficControlHelper()
    for pair in devices:
        traffic_control.Uninstall(pair)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    destination = interfaces[2].GetAddress(1)
    return play(setup, sender, receiver, destination, offset_s=0.013 * seed)


def sink(node: Any, kind: str, port: int) -> Any:
    anywhere = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), port).ConvertTo()
    return ns.PacketSinkHelper(kind, anywhere).Install(node).Get(0)


def play(
    setup: dict[str, Any], sender: Any, receiver: Any, destination: Any, *, offset_s: float
) -> dict[str, float]:
    head_s, seconds = setup["head_start_s"], setup["seconds"]
    tcp_sink = sink(receiver, "ns3::TcpSocketFactory", TCP_PORT)
    server = ns.UdpServerHelper(UDP_PORT).Install(receiver).Get(0)
    bulk = ns.BulkSendHelper(
        "ns3::TcpSocketFactory", ns.InetSocketAddress(destination, TCP_PORT).ConvertTo()
    )
    bulk.SetAttribute("MaxBytes", ns.UintegerValue(0))
    tcp = bulk.Install(sender)
    tcp.Start(ns.Seconds(offset_s))
    client = ns.UdpClientHelper(ns.InetSocketAddress(destination, UDP_PORT).ConvertTo())
    gap_s = setup["payload_bytes"] * 8 / setup["udp_bps"]
    packets = round(seconds / gap_s)
    client.SetAttribute("MaxPackets", ns.UintegerValue(packets))
    client.SetAttribute("Interval", ns.TimeValue(ns.NanoSeconds(round(gap_s * 1e9))))
    client.SetAttribute("PacketSize", ns.UintegerValue(setup["payload_bytes"]))
    udp = client.Install(sender)
    udp.Start(ns.Seconds(head_s))
    began = time.process_time()
    ns.Simulator.Stop(ns.Seconds(head_s))
    ns.Simulator.Run()
    before = tcp_sink.GetObject[ns.PacketSink]().GetTotalRx()
    ns.Simulator.Stop(ns.Seconds(seconds))
    ns.Simulator.Run()
    after = tcp_sink.GetObject[ns.PacketSink]().GetTotalRx()
    in_time = server.GetObject[ns.UdpServer]().GetReceived()
    processor_s = time.process_time() - began
    tcp.Stop(ns.Seconds(0.0))
    # What waits in the queue is not lost.
    ns.Simulator.Stop(ns.Seconds(DRAIN_S))
    ns.Simulator.Run()
    received = server.GetObject[ns.UdpServer]().GetReceived()
    result = {
        "tcp_bps": (after - before) * 8 / seconds,
        "udp_bps": in_time * setup["payload_bytes"] * 8 / seconds,
        "udp_loss": 1 - received / packets,
        "processor_s": processor_s,
        "events": float(ns.Simulator.GetEventCount()),
    }
    ns.Simulator.Destroy()
    return result


def main() -> None:
    setup = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    configure(setup)
    first = setup.get("first_run", 1)
    found = [run(setup, seed=seed) for seed in range(first, first + setup["runs"])]
    tcp_mbps = sum(run["tcp_bps"] for run in found) / len(found) / 1e6
    events = sum(run["events"] for run in found) / 1e6
    sys.stdout.write(f"note={events:.1f} million events, TCP {tcp_mbps:.2f} Mbit/s\n")
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.write(f"elapsed_s={sum(run['processor_s'] for run in found)}\n")


if __name__ == "__main__":
    main()
