"""CCZ-W1, W5, W6 and W7: shares of the playlist. They stand in the catalogue entry and count as
inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trafficgen.models.published import PlaylistClip, playlist_clips
from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.chung.rows import number, share

_FAIR_KBPS = (37.5, 75.0, 150.0)
_LOWEST_ABOVE = dict(zip(_FAIR_KBPS, (0.20, 0.11, 0.11), strict=True))
_HIGHEST_BELOW = dict(zip(_FAIR_KBPS, (0.27, 0.38, 0.44), strict=True))
_W7_POINTS = 0.10


def _w7(key: str, what: str, published: dict[float, float]) -> tuple[Finding, ...]:
    return tuple(
        share(
            "CCZ-W7",
            f"{key}_{fair:g}",
            f"clips whose {what} {fair:g} kbps",
            of_fair,
            (of_fair - _W7_POINTS, of_fair + _W7_POINTS),
            role="input",
        )
        for fair, of_fair in published.items()
    )


_FINDINGS: tuple[Finding, ...] = (
    number(
        "CCZ-W1",
        "w1_median",
        "median length of a clip",
        "s",
        "about 3 min",
        (150, 210),
        role="input",
    ),
    number("CCZ-W1", "w1_shortest", "shortest clip", "s", 20.0, (20, None), role="input"),
    number("CCZ-W1", "w1_longest", "longest clip", "s", 1800.0, (None, 1800), role="input"),
    share("CCZ-W5", "w5_one", "clips with one level", 0.35, (0.3, 0.4), role="input"),
    share(
        "CCZ-W5",
        "w5_more",
        "clips with more than 4 levels",
        "fewer than 0.5",
        (None, 0.5),
        role="input",
    ),
    share("CCZ-W6", "w6_high", "one-level clips above 150 kbps", 0.4, (0.3, 0.5), role="input"),
    share(
        "CCZ-W6",
        "w6_middle",
        "clips with 3 to 5 levels that cannot go below 50 kbps",
        "more than half",
        (0.5, None),
        role="input",
    ),
    number(
        "CCZ-W6",
        "w6_low",
        "fewest levels below 50 kbps of a clip with more than 5",
        "",
        "several",
        (2, None),
        role="input",
    ),
    *_w7("w7_lowest", "lowest level is above", _LOWEST_ABOVE),
    *_w7("w7_highest", "highest level is below", _HIGHEST_BELOW),
)


@dataclass(frozen=True)
class Population:
    """The playlist itself."""

    name: str = "chung/population"
    findings: tuple[Finding, ...] = _FINDINGS
    parts: int = 1

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Return nothing: there is nothing to simulate."""
        return {}

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the shares of the playlist."""
        clips = playlist_clips()
        lengths_s = np.array([clip.length_s for clip in clips])
        one = [clip for clip in clips if len(clip.ladder_kbps) == 1]
        middle = [clip for clip in clips if 3 <= len(clip.ladder_kbps) <= 5]
        many = [clip for clip in clips if len(clip.ladder_kbps) > 5]
        return {
            "w1_median": float(np.median(lengths_s)),
            "w1_shortest": float(lengths_s.min()),
            "w1_longest": float(lengths_s.max()),
            "w5_one": len(one) / len(clips),
            "w5_more": _share(clips, lambda clip: len(clip.ladder_kbps) > 4),
            "w6_high": _share(one, lambda clip: clip.ladder_kbps[0] > 150),
            "w6_middle": _share(middle, lambda clip: clip.ladder_kbps[0] >= 50),
            "w6_low": float(min(sum(rate < 50 for rate in clip.ladder_kbps) for clip in many)),
            **{f"w7_lowest_{fair:g}": _above(clips, 0, fair) for fair in _FAIR_KBPS},
            **{f"w7_highest_{fair:g}": 1 - _above(clips, -1, fair) for fair in _FAIR_KBPS},
        }


def _share(clips: Sequence[PlaylistClip], holds: Callable[[PlaylistClip], bool]) -> float:
    return sum(map(holds, clips)) / len(clips)


def _above(clips: Sequence[PlaylistClip], level: int, limit_kbps: float) -> float:
    """Return the share of clips whose lowest (0) or highest (-1) level is above a limit that is no
    level's rate.
    """
    return _share(clips, lambda clip: clip.ladder_kbps[level] > limit_kbps)
