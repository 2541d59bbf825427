"""iperf3: one run an epoch, with the epoch's bytes at its mean rate and size."""

from __future__ import annotations

from pathlib import Path

from trafficgen.export.epoch_plan import (
    DIRECTION,
    EPOCH_S,
    EPOCHS,
    Limits,
    Plan,
    plans_of,
    plans_report,
)
from trafficgen.export.iperf_scripts import (
    DESTINATION,
    EPOCHS_HOW_TO_RUN,
    HIGHEST_PORT,
    LEAD_S,
    SERVERS,
    checked_guard_s,
    flow_script,
    guard_setting,
    ports_of,
    send_script,
    sink_script,
    write_epochs_csv,
    write_script,
)
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.target import Target, Written
from trafficgen.tables import PacketTable
from trafficgen.units import us_from_ns

#: Lengths that iperf3 3.12 takes: UDP 16 to 65507, TCP to 2**20.
_LIMITS = {
    "udp": Limits(low_bytes=16, high_bytes=65_507),
    "tcp": Limits(low_bytes=1, high_bytes=1 << 20),
}

SETTINGS = (
    DESTINATION,
    Setting(
        "first_port",
        5201,
        "First port; each flow has `servers` ports from there on.",
        low=1,
        high=HIGHEST_PORT,
    ),
    SERVERS,
    DIRECTION,
    EPOCH_S,
    EPOCHS,
    guard_setting(0.03),
    LEAD_S,
)


def write_iperf3(table: PacketTable, folder: Path, settings: Settings) -> Written:
    """Write a script a flow that runs iperf3 once an epoch, one that sends all flows, and one that
    runs the servers.

    Raises:
        ExportError: If nothing can be sent, the guard leaves no epoch, or there are not enough
            ports.

    Source: manual page of iperf3 3.12; its limits by running it.
    """
    guard_s = checked_guard_s(settings, target="iperf3")
    plans = plans_of(table, settings, target="iperf3", limits=_LIMITS, guard_s=guard_s)
    ports = ports_of(plans.flows, settings, target="iperf3")
    scripts, lists = [], []
    for plan, own_ports in zip(plans.flows, ports, strict=True):
        name = f"flow{plan.flow.flow}"
        script = flow_script(
            target="iperf3",
            name=name,
            about=(
                f"Flow {plan.flow.flow} ({plan.flow.protocol}, {plan.flow.media}):"
                f" {len(plan.epochs)} iperf3 runs."
            ),
            client=["iperf3", "-c"],
            epochs=_runs(plan, own_ports),
            settings=settings,
        )
        scripts.append(write_script(folder / f"{name}.sh", script))
        lists.append(write_epochs_csv(folder / f"{name}.epochs.csv", plan))
    sinks = [(f"sink.{port}", f"iperf3 -s -p {port}") for own_ports in ports for port in own_ports]
    others = [
        write_script(folder / "send.sh", send_script(scripts)),
        write_script(folder / "sink.sh", sink_script(sinks)),
    ]
    has_tcp = any(plan.flow.protocol == "tcp" for plan in plans.flows)
    report = plans_report(
        plans,
        target="iperf3",
        files=[*scripts, *lists, *others],
        cannot_express=_cannot_express(has_tcp=has_tcp),
    )
    return Written(report, _HOW_TO_RUN.format(first=ports[0][0], last=ports[-1][-1]))


def _runs(plan: Plan, ports: list[int]) -> list[tuple[int, str]]:
    kind = "-u" if plan.flow.protocol == "udp" else "-N"
    columns = (plan.epochs.start_ns, plan.epochs.packets, plan.size_bytes, plan.rate_bps)
    return [
        (
            us_from_ns(start_ns),
            f"{kind} -p {ports[number % len(ports)]} -k {packets} -l {size} -b {rate_bps}",
        )
        for number, (start_ns, packets, size, rate_bps) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    ]


def _cannot_express(*, has_tcp: bool) -> list[str]:
    texts = [
        (
            "sizes and gaps within an epoch, and how they hang together: each epoch has its mean"
            " size, evenly spaced"
        ),
        (
            "the run's own traffic: each epoch opens a TCP control connection and, for UDP, sends 4"
            " bytes each way first"
        ),
        "one 5-tuple a flow: each epoch has a source port of its own",
    ]
    if has_tcp:
        texts.append(
            "of TCP the segments, acknowledgements and repetitions: they are those of the sending"
            " system"
        )
    return texts


_HOW_TO_RUN = (
    EPOCHS_HOW_TO_RUN.format(tool="iperf3")
    + """\
Check: `send.sh` exits with 0 and `flowN.log` has a line with `sender` for each epoch, with the bytes of its payload.
The servers' side is in `sink.PORT.log`.

To compare what was sent over UDP, capture it without what iperf3 adds (its control connections, and the 4 bytes by
which each run greets), then measure:

```sh
tcpdump -i INTERFACE -w sent.pcap 'udp and dst portrange {first}-{last} and udp[4:2] > 12'
trafficgen compare TABLE sent.pcap --all
```

Of TCP the control connections go to the same ports: capture with `tcp and dst portrange {first}-{last}` and expect one
more connection for each epoch, of a few hundred bytes.

Traps:

- iperf3 needs four or five round trips and a few milliseconds before the first packet of a run. On a long path start
  runs earlier by that (`LEAD_US=100000 bash send.sh`, or `--set lead_s=0.1`). Without, epochs are late by it.
- The last `guard_s` of an epoch is left free, so that a late run does not reach into the next epoch.
- "the server is busy" in a log: a server was still at an earlier epoch. Export with more `servers`.
- iperf3 wakes every millisecond (`--pacing-timer`): above a thousand packets a second they leave in small bursts.
- Runs of a flow are separate connections: TCP begins each epoch with slow start.
"""
)


TARGET = Target(
    name="iperf3",
    summary="scripts of iperf3 runs, one an epoch, with their servers",
    versions="iperf3 3.12 and newer; bash 5",
    write=write_iperf3,
    settings=SETTINGS,
    protocols="UDP, TCP",
    flows="`servers` ports each",
    how_to="feed-iperf",
)
