"""TRex: a schedule as a chain of one-packet streams or, if too long, as pcap files; TCP as writes.

The stateless server (STL) sends frames as they are; the advanced stateful one (ASTF) plays TCP, see
the module ``astf``. The same templates serve all tables; packets are in pcap files next to them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trafficgen.errors import ExportError
from trafficgen.export.flow_schedule import timing_error
from trafficgen.export.frames import FRAME_SETTINGS, FrameStream
from trafficgen.export.sending_ends import fill_template
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.target import Target, Written
from trafficgen.export.targets.trex.astf import ASTF_SETTINGS, write_astf
from trafficgen.export.targets.trex.groups import GROUP_SETTINGS, write_trex_groups
from trafficgen.packet_files.pcap import write_replay
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.tables import PacketTable
from trafficgen.tables.stream import stream_of
from trafficgen.units import IntArray, round_to_us, s_from_ns, us_from_ns

#: Streams that one port takes without trouble (TRex stateless manual: about 10 thousand).
_MOST_STREAMS = 10_000
TREX_SETTINGS = (
    Setting(
        "mode",
        "auto",
        "stl: frames as streams; pcap: frames in files that the server reads; astf: TCP by the"
        " server's own stack; auto: astf where all that carries data to the client is TCP, else stl"
        " up to most_streams packets, else pcap.",
        choices=("auto", "stl", "pcap", "astf"),
    ),
    Setting(
        "direction",
        "to_client",
        "Whose frames are sent; both: even ports send the server's, odd ports the client's.",
        choices=("to_client", "to_server", "both"),
    ),
    *FRAME_SETTINGS,
    Setting(
        "macs",
        "port",
        "Whether frames leave with the card addresses of the TRex ports or with those of the"
        " packets.",
        choices=("port", "packet"),
    ),
    Setting(
        "most_streams",
        _MOST_STREAMS,
        "Packets of a direction up to which auto makes streams.",
        low=1,
        high=1e6,
    ),
    *ASTF_SETTINGS,
    *GROUP_SETTINGS,
)
_FILES = {True: "to_client.pcap", False: "to_server.pcap"}
_STL_PROGRAM, _PCAP_PROGRAM = "profile.py", "run.py"


def write_trex(table: PacketTable, folder: Path, settings: Settings) -> Written:
    """Write a profile, or a program and files, by the mode that the settings ask for.

    Raises:
        ExportError: If nothing is left to send, or a packet is larger than the interface takes.
        SettingError: If an address is invalid.

    Source: TRex 3.08, stateless manual and Python client (trex_stl_streams.py, trex_stl_client.py).
    """
    mode = settings.text("mode")
    is_to_client = settings.text("direction") == "to_client"
    if mode == "astf" or (mode == "auto" and is_to_client and _is_all_tcp(table)):
        return write_astf(table, folder, settings, target="trex")
    frames = FrameStream(stream_of(table), settings, target="trex")
    sent = frames.gather()
    longest = max(int(np.count_nonzero(sent.to_client == way)) for way in frames.ways)
    if mode == "auto":
        mode = "stl" if longest <= settings.whole("most_streams") else "pcap"
    if mode == "stl" and longest > settings.whole("most_streams"):
        raise ExportError(
            f"trex: {longest} packets are more streams than one port takes"
            f" ({settings.whole('most_streams')}); set mode=pcap, or most_streams higher if your"
            " server takes them"
        )
    return _write_frames(frames, sent, folder, settings, mode=mode)


def _is_all_tcp(table: PacketTable) -> bool:
    """Return whether all that carries data to the client is TCP."""
    carries = table.to_client & (table.payload_bytes > 0)
    names = table.flows.column("protocol").to_pylist()
    return {names[number] for number in np.unique(table.flow[carries]).tolist()} == {"tcp"}


@dataclass(frozen=True)
class _Side:
    """The file of one direction: its report, and the times of its packets, ns since 1970."""

    report: ProjectionReport
    before_ns: IntArray

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.report.files[0]

    @property
    def after_ns(self) -> IntArray:
        """Times in the file, ns since 1970."""
        return round_to_us(self.before_ns)


def _write_frames(
    frames: FrameStream, sent: PacketTable, folder: Path, settings: Settings, *, mode: str
) -> Written:
    sides = {
        way: _write_side(sent.select(sent.to_client == way), folder / name, frames.macs)
        for way, name in _FILES.items()
        if way in frames.ways
    }
    macs_of_file = settings.text("macs") == "packet"
    names = [sides[way].name if way in sides else None for way in _FILES]
    if len(sides) == 1:
        # One direction leaves whatever port the profile is started on; a program starts it on the
        # port it is given.
        only = next(iter(sides.values())).name
        names = [only, only if mode == "stl" else None]
    values: dict[str, object] = {"FILES": tuple(names), "MACS_OF_FILE": macs_of_file}
    if mode == "stl":
        values["ORIGIN_US"] = us_from_ns(min(int(side.after_ns[0]) for side in sides.values()))
        program, text = _STL_PROGRAM, fill_template("trex_stl_profile.txt", values)
    else:
        program, text = _PCAP_PROGRAM, fill_template("trex_pcap_run.txt", values)
    (folder / program).write_text(text, encoding="utf-8")
    report = _report(frames, list(sides.values()), program=program, mode=mode)
    return Written(
        report, _how_to_run(frames, mode=mode, ports=len(sides), macs_of_file=macs_of_file)
    )


def _write_side(table: PacketTable, path: Path, macs: tuple[bytes, bytes]) -> _Side:
    # Neither TRex's server nor its client reads pcap files with nanoseconds.
    report = write_replay(stream_of(table), path, target="trex", macs=macs, microseconds=True)
    return _Side(report, table.time_ns + table.origin_ns)


def _report(
    frames: FrameStream, sides: list[_Side], *, program: str, mode: str
) -> ProjectionReport:
    reports = [side.report for side in sides]
    error = timing_error(
        np.concatenate([side.before_ns for side in sides]),
        np.concatenate([side.after_ns for side in sides]),
    )
    # Where both directions lack the same thing, the first says it.
    lacks = {
        text.partition(":")[0]: text
        for report in reversed(reports)
        for text in report.cannot_express
    }
    how = {
        "stl": (
            "a packet at an exact time: the server schedules each stream after the one before it,"
            " on one core"
        ),
        "pcap": (
            "a packet at an exact time: the server reads the file while it sends, on one core; the"
            " two directions start one after the other"
        ),
    }[mode]
    return replace(
        reports[0],
        files=(program, *(side.name for side in sides)),
        packets=sum(report.packets or 0 for report in reports),
        packets_changed=sum(report.packets_changed or 0 for report in reports)
        + frames.packets_split,
        bytes_before=frames.bytes_before,
        bytes_after=sum(report.bytes_after or 0 for report in reports),
        timing_error_s=error,
        cannot_express=(
            *frames.describe_changes(),
            *lacks.values(),
            "times below 1 us: TRex reads pcap files to the microsecond",
            (
                "an answer: nothing reacts to what the other end does, and TCP segments are sent as"
                " frames without a TCP behind them (mode=astf has one)"
            ),
            how,
        ),
    )


def _how_to_run(frames: FrameStream, *, mode: str, ports: int, macs_of_file: bool) -> str:
    duration_s = s_from_ns(frames.last_ns - frames.first_ns)
    on = "0" if ports == 1 else "0 1"
    sent = _FILES[True in frames.ways]
    cards = (
        "the packets' own card addresses; export with `--set macs=port` for those of the TRex ports"
        if macs_of_file
        else (
            "the card addresses that the TRex ports are configured with; `--set macs=packet`"
            " exports the packets' own"
        )
    )
    start = (
        f"""
