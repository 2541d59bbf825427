"""A pcap file that tcpreplay sends as it is, with scripts for one interface and for two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trafficgen.export.frames import FRAME_SETTINGS, FrameStream
from trafficgen.export.sending_ends import fill_template, write_script
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.target import Target, Written
from trafficgen.packet_files.pcap import write_replay
from trafficgen.tables import PacketTable
from trafficgen.tables.stream import PacketStream, stream_of
from trafficgen.units import s_from_ns

TCPREPLAY_SETTINGS = (
    Setting(
        "direction", "both", "Whose frames are sent.", choices=("both", "to_client", "to_server")
    ),
    *FRAME_SETTINGS,
)
_FILE = "packets.pcap"
_SCRIPT = "replay.sh"
_TWO_WAY_SCRIPT = "replay-two-way.sh"
_OWN_SENDER = "replay.py"

# tcpreplay before 4.5.3 counts its waits from packet to packet, so that each late one delays all
# that follow. With its input paced from one origin and no waits of its own, it keeps the times,
# whatever its version.
_REPLAY = """\
# Sends all frames on one interface, as root. replay.py hands them to tcpreplay at their times; with
# options, or where python3 is missing, tcpreplay reads the file and keeps the time itself.
: "${1:?usage: replay.sh INTERFACE [TCPREPLAY_OPTION]...}"
interface=$1
shift
if [ $# -eq 0 ] && command -v python3 > /dev/null; then
    python3 "$here/replay.py" - | tcpreplay --intf1="$interface" --topspeed -
else
    exec tcpreplay --intf1="$interface" --preload-pcap "$@" "$here/packets.pcap"
fi
"""
_TWO_WAY = """\
# Sends the client's frames on one interface, the server's on another, as root; options as in
# replay.sh.
: "${2:?usage: replay-two-way.sh CLIENT_INTERFACE SERVER_INTERFACE [TCPREPLAY_OPTION]...}"
client=$1
server=$2
shift 2
cache=$(mktemp)
trap 'rm -f "$cache"' EXIT
# Frames from the cards named here are the primary ones, which go out on intf1.
tcpprep --mac=@CLIENT_MAC@ --pcap="$here/packets.pcap" --cachefile="$cache"
replay="tcpreplay --cachefile=$cache --intf1=$client --intf2=$server"
if [ $# -eq 0 ] && command -v python3 > /dev/null; then
    python3 "$here/replay.py" - | $replay --topspeed -
else
    $replay --preload-pcap "$@" "$here/packets.pcap"
fi
"""


def write_tcpreplay(table: PacketTable, folder: Path, settings: Settings) -> Written:
    """Write the frames of a table as :func:`write_tcpreplay_stream` does."""
    return write_tcpreplay_stream(stream_of(table), folder, settings)


def write_tcpreplay_stream(stream: PacketStream, folder: Path, settings: Settings) -> Written:
    """Write frames as they come, whole and ready to be sent, and the scripts that send them.

    Raises:
        ExportError: If no packet is left, or one is larger than the interface takes.
        SettingError: If an address is invalid.

    Source: manual pages of tcpreplay 4.4.3 and tcpprep 4.4.3.
    """
    frames = FrameStream(stream, settings, target="tcpreplay")
    report = write_replay(frames.stream, folder / _FILE, target="tcpreplay", macs=frames.macs)
    has_both = len(frames.ways) > 1
    files = [_FILE, _SCRIPT, _OWN_SENDER]
    write_script(folder / _SCRIPT, _REPLAY)
    (folder / _OWN_SENDER).write_text(fill_template("replay_frames.txt", {}), encoding="utf-8")
    if has_both:
        files.append(_TWO_WAY_SCRIPT)
        write_script(
            folder / _TWO_WAY_SCRIPT, _TWO_WAY.replace("@CLIENT_MAC@", frames.macs[1].hex(":"))
        )
    report = replace(
        report,
        files=tuple(files),
        packets_changed=(report.packets_changed or 0) + frames.packets_split,
        bytes_before=frames.bytes_before,
        cannot_express=(
            *frames.describe_changes(),
            *report.cannot_express,
            (
                "an answer: nothing reacts to what the other end does, and TCP segments are sent as"
                " frames without a TCP behind them"
            ),
            (
                "times below 1 us where tcpreplay is older than 4.5: it then reads the file to the"
                " microsecond"
            ),
            (
                "times over a long run where tcpreplay older than 4.5.3 reads the file itself: it"
                " counts from packet to packet and falls behind (replay.sh without options hands it"
                " each frame at its time)"
            ),
        ),
    )
    return Written(report, _how_to_run(frames, has_both=has_both))


def _how_to_run(frames: FrameStream, *, has_both: bool) -> str:
    server, client = (mac.hex(":") for mac in frames.macs)
    duration_s = s_from_ns(frames.last_ns - frames.first_ns)
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

`lo` will do for a first try.
{two_way}
Things to know:

- Frames go from card {server} to card {client} and back. A switch or router takes them only if
  these are the right ones: export with `--set server_mac=...`, `--set client_mac=...`, and
  `--set server=...`, `--set client=...` for the IP addresses.
- `{_SCRIPT} eth1` is `python3 {_OWN_SENDER} - | tcpreplay --intf1=eth1 --topspeed -`: {_OWN_SENDER}
  hands over each frame at its time from the first and says at the end how late frames were. With an
  option, or without python3, it is `tcpreplay --intf1=eth1 --preload-pcap OPTION... {_FILE}`, where
  tcpreplay keeps the time. Older than 4.5.3, it then waits from packet to packet, so that lateness
  adds up: 6 to 99 ms after 589 packets of 12 s were seen with 4.4.3.
- Where packets come faster than a Python loop writes them, or only one processor is free, let
  tcpreplay keep the time.
- `python3 {_OWN_SENDER} eth1` sends the same frames on Linux without tcpreplay.
- The interface must send packets of this size (`ip link show`); nothing else should run on the
  processor that sends.
- Repeat with `./{_SCRIPT} eth1 --loop=3`; `./{_SCRIPT} eth1 --multiplier=2` plays twice as fast.

To check: capture the other end (`tcpdump -i eth2 -w captured.pcap`) and run
`trafficgen compare packets.pcap captured.pcap --all`. The last lines of tcpreplay count packets
sent and failed.
"""


TARGET = Target(
    name="tcpreplay",
    summary=(
        "a pcap file whose frames can be sent as they are, with scripts for one interface and two"
    ),
    versions="tcpreplay 4.4 or newer",
    write=write_tcpreplay,
    write_stream=write_tcpreplay_stream,
    settings=TCPREPLAY_SETTINGS,
    protocols="any over IP",
    how_to="feed-tcpreplay",
    several_files=True,
)
