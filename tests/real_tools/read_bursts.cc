// SPDX-License-Identifier: Apache-2.0
//
// Reads a file of bursts by ns-3's own means, as TraceFileBurstGenerator of the module vr-app does: prints, for each, when
// it comes (ns) and its size.

#include "ns3/csv-reader.h"
#include "ns3/nstime.h"

#include <cstdint>
#include <iostream>

int
main(int, char* argv[])
{
    ns3::CsvReader reader(argv[1]);
    ns3::Time now;
    while (reader.FetchNextRow())
    {
        uint32_t size = 0;
        double gap = 0;
        if (reader.IsBlankRow())
        {
            continue;
        }
        if (!reader.GetValue(0, size) || !reader.GetValue(1, gap))
        {
            return 1;
        }
        std::cout << now.GetNanoSeconds() << " " << size << "\n";
        now += ns3::Seconds(gap);
    }
    return 0;
}
