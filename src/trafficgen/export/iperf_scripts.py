"""Shell scripts that start one iperf run an epoch by the clock; shared by the targets iperf2 and
iperf3.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trafficgen.errors import ExportError
from trafficgen.export.epoch_plan import Plan
from trafficgen.export.sending_ends import destination_of
from trafficgen.export.settings import Setting, Settings
from trafficgen.units import US_PER_S, ms_from_s, us_from_s

HIGHEST_PORT = 65_535

DESTINATION = Setting("destination", "127.0.0.1", "Address or name of the sink.")
SERVERS = Setting(
    "servers",
    4,
    "Servers a flow; epochs take them in turn, as a server takes one run at a time and a run ends"
    " after its epoch.",
    low=1,
    high=64,
)
LEAD_S = Setting(
    "lead_s",
    0.0,
    "How much earlier than its epoch each run is started, s: as long as the tool needs until its"
    " first packet.",
    low=0.0,
    high=10.0,
)


def guard_setting(default_s: float) -> Setting:
    """Return the setting of the end of an epoch in which nothing is sent."""
    return Setting(
        "guard_s",
        default_s,
        "End of each epoch in which nothing is sent, s: a run that starts so much late stays within"
        " its epoch.",
        low=0.0,
        high=1e6,
    )


def checked_guard_s(settings: Settings, *, target: str) -> float:
    """Return the guard, which leaves at least half of an epoch to send in.

    Raises:
        ExportError: If it does not.
    """
    guard_s, epoch_s = settings.number("guard_s"), settings.number("epoch_s")
    if guard_s > epoch_s / 2:
        raise ExportError(
            f"{target}: guard_s={guard_s:g} leaves less than half of an epoch of {epoch_s:g} s to"
            " send in; lower guard_s or raise epoch_s"
        )
    return guard_s


def check_ports(last_port: int, *, target: str) -> None:
    """Refuse ports above the highest there is.

    Raises:
        ExportError: If ``last_port`` is one.
    """
    if last_port > HIGHEST_PORT:
        raise ExportError(
            f"{target}: the flows need ports up to {last_port}, above {HIGHEST_PORT}; lower"
            " first_port or export one flow with --flow"
        )


def ports_of(plans: Sequence[Plan], settings: Settings, *, target: str) -> list[list[int]]:
    """Return the ports of each flow: one a server, of no more servers than it has epochs.

    Raises:
        ExportError: If they do not suffice.
    """
    first_port, servers = settings.whole("first_port"), settings.whole("servers")
    check_ports(first_port + servers * len(plans) - 1, target=target)
    return [
        [first_port + place * servers + number for number in range(min(servers, len(plan.epochs)))]
        for place, plan in enumerate(plans)
    ]


def write_script(path: Path, text: str) -> str:
    """Write a script that can be executed, and return its name."""
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path.name


def write_epochs_csv(path: Path, plan: Plan) -> str:
    """Write the epochs of a flow as CSV, and return its name.

    Columns: start and length, s; datagrams (TCP: writes); payload of all as the schedule has it,
    bytes; payload of each as sent, bytes; payload rate while it is sent, bit/s.
    """
    epochs = plan.epochs
    lines = ["start_s,length_s,packets,payload_bytes,size_bytes,rate_bps"]
    columns = (
        epochs.start_s,
        epochs.length_s,
        epochs.packets,
        epochs.payload_bytes,
        plan.size_bytes,
        plan.rate_bps,
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines += [
        f"{start:.9f},{length:.9f},{n},{total},{size},{rate}"
        for start, length, n, total, size, rate in rows
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path.name


def flow_script(
    *,
    target: str,
    name: str,
    about: str,
    client: Sequence[str],
    epochs: Sequence[tuple[int, str]],
    settings: Settings,
) -> str:
    """Return the script that sends one flow.

    Args:
        target: Name of the target, for messages.
        name: What its files are called, such as ``flow0``.
        about: What the flow is, a line.
        client: The command up to the destination, which follows it.
        epochs: Start, us from the origin, and the rest of the command, of each run.
        settings: With those of :data:`DESTINATION` and :data:`LEAD_S`.

    Raises:
        SettingError: If the destination is none.
    """
    calls = "".join(
        f"epoch {number} {start_us} {rest}\n" for number, (start_us, rest) in enumerate(epochs)
    )
    head = _FLOW_HEAD.format(
        about=about,
        name=name,
        client=" ".join(client),
        destination=destination_of(settings, target=target),
        lead_us=round(us_from_s(settings.number("lead_s"))),
        us_per_s=US_PER_S,
        late_us=round(us_from_s(_LATE_S)),
        late_ms=round(ms_from_s(_LATE_S)),
    )
    return f"{head}\n{calls}{_FLOW_TAIL.format(name=name)}"


def send_script(names: Sequence[str]) -> str:
    """Return the script that sends all flows, given the names of theirs, from one origin."""
    return _SEND.format(scripts=" ".join(names), us_per_s=US_PER_S)


def sink_script(servers: Sequence[tuple[str, str]]) -> str:
    """Return the script that runs the sinks until it is stopped.

    Args:
        servers: Name of the log and command of each.
    """
    lines = "".join(f"{command} >> {name}.log 2>&1 &\n" for name, command in servers)
    return _SINK.format(servers=lines, count=len(servers))


#: A run that starts later than this after its epoch is told of.
_LATE_S = 0.1

_FLOW_HEAD = """\
#!/usr/bin/env bash
# {about}
# Each run is started in the background, at its epoch's start by the clock; needs bash 5.
# Environment: START_US, the origin of the schedule in us since 1970 (default: in one second); DESTINATION.
set -u
export LC_ALL=C
CDPATH= cd -- "$(dirname -- "$0")"
DESTINATION=${{DESTINATION:-{destination}}}
START_US=${{START_US:-$(( ${{EPOCHREALTIME/./}} + {us_per_s} ))}}
LEAD_US=${{LEAD_US:-{lead_us}}}
runs=() failed=0
exec {{never}}<> <(:)  # nothing ever comes from here: reading it waits without starting a process
trap 'kill "${{runs[@]}}" 2>/dev/null; exit 130' INT TERM

