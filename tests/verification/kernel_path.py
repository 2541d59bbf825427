"""A dumbbell in network namespaces: Linux's own TCP and token bucket, with a delay that a
user-space wire adds.

    sender 10.99.1.2 -- router ==TBF==> wire (delay, both ways) -- receiver 10.99.2.2

Not every kernel has netem, so the delay comes from :mod:`tests.verification.delay_wire`, run in a
namespace of its own.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.verification.mixes import PROBE_BPS, PROBE_BYTES, UDP_BYTES, Got, Mix

HERE = Path(__file__).resolve().parent
_CONSTANT_RATE, _BULK_TCP = HERE / "constant_rate.py", HERE / "bulk_tcp.py"
SENDER, RECEIVER = "10.99.1.2", "10.99.2.2"
_TCP_PORT, _UDP_PORT, _PROBE_PORT = 5201, 5004, 5005
#: Probes find the path empty before anything else is sent: where flows never empty the queue, the
#: shortest delay would hold a wait too.
_PROBES_ALONE_S = 1
TOOLS = ("ip", "tc", "ethtool")
_ASK = """
import socket, sys
for _ in range(30):
    try:
        socket.create_connection((sys.argv[1], 9), 1)
    except ConnectionRefusedError:
        break
    except OSError:
        pass
else:
    sys.exit("the receiver does not answer")
"""


def why_not() -> str | None:
    """Return why namespaces cannot be used here, None where they can."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} not installed"
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"trafficgen-probe-{os.getpid()}"
    probe = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    if probe.returncode:
        return "network namespaces are not allowed here"
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return None


def _run(*command: object) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@dataclass
class Namespaces:
    """Names of the four namespaces, and how late the wire was.

    Attributes:
        median_late_s: Of all frames, s; known once the path is taken down.
        most_late_s: That of one frame in 1000, s; known once the path is taken down.
    """

    sender: str
    router: str
    wire: str
    receiver: str
    median_late_s: float = field(default=math.nan, init=False)
    most_late_s: float = field(default=math.nan, init=False)

    @property
    def all(self) -> tuple[str, str, str, str]:
        return self.sender, self.router, self.wire, self.receiver


