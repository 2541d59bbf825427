// Draws of the generator of ns-3's vr-app module: `ns3_vr_bursts TYPE COUNT [RATE]` prints bytes of
// a burst and the time to the next, s. TYPE may hold attributes. RATE is set again once all of them
// are there: only that, and not the application, makes the generator compute its laws.

#include "ns3/burst-generator.h"
#include "ns3/core-module.h"

#include <iostream>
#include <sstream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    if (argc != 3 && argc != 4)
    {
        std::cerr << "usage: ns3_vr_bursts TYPE COUNT [RATE]\n";
        return 2;
    }
    ObjectFactory factory;
    std::istringstream(argv[1]) >> factory;
    auto generator = factory.Create<BurstGenerator>();
    if (argc == 4)
    {
        generator->SetAttribute("TargetDataRate", StringValue(argv[3]));
    }
    for (int burst = std::stoi(argv[2]); burst > 0; --burst)
    {
        const auto [bytes, period] = generator->GenerateBurst();
        std::cout << bytes << ' ' << period.GetNanoSeconds() / 1e9 << '\n';
    }
    return 0;
}
