"""A mix of flows in ns-3, run by a Python that has its wheel: ``ns3_mix.py MIX.json`` prints what
each run brought, as :class:`tests.verification.mixes.Got` has it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ns import ns  # type: ignore[import-not-found]
from ns3_dumbbell import FAST, VARIANTS, configure_tcp, link, sink  # type: ignore[import-not-found]

#: Parameters of the documents that the disciplines here go by, where ns-3 has others.
DISCIPLINES: dict[str, tuple[str, dict[str, Any]]] = {
    "codel": ("ns3::CoDelQueueDisc", {}),
    "fq_codel": ("ns3::FqCoDelQueueDisc", {"UseEcn": ns.BooleanValue(False)}),
    # Drops are spaced (RFC 8033 5.4).
    "pie": ("ns3::PieQueueDisc", {"UseDerandomization": ns.BooleanValue(True)}),
    "red": (
        "ns3::RedQueueDisc",
        {
            "ARED": ns.BooleanValue(True),
            # Of the largest share of drops (2001, section 4).
            "Bottom": ns.DoubleValue(0.01),
            # Gaps between drops are uniform up to 1 / p packets (Floyd and Jacobson, section 7);
            # ns-3's own choice is from 1 / p to 2 / p, a third of the drops.
            "Wait": ns.BooleanValue(False),
            "TargetDelay": ns.TimeValue(ns.MilliSeconds(5)),
            "MeanPktSize": ns.UintegerValue(1000),
        },
    ),
}
TCP_PORT, UDP_PORT, PROBE_PORT = 5101, 5004, 5005
#: Ports from here on are those of senders.
EPHEMERAL = 49152


def configure() -> None:
    """Set TCP as in the simulation that is compared."""
    configure_tcp()
    # Its Reno grows by acknowledgements and not by what they say: half as fast where one stands for
    # two packets; and with delayed acknowledgements it stands still for seconds.
    ns.Config.SetDefault("ns3::TcpSocket::DelAckCount", ns.UintegerValue(1))


def manage(device: Any, aqm: str, mix: dict[str, Any]) -> None:
    """Put a queue discipline before the queue of a device."""
    kind, attributes = DISCIPLINES[aqm]
    given = {"MaxSize": ns.QueueSizeValue(ns.QueueSize(f"{mix['queue_packets']}p")), **attributes}
    if aqm == "red":
        rate_bps = int(mix["rate_bps"])
        given["LinkBandwidth"] = ns.DataRateValue(ns.DataRate(f"{rate_bps}bps"))
    for name, value in given.items():
        ns.Config.SetDefault(f"{kind}::{name}", value)
    helper = ns.TrafficControlHelper()
    helper.SetRootQueueDisc(kind)
    helper.Install(device)


def run(mix: dict[str, Any], *, seed: int) -> dict[str, Any]:
    """Run a mix once."""
    ns.RngSeedManager.SetRun(seed)
    flows = bulk_flows(mix) + datagram_flows(mix)
    nodes = ns.NodeContainer()
    nodes.Create(3 + len(flows))
    left, right, receiver, *senders = (nodes.Get(number) for number in range(3 + len(flows)))
    # ns-3's queue does not count the packet on the line; a discipline has its own queue before it.
    packets = 1 if mix["aqm"] else mix["queue_packets"] - 1
    narrow = link((left, right), mix["rate_bps"], mix["round_trip_s"] / 2, packets)
    devices = [narrow, link((right, receiver), *FAST)]
    devices += [link((sender, left), *FAST) for sender in senders]
    ns.InternetStackHelper().Install(nodes)
    if mix["aqm"]:
        manage(narrow.Get(0), mix["aqm"], mix)
    addresses, plain = ns.Ipv4AddressHelper(), ns.TrafficControlHelper()
    destination = None
    for number, pair in enumerate(devices):
        addresses.SetBase(ns.Ipv4Address(f"10.1.{number + 1}.0"), ns.Ipv4Mask("255.255.255.0"))
        assigned = addresses.Assign(pair)
        destination = assigned.GetAddress(1) if number == 1 else destination
        # Without this a discipline of its own would stand before every other queue.
        for end in range(2):
            if not (mix["aqm"] and number == 0 and end == 0):
                plain.Uninstall(pair.Get(end))
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    starts = ns.CreateObject["UniformRandomVariable"]()
    for start, sender in zip(flows, senders, strict=True):
        start(sender, receiver, destination, starts.GetValue(0.0, 0.05))
    helper = ns.FlowMonitorHelper()
    monitor = helper.InstallAll()
    classifier = helper.GetClassifier()
    ns.Simulator.Stop(ns.Seconds(mix["head_start_s"]))
    ns.Simulator.Run()
    before = counters(monitor, classifier)
    ns.Simulator.Stop(ns.Seconds(mix["seconds"]))
    ns.Simulator.Run()
    after = counters(monitor, classifier)
    ns.Simulator.Destroy()
    return compare(mix, before, after)


def bulk_flows(mix: dict[str, Any]) -> list[Any]:
    """Return what starts each bulk flow."""

    def starter(control: str, port: int) -> Any:
        def start(sender: Any, receiver: Any, destination: Any, start_s: float) -> None:
            kind = ns.TypeIdValue(ns.TypeId.LookupByName(VARIANTS[control]))
            protocol = f"/NodeList/{sender.GetId()}/$ns3::TcpL4Protocol"
            ns.Config.Set(f"{protocol}/SocketType", kind)
            sink(receiver, "ns3::TcpSocketFactory", port)
            bulk = ns.BulkSendHelper(
                "ns3::TcpSocketFactory", ns.InetSocketAddress(destination, port).ConvertTo()
            )
            bulk.SetAttribute("MaxBytes", ns.UintegerValue(0))
            bulk.Install(sender).Start(ns.Seconds(start_s))

        return start

    return [starter(control, TCP_PORT + at) for at, control in enumerate(mix["controls"])]


def datagram_flows(mix: dict[str, Any]) -> list[Any]:
    """Return what starts the probes, and UDP where the mix has some."""

    def starter(port: int, payload_bps: float, payload_bytes: int) -> Any:
        def start(sender: Any, receiver: Any, destination: Any, start_s: float) -> None:
            sink(receiver, "ns3::UdpSocketFactory", port)
            client = ns.UdpClientHelper(ns.InetSocketAddress(destination, port).ConvertTo())
            gap_ns = round(payload_bytes * 8 / payload_bps * 1e9)
            client.SetAttribute("MaxPackets", ns.UintegerValue(2**32 - 1))
            client.SetAttribute("Interval", ns.TimeValue(ns.NanoSeconds(gap_ns)))
            client.SetAttribute("PacketSize", ns.UintegerValue(payload_bytes))
            client.Install(sender).Start(ns.Seconds(0.0))

        return start

    probes = [starter(PROBE_PORT, mix["probe_bps"], mix["probe_bytes"])]
    return probes + (
        [starter(UDP_PORT, mix["udp_bps"], mix["udp_bytes"])] if mix["udp_bps"] else []
    )


def counters(monitor: Any, classifier: Any) -> dict[int, tuple[int, int, int, float]]:
    """Return packets and bytes of IP that came so far, packets sent, and the sum of delays, s, by
    the port of the receiver.
    """
    found = {}
    for pair in monitor.GetFlowStats():
        key, stats = pair.first, pair.second
        port = int(classifier.FindFlow(key).destinationPort)
        delay_s = stats.delaySum.GetSeconds()
        found[port] = (stats.rxPackets, stats.rxBytes, stats.txPackets, delay_s)
    return found


def compare(mix: dict[str, Any], before: Any, after: Any) -> dict[str, Any]:
    """Return what came between two moments."""
    none = (0, 0, 0, 0.0)
    flows = {
        port: [late - early for late, early in zip(now, before.get(port, none), strict=True)]
        for port, now in after.items()
    }

    def payload_bps(port: int, headers_bytes: int) -> float:
        packets, size_bytes, _, _ = flows.get(port, none)
        payload_bytes: float = size_bytes - headers_bytes * packets
        return payload_bytes * 8 / float(mix["seconds"])

    to_client = [flow for port, flow in flows.items() if port < EPHEMERAL]
    sent = sum(flow[2] for flow in to_client)
    came = sum(flow[0] for flow in to_client)
    probes, _, _, delay_s = flows[PROBE_PORT]
    frame_bytes = mix["probe_bytes"] + 28 + 2
    fixed_s = mix["round_trip_s"] / 2 + frame_bytes * 8 * (1 / mix["rate_bps"] + 2 / FAST[0])
    controls = range(len(mix["controls"]))
    return {
        "rates_bps": [payload_bps(TCP_PORT + at, 52) for at in controls],
        "udp_bps": payload_bps(UDP_PORT, 28),
        "loss": 1 - came / sent,
        "queueing_s": delay_s / probes - fixed_s,
    }


def main() -> None:
    mix = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    configure()
    found = [run(mix, seed=seed) for seed in range(1, mix["runs"] + 1)]
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
