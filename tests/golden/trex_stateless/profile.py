"""Packets of a trafficgen export, each a stream of its own that starts the next one.

Load it in the TRex console with `start -f profile.py -p 0`; `--loops` behind `-t` repeats it (0: for ever).
"""

import argparse
import os
import struct

from trex.stl.api import STLPktBuilder, STLStream, STLTXSingleBurst

# Frames for ports with even and with odd numbers; None: such a port sends nothing.
FILES = ('to_client.pcap', 'to_client.pcap')
# Time of the first packet of all, us since 1970; both ports count from it.
ORIGIN_US = 0
# Whether frames leave with the addresses of network cards that the files have, or with those of the TRex ports.
MACS_OF_FILE = False

FILE_HEADER_BYTES = 24
RECORD_HEADER = struct.Struct("<4I")
US_PER_S = 1000000


def read_packets(name):
    """Yield time in us since ORIGIN_US, and frame, of each packet in a pcap file beside this profile."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, name), "rb") as stream:
        data = stream.read()
    place = FILE_HEADER_BYTES
    while place < len(data):
        seconds, microseconds, captured, _ = RECORD_HEADER.unpack_from(data, place)
        place += RECORD_HEADER.size
        yield seconds * US_PER_S + microseconds - ORIGIN_US, data[place : place + captured]
        place += captured


class Schedule(object):
    def get_streams(self, tunables, **kwargs):
        parser = argparse.ArgumentParser(description="Packets of a trafficgen export.")
        parser.add_argument("--loops", type=int, default=1, help="times the packets are sent; 0: for ever")
        arguments = parser.parse_args(tunables)
        name = FILES[kwargs.get("direction", 0) % 2]
        if name is None:
            return []
        packets = list(read_packets(name))
        streams = []
        before_us = 0
        for number, (time_us, frame) in enumerate(packets, start=1):
            is_last = number == len(packets)
            streams.append(
                STLStream(
                    name="p%d" % number,
                    packet=STLPktBuilder(pkt_buffer=frame),
                    mode=STLTXSingleBurst(total_pkts=1, percentage=100),
                    # A stream waits so long after the one before it: differences of absolute times, so nothing drifts.
                    isg=float(time_us - before_us),
                    self_start=number == 1,
                    next="p1" if is_last else "p%d" % (number + 1),
                    action_count=arguments.loops if is_last else 0,
                    mac_src_override_by_pkt=MACS_OF_FILE,
                    mac_dst_override_mode=int(MACS_OF_FILE),
                )
            )
            before_us = time_us
        return streams


def register():
    return Schedule()
