"""iperf3: one run an epoch, with the epoch's bytes at its mean rate and size.

Source: manual page of iperf3 3.12; its limits by running it.
"""

from __future__ import annotations

from trafficgen.export.epochs import Limits
from trafficgen.export.iperf_runs import Iperf, iperf_target

#: Lengths that iperf3 3.12 takes: UDP 16 to 65507, TCP to 2**20.
_LIMITS = {
    "udp": Limits(low_bytes=16, high_bytes=65_507),
    "tcp": Limits(low_bytes=1, high_bytes=1 << 20),
}


def _options(protocol: str, port: int, packets: int, size_bytes: int, rate_bps: int) -> str:
    kind = "-u" if protocol == "udp" else "-N"
    return f"{kind} -p {port} -k {packets} -l {size_bytes} -b {rate_bps}"


_HOW_TO_RUN = """\
Check: `send.sh` exits with 0 and `flowN.log` has a line with `sender` for each epoch, with the
bytes of its payload. The servers' side is in `sink.PORT.log`.

To compare what was sent over UDP, capture it without what iperf3 adds (its control connections, and
the 4 bytes by which each run greets), then measure:

```sh
tcpdump -i INTERFACE -w sent.pcap 'udp and dst portrange {first}-{last} and udp[4:2] > 12'
trafficgen compare TABLE sent.pcap --all
```

Of TCP the control connections go to the same ports: capture with
`tcp and dst portrange {first}-{last}` and expect one more connection for each epoch, of a few
hundred bytes.

Traps:

- iperf3 needs four or five round trips and a few milliseconds before the first packet of a run. On
  a long path start runs earlier by that (`LEAD_US=100000 bash send.sh`, or `--set lead_s=0.1`).
  Without, epochs are late by it.
- The last `guard_s` of an epoch is left free, so that a late run does not reach into the next
  epoch.
- "the server is busy" in a log: a server was still at an earlier epoch. Export with more `servers`.
- iperf3 wakes every millisecond (`--pacing-timer`): above a thousand packets a second they leave in
  small bursts.
- Runs of a flow are separate connections: TCP begins each epoch with slow start.
"""

_TOOL = Iperf(
    target="iperf3",
    title="iperf3",
    versions="iperf3 3.12 and newer; bash 5",
    program="iperf3",
    first_port=5201,
    guard_s=0.03,
    limits=_LIMITS,
    options=_options,
    server=lambda _protocol: "",
    lost=(
        "the run's own traffic: each epoch opens a TCP control connection and, for UDP, sends 4"
        " bytes each way first",
    ),
    how_to_run=_HOW_TO_RUN,
)
TARGET = iperf_target(_TOOL)
