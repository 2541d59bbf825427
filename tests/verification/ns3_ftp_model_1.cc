// What ns-3's helper of FTP model 1 starts, with two users: `ns3_ftp_model_1 BYTES PER_SECOND
// FILES` prints the time, ns, and the bytes of each file.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/three-gpp-ftp-m1-helper.h"

#include <iostream>

using namespace ns3;

namespace
{

int64_t g_time = -1;
uint64_t g_bytes = 0;
int64_t g_files = 0;

void
Note(Ptr<const Packet> packet)
{
    const auto now = Simulator::Now().GetNanoSeconds();
    if (now != g_time && g_time >= 0)
    {
        std::clog << g_time << ' ' << g_bytes << '\n';
        g_bytes = 0;
        if (--g_files == 0)
        {
            Simulator::Stop();
        }
    }
    g_time = now;
    g_bytes += packet->GetSize();
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 4)
    {
        std::cerr << "usage: ns3_ftp_model_1 BYTES PER_SECOND FILES\n";
        return 2;
    }
    g_files = std::stoll(argv[3]);
    NodeContainer sender(1);
    NodeContainer users(2);
    InternetStackHelper().InstallAll();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer places;
    for (uint32_t user = 0; user < users.GetN(); ++user)
    {
        auto link = addresses.Assign(PointToPointHelper().Install(users.Get(user), sender.Get(0)));
        places.Add(link.Get(0));
        addresses.NewNetwork();
    }
    ApplicationContainer receiving;
    ApplicationContainer sending;
    auto helper =
        CreateObject<ThreeGppFtpM1Helper>(&receiving, &sending, &users, &sender, &places);
    const auto bytes = static_cast<uint32_t>(std::stoul(argv[1]));
    helper->Configure(9, Seconds(0), Seconds(0), Seconds(0), std::stod(argv[2]), bytes);
    helper->Start();
    for (uint32_t one = 0; one < sending.GetN(); ++one)
    {
        sending.Get(one)->TraceConnectWithoutContext("Tx", MakeCallback(&Note));
    }
    // The helper's pings print, too: only what is noted goes out.
    auto* out = std::cout.rdbuf(nullptr);
    std::clog.rdbuf(out);
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
