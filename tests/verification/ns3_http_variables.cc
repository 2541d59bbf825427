// Draws of ns-3's variables of web pages: `ns3_http_variables COUNT` prints, for each page, bytes of
// the main and of an embedded object, number of embedded objects, reading and parsing time, s.

#include "ns3/core-module.h"
#include "ns3/three-gpp-http-variables.h"

#include <iostream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    if (argc != 2)
    {
        std::cerr << "usage: ns3_http_variables COUNT\n";
        return 2;
    }
    auto variables = CreateObject<ThreeGppHttpVariables>();
    variables->Initialize();
    for (int page = std::stoi(argv[1]); page > 0; --page)
    {
        std::cout << variables->GetMainObjectSize() << ' ' << variables->GetEmbeddedObjectSize()
                  << ' ' << variables->GetNumOfEmbeddedObjects() << ' '
                  << variables->GetReadingTime().GetSeconds() << ' '
                  << variables->GetParsingTime().GetSeconds() << '\n';
    }
    return 0;
}
