"""iperf 2's isochronous mode: schedules and models as frames on a clock whose sizes it draws from a
log-normal law.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np

from trafficgen.errors import ExportError
from trafficgen.export.base import ProjectionReport, Written
from trafficgen.export.flow_schedule import Direction, FlowSchedule, rows_of, schedules_of
from trafficgen.export.frame_projection import (
    LEAST_FRAMES,
    FrameProjection,
    distances_of,
    project_frames,
)
from trafficgen.export.iperf_scripts import (
    check_ports,
    flow_script,
    send_script,
    sink_script,
    write_script,
)
from trafficgen.export.settings import Setting, Settings
from trafficgen.generation import generate_sessions
from trafficgen.models import FrameProcess, Model, Stream
from trafficgen.tables import PacketTable
from trafficgen.units import IntArray, ms_from_s, us_from_ns

#: Smallest packet of iperf 2.1.8's isochronous mode, its header; with a smaller -l it sends without
#: end.
LEAST_PACKET_BYTES = 108

FRAME_RATE_HZ = Setting(
    "frame_rate_hz",
    0.0,
    "mode=isochronous: rate of the frame clock, Hz; 0 takes it from the table.",
    low=0.0,
    high=1e5,
)
PACKET_GAP = Setting(
    "packet_gap",
    "median",
    "mode=isochronous: packets of a frame keep their median gap, or (none) leave back to back.",
    ("median", "none"),
)
ANY_PROCESS = Setting(
    "approximate",
    False,
    "Export models that are no frame clock too; the distances say how far iperf is from them.",
)


def client_of(settings: Settings) -> list[str]:
    """Return the client's command up to the destination."""
    return ["iperf", *_ip_version(settings), "-c"]


def sink_of(port: int, *, protocol: str, settings: Settings) -> tuple[str, str]:
    """Return the name of the log and the command of a server."""
    return f"sink.{port}", " ".join(
        ["iperf", *_ip_version(settings), "-s", *(["-u"] * (protocol == "udp")), f"-p {port}"]
    )


def _ip_version(settings: Settings) -> list[str]:
    return ["-V"] if ":" in settings.text("destination") else []


@dataclass(frozen=True)
class _Run:
    """Successive projections of one flow."""

    flow: FlowSchedule
    parts: tuple[FrameProjection, ...]


def write_isochronous(table: PacketTable, folder: Path, settings: Settings) -> Written:
    """Write a script a UDP flow that runs iperf 2 once, with --isochronous.

    Raises:
        ExportError: If there is no UDP, or a flow has too few frames.
    """
    direction = cast(Direction, settings.text("direction"))
    schedules = schedules_of(
        table, target="iperf2 in isochronous mode", protocols=["udp"], direction=direction
    )
    runs = []
    for flow in schedules.flows:
        stamps = _stamps(table, rows_of(table, flow.flow, direction=direction))
        what = f"iperf2: flow {flow.flow}"
        runs.append(
            _Run(flow, (_projected(flow.time_ns, flow.payload_bytes, stamps, settings, what=what),))
        )
    return _written(runs, folder, settings, left_out=schedules.left_out)


def write_iperf2_model(model: Model, folder: Path, settings: Settings) -> Written:
    """Write a script a UDP stream that runs iperf 2 with --isochronous once a phase, its frames as
    the model has them.

    What a phase's frames are is measured on a session that is played with seed 0: so the distances
    are of traffic.

    Raises:
        ExportError: If a stream is no frame clock and ``approximate`` is off, or none is sent by
            UDP.

    Source: manual page of iperf 2.1.8, --isochronous.
    """
    streams = [stream for stream in model.streams if stream.transport.protocol == "udp"]
    if not streams:
        raise ExportError(
            "iperf2: isochronous mode is UDP and the model's streams are TCP; export packets"
            " instead"
        )
    if not settings.flag("approximate"):
        _refuse_other_processes(streams)
    table = generate_sessions(model, seed=0)
    schedules = schedules_of(table, target="iperf2", protocols=["udp"])
    left_out, runs = list(schedules.left_out), []
    for flow in schedules.flows:
        rows = rows_of(table, flow.flow, direction="to_client")
        parts, short = _phases(table, flow, rows, streams, settings)
        left_out += short
        if parts:
            runs.append(_Run(flow, tuple(parts)))
    if not runs:
        raise ExportError(
            f"iperf2: no phase of the model has {LEAST_FRAMES} frames; export packets instead"
        )
    return _written(runs, folder, settings, left_out=left_out)


def _refuse_other_processes(streams: Sequence[Stream]) -> None:
    for stream in streams:
        for phase in stream.phases:
            if not isinstance(phase.process, FrameProcess):
                raise ExportError(
                    f"iperf2 draws frames on a clock; stream {stream.name!r} in its {phase.name} is"
                    f" {phase.process.kind!r}; --set approximate=on exports it all the same and"
                    " reports how far that is, or generate packets and export those"
                )


def _phases(
    table: PacketTable,
    flow: FlowSchedule,
    rows: IntArray,
    streams: Sequence[Stream],
    settings: Settings,
) -> tuple[list[FrameProjection], list[str]]:
    """Return the projection of each phase of a played flow, and what was too short for one."""
    column = table.column("phase").unify_dictionaries().combine_chunks()
    phase = np.asarray(column.indices.fill_null(-1))[rows]
    stamps = _stamps(table, rows)
    starts = [0, *(np.flatnonzero(np.diff(phase)) + 1).tolist(), rows.size]
    parts, short = [], []
    for begin, end in pairwise(starts):
        name = column.dictionary[int(phase[begin])].as_py() if phase[begin] >= 0 else "unknown"
        own = slice(begin, end)
        try:
            parts.append(
                _projected(
                    flow.time_ns[own],
                    flow.payload_bytes[own],
                    None if stamps is None else stamps[own],
                    settings,
                    what=f"iperf2: flow {flow.flow}",
                    clock_hz=_model_rate_hz(streams, flow, name),
                )
            )
        except ExportError:
            short.append(
                f"the {name} of flow {flow.flow}: fewer than {LEAST_FRAMES} frames ({end - begin}"
                " packets)"
            )
    return parts, short


