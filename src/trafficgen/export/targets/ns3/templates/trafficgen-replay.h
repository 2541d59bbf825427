// SPDX-License-Identifier: Apache-2.0
//
// What a scenario needs to play the schedules that lie beside it: the table of flows, a sender for each, and counters.
// For ns-3.37 and later, from C++ or, through cppyy, from Python. This file is part of trafficgen and holds no code of
// ns-3, which is under the GPL, version 2.

#ifndef TRAFFICGEN_REPLAY_H
#define TRAFFICGEN_REPLAY_H

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace trafficgen
{

/** One line of flows.csv. Times count from the first packet of all flows; of a law, packets are those expected. */
struct Flow
{
    uint32_t flow;
    std::string protocol;  ///< udp or tcp
    uint16_t port;         ///< where it is sent to
    int64_t firstNs;       ///< time of its first packet
    int64_t lastNs;        ///< time of its last packet
    uint64_t packets;
    uint32_t largestPayloadBytes;

    std::string File(const std::string& folder, const std::string& ending) const
    {
        return folder + "/flow" + std::to_string(flow) + ending;
    }
};

inline std::string
SocketFactory(const std::string& protocol)
{
    return protocol == "tcp" ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
}

/** Open a file, or say which one is missing: UdpTraceClient would send a trace of its own instead. */
inline std::ifstream
Opened(const std::string& name)
{
    std::ifstream file(name);
    if (!file)
    {
        throw std::runtime_error(name + ": cannot be read; it is one of the files of the export");
    }
    return file;
}

inline std::vector<std::string>
Cells(const std::string& line)
{
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');)
    {
        cells.push_back(cell);
    }
    return cells;
}

inline std::vector<Flow>
ReadFlows(const std::string& folder)
{
    auto file = Opened(folder + "/flows.csv");
    std::vector<Flow> flows;
    std::string line;
    std::getline(file, line); // the names of the columns
    while (std::getline(file, line))
    {
        const auto cells = Cells(line);
        flows.push_back({static_cast<uint32_t>(std::stoul(cells.at(0))),
                         cells.at(1),
                         static_cast<uint16_t>(std::stoul(cells.at(2))),
                         std::stoll(cells.at(3)),
                         std::stoll(cells.at(4)),
                         std::stoull(cells.at(5)),
                         static_cast<uint32_t>(std::stoul(cells.at(6)))});
    }
    return flows;
}

/** Sends what a file of time_ns,payload_bytes says, each packet at its nanosecond. */
class ScheduleSender : public ns3::Application
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("trafficgen::ScheduleSender").SetParent<ns3::Application>();
        return tid;
    }

    /**
     * @param file Name of the file.
     * @param protocol udp or tcp.
     * @param to Where it is sent to.
     * @param origin Simulated time of time_ns 0; a later one than that at which the application starts.
     */
    void Setup(const std::string& file, const std::string& protocol, const ns3::Address& to, ns3::Time origin)
    {
        m_factory = SocketFactory(protocol);
        m_isTcp = protocol == "tcp";
        m_to = to;
        m_origin = origin;
        auto lines = Opened(file);
        std::string line;
        std::getline(lines, line); // the names of the columns
        while (std::getline(lines, line))
        {
            const auto cells = Cells(line);
            m_timeNs.push_back(std::stoll(cells.at(0)));
            m_payloadBytes.push_back(static_cast<uint32_t>(std::stoul(cells.at(1))));
        }
    }

  private:
    void StartApplication() override
    {
        m_socket = ns3::Socket::CreateSocket(GetNode(), ns3::TypeId::LookupByName(m_factory));
        m_socket->Bind();
        m_socket->Connect(m_to);
        m_socket->SetSendCallback(ns3::MakeCallback(&ScheduleSender::OnRoom, this));
        ScheduleNext();
    }

    void StopApplication() override
    {
        m_event.Cancel();
        if (m_socket)
        {
            m_socket->Close();
        }
    }

    /** Wait for the next packet: its delay is taken from the origin, so that errors do not add up. */
    void ScheduleNext()
    {
        if (m_next < m_timeNs.size())
        {
            const auto due = m_origin + ns3::NanoSeconds(m_timeNs[m_next]);
            m_event = ns3::Simulator::Schedule(due - ns3::Simulator::Now(), &ScheduleSender::SendDue, this);
        }
    }

    void SendDue()
    {
        const auto nowNs = (ns3::Simulator::Now() - m_origin).GetNanoSeconds();
        for (; m_next < m_timeNs.size() && m_timeNs[m_next] <= nowNs; ++m_next)
        {
            if (m_isTcp)
            {
                m_waitingBytes += m_payloadBytes[m_next];
            }
            else
            {
                m_socket->Send(ns3::Create<ns3::Packet>(m_payloadBytes[m_next]));
            }
        }
        Flush();
        ScheduleNext();
    }

    void OnRoom(ns3::Ptr<ns3::Socket>, uint32_t)
    {
        Flush();
    }

    /** Hand to TCP what fits into its buffer. */
    void Flush()
    {
        while (m_waitingBytes > 0)
        {
            const auto bytes = std::min<uint64_t>(m_waitingBytes, m_socket->GetTxAvailable());
            if (bytes == 0 || m_socket->Send(ns3::Create<ns3::Packet>(bytes)) < 0)
            {
                return;
            }
            m_waitingBytes -= bytes;
        }
    }

    std::string m_factory;
    bool m_isTcp{false};
    ns3::Address m_to;
    ns3::Time m_origin;
    std::vector<int64_t> m_timeNs;
    std::vector<uint32_t> m_payloadBytes;
    size_t m_next{0};
    uint64_t m_waitingBytes{0};
    ns3::Ptr<ns3::Socket> m_socket;
    ns3::EventId m_event;
};

