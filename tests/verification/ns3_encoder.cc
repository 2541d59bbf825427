// Frames of the encoder that ns-3's rmcat module takes from syncodecs, in its steady state:
// `ns3_encoder RATE FPS COUNT` prints bytes of a frame and the time to the next, s.

#include "ns3/syncodecs.h"

#include <iostream>
#include <string>

int
main(int argc, char* argv[])
{
    if (argc != 4)
    {
        std::cerr << "usage: ns3_encoder RATE FPS COUNT\n";
        return 2;
    }
    syncodecs::StatisticsCodec encoder(std::stod(argv[2]));
    encoder.setTargetRate(std::stof(argv[1]));
    const int transient = 20; // frames after its start, and after the rate was set
    const int count = std::stoi(argv[3]);
    for (int frame = 0; frame < transient + count; ++frame, ++encoder)
    {
        if (frame >= transient)
        {
            std::cout << encoder->first.size() << ' ' << encoder->second << '\n';
        }
    }
    return 0;
}
