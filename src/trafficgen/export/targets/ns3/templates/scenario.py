# SPDX-License-Identifier: Apache-2.0
"""Play the schedules, or draw from the laws, in ns-3, from a sender over a link to a receiver.

Needs ns-3's wheel: ``pip install ns3==3.44.post0``. Writes what was sent and received as pcap files
and prints counts. The exit code is 1 where not everything was sent. This file is part of
trafficgen.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
COLUMNS = (
    "flow,protocol,port,scheduled_packets,sent_packets,sent_payload_bytes,received_packets,"
    "received_payload_bytes"
)


def join(ns: Any, left: Any, right: Any, *, rate: str, delay: str, queue: str) -> Any:
    """Join two nodes by a link with a drop-tail queue."""
    helper = ns.PointToPointHelper()
    helper.SetDeviceAttribute("DataRate", ns.StringValue(rate))
    helper.SetChannelAttribute("Delay", ns.StringValue(delay))
    helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns.StringValue(queue))
    return helper.Install(left, right)


def network(ns: Any, arguments: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Return the sender, the receiver and its address; what they send and receive is captured."""
    nodes = ns.NodeContainer(3)
    sender, router, receiver = (nodes.Get(number) for number in range(3))
    # The sender's own link is so fast that its capture has the times of the schedule.
    access = join(ns, sender, router, rate="1000Gbps", delay="0ms", queue="1000000p")
    link = join(
        ns, router, receiver, rate=arguments.rate, delay=arguments.delay, queue=arguments.queue
    )
    ns.InternetStackHelper().Install(nodes)
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.1.1.0"), ns.Ipv4Mask("255.255.255.0"))
    addresses.Assign(access)
    addresses.NewNetwork()
    to = addresses.Assign(link).GetAddress(1)
    # Without this, a queue discipline of its own would stand before the queues of the links.
    for devices in (access, link):
        ns.TrafficControlHelper().Uninstall(devices)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    captures = ns.PointToPointHelper()
    captures.EnablePcap("sent.pcap", access.Get(0), False, True)
    captures.EnablePcap("received.pcap", link.Get(1), False, True)
    return sender, receiver, to


def play(ns: Any, replay: Any, arguments: argparse.Namespace) -> bool:
    """Play all flows and print counts; return whether all datagrams were sent."""
    ns.RngSeedManager.SetRun(arguments.run)
    ns.Config.SetDefault("ns3::PcapFileWrapper::NanosecMode", ns.BooleanValue(True))
    ns.Config.SetDefault("ns3::TcpSocket::SegmentSize", ns.UintegerValue(1448))
    # An OnOffApplication drops what the send buffer has no room for: a burst written at once fits.
    ns.Config.SetDefault("ns3::TcpSocket::SndBufSize", ns.UintegerValue(1 << 26))
    sender, receiver, to = network(ns, arguments)
    sent, received = replay.PacketCounter(), replay.PacketCounter()
    sent.CountSent(sender)
    received.CountReceived(receiver)
    install = {"trace": replay.InstallTrace, "exact": replay.InstallExact}.get(arguments.mode)
    origin_ns = end_ns = ns.Seconds(1).GetNanoSeconds()
    flows = list(replay.ReadFlows(str(FOLDER)))
    for flow in flows:
        replay.InstallSink(receiver, flow)
        if install is not None:
            install(sender, flow, str(FOLDER), to, ns.NanoSeconds(origin_ns))
        end_ns = max(end_ns, origin_ns + flow.lastNs)
    if arguments.mode == "onoff":
        replay.InstallOnOff(sender, str(FOLDER), to, ns.NanoSeconds(origin_ns))
    ns.Simulator.Stop(ns.NanoSeconds(end_ns) + ns.Seconds(10))  # time for the queue to empty
    ns.Simulator.Run()
    lines, complete = [COLUMNS], True
    for flow in flows:
        counts = [
            count
            for counter in (sent, received)
            for count in (counter.Packets, counter.PayloadBytes)
        ]
        row = (
            flow.flow,
            flow.protocol,
            flow.port,
            flow.packets,
            *(count(flow.port) for count in counts),
        )
        lines.append(",".join(map(str, row)))
        # Of a law there is no number that must have been sent, and TCP makes its own segments.
        counted = install is not None and flow.protocol == "udp"
        complete = complete and (not counted or sent.Packets(flow.port) == flow.packets)
    ns.Simulator.Destroy()
    sys.stdout.write("\n".join(lines) + "\n")
    return complete


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rate", default="@LINK_RATE@", help="rate of the link")
    parser.add_argument("--delay", default="@LINK_DELAY@", help="one-way delay of the link")
    parser.add_argument("--queue", default="@LINK_QUEUE@", help="size of the queue before the link")
    parser.add_argument(
        "--mode", default="@MODE@", choices=["trace", "exact", "onoff"], help="see README.md"
    )
    parser.add_argument(
        "--exact", dest="mode", action="store_const", const="exact", help="the same as --mode=exact"
    )
    parser.add_argument("--run", default=1, type=int, help="which random numbers are drawn")
    arguments = parser.parse_args()

    import cppyy  # type: ignore[import-not-found]  # noqa: PLC0415 - so that --help works without ns-3
    from ns import ns  # type: ignore[import-not-found]  # noqa: PLC0415

    cppyy.add_include_path(str(FOLDER))
    cppyy.include("trafficgen-replay.h")
    try:
        return 0 if play(ns, cppyy.gbl.trafficgen, arguments) else 1
    except cppyy.gbl.std.runtime_error as error:
        sys.stderr.write(f"{str(error).splitlines()[-1].strip()}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
