"""Names of options in messages: flags on the command line, keyword arguments in Python.

Messages name an option as its flag in brackets, ``[--sizes frame]``, followed by what Python has
in its place where that is not the keyword of that name: ``[--force|another]``.
"""

from __future__ import annotations

import re

_MARKED = re.compile(r"\[((?:-{1,2}[a-z]|`?trafficgen )[^\]|]*)(?:\|([^\]]*))?\]")
#: Flags that are other keywords: with a unit, or because theirs are words of Python.
_KEYWORDS = {
    **{"from": "from_s", "for": "window_s", "set": "settings", "memory": "memory_bytes"},
    **{"arrival-rate": "arrival_rate_per_s", "snaplen": "snaplen_bytes", "jitter": "jitter_s"},
    **{"frame-rate": "frame_rate_fps", "line-rate": "line_rate_bps", "duration": "duration_s"},
    **{"idle-timeout": "idle_timeout_s", "buffering-end": "buffering_end_s"},
    "player-log-offset": "player_log_offset_s",
}
_SWITCHES = ("upload", "candidate_upload", "outside_files")
_writes_flags = False


def write_flags(wanted: bool) -> None:
    """Have messages of all threads name flags from here on, or keywords."""
    global _writes_flags  # noqa: PLW0603 - threads would not see a context variable
    _writes_flags = wanted


def writes_flags() -> bool:
    """Return whether messages name flags; otherwise they name keywords of Python."""
    return _writes_flags


def name_options(text: str, *, flags: bool | None = None) -> str:
    """Return a text with its bracketed options as the user types them.

    ``flags`` chooses flags or keywords; the default is that of :func:`write_flags`.

    Example:
        >>> name_options("give [--sizes frame], or leave [--from] out")
        "give sizes='frame', or leave from_s=... out"
    """
    by_flags = _writes_flags if flags is None else flags

    def name_option(found: re.Match[str]) -> str:
        flag, instead = found.groups()
        if by_flags:
            return str(flag)
        return _keyword(flag) if instead is None else str(instead)

    return _MARKED.sub(name_option, text) if "[" in text else text


def _keyword(flag: str) -> str:
    """Return a flag as an argument of Python; ``...`` for a value that is left out."""
    name, _, value = flag.lstrip("-").partition(" ")
    keyword = _KEYWORDS.get(name, name.replace("-", "_"))
    if keyword == "settings" and value:
        key, _, value = value.partition("=")
        return f"settings={{{key!r}: {_literal(value)}}}"
    return f"{keyword}={'True' if keyword in _SWITCHES else _literal(value)}"


def _literal(value: str) -> str:
    """Return a value as Python writes it; words in capitals are placeholders."""
    if value in ("", "..."):
        return "..."
    is_plain = (value.isalpha() and value.isupper()) or re.fullmatch(
        r"-?\d+(\.\d+)?(e[+-]?\d+)?", value
    )
    return value if is_plain else repr(value)
