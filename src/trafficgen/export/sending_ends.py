"""Addresses and ports of what a sending tool is told, checked before they get into anyone's script."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from trafficgen.errors import SettingError
from trafficgen.export.flow_schedule import Direction
from trafficgen.export.settings import Settings

#: Labels of a host name (RFC 952, RFC 1123), with the underscores that some networks have; the last one is no number,
#: or else the whole would be an IPv4 address.
_LABEL = r"[0-9A-Za-z_](?:[0-9A-Za-z_-]{0,61}[0-9A-Za-z_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*(?![0-9]+\.?$){_LABEL}\.?")
_LONGEST_NAME = 253
_ZONE = re.compile(r"[0-9A-Za-z_.-]{1,15}")  # names of interfaces are no longer on Linux
_LAST_PORT = 65_535


def destination_of(settings: Settings, *, target: str) -> str:
    """Return the setting ``destination``.

    Raises:
        SettingError: If it is neither an address nor a name, and would be read as something else in a script.
    """
    text = settings.text("destination")
    if _is_address(text) or (len(text) <= _LONGEST_NAME and _NAME.fullmatch(text)):
        return text
    raise SettingError(
        f"{target}: destination={text!r} is neither an IP address nor a host name; give one of them, without a port"
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
    """Return one port a flow, from the first one up.

    Raises:
        SettingError: If there are not so many.
    """
    if first_port + count - 1 > _LAST_PORT:
        raise SettingError(
            f"{target}: {count} flows need the ports from {setting}={first_port} to {first_port + count - 1};"
            f" the last port is {_LAST_PORT}, so choose a lower {setting}"
        )
    return range(first_port, first_port + count)


def direction_of(settings: Settings) -> Direction:
    """Return the setting ``direction``."""
    return "to_server" if settings.text("direction") == "to_server" else "to_client"