Start the server in stateless mode (`./t-rex-64 -i`), then in the console (`./trex-console`), with
the folder's path:

```text
trex> start -f profile.py -p {on}{" --sync" if ports > 1 else ""}
trex> stats
```

Every packet is a stream that starts the next one. It takes {duration_s:.6g} s once; `-t --loops 3`
at the end of the line repeats it. Without a console: `STLProfile.load_py("profile.py")` returns the
streams.
"""
        if mode == "stl"
        else f"""
Start the server in stateless mode (`./t-rex-64 -i`), copy the pcap files to its host, then, where
TRex's Python client is:

```sh
python3 run.py --server 127.0.0.1 --port 0 --folder /path/on/the/server
```

It takes {duration_s:.6g} s. The server opens the files itself and keeps their gaps. TRex's own
profile `stl/pcap.py` sets gaps of 10 us by default.
"""
    )
    return f"""
{start}
Things to know:

- Frames leave with {cards}.
- IP addresses are those of the table unless exported with `--set server=...`, `--set client=...`.
- The multiplier (`-m`) must stay 1: it would change rates of streams, not their gaps.
- The tests of trafficgen load such files with TRex's Python client; none has been run on a TRex
  server.

To check: `stats` counts the packets that left; a capture at the other end compares with
`trafficgen compare {sent} captured.pcap --all`.
"""


TARGET = Target(
    name="trex",
    summary=(
        "TRex profiles: each packet a stream, or pcap files for its server; TCP as writes and"
        " delays"
    ),
    versions="TRex 3.04 (loaded by its Python client), 3.08 (by its source)",
    write=write_trex,
    write_groups=write_trex_groups,
    settings=TREX_SETTINGS,
    protocols="any over IP; mode=astf: TCP",
    how_to="feed-trex",
    several_files=True,
)