def _model_rate_hz(streams: Sequence[Stream], flow: FlowSchedule, phase_name: str) -> float:
    """Return the frame rate that the model has for a phase of the stream that a flow carries; 0
    where that is open.
    """
    mine = [stream for stream in streams if stream.media == flow.media]
    found = [
        phase.process.frame_rate_hz.value / phase.process.clock_ratio.value
        for stream in mine
        for phase in stream.phases
        if phase.name == phase_name and isinstance(phase.process, FrameProcess)
    ]
    return found[0] if len(mine) == 1 and found else 0.0


def _stamps(table: PacketTable, rows: IntArray) -> IntArray | None:
    if not table.known("rtp_timestamp")[rows].all():
        return None
    return table.values("rtp_timestamp").astype(np.int64)[rows]


def _projected(
    time_ns: IntArray,
    payload_bytes: IntArray,
    stamps: IntArray | None,
    settings: Settings,
    *,
    what: str,
    clock_hz: float = 0.0,
) -> FrameProjection:
    return project_frames(
        time_ns,
        payload_bytes,
        stamps=stamps,
        frame_rate_hz=settings.number(FRAME_RATE_HZ.name),
        least_packet_bytes=LEAST_PACKET_BYTES,
        keep_gaps=settings.text(PACKET_GAP.name) == "median",
        what=what,
        clock_hz=clock_hz,
    )


def _written(
    runs: Sequence[_Run], folder: Path, settings: Settings, *, left_out: Iterable[str]
) -> Written:
    first_port = settings.whole("first_port")
    check_ports(first_port + len(runs) - 1, target="iperf2")
    scripts, sinks = [], []
    for place, run in enumerate(runs):
        name, port = f"flow{run.flow.flow}", first_port + place
        script = flow_script(
            target="iperf2",
            name=name,
            about=(
                f"Flow {run.flow.flow} ({run.flow.media}) as frames on a clock, in {len(run.parts)}"
                " iperf 2 runs."
            ),
            client=client_of(settings),
            epochs=[(us_from_ns(part.start_ns), _options(part, port)) for part in run.parts],
            settings=settings,
        )
        scripts.append(write_script(folder / f"{name}.sh", script))
        sinks.append(sink_of(port, protocol="udp", settings=settings))
    others = [
        write_script(folder / "send.sh", send_script(scripts)),
        write_script(folder / "sink.sh", sink_script(sinks)),
    ]
    parts = [part for run in runs for part in run.parts]
    report = ProjectionReport(
        target="iperf2",
        files=(*scripts, *others),
        packets=None,
        packets_changed=None,
        bytes_before=None,
        bytes_after=None,
        timing_error_s=None,
        cannot_express=(*left_out, *_CANNOT_EXPRESS),
        kind="model",
        distances=distances_of(parts, least_packet_bytes=LEAST_PACKET_BYTES),
    )
    return Written(report, _HOW_TO_RUN.format(first=first_port, last=first_port + len(runs) - 1))


def _options(part: FrameProjection, port: int) -> str:
    gap = f" --ipg {ms_from_s(part.packet_gap_s):.3f}" if part.packet_gap_s else ""
    frames = f"--isochronous={part.frame_rate_hz:.6g}:{part.mean_bps},{part.sd_bps}"
    return f"-u --no-udp-fin -p {port} -l {part.packet_bytes} -t {part.run_s:.2f} {frames}{gap}"


_CANNOT_EXPRESS = (
    "this sequence of packets: iperf draws the size of each frame anew, and it has no seed",
    "laws of frame sizes other than the log-normal, types of frames, and dependence between frames",
    "changes of the frame rate, late frames and pauses within a run: frames are on a fixed clock",
    (
        f"frames, and last packets of frames, below {LEAST_PACKET_BYTES} bytes: iperf makes them so"
        " large"
    ),
    "the ends of a run: its first and its last datagram are beside the frames",
)

_HOW_TO_RUN = """\
At the receiving end, start the servers (ports {first} to {last}, UDP) and leave them running:

```sh
bash sink.sh            # Ctrl-C stops it
```

At the sending end:

```sh
DESTINATION=192.0.2.7 bash send.sh
```

Each line `epoch NUMBER START_US ...` of `flowN.sh` is one run of iperf: frames a second, mean and standard deviation of
the rate (bit/s; iperf makes them the mean and standard deviation of a frame), `-l` bytes a packet, `--ipg` milliseconds
between the packets of a frame.

Check: `send.sh` exits with 0, and the report of each run in `flowN.log` ends with `isoch:tx/miss/slip`: frames sent,
frames missed, and ticks of the clock that came too late. Misses and slips mean that the machine was too busy.

Traps:

- Do not lower `-l` below 108: iperf 2.1.8 then sends without end.
- The suffixes of iperf: `1m` is 1,000,000 bit/s and `1M` is 1,048,576 bytes/s. These scripts use none.
- Look at the distances below before you use it: mode=epochs keeps the bytes of each second, this mode does not.
"""
