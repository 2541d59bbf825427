// SPDX-License-Identifier: Apache-2.0
//
// Plays the schedules, or draws from the laws, beside it: from a sender over a link to a receiver. Writes what was sent
// and received as pcap files, and prints counts. The exit code is 1 where not all datagrams were sent. For ns-3.37 and
// later. This file is part of trafficgen.

#include "trafficgen-replay.h"

#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

namespace
{

NetDeviceContainer
Joined(Ptr<Node> left, Ptr<Node> right, const std::string& rate, const std::string& delay, const std::string& queue)
{
    PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", StringValue(rate));
    helper.SetChannelAttribute("Delay", StringValue(delay));
    helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(queue));
    return helper.Install(left, right);
}

int
Play(int argc, char* argv[])
{
    std::string folder = ".";
    std::string rate = "@LINK_RATE@";
    std::string delay = "@LINK_DELAY@";
    std::string queue = "@LINK_QUEUE@";
    std::string mode = "@MODE@";
    uint64_t run = 1;
    CommandLine command(__FILE__);
    command.AddValue("folder", "Folder of the export", folder);
    command.AddValue("rate", "Rate of the link", rate);
    command.AddValue("delay", "One-way delay of the link", delay);
    command.AddValue("queue", "Size of the queue before the link", queue);
    command.AddValue("mode", "trace: UdpTraceClient, whole milliseconds; exact: to the nanosecond; onoff: drawn", mode);
    command.AddValue("run", "Which random numbers are drawn", run);
    command.Parse(argc, argv);
    if (mode != "trace" && mode != "exact" && mode != "onoff")
    {
        throw std::runtime_error("--mode=" + mode + ": there is no such mode; use trace, exact or onoff");
    }

    RngSeedManager::SetRun(run);
    Config::SetDefault("ns3::PcapFileWrapper::NanosecMode", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    // An OnOffApplication drops what the send buffer has no room for: a burst written at once fits.
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 26));

    NodeContainer nodes(3);
    const auto sender = nodes.Get(0);
    const auto router = nodes.Get(1);
    const auto receiver = nodes.Get(2);
    // The sender's own link is so fast that its capture has the times of the schedule.
    const auto access = Joined(sender, router, "1000Gbps", "0ms", "1000000p");
    const auto link = Joined(router, receiver, rate, delay, queue);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.1.1.0", "255.255.255.0");
    addresses.Assign(access);
    addresses.NewNetwork();
    const auto to = addresses.Assign(link).GetAddress(1);
    // Without this, a queue discipline of its own would stand before the queues of the links.
    TrafficControlHelper().Uninstall(access);
    TrafficControlHelper().Uninstall(link);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    PointToPointHelper captures;
    captures.EnablePcap("sent.pcap", access.Get(0), false, true);
    captures.EnablePcap("received.pcap", link.Get(1), false, true);

    trafficgen::PacketCounter sent;
    trafficgen::PacketCounter received;
    sent.CountSent(sender);
    received.CountReceived(receiver);

    const auto origin = Seconds(1);
    auto end = origin;
    const auto flows = trafficgen::ReadFlows(folder);
    for (const auto& flow : flows)
    {
        trafficgen::InstallSink(receiver, flow);
        if (mode == "trace")
        {
            trafficgen::InstallTrace(sender, flow, folder, to, origin);
        }
        else if (mode == "exact")
        {
            trafficgen::InstallExact(sender, flow, folder, to, origin);
        }
        end = std::max(end, origin + NanoSeconds(flow.lastNs));
    }
    if (mode == "onoff")
    {
        trafficgen::InstallOnOff(sender, folder, to, origin);
    }
    Simulator::Stop(end + Seconds(10)); // time for the queue to empty
    Simulator::Run();

    bool complete = true; // of a law there is no number that must have been sent
    std::cout << "flow,protocol,port,scheduled_packets,sent_packets,sent_payload_bytes,received_packets,"
                 "received_payload_bytes\n";
    for (const auto& flow : flows)
    {
        std::cout << flow.flow << "," << flow.protocol << "," << flow.port << "," << flow.packets << ","
                  << sent.Packets(flow.port) << "," << sent.PayloadBytes(flow.port) << ","
                  << received.Packets(flow.port) << "," << received.PayloadBytes(flow.port) << "\n";
        complete = complete && (mode == "onoff" || flow.protocol == "tcp" || sent.Packets(flow.port) == flow.packets);
    }
    Simulator::Destroy();
    return complete ? 0 : 1;
}

} // namespace

int
main(int argc, char* argv[])
{
    try
    {
        return Play(argc, argv);
    }
    catch (const std::exception& error)
    {
        std::cerr << error.what() << "\n";
        return 2;
    }
}
