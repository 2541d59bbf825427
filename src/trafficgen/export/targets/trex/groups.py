"""A workload for TRex's advanced stateful mode: sessions are templates, each with its rate."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trafficgen.errors import ExportError
from trafficgen.export.flow_schedule import (
    FlowSchedule,
    Schedules,
    join_flows,
    schedules_of,
    split_large,
    timing_error,
)
from trafficgen.export.sending_ends import HIGHEST_PORT, fill_template
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.target import Written
from trafficgen.export.targets.trex.astf import address_range, join_writes
from trafficgen.export.workload_groups import SessionGroup
from trafficgen.formatting import (
    format_count,
    list_first,
    markdown_text,
    number,
    one_line,
    printable,
)
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.units import kbps_from_bytes, megabytes, ns_from_us, us_from_ns

_PROGRAM, _DATA = "profile.py", "groups.json"
#: UDP payload of an Ethernet frame over IPv4.
_LARGEST_DATAGRAM_BYTES = 1472
#: Smallest rate of a template that TRex's server takes (cps in its astf_schema.json), 1/s.
_LOWEST_RATE_PER_S = 0.5

GROUP_SETTINGS = (
    Setting(
        "templates",
        1,
        "Sessions of each group of a workload that TRex plays: of small, medium, large ones.",
        low=1,
        high=100,
    ),
    Setting(
        "most_datagrams",
        100_000,
        "Datagrams that a UDP flow's program has at most in a workload.",
        low=1,
        high=1e7,
    ),
)


@dataclass(frozen=True)
class _Template:
    """A flow of a session as TRex plays it.

    Attributes:
        before: What the session sends.
        sent: The same packets at the times and sizes of the program.
        writes: The program: us from the session's start, bytes.
    """

    before: FlowSchedule
    sent: FlowSchedule
    writes: list[list[int]]


def write_trex_groups(groups: Sequence[SessionGroup], folder: Path, settings: Settings) -> Written:
    """Write a profile in which sessions of each group start at the group's rate.

    Raises:
        ExportError: If a group sends nothing to the client over TCP or UDP, a flow is too long, or
            there are more flows than ports.
        SettingError: If a range of addresses is invalid.

    Source: TRex 3.08, advanced stateful manual and Python client (trex_astf_profile.py).
    """
    ranges = {
        name.upper(): address_range(settings, name, target="trex")
        for name in ("clients", "servers")
    }
    first_port, played = settings.whole("first_port"), settings.whole("templates")
    templates: list[_Template] = []
    texts, rows, left_out = [], [], set[str]()
    ip_bytes, longest_s = 0, 0.0
    for group in groups:
        examples, flows, group_bytes = group.choose_examples(played), [], 0
        for session in examples:
            schedules = schedules_of(
                group.play(session),
                target=f"trex: group {group.name!r}",
                other_way="leave the group out of the workload",
            )
            left_out |= {text.partition(" (")[0] for text in schedules.left_out}
            group_bytes += schedules.ip_bytes
            longest_s = max(longest_s, schedules.duration_s)
            for template in _templates(schedules, settings):
                flows.append(
                    {
                        "protocol": template.before.protocol,
                        "port": first_port + len(templates),
                        "rate_per_s": group.rate_per_s / len(examples),
                        "writes": template.writes,
                    }
                )
                templates.append(template)
        texts.append({"name": group.name, "rate_per_s": group.rate_per_s, "flows": flows})
        rows.append(_row(group, played_bytes=group_bytes / len(examples)))
        ip_bytes += group_bytes
    if first_port + len(templates) - 1 > HIGHEST_PORT:
        raise ExportError(
            f"trex: {len(templates)} flows from port {first_port} on have too few ports; set"
            " first_port or templates lower"
        )
    lines = ",\n".join(json.dumps(text, separators=(",", ":")) for text in texts)
    (folder / _DATA).write_text(
        f'{{"units": {{"writes": ["us from the start", "bytes"]}}, "groups": [\n{lines}\n]}}\n',
        encoding="utf-8",
    )
    duration_s = int(max(group.window_s for group in groups) + longest_s) + 1
    program = fill_template("trex_workload_profile.txt", {**ranges, "DURATION_S": duration_s})
    (folder / _PROGRAM).write_text(program, encoding="utf-8")
    before = [template.before for template in templates]
    sent = [template.sent for template in templates]
    report = ProjectionReport(
        target="trex",
        files=(_PROGRAM, _DATA),
        packets=sum(map(len, sent)),
        packets_changed=0,
        bytes_before=ip_bytes,
        bytes_after=sum(int(flow.ip_bytes.sum()) for flow in sent),
        timing_error_s=timing_error(join_flows(before, "time_ns"), join_flows(sent, "time_ns")),
        cannot_express=(*sorted(left_out), *_notes(groups, played)),
    )
    lowest_per_s = min(_template_rates(groups, played).values())
    text = _how_to_run("".join(rows), duration_s=duration_s, lowest_per_s=lowest_per_s)
    return Written(report, text)


def _templates(schedules: Schedules, settings: Settings) -> Iterator[_Template]:
    for flow in schedules.flows:
        if flow.protocol == "tcp":
            at_ns, writes = join_writes(flow, most=settings.whole("most_writes"), target="trex")
            yield _Template(flow, replace(flow, time_ns=at_ns), writes)
            continue
        cut, _ = split_large(flow, high_bytes=_LARGEST_DATAGRAM_BYTES)
        most = settings.whole("most_datagrams")
        if len(cut) > most:
            raise ExportError(
                f"trex: flow {flow.flow} has {len(cut):,} datagrams, more than {most:,} of a"
                " program; set most_datagrams higher, or give shorter sessions"
            )
        at_us = us_from_ns(cut.time_ns)
        size_bytes = np.maximum(cut.payload_bytes, 1)
        yield _Template(
            cut,
            replace(cut, time_ns=ns_from_us(at_us)),
            np.stack([at_us, size_bytes], axis=1).tolist(),
        )


def _notes(groups: Sequence[SessionGroup], played: int) -> Iterator[str]:
    yield (
        f"sessions that differ: TRex repeats {format_count(played, 'session')} of each group, whose"
        f" packets are counted here, for all {sum(group.sessions for group in groups):,}"
        " (templates=N plays more)"
    )
    yield (
        "the curve of the arrival rate: sessions of a group start evenly at its mean rate, which"
        " flattens an hourly curve or a flash crowd; [--to|to=] tcpreplay, mgen or pcap keeps it"
    )
    rates = _template_rates(groups, played)
    low = [name for name, rate_per_s in rates.items() if rate_per_s < _LOWEST_RATE_PER_S]
    if low:
        yield (
            f"rates below {_LOWEST_RATE_PER_S:g}/s a template, which TRex's server refuses:"
            f" {one_line(list_first(low))} (lowest {number(min(rates.values()), digits=3)}/s);"
            f" {_raise_rates(groups, played)}"
        )
    yield (
        "sizes and times of TCP packets: TRex's TCP cuts, acknowledges and repeats; requests of"
        " the client"
    )


def _template_rates(groups: Sequence[SessionGroup], played: int) -> dict[str, float]:
    """Return how often a template of each group starts, by the group's name, 1/s."""
    return {
        printable(group.name): group.rate_per_s / len(group.choose_examples(played))
        for group in groups
    }