@contextlib.contextmanager
def dumbbell(
    *,
    rate_bps: int,
    delay_s: float,
    queue_packets: int | None = None,
    queue_bytes: int | None = None,
) -> Iterator[Namespaces]:
    """Build the path and take it down again."""
    prefix = f"tg{os.getpid()}"
    names = Namespaces(*(f"{prefix}-{role}" for role in ("sender", "router", "wire", "receiver")))
    wire: subprocess.Popen[str] | None = None
    try:
        _build_links(names)
        _shape(names, rate_bps=rate_bps, queue_packets=queue_packets, queue_bytes=queue_bytes)
        wire = subprocess.Popen(
            [
                "ip",
                "netns",
                "exec",
                names.wire,
                sys.executable,
                str(HERE / "delay_wire.py"),
                "w0",
                "w1",
                str(delay_s),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        _await_answer(names.sender)
        yield names
    finally:
        if wire is not None:
            wire.send_signal(signal.SIGTERM)
            late_s = map(float, wire.communicate(timeout=10)[0].split())
            names.median_late_s, names.most_late_s = late_s
        for name in names.all:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _await_answer(sender: str) -> None:
    """Wait until the path is up, and addresses are known (ARP): a refused connection is answer
    enough.
    """
    in_sender = ("ip", "netns", "exec", sender, sys.executable, "-c", _ASK, RECEIVER)
    subprocess.run(in_sender, check=True, timeout=60)


def _build_links(names: Namespaces) -> None:
    for name in names.all:
        _run("ip", "netns", "add", name)
        _run("ip", "-n", name, "link", "set", "lo", "up")
    pairs = (
        (names.sender, "s0", names.router, "r0"),
        (names.router, "r1", names.wire, "w0"),
        (names.wire, "w1", names.receiver, "d0"),
    )
    for one, one_if, other, other_if in pairs:
        _run(
            "ip",
            "-n",
            one,
            "link",
            "add",
            one_if,
            "type",
            "veth",
            "peer",
            "name",
            other_if,
            "netns",
            other,
        )
        for name, interface in ((one, one_if), (other, other_if)):
            # Without segmentation offload the shaper sees the packets that a wire would.
            offloads = ("tso", "off", "gso", "off", "gro", "off", "tx", "off", "rx", "off")
            subprocess.run(
                ["ip", "netns", "exec", name, "ethtool", "-K", interface, *offloads],
                capture_output=True,
                check=False,
            )
            _run("ip", "-n", name, "link", "set", interface, "up")
    addresses = (
        (names.sender, "s0", SENDER),
        (names.router, "r0", "10.99.1.1"),
        (names.router, "r1", "10.99.2.1"),
        (names.receiver, "d0", RECEIVER),
    )
    for name, interface, address in addresses:
        _run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", interface)
    _run("ip", "-n", names.sender, "route", "add", "default", "via", "10.99.1.1")
    _run("ip", "-n", names.receiver, "route", "add", "default", "via", "10.99.2.1")
    _run("ip", "netns", "exec", names.router, "sysctl", "-qw", "net.ipv4.ip_forward=1")


def _shape(
    names: Namespaces, *, rate_bps: int, queue_packets: int | None, queue_bytes: int | None
) -> None:
    limit_bytes = queue_bytes if queue_bytes is not None else 1_000_000
    inside = ("ip", "netns", "exec", names.router, "tc", "qdisc", "add", "dev", "r1")
    _run(
        *inside,
        "root",
        "handle",
        "1:",
        "tbf",
        "rate",
        f"{rate_bps}bit",
        "burst",
        1600,
        "limit",
        limit_bytes,
    )
    if queue_packets is not None:
        _run(*inside, "parent", "1:1", "handle", "10:", "pfifo", "limit", queue_packets)


def measure_mix(names: Namespaces, mix: Mix) -> Got:
    """Run a mix once and return what it brought after its head start."""
    at_receiver = ("ip", "netns", "exec", names.receiver)
    at_sender = ("ip", "netns", "exec", names.sender)
    total_s = mix.head_start_s + mix.seconds
    probes_s = total_s + _PROBES_ALONE_S
    datagrams = [(_PROBE_PORT, PROBE_BPS, PROBE_BYTES, probes_s)]
    datagrams += [(_UDP_PORT, mix.udp_bps, UDP_BYTES, total_s)] if mix.udp_bps > 0 else []
    ports = range(_TCP_PORT, _TCP_PORT + len(mix.controls))
    sinks = [
        _start(*at_receiver, sys.executable, _CONSTANT_RATE, "receive", RECEIVER, port)
        for port, *_ in datagrams
    ]
    servers = [
        _start(*at_receiver, sys.executable, _BULK_TCP, "receive", RECEIVER, port) for port in ports
    ]
    time.sleep(0.5)
    senders = []
    for number, datagram in enumerate(datagrams):
        command = (sys.executable, _CONSTANT_RATE, "send", RECEIVER, *datagram)
        senders.append(_start(*at_sender, *command))
        if number == 0:
            time.sleep(_PROBES_ALONE_S)
    senders += [
        _start(*at_sender, sys.executable, _BULK_TCP, "send", RECEIVER, port, control, total_s)
        for control, port in zip(mix.controls, ports, strict=True)
    ]
    began = time.monotonic()
    time.sleep(mix.head_start_s)
    before = _queue_counters(names)
    time.sleep(max(0.0, began + total_s - time.monotonic()))
    sent, dropped = (after - at for after, at in zip(_queue_counters(names), before, strict=True))
    for sender in senders:
        sender.communicate(timeout=60)
    streams = [json.loads(server.communicate(timeout=60)[0]) for server in servers]
    time.sleep(1.0)
    for sink in sinks:
        sink.send_signal(signal.SIGTERM)
    probes, *udp = (json.loads(sink.communicate(timeout=10)[0]) for sink in sinks)
    counted = slice(mix.head_start_s, total_s)
    probed = slice(counted.start + _PROBES_ALONE_S, counted.stop + _PROBES_ALONE_S)
    packets, delays_s = (sum(column) for column in zip(*probes["seconds"][probed], strict=True))
    received = sum(packets for packets, _ in udp[0]["seconds"][counted]) if udp else 0
    return Got(
        rates_bps=tuple(sum(stream[counted]) * 8 / mix.seconds for stream in streams),
        udp_bps=received * UDP_BYTES * 8 / mix.seconds,
        loss=dropped / (sent + dropped),
        queueing_s=delays_s / packets - probes["shortest_delay_s"],
    )


def _start(*command: object) -> subprocess.Popen[str]:
    words = [str(word) for word in command]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def _queue_counters(names: Namespaces) -> tuple[int, int]:
    """Return the packets that the queue has sent and dropped so far."""
    shown = _run(
        "ip", "netns", "exec", names.router, "tc", "-s", "-j", "qdisc", "show", "dev", "r1"
    )
    queue = next(one for one in json.loads(shown) if one["kind"] == "pfifo")
    return queue["packets"], queue["drops"]
