"""Names and numbers as people read them."""

from __future__ import annotations

import re
from pathlib import PurePath

from trafficgen.formatting import number

__all__ = ["metric_name", "number", "share_in_words", "without_folder"]

_DISTANCES = {
    "ks": "KS",
    "wasserstein": "Wasserstein",
    "max_abs_difference": "largest difference",
    "max_abs_log10_ratio": "largest log10 of the ratio",
}
_SUBJECTS = {
    "packet_bytes": "packet sizes",
    "gap_s": "gaps",
    "smoothness": "ratios of successive rates",
    "burst_packets": "packets in a burst",
    "burst_spacing_s": "spacing of bursts",
    "rate_acf": "autocorrelation of the rate",
    "variance_time": "variance by time scale",
    "packets.relative_difference": "packets, relative difference",
    "bytes.relative_difference": "bytes, relative difference",
    "duration.relative_difference": "duration, relative difference",
    "hurst": "Hurst parameter, difference",
    "phases.buffering_end_s": "end of buffering, difference in s",
    "phases.buffering_ratio": "buffering ratio, difference",
}
_ABOUT_FILE = re.compile(r"(?P<path>[^:]*/[^:]*?)(?P<rest>(, session \d+)?: .*)$", re.DOTALL)
_RATE = re.compile(r"rate\.(?P<bin>[\d.]+?)\.(?P<kind>[a-z]+)$")


def metric_name(name: str) -> str:
    """Return a metric's flat name, such as ``gap_s.ks``, in words; one that has none stays as it
    is.
    """
    if name in _SUBJECTS:
        return _SUBJECTS[name]
    if found := _RATE.match(name):
        return f"rate in {found['bin']} s: {_DISTANCES.get(found['kind'], found['kind'])}"
    subject, _, kind = name.rpartition(".")
    if subject in _SUBJECTS and kind in _DISTANCES:
        return f"{_SUBJECTS[subject]}: {_DISTANCES[kind]}"
    return name


def share_in_words(share: float) -> str:
    """Return a share as a percentage, one that is above 0 never as 0."""
    return "< 0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def without_folder(text: str) -> str:
    """Return a warning that begins with the path of a file with the file's name alone: reports are
    passed on.
    """
    found = _ABOUT_FILE.match(text)
    return text if found is None else f"{PurePath(found['path']).name}{found['rest']}"
