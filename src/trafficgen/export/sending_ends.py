"""Addresses and ports of what a sending tool is told, checked before they get into anyone's script."""

from __future__ import annotations

import re

from trafficgen.errors import SettingError
from trafficgen.export.flow_schedule import Direction
from trafficgen.export.settings import Settings

_HOST = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.:%-]*|::[0-9A-Fa-f:.%]*")
_LAST_PORT = 65_535


def destination_of(settings: Settings, *, target: str) -> str:
    """Return the setting ``destination``.

    Raises:
        SettingError: If it is neither an address nor a name, and would be read as something else in a script.
    """
    text = settings.text("destination")
    if not _HOST.fullmatch(text):
        raise SettingError(f"{target}: destination={text!r} is neither an address nor a host name; give one of them")
    return text


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
