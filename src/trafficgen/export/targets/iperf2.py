"""iperf 2: one run an epoch, with the epoch's bytes at its mean rate and size.

Source: manual page of iperf 2.1.8; what it does at the ends of a run by running it.
"""

from __future__ import annotations

from trafficgen.export.epochs import Limits
from trafficgen.export.iperf_runs import Iperf, iperf_target

#: UDP: the first datagram of a run has a header of 76 bytes, and the last one comes on top of
#: ``-n``.
_LIMITS = {
    "udp": Limits(low_bytes=76, high_bytes=65_507, least_packets=2, bunched=True),
    "tcp": Limits(low_bytes=1, high_bytes=1 << 20),
}


def _options(protocol: str, port: int, packets: int, size_bytes: int, rate_bps: int) -> str:
    """Return the options of a run; of UDP, -n leaves out the last datagram, which iperf adds."""
    kind, added = ("-u --no-udp-fin", 1) if protocol == "udp" else ("-C -N", 0)
    return f"{kind} -p {port} -n {(packets - added) * size_bytes} -l {size_bytes} -b {rate_bps}"


_HOW_TO_RUN = """\
Check: `send.sh` exits with 0; `flowN.log` has a report for each epoch. Its line "Sent N datagrams"
counts one too many; the server's report (`sink.PORT.log`) has what arrived.

Traps:

- `-n` is one datagram short on purpose: iperf ends each UDP run with one more. A run has two at
  least, so an epoch of a single packet is sent as two of half its size.
- Do not lower `-l` or `-n` below 76, iperf's header: iperf 2.1.8 then sends without end.
- iperf 2.1.8 sends the second and third datagram of a run together.
- Servers of iperf 2.1.8 may crash when UDP runs overlap, or with `-C` or without `--no-udp-fin`: so
  epochs take the servers of a flow in turn. Datagrams to a crashed server are lost at the sender.
  Export with more `servers` if a log says "corrupted".
- `--txstart-time` is not used: with it the first datagram leaves before that time.
- The last `guard_s` of an epoch is left free, so that a late run does not reach into the next
  epoch.
"""

_TOOL = Iperf(
    target="iperf2",
    title="iperf 2",
    versions="iperf 2.1.8; bash 5",
    program="iperf",
    first_port=5001,
    guard_s=0.02,
    limits=_LIMITS,
    options=_options,
    server=lambda protocol: " -u" if protocol == "udp" else "",
    lost=(),
    how_to_run=_HOW_TO_RUN,
)
TARGET = iperf_target(_TOOL)
