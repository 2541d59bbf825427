"""Scripts of sending tools, and the addresses and ports in them, which are checked before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from pathlib import Path

from trafficgen.errors import SettingError
from trafficgen.export.flow_schedule import Direction, FlowSchedule, refuse_large, split_large
from trafficgen.export.settings import Setting, Settings

#: Labels of a host name (RFC 952, RFC 1123), with the underscores that some networks have; the last
#: one is not a number, or else the whole would be an IPv4 address.
_LABEL = r"[0-9A-Za-z_](?:[0-9A-Za-z_-]{0,61}[0-9A-Za-z_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*(?![0-9]+\.?$){_LABEL}\.?")
_LONGEST_NAME = 253
_ZONE = re.compile(r"[0-9A-Za-z_.-]{1,15}")  # names of interfaces are no longer on Linux
HIGHEST_PORT = 65_535


def destination_of(settings: Settings, *, target: str) -> str:
    """Return the setting ``destination``.

    Raises:
        SettingError: If it is neither an address nor a name, and would be read as something else in
            a script.
    """
    text = settings.text("destination")
    if _is_address(text) or (len(text) <= _LONGEST_NAME and _NAME.fullmatch(text)):
        return text
    raise SettingError(
        f"{target}: destination={text!r} is neither an IP address nor a host name; give one of"
        " them, without a port"
    )


def _is_address(text: str) -> bool:
    try:
        if ":" in text:
            address, percent, zone = text.partition("%")
            IPv6Address(address)
            return not percent or bool(_ZONE.fullmatch(zone))
        IPv4Address(text)
    except AddressValueError:
        return False
    return True


def ports_from(first_port: int, count: int, *, target: str, setting: str = "first_port") -> range:
    """Return one port a flow, from the first one up; raise SettingError if they are too few."""
    last_port = first_port + count - 1
    if last_port > HIGHEST_PORT:
        raise SettingError(
            f"{target}: {count} flows need the ports from {setting}={first_port} to {last_port};"
            f" the last port is {HIGHEST_PORT}, so choose a lower {setting}"
        )
    return range(first_port, first_port + count)


def source_ports_from(first_port: int, ports: range, *, destination: str, target: str) -> range:
    """Return one port a flow to send from, from ``first_source_port`` up.

    Raises:
        SettingError: If there are not this many, or, on one machine, they are among the ports that
            are sent to: a sink that listens there leaves none to send from.
    """
    sources = ports_from(first_port, len(ports), target=target, setting="first_source_port")
    overlap = range(max(sources.start, ports.start), min(sources.stop, ports.stop))
    if overlap and _is_this_machine(destination):
        raise SettingError(
            f"{target}: port {overlap[0]} would be sent from and sent to on {destination}; choose"
            f" first_source_port={_apart(ports)} or another first_port"
        )
    return sources


def _is_this_machine(destination: str) -> bool:
    if destination.lower().rstrip(".") == "localhost":
        return True
    try:
        return ip_address(destination.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _apart(ports: range) -> int:
    """Return a first port whose range of the same length does not overlap ``ports``."""
    above = ports.stop
    return above if above + len(ports) - 1 <= HIGHEST_PORT else max(1, ports.start - len(ports))


def check_signal_port(protocols: Sequence[str], ports: range, *, signal_port: int) -> None:
    """Raise SettingError for a TCP flow to the port on which ITGRecv listens for ITGSend."""
    for protocol, port in zip(protocols, ports, strict=True):
        if protocol == "tcp" and port == signal_port:
            raise SettingError(
                f"ditg: a TCP flow would be sent to port {port}, on which ITGRecv listens for"
                " ITGSend itself; choose another signal_port or first_port"
            )


def direction_of(settings: Settings) -> Direction:
    """Return the setting ``direction``."""
    return "to_server" if settings.text("direction") == "to_server" else "to_client"


#: UDP payload of the largest IPv4 packet.
_LARGEST_UDP_BYTES = 65_507

DESTINATION = Setting("destination", "127.0.0.1", "Address or name of the receiver.")
DIRECTION = Setting(
    "direction", "to_client", "Whose packets are sent.", choices=("to_client", "to_server")
)


def first_port_setting(default: int) -> Setting:
    """Return the setting of the port that the first flow is sent to."""
    meaning = "Port that the first flow is sent to; the others follow."
    return Setting("first_port", default, meaning, low=1, high=HIGHEST_PORT)


def oversize_setting(largest_bytes: int) -> Setting:
    """Return the setting of what is done with larger payloads."""
    meaning = f"What is done with payloads above {largest_bytes} bytes."
    return Setting("oversize", "refuse", meaning, choices=("refuse", "split"))


def cut_oversized(
    flow: FlowSchedule, settings: Settings, *, high_bytes: int, target: str
) -> tuple[FlowSchedule, int]:
    """Cut payloads above ``high_bytes`` if the setting ``oversize`` says so; return how many.

    Raises:
        ExportError: If there is one and the setting does not.
    """
    count = 0
    if settings.text("oversize") == "split":
        flow, count = split_large(flow, high_bytes=high_bytes)
    refuse_large(
        flow, high_bytes=high_bytes, target=target, remedy="[--set oversize=split] cuts them"
    )
    return flow, count


NETWORK_SETTINGS = (
    DIRECTION,
    first_port_setting(5000),
    Setting("link_rate_kbps", 100_000, "Rate of the link, kbit/s.", low=1, high=1_000_000_000),
    Setting("link_delay_ms", 10.0, "One-way delay of the link, ms.", low=0, high=1e6),
)


def refuse_oversized_datagrams(flows: Sequence[FlowSchedule], *, target: str) -> None:
    """Raise ExportError if there are datagrams that UDP over IPv4 cannot carry."""
    for flow in flows:
        if flow.protocol == "udp":
            remedy = (
                "no UDP datagram over IPv4 is so large: look where the table's lengths come from"
            )
            refuse_large(flow, high_bytes=_LARGEST_UDP_BYTES, target=target, remedy=remedy)


_HEAD = """\
#!/bin/sh
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
"""


def write_script(path: Path, body: str) -> None:
    """Write an executable script for the POSIX shell, in which ``$here`` is its folder."""
    write_executable(path, _HEAD + body)


def write_executable(path: Path, text: str) -> str:
    """Write a script that can be executed, and return its name."""
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path.name


def fill_template(name: str, values: Mapping[str, object]) -> str:
    """Return the template ``name`` with each ``@KEY@`` replaced by the Python literal of its value.

    Raises:
        ValueError: If a value has no place in the template.
    """
    text = files("trafficgen.export").joinpath("templates", name).read_text(encoding="utf-8")
    for key, value in values.items():
        place = f"@{key}@"
        if place not in text:
            raise ValueError(f"{name} has no place for {key}")
        text = text.replace(place, repr(value))
    return text