inline bool
HasAttribute(ns3::TypeId tid, const std::string& name)
{
    for (; tid.HasParent(); tid = tid.GetParent())
    {
        for (size_t i = 0; i < tid.GetAttributeN(); ++i)
        {
            if (tid.GetAttribute(i).name == name)
            {
                return true;
            }
        }
    }
    return false;
}

/** Install a sender that plays a flow to the nanosecond, from flowN.csv. */
inline void
InstallExact(ns3::Ptr<ns3::Node> node,
             const Flow& flow,
             const std::string& folder,
             ns3::Ipv4Address to,
             ns3::Time origin)
{
    auto sender = ns3::CreateObject<ScheduleSender>();
    sender->Setup(flow.File(folder, ".csv"), flow.protocol, ns3::InetSocketAddress(to, flow.port), origin);
    node->AddApplication(sender);
}

/** Install ns-3's UdpTraceClient for a flow, from flowN.trace: whole milliseconds. */
inline void
InstallTrace(ns3::Ptr<ns3::Node> node,
             const Flow& flow,
             const std::string& folder,
             ns3::Ipv4Address to,
             ns3::Time origin)
{
    const auto name = flow.File(folder, ".trace");
    Opened(name);
    auto client = ns3::CreateObject<ns3::UdpTraceClient>();
    if (HasAttribute(ns3::UdpTraceClient::GetTypeId(), "Remote")) // since ns-3.44
    {
        client->SetAttribute("Remote", ns3::AddressValue(ns3::InetSocketAddress(to, flow.port)));
    }
    else
    {
        client->SetAttribute("RemoteAddress", ns3::AddressValue(to));
        client->SetAttribute("RemotePort", ns3::UintegerValue(flow.port));
    }
    // A frame as long as MaxPacketSize would be followed by a packet that nobody asked for.
    client->SetAttribute("MaxPacketSize", ns3::UintegerValue(flow.largestPayloadBytes + 1));
    client->SetAttribute("TraceFilename", ns3::StringValue(name));
    client->SetAttribute("TraceLoop", ns3::BooleanValue(false));
    client->SetStartTime(origin + ns3::NanoSeconds(flow.firstNs)); // it sends its first packet at once
    node->AddApplication(client);
}

/** Set a law of time: one of ns-3's own, or a table of value_s,cumulative_p between whose points it is linear. */
inline void
SetLaw(ns3::Ptr<ns3::Application> application,
       const std::string& attribute,
       const std::string& folder,
       const std::string& law)
{
    if (law.compare(0, 5, "ns3::") == 0)
    {
        application->SetAttribute(attribute, ns3::StringValue(law));
        return;
    }
    auto table = ns3::CreateObject<ns3::EmpiricalRandomVariable>();
    table->SetAttribute("Interpolate", ns3::BooleanValue(true));
    auto file = Opened(folder + "/" + law);
    std::string line;
    std::getline(file, line); // the names of the columns
    while (std::getline(file, line))
    {
        const auto cells = Cells(line);
        table->CDF(std::stod(cells.at(0)), std::stod(cells.at(1)));
    }
    application->SetAttribute(attribute, ns3::PointerValue(table));
}

