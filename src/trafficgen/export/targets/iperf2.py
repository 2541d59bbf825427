"""iperf 2: one run an epoch, with the epoch's bytes at its mean rate and size."""

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

#: UDP: the first datagram of a run has a header of 76 bytes, and the last one is beside those of
#: ``-n``.
_LIMITS = {
    "udp": Limits(low_bytes=76, high_bytes=65_507, least_packets=2, bunched=True),
    "tcp": Limits(low_bytes=1, high_bytes=1 << 20),
}

SETTINGS = (
    DESTINATION,
    Setting(
        "first_port",
        5001,
        "First port; each flow has `servers` ports from there on.",
        low=1,
        high=HIGHEST_PORT,
    ),
    SERVERS,
    DIRECTION,
    EPOCH_S,
    EPOCHS,
    guard_setting(0.02),
    LEAD_S,
)


def write_iperf2(table: PacketTable, folder: Path, settings: Settings) -> Written:
    """Write scripts that run iperf 2 once an epoch: one per flow, one for all, one for the servers.

    Raises:
        ExportError: If nothing can be sent, the guard leaves no epoch, or there are not enough
            ports.

    Source: manual page of iperf 2.1.8; what it does at the ends of a run by running it.
    """
    guard_s = checked_guard_s(settings, target="iperf2")
    plans = plans_of(table, settings, target="iperf2", limits=_LIMITS, guard_s=guard_s)
    ports = ports_of(plans.flows, settings, target="iperf2")
    ip_version = ["-V"] if ":" in settings.text("destination") else []
    scripts, lists, sinks = [], [], []
    for plan, own_ports in zip(plans.flows, ports, strict=True):
        name = f"flow{plan.flow.flow}"
        script = flow_script(
            target="iperf2",
            name=name,
            about=(
                f"Flow {plan.flow.flow} ({plan.flow.protocol}, {plan.flow.media}):"
                f" {len(plan.epochs)} iperf 2 runs."
            ),
            client=["iperf", *ip_version, "-c"],
            epochs=_runs(plan, own_ports),
            settings=settings,
        )
        scripts.append(write_script(folder / f"{name}.sh", script))
        lists.append(write_epochs_csv(folder / f"{name}.epochs.csv", plan))
        server = " ".join(["iperf", *ip_version, "-s", *(["-u"] * (plan.flow.protocol == "udp"))])
        sinks += [(f"sink.{port}", f"{server} -p {port}") for port in own_ports]
    others = [
        write_script(folder / "send.sh", send_script(scripts)),
        write_script(folder / "sink.sh", sink_script(sinks)),
    ]
    has_tcp = any(plan.flow.protocol == "tcp" for plan in plans.flows)
    report = plans_report(
        plans,
        target="iperf2",
        files=[*scripts, *lists, *others],
        cannot_express=_cannot_express(has_tcp=has_tcp),
    )
    return Written(report, _HOW_TO_RUN.format(first=ports[0][0], last=ports[-1][-1]))


def _runs(plan: Plan, ports: list[int]) -> list[tuple[int, str]]:
    """Return start and options of each run; of UDP, -n leaves out the last datagram, which iperf
    adds by itself.
    """
    is_udp = plan.flow.protocol == "udp"
    kind, added = ("-u --no-udp-fin", 1) if is_udp else ("-C -N", 0)
    columns = (plan.epochs.start_ns, plan.epochs.packets, plan.size_bytes, plan.rate_bps)
    rows = enumerate(zip(*(column.tolist() for column in columns), strict=True))
    return [
        (
            us_from_ns(start_ns),
            (
                f"{kind} -p {ports[number % len(ports)]} -n {(packets - added) * size} -l {size} -b"
                f" {rate_bps}"
            ),
        )
        for number, (start_ns, packets, size, rate_bps) in rows
    ]


def _cannot_express(*, has_tcp: bool) -> list[str]:
    texts = [
        (
            "sizes and gaps within an epoch, and how they hang together: each epoch has its mean"
            " size, evenly spaced"
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
    EPOCHS_HOW_TO_RUN.format(tool="iperf")
    + """\
Check: `send.sh` exits with 0; `flowN.log` has a report for each epoch. Its line "Sent N datagrams" counts one too many;
the server's report (`sink.PORT.log`) has what arrived.

Traps:

- `-n` is one datagram short on purpose: iperf ends each UDP run with one more. A run has two at least, so an epoch of a
  single packet is sent as two of half its size.
- Do not lower `-l` or `-n` below 76, iperf's header: iperf 2.1.8 then sends without end.
- iperf 2.1.8 sends the second and third datagram of a run together.
- Servers of iperf 2.1.8 may crash when UDP runs overlap, or with `-C` or without `--no-udp-fin`: so epochs take the
  servers of a flow in turn. Datagrams to a crashed server are lost at the sender. Export with more `servers` if a log
  says "corrupted".
- `--txstart-time` is not used: with it the first datagram leaves before that time.
- The last `guard_s` of an epoch is left free, so that a late run does not reach into the next epoch.
"""
)


TARGET = Target(
    name="iperf2",
    summary="scripts of iperf 2 runs, one an epoch, with their servers",
    versions="iperf 2.1.8; bash 5",
    write=write_iperf2,
    settings=SETTINGS,
    protocols="UDP, TCP",
    flows="`servers` ports each",
    how_to="feed-iperf",
)
