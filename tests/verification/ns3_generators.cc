// What an ns-3 application hands to its socket, without a network: `ns3_generators TYPE SECONDS`
// prints time, ns, and bytes of all that is sent at one instant. TYPE may hold attributes:
// 'ns3::UdpClient[PacketSize=100|Interval=4ms]'.

#include "ns3/application.h"
#include "ns3/core-module.h"
#include "ns3/inet-socket-address.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/socket-factory.h"
#include "ns3/socket.h"

#include <iostream>
#include <sstream>

using namespace ns3;

namespace
{

int64_t g_time = -1;
uint64_t g_bytes = 0;

void
PrintLast()
{
    if (g_time >= 0)
    {
        std::cout << g_time << ' ' << g_bytes << '\n';
    }
}

void
Note(uint32_t bytes)
{
    const auto now = Simulator::Now().GetNanoSeconds();
    if (now != g_time)
    {
        PrintLast();
        g_time = now;
        g_bytes = 0;
    }
    g_bytes += bytes;
}

// A socket that is connected at once and takes whatever it is given.
class RecordingSocket : public Socket
{
  public:
    explicit RecordingSocket(Ptr<Node> node)
        : m_node(node)
    {
    }

    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("RecordingSocket")
                                .SetParent<Socket>()
                                .AddAttribute("SegmentSize",
                                              "As of a TCP socket; larger than any frame.",
                                              UintegerValue(1U << 30),
                                              MakeUintegerAccessor(&RecordingSocket::m_segment),
                                              MakeUintegerChecker<uint32_t>());
        return tid;
    }

    TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    SocketErrno GetErrno() const override { return ERROR_NOTERROR; }
    SocketType GetSocketType() const override { return NS3_SOCK_DGRAM; }
    Ptr<Node> GetNode() const override { return m_node; }
    int Bind(const Address&) override { return 0; }
    int Bind() override { return 0; }
    int Bind6() override { return 0; }
    int Close() override { return 0; }
    int ShutdownSend() override { return 0; }
    int ShutdownRecv() override { return 0; }
    int Listen() override { return 0; }
    uint32_t GetTxAvailable() const override { return 1U << 30; }
    uint32_t GetRxAvailable() const override { return 0; }
    Ptr<Packet> Recv(uint32_t, uint32_t) override { return nullptr; }
    Ptr<Packet> RecvFrom(uint32_t, uint32_t, Address&) override { return nullptr; }
    int GetSockName(Address&) const override { return 0; }
    int GetPeerName(Address&) const override { return 0; }
    bool SetAllowBroadcast(bool) override { return true; }
    bool GetAllowBroadcast() const override { return true; }

    int Connect(const Address&) override
    {
        Simulator::ScheduleNow(&RecordingSocket::Connected, this);
        return 0;
    }

    int Send(Ptr<Packet> packet, uint32_t) override
    {
        Note(packet->GetSize());
        return static_cast<int>(packet->GetSize());
    }

    int SendTo(Ptr<Packet> packet, uint32_t flags, const Address&) override
    {
        return Send(packet, flags);
    }

  private:
    void Connected() { NotifyConnectionSucceeded(); }

    Ptr<Node> m_node;
    uint32_t m_segment;
};

class RecordingSocketFactory : public SocketFactory
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("RecordingSocketFactory")
                                .SetParent<SocketFactory>()
                                .AddConstructor<RecordingSocketFactory>();
        return tid;
    }

    Ptr<Socket> CreateSocket() override
    {
        return Create<RecordingSocket>(GetObject<Node>());
    }
};

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 3)
    {
        std::cerr << "usage: ns3_generators TYPE SECONDS\n";
        return 2;
    }
    ObjectFactory factory;
    std::istringstream(argv[1]) >> factory;
    factory.Set("Protocol", TypeIdValue(RecordingSocketFactory::GetTypeId()));
    factory.Set("Remote", AddressValue(InetSocketAddress("10.0.0.1", 9)));
    auto node = CreateObject<Node>();
    node->AggregateObject(CreateObject<RecordingSocketFactory>());
    auto application = factory.Create<Application>();
    node->AddApplication(application);
    application->SetStartTime(Seconds(0));
    Simulator::Stop(Seconds(std::stod(argv[2])));
    Simulator::Run();
    PrintLast();
    Simulator::Destroy();
    return 0;
}
