"""A workload for D-ITG: a run of ITGSend for each flow and epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from trafficgen.export.epochs import Limits
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.stream_runs import RunTool, write_stream_runs
from trafficgen.export.target import Written
from trafficgen.export.targets.ditg.schedule import LARGEST_BYTES, METADATA, smallest_payload_bytes
from trafficgen.tables.stream import PacketStream
from trafficgen.units import BITS_PER_BYTE

WORKLOAD_SETTINGS = (
    Setting("epoch_s", 1.0, "Of a workload: length of a run of a flow, s.", low=0.1, high=3600),
    Setting(
        "guard_s",
        0.05,
        "Of a workload: end of each epoch in which nothing is sent, s, for runs that start late.",
        low=0.0,
        high=3600,
    ),
)
#: A run of one datagram ends after one interval; this is a rate that makes it short, 1/s.
_RATE_OF_ONE_PER_S = 1000


#: Runs of the first second fail where a receiver is not up yet. To connect to it would be a run for
#: it, so the kernel's list of sockets is read.
_WAIT = """\
for port in $(seq {first} {step} {last}); do
  printf -v listens ': [0-9A-F]+:%04X [0-9A-F]+:0000 0A ' "$port"
  for try in $(seq 100); do
    grep -qsE "$listens" /proc/net/tcp /proc/net/tcp6 && continue 2
    sleep 0.1
  done
  echo "no ITGRecv listens on TCP port $port{hint}" >&2{failed}
done
"""


@dataclass(frozen=True, kw_only=True)
class _ItgSend(RunTool):
    """ITGSend, with an ITGRecv for each run at a time, on the port after that of the data.

    One ITGRecv for all would do, but 2.8.1 closes sockets twice: a run that begins within the
    moment in which another ends can make it end with an error.
    """

    log: bool

    def client_command(self, destination: str) -> str:
        """Return how the command that sends begins: its destination and its options follow."""
        del destination
        return "ITGSend -a"

    def server_lines(self, ports: Mapping[str, range], destination: str) -> str:
        """Return the lines of a shell script that start the receivers."""
        del destination
        [used] = ports.values()
        log = " -l recv.$port.log" if self.log else ""
        return (
            f"for port in $(seq {used.start} {used.step} {used.stop - 1}); do\n"
            f"  ITGRecv -Sp $(( port + 1 )){log} > sink.$port.log 2>&1 &\ndone\n"
            + _wait_for(used, hint=": see sink.$(( port - 1 )).log")
            + 'echo "ready: start send.sh"\n'
        )

    def setup_lines(self, ports: Mapping[str, range]) -> str:
        """Return the lines that wait for receivers on this machine, before anything is sent."""
        [used] = ports.values()
        wait = _wait_for(used, hint=": start sink.sh first", failed="; exit 1")
        return f"\nif [[ $DESTINATION == 127.* || $DESTINATION == localhost ]]; then\n{wait}fi"


def _wait_for(ports: range, *, hint: str, failed: str = "") -> str:
    first, last = ports.start + 1, ports.stop
    return _WAIT.format(first=first, step=ports.step, last=last, hint=hint, failed=failed)


def write_ditg_workload(stream: PacketStream, folder: Path, settings: Settings) -> Written:
    """Write a run of ITGSend for each flow and epoch, and what starts them.

    Raises:
        ExportError: If nothing can be sent, or ports do not suffice.
        SettingError: If the destination or the ports cannot be.

    Source: what ITGSend 2.8.1 does on the loopback interface: its first packet leaves some
    milliseconds after its start, and it ends a second after the last interval.
    """
    metadata = settings.text("metadata")

    def options(protocol: str, port: int, packets: int, size_bytes: int, rate_bps: int) -> str:
        transport = " -T TCP -D" if protocol == "tcp" else ""
        per_s = rate_bps / BITS_PER_BYTE / size_bytes if packets > 1 else _RATE_OF_ONE_PER_S
        return (
            f"-Sdp {port + 1} -rp {port}{transport} -p {METADATA[metadata][0]} -C {per_s:.9g}"
            f" -c {size_bytes} -z {packets}"
        )

    tool = _ItgSend(
        target="ditg",
        title="ITGSend",
        program="ITGSend",
        limits={
            protocol: Limits(smallest_payload_bytes(protocol, metadata), LARGEST_BYTES)
            for protocol in ("udp", "tcp")
        },
        options=options,
        server=lambda _protocol: "",
        lost=("payload (RTP headers too) and source ports (D-ITG uses its own)",),
        ending_s=3.0,
        ports_each=2,
        log=metadata == "standard",
    )
    written = write_stream_runs(stream, folder, settings, tool=tool)
    return replace(written, how_to_run=written.how_to_run + _CHECK)


_CHECK = """\

`sink.sh` says `ready` when all receivers listen: start `send.sh` then. On one machine `send.sh`
waits for them by itself, 10 s at most.

A run has an ITGRecv for itself: each listens for ITGSend on the TCP port after that of its data,
whatever `signal_port` says. With `metadata=standard` they write `recv.PORT.log`: after `sink.sh`
has ended, `ITGDec recv.PORT.log` counts packets and bytes of payload of all its runs under `TOTAL
RESULTS`. On a busy machine it logs some of ten thousand packets less than a capture has.
"""