/** Install the OnOffApplications of applications.csv, one for each phase of each flow. */
inline void
InstallOnOff(ns3::Ptr<ns3::Node> node, const std::string& folder, ns3::Ipv4Address to, ns3::Time origin)
{
    auto file = Opened(folder + "/applications.csv");
    std::string line;
    std::getline(file, line); // the names of the columns
    while (std::getline(file, line))
    {
        const auto cells = Cells(line);
        const auto port = static_cast<uint16_t>(std::stoul(cells.at(3)));
        auto application = ns3::CreateObject<ns3::OnOffApplication>();
        application->SetAttribute("Protocol", ns3::StringValue(SocketFactory(cells.at(2))));
        application->SetAttribute("Remote", ns3::AddressValue(ns3::InetSocketAddress(to, port)));
        SetLaw(application, "OnTime", folder, cells.at(6));
        SetLaw(application, "OffTime", folder, cells.at(7));
        application->SetAttribute("DataRate", ns3::StringValue(cells.at(8)));
        application->SetAttribute("PacketSize", ns3::StringValue(cells.at(9)));
        application->SetStartTime(origin + ns3::Seconds(std::stod(cells.at(4))));
        application->SetStopTime(origin + ns3::Seconds(std::stod(cells.at(5))));
        node->AddApplication(application);
    }
}

/** Install what receives a flow. */
inline void
InstallSink(ns3::Ptr<ns3::Node> node, const Flow& flow)
{
    auto sink = ns3::CreateObject<ns3::PacketSink>();
    sink->SetAttribute("Protocol", ns3::StringValue(SocketFactory(flow.protocol)));
    sink->SetAttribute("Local", ns3::AddressValue(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), flow.port)));
    node->AddApplication(sink);
}

/** Counts datagrams of UDP, and segments of TCP with payload, by the port they go to. */
class PacketCounter
{
  public:
    uint64_t Packets(uint16_t port) const
    {
        const auto found = m_counts.find(port);
        return found == m_counts.end() ? 0 : found->second.first;
    }

    uint64_t PayloadBytes(uint16_t port) const
    {
        const auto found = m_counts.find(port);
        return found == m_counts.end() ? 0 : found->second.second;
    }

    /** Count what a node sends. */
    void CountSent(ns3::Ptr<ns3::Node> node)
    {
        Connect(node, "SendOutgoing");
    }

    /** Count what a node receives for itself. */
    void CountReceived(ns3::Ptr<ns3::Node> node)
    {
        Connect(node, "LocalDeliver");
    }

  private:
    void Connect(ns3::Ptr<ns3::Node> node, const std::string& source)
    {
        node->GetObject<ns3::Ipv4L3Protocol>()->TraceConnectWithoutContext(
            source,
            ns3::MakeCallback(&PacketCounter::Count, this));
    }

    void Count(const ns3::Ipv4Header& ip, ns3::Ptr<const ns3::Packet> packet, uint32_t)
    {
        if (ip.GetProtocol() == ns3::UdpL4Protocol::PROT_NUMBER)
        {
            ns3::UdpHeader udp;
            packet->PeekHeader(udp);
            Add(udp.GetDestinationPort(), 1, packet->GetSize() - udp.GetSerializedSize());
        }
        else if (ip.GetProtocol() == ns3::TcpL4Protocol::PROT_NUMBER)
        {
            ns3::TcpHeader tcp;
            packet->PeekHeader(tcp);
            const auto bytes = packet->GetSize() - tcp.GetSerializedSize();
            Add(tcp.GetDestinationPort(), bytes > 0 ? 1 : 0, bytes); // not the bare acknowledgements
        }
    }

    void Add(uint16_t port, uint64_t packets, uint64_t bytes)
    {
        auto& count = m_counts[port];
        count.first += packets;
        count.second += bytes;
    }

    std::map<uint16_t, std::pair<uint64_t, uint64_t>> m_counts;
};

} // namespace trafficgen

#endif // TRAFFICGEN_REPLAY_H