epoch() {{  # number, start in us from the origin, options
  local number=$1 wait_us=$(( START_US + $2 - LEAD_US - ${{EPOCHREALTIME/./}} )) wait_s
  shift 2
  if (( wait_us > 0 )); then
    printf -v wait_s '%d.%06d' $(( wait_us / {us_per_s} )) $(( wait_us % {us_per_s} ))
    read -rt "$wait_s" -u "$never"
  elif (( wait_us < -{late_us} )); then
    echo "{name}, epoch $number: more than {late_ms} ms late" >&2
  fi
  {client} "$DESTINATION" "$@" >> {name}.log 2>&1 &
  runs+=($!)
}}
"""

_FLOW_TAIL = """
for number in "${{!runs[@]}}"; do
  wait "${{runs[number]}}" || {{ failed=1; echo "{name}, epoch $number failed: see {name}.log" >&2; }}
done
exit $failed
"""

_SEND = """\
#!/usr/bin/env bash
# Sends all flows from one origin: START_US, in us since 1970 (default: in one second).
set -u
export LC_ALL=C
CDPATH= cd -- "$(dirname -- "$0")"
export START_US=${{START_US:-$(( ${{EPOCHREALTIME/./}} + {us_per_s} ))}}
flows=() failed=0
trap 'kill "${{flows[@]}}" 2>/dev/null; wait; exit 130' INT TERM
for script in {scripts}; do
  bash "$script" &
  flows+=($!)
done
for flow in "${{flows[@]}}"; do wait "$flow" || failed=1; done
exit $failed
"""

_SINK = """\
#!/usr/bin/env bash
# Runs {count} servers until it is stopped (Ctrl-C, or kill).
set -u
CDPATH= cd -- "$(dirname -- "$0")"
stop() {{  # servers that wait for an end of their last run do not heed the first signal
  trap - EXIT
  kill $(jobs -p); sleep 0.3; kill -KILL $(jobs -p); wait
}} 2>/dev/null
trap stop EXIT
trap 'exit 0' INT TERM
{servers}
while [[ -n $(jobs -rp) ]]; do
  wait -n
  echo "a server ended: see the logs; is its port in use?" >&2
done
exit 1
"""

#: The beginning of both READMEs.
EPOCHS_HOW_TO_RUN = """\
At the receiving end, start the servers (ports {{first}} to {{last}}) and leave them running:

```sh
bash sink.sh            # Ctrl-C stops it
```

At the sending end:

```sh
DESTINATION=192.0.2.7 bash send.sh
```

`send.sh` starts all flows from one origin, `flowN.sh` one flow alone. Each line `epoch NUMBER START_US ...` is one run
of {tool}, started START_US microseconds after the origin whether or not the one before has ended; `flowN.epochs.csv`
lists the same for programs. `START_US=... bash send.sh` sets the origin (microseconds since 1970), so that several
machines start together.

"""
