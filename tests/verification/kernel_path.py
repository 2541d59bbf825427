"""A dumbbell in network namespaces: Linux's own TCP and token bucket, with a delay that a
user-space wire adds.

    sender 10.99.1.2 -- router ==TBF==> wire (delay, both ways) -- receiver 10.99.2.2

Not every kernel has netem, so the delay comes from :mod:`tests.verification.delay_wire`, run in a
namespace of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SENDER, RECEIVER = "10.99.1.2", "10.99.2.2"
TOOLS = ("ip", "tc", "ethtool", "iperf3")
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
    probe = subprocess.run(
        ["ip", "netns", "add", "trafficgen-probe"], capture_output=True, check=False
    )
    if probe.returncode:
        return "network namespaces are not allowed here"
    subprocess.run(["ip", "netns", "del", "trafficgen-probe"], capture_output=True, check=False)
    return None


def _run(*command: object) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@dataclass(frozen=True)
class Namespaces:
    """Names of the four namespaces."""

    sender: str
    router: str
    wire: str
    receiver: str

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
    wire: subprocess.Popen[bytes] | None = None
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
            ]
        )
        _await_answer(names.sender)
        yield names
    finally:
        if wire is not None:
            wire.send_signal(signal.SIGTERM)
            wire.wait(5)
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


@dataclass(frozen=True)
class Shares:
    """What a run of bulk TCP beside constant-rate UDP brought, at the receiver, while both ran.

    Attributes:
        tcp_bps: TCP payload, bit/s.
        udp_bps: UDP payload, bit/s.
        udp_loss: Share of the UDP packets that was lost.
    """

    tcp_bps: float
    udp_bps: float
    udp_loss: float


def measure_shares(
    names: Namespaces,
    *,
    congestion_control: str,
    udp_bps: float,
    payload_bytes: int,
    head_start_s: int,
    seconds: int,
) -> Shares:
    """Run iperf3 and, ``head_start_s`` later, constant-rate UDP beside it for ``seconds``."""
    at_receiver, at_sender = (
        ("ip", "netns", "exec", names.receiver),
        ("ip", "netns", "exec", names.sender),
    )
    server = subprocess.Popen(
        [*at_receiver, "iperf3", "-s", "-1", "-J"], stdout=subprocess.PIPE, text=True
    )
    sink = subprocess.Popen(
        [*at_receiver, sys.executable, str(HERE / "constant_rate.py"), "receive", RECEIVER],
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(0.3)
    total_s = head_start_s + seconds
    # Intervals of one second at the receiver show what TCP got while UDP ran.
    client = subprocess.Popen(
        [
            *at_sender,
            "iperf3",
            "-c",
            RECEIVER,
            "-t",
            str(total_s),
            "-C",
            congestion_control,
            "-i",
            "1",
        ],
        stdout=subprocess.DEVNULL,
    )
    time.sleep(head_start_s)
    schedule = (str(udp_bps), str(payload_bytes), str(seconds))
    sender = [
        *at_sender,
        sys.executable,
        str(HERE / "constant_rate.py"),
        "send",
        RECEIVER,
        *schedule,
    ]
    sent = int(subprocess.run(sender, check=True, capture_output=True, text=True).stdout)
    client.wait(total_s + 30)
    intervals = json.loads(server.communicate(timeout=60)[0])["intervals"]
    time.sleep(2.0)
    sink.send_signal(signal.SIGTERM)
    received = int(sink.communicate(timeout=10)[0])
    beside = [
        one["sum"] for one in intervals if head_start_s <= one["sum"]["start"] < total_s - 0.5
    ]
    tcp_bps = sum(one["bytes"] for one in beside) * 8 / sum(one["seconds"] for one in beside)
    return Shares(
        tcp_bps=tcp_bps,
        udp_bps=received * payload_bytes * 8 / seconds,
        udp_loss=1 - received / sent,
    )


def measure_bulk(
    names: Namespaces, controls: Sequence[str], *, head_start_s: int, seconds: int
) -> list[float]:
    """Run bulk flows together; return what each brought after ``head_start_s``, payload bit/s."""
    at_receiver, at_sender = (
        ("ip", "netns", "exec", names.receiver, "iperf3"),
        ("ip", "netns", "exec", names.sender, "iperf3"),
    )
    total_s, ports = head_start_s + seconds, range(5201, 5201 + len(controls))
    servers = [
        subprocess.Popen(
            [*at_receiver, "-s", "-1", "-J", "-p", str(port)], stdout=subprocess.PIPE, text=True
        )
        for port in ports
    ]
    time.sleep(0.5)
    clients = [
        subprocess.Popen(
            [*at_sender, "-c", RECEIVER, "-t", str(total_s), "-C", control, "-p", str(port)],
            stdout=subprocess.DEVNULL,
        )
        for control, port in zip(controls, ports, strict=True)
    ]
    for client in clients:
        client.wait(total_s + 30)
    rates_bps = []
    for server in servers:
        intervals = json.loads(server.communicate(timeout=60)[0])["intervals"]
        steady = [
            one["sum"] for one in intervals if head_start_s <= one["sum"]["start"] < total_s - 0.5
        ]
        rates_bps.append(
            sum(one["bytes"] for one in steady) * 8 / sum(one["seconds"] for one in steady)
        )
    return rates_bps
