"""Names that people gave to files, without the addresses of machines and people in them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

#: Replaces an address.
MASK = "address"
_LONGEST_TEXT = 4096
_OCTETS = 256

_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}")
#: Six pairs of hexadecimal digits, or three groups of four (IEEE 802's and the form of routers).
_CARD = re.compile(
    r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}(?:[:_-][0-9A-Fa-f]{2}){5}"
    r"|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2})(?![0-9A-Fa-f])"
)
#: Four numbers, parted as in an address or as file names have to write it. More numbers parted by
#: dots are an address and a port, more parted by the rest a date.
_DOTTED = re.compile(r"(?<!\d)(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?!\d)")
_DASHED = re.compile(r"(?<!\d)(?<!\d-)(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})(?!-?\d)")
_UNDERLINED = re.compile(r"(?<!\d)(?<!\d_)(\d{1,3})_(\d{1,3})_(\d{1,3})_(\d{1,3})(?!_?\d)")
#: What may be an IPv6 address (RFC 4291 section 2.2), with colons or with their replacement in
#: file names.
_COLONS = re.compile(r"(?<![0-9A-Za-z:])[0-9A-Fa-f:]{2,39}(?![0-9A-Za-z:])")
_DASHES = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{1,4}-[0-9A-Fa-f-]{1,35}(?![0-9A-Za-z])")


def redact_addresses(text: str) -> str:
    """Return a text in which IP addresses, those of network cards and of mail are masked.

    Numbers with dots that look like an address (``1.2.3.4``) are masked as well. Names of machines
    stay: they look like any other name.
    """
    shown = text[:_LONGEST_TEXT]
    for pattern, replacement in _MASKS:
        shown = pattern.sub(replacement, shown)
    return shown[:_LONGEST_TEXT]


def _four(found: re.Match[str]) -> str:
    return MASK if all(int(part) < _OCTETS for part in found.groups()) else found[0]


def _card(found: re.Match[str]) -> str:
    # Pairs of digits alone are a date and a time more often than a card, unless colons part them.
    return MASK if ":" in found[0] or re.search("[A-Fa-f]", found[0]) else found[0]


def _six(found: re.Match[str]) -> str:
    text = found[0].replace("-", ":")
    if text.count(":") < 2 or text.strip(":") == "":
        return found[0]
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return found[0]
    return MASK


_MASKS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (_MAIL, MASK),
    (_CARD, _card),
    (_DOTTED, _four),
    (_DASHED, _four),
    (_UNDERLINED, _four),
    (_COLONS, _six),
    (_DASHES, _six),
)
