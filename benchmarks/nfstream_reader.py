"""Read a capture into flows with nfstream, in its own environment, and print how long it took."""

from __future__ import annotations

import os
import sys


def main() -> None:
    # Imported here, since processes that it starts load this file again.
    import nfstream  # type: ignore[import-not-found]  # noqa: PLC0415

    before = os.times()
    streamer = nfstream.NFStreamer(source=sys.argv[1], n_dissections=0, statistical_analysis=False)
    packets = sum(flow.bidirectional_packets for flow in streamer)
    elapsed_s = sum(os.times()[:4]) - sum(before[:4])  # of its processes too
    print(f"note={packets} packets in flows")
    print(f"elapsed_s={elapsed_s}")


if __name__ == "__main__":
    main()
