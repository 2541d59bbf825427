"""A pcap file that tcpreplay sends as it is, with scripts for one interface and for two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trafficgen.export.base import Written
from trafficgen.export.frames import FRAME_SETTINGS, Frames, frames_of
from trafficgen.export.pcap import write_replay
from trafficgen.export.scripts import write_script
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.templates import filled
from trafficgen.tables import PacketTable
from trafficgen.units import s_from_ns

TARGET = "tcpreplay"
TCPREPLAY_SETTINGS = (
    Setting("direction", "both", "Whose frames are sent.", choices=("both", "to_client", "to_server")),
    *FRAME_SETTINGS,
)
_FILE = "packets.pcap"
_SCRIPT = "replay.sh"
_TWO_WAY_SCRIPT = "replay-two-way.sh"
_OWN_SENDER = "replay.py"

_REPLAY = """\
# Sends all frames on one interface; further arguments go to tcpreplay. Run as root.
: "${1:?usage: replay.sh INTERFACE [OPTION]...}"
interface=$1
shift
exec tcpreplay --intf1="$interface" --preload-pcap "$@" "$here/packets.pcap"
"""
_TWO_WAY = """\
# Sends the client's frames on one interface, the server's on another; further arguments go to tcpreplay. Run as root.
: "${2:?usage: replay-two-way.sh CLIENT_INTERFACE SERVER_INTERFACE [OPTION]...}"
client=$1
server=$2
shift 2
cache=$(mktemp)
trap 'rm -f "$cache"' EXIT
# Frames from the cards named here are the primary ones, which go out on intf1.
tcpprep --mac=@CLIENT_MAC@ --pcap="$here/packets.pcap" --cachefile="$cache"
tcpreplay --cachefile="$cache" --intf1="$client" --intf2="$server" --preload-pcap "$@" "$here/packets.pcap"
"""


def write_tcpreplay(table: PacketTable, folder: Path, settings: Settings) -> Written:
    """Write the frames of a table, whole and ready to be sent, and the scripts that send them.

    Raises:
        ExportError: If no packet is left, or one is larger than the interface takes.
        SettingError: If an address is none.

    Source: manual pages of tcpreplay 4.4.3 and tcpprep 4.4.3.
    """
    frames = frames_of(table, settings, target=TARGET)
    report = write_replay(frames.table, folder / _FILE, target=TARGET, macs=frames.macs)
    has_both = bool(frames.table.to_client.any()) and not bool(frames.table.to_client.all())
    files = [_FILE, _SCRIPT, _OWN_SENDER]
    write_script(folder / _SCRIPT, _REPLAY)
    (folder / _OWN_SENDER).write_text(filled("replay_frames.txt", {}), encoding="utf-8")
    if has_both:
        files.append(_TWO_WAY_SCRIPT)
        write_script(folder / _TWO_WAY_SCRIPT, _TWO_WAY.replace("@CLIENT_MAC@", frames.macs[1].hex(":")))
    report = replace(
        report,
        files=tuple(files),
        packets_changed=(report.packets_changed or 0) + frames.packets_split,
        bytes_before=frames.bytes_before,
        cannot_express=(
            *frames.left_out,
            *report.cannot_express,
            "an answer: nothing reacts to what the other end does, and TCP segments are sent as frames without a TCP"
            " behind them",
            "times below 1 us where tcpreplay is older than 4.5: it then reads the file to the microsecond",
            "times over a long run where tcpreplay is older than 4.5.3: it counts from packet to packet and falls"
            " behind, by some 0.1 ms a packet (replay.py does not)",
        ),
    )
    return Written(report, _how_to_run(frames, has_both=has_both))


def _how_to_run(frames: Frames, *, has_both: bool) -> str:
    server, client = (mac.hex(":") for mac in frames.macs)
    duration_s = s_from_ns(int(frames.table.time_ns[-1] - frames.table.time_ns[0]))
    two_way = (
        f"""
Where the system under test lies between two interfaces, send each end's frames on its own side:

```sh
./{_TWO_WAY_SCRIPT} eth1 eth2    # the client's side, the server's side
```
"""
        if has_both
        else ""
    )
    return f"""
As root, on an interface that leads to the system under test (it takes {duration_s:.6g} s):

```sh
./{_SCRIPT} eth1
```

which is `tcpreplay --intf1=eth1 --preload-pcap {_FILE}`. `lo` will do for a first try.
{two_way}
Things to know:

- Frames go from card {server} to card {client} and back. A switch or router takes them only if these are the
  right ones: export with `--set server_mac=...`, `--set client_mac=...`, and `--set server=...`, `--set client=...`
  for the IP addresses.
- Older than 4.5.3, tcpreplay waits from packet to packet, so that lateness adds up: 0.06 to 0.4 ms a packet were seen
  with 4.4.3 on a busy machine. `--timer=nano` behind the interface fell behind less there, and more on an idle one.
  `python3 {_OWN_SENDER} eth1` sends the same frames on Linux, counts from the first, and says how late packets were.
- `--preload-pcap` reads the file before the first frame leaves; without it a slow disk shows in the times.
- The interface must send packets of this size (`ip link show`); nothing else should run on the processor that sends.
- Repeat with `./{_SCRIPT} eth1 --loop=3`; `--multiplier=2` plays twice as fast.

To check: capture the other end (`tcpdump -i eth2 -w captured.pcap`) and run
`trafficgen compare packets.pcap captured.pcap`. The last lines of tcpreplay count packets sent and failed.
"""