def _raise_rates(groups: Sequence[SessionGroup], played: int) -> str:
    """Return how to play groups at their rate that are too slow as they are."""
    if played > 1 and all(group.rate_per_s >= _LOWEST_RATE_PER_S for group in groups):
        return "set templates lower: each then has a larger share of its group's rate"
    return "[--to|to=] tcpreplay, mgen or pcap plays them at their rate"


def _row(group: SessionGroup, *, played_bytes: float) -> str:
    """Return a group's row of the README: sessions, rate, mean size, size played, load."""
    sampled_mb, played_mb = megabytes(float(group.sizes_bytes.mean())), megabytes(played_bytes)
    offered_kbps = kbps_from_bytes(played_bytes, 1 / group.rate_per_s)
    numbers = (group.rate_per_s, sampled_mb, played_mb, offered_kbps)
    cells = [f"{group.sessions:,}", *(number(value, digits=3) for value in numbers)]
    return f"| {markdown_text(group.name)} | {' | '.join(cells)} |\n"


def _how_to_run(rows: str, *, duration_s: int, lowest_per_s: float) -> str:
    factor, faster = max(1, math.ceil(_LOWEST_RATE_PER_S / lowest_per_s)), ""
    if factor > 1:
        faster = f"""
`-m {factor}` is the smallest whole multiplier with which the server takes all groups: they start
and load the network {factor} times as much as in the workload. At its own rates packets play:

```sh
trafficgen generate WORKLOAD.yaml -o workload.pcap
trafficgen export workload.pcap --to trex -o for-trex-packets
```
"""
    return f"""
Start the server in advanced stateful mode (`./t-rex-64 -i --astf`), then in the console
(`./trex-console`), with the folder's path:

```text
trex> start -f profile.py -m {factor} -d {duration_s}
trex> stats
```
{faster}
At `-m 1` sessions of each group start at this rate, evenly: a curve of arrivals is flattened.
`-m 2` doubles all rates and so the load, `-t --groups NAME` plays some groups alone:

| group | sessions | sessions/s | mean MB | MB as played | kbit/s offered |
| --- | --- | --- | --- | --- | --- |
{rows}
Things to know:

- A session's flows are templates of their own, each at the group's rate: they start together on
  average, not one by one.
- Over TCP the server writes, TRex's TCP sends: a slow path delays it. Over UDP the client sends one
  small packet, and the server answers with the datagrams at their times.
- Keep `profile.py` and `{_DATA}` together.
- None of this has been run on a TRex server.

To check: `stats` counts connections and bytes of both sides.
"""
