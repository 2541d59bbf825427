"""What Latecki, Jin and Mulik found, set-up by set-up (LJM).

Statements about the mechanism have thresholds of their own, given with each of them.
"""

from __future__ import annotations

from functools import partial

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.rows import row

ENTRY = "twostream_latecki2003"

_predicted = partial(row, role="predicted", entry=ENTRY)
_input = partial(row, role="input", entry=ENTRY)

TCP_WITHOUT_CONTROL: tuple[Finding, ...] = (
    _input(
        "LJM-E1",
        "audio packets before the video",
        "packets",
        1000,
        (1000, 1000),
        key="audio_packets_before_video",
    ),
    _input("LJM-E1", "video frames", "frames", 6000, (6000, 6000), key="frames"),
    _input("LJM-E2", "audio delay before the video", "ms", 53, (47.7, 58.3), key="base_delay_ms"),
    _predicted(
        "LJM-E2",
        "rise of mean audio delay without control",
        "ms",
        1221,
        (800, 1700),
        key="delay_rise_ms",
    ),
    _predicted(
        "LJM-E3", "mean frame delay without control", "ms", 8409, (5000, None), key="frame_delay_ms"
    ),
    _predicted(
        "LJM-E4",
        "audio loss without control",
        "share",
        0.0477,
        (0.03, 0.07),
        key="audio_loss",
        gap=(
            "what a full queue drops hangs on how acknowledgements fall between audio packets:"
            " about 3.4% here"
        ),
    ),
    _predicted(
        "LJM-E5",
        "frames dropped at the sender without control",
        "share",
        0.1775,
        (0.12, 0.24),
        key="frames_dropped",
    ),
    # Own threshold: the long scale sees more trends than the short one.
    _predicted(
        "LJM-D4",
        "positions with a trend over TCP, 128 less 32 packets",
        "share",
        "long trends",
        (0.05, None),
        key="long_less_short",
    ),
    _predicted(
        "LJM-C3",
        "longest gap between audio packets sent",
        "ms",
        "always sent",
        (None, 44),
        key="longest_audio_gap_ms",
    ),
)

TCP_WITH_CONTROL: tuple[Finding, ...] = (
    _predicted(
        "LJM-E2", "rise of mean audio delay with control", "ms", 2, (None, 10), key="delay_rise_ms"
    ),
    _predicted(
        "LJM-E3", "mean frame delay with control", "ms", 70, (None, 150), key="frame_delay_ms"
    ),
    _predicted(
        "LJM-E3",
        "frame delay above its least once converged",
        "ms",
        "within 11",
        (None, 11),
        key="frame_delay_above_least_ms",
    ),
    _predicted("LJM-E4", "audio loss with control", "share", 0, (0, 0), key="audio_loss"),
    _predicted(
        "LJM-E5",
        "frames dropped at the sender with control",
        "share",
        0.0503,
        (None, 0.08),
        key="frames_dropped",
    ),
    _predicted(
        "LJM-E5", "pauses after the first search", "", "none", (0, 0), key="pauses_after_search"
    ),
    _predicted("LJM-E6", "time to converge", "s", 20, (15, 25), key="converged_s"),
    _predicted("LJM-E6", "rate found", "kbps", 48.8, (45, 56), key="found_kbps"),
    # Own threshold: the definitions, computed a second time on the same delays, give what was sent.
    _predicted(
        "LJM-D3",
        "verdicts that the definitions give for the delays that came",
        "share",
        "three scales, sliding windows",
        (0.99, 1),
        key="verdicts_agree",
    ),
    # Own thresholds: halving [0, 100] to 0.5 kbps takes 8 rates; one more for each step back.
    _predicted(
        "LJM-C1",
        "rates tried before the first one is held",
        "",
        "binary search",
        (7, 12),
        key="rates_tried",
    ),
    _predicted(
        "LJM-C1",
        "steps of the search to the middle of its bounds",
        "share",
        "(R_min + R_max) / 2",
        (0.9, 1),
        key="halvings",
    ),
    _predicted(
        "LJM-C1",
        "longest stretch at one rate once held",
        "share",
        "hold",
        (0.9, 1),
        key="held_share",
    ),
    _predicted(
        "LJM-C2", "pauses for increasing delays", "", "at least one", (1, None), key="pauses"
    ),
    # 14 ms is one frame on the line.
    _predicted(
        "LJM-C2",
        "audio delay above its base when a pause ends",
        "ms",
        "queues drained",
        (None, 14),
        key="queue_after_pause_ms",
    ),
    _predicted(
        "LJM-C3",
        "longest gap between audio packets sent with control",
        "ms",
        "always sent",
        (None, 44),
        key="longest_audio_gap_ms",
    ),
)

UDP_WITHOUT_CONTROL: tuple[Finding, ...] = (
    _predicted(
        "LJM-E7",
        "rise of audio delay within 5 s",
        "ms",
        "short transition",
        (200, None),
        key="rise_in_5_s_ms",
    ),
    _predicted(
        "LJM-E7",
        "spread of the stable delay over its mean",
        "share",
        "stable",
        (None, 0.2),
        key="stable_spread",
    ),
    # Own thresholds: twice the shortest window (2.6 s); after the video 1.6 s more, in which the
    # queue drains.
    _predicted(
        "LJM-D2",
        "rise seen by 32 packets after",
        "s",
        "increasing phase",
        (0, 2.6),
        key="seen_rising_s",
    ),
    _predicted(
        "LJM-D2",
        "fall seen by 32 packets after the video's end",
        "s",
        "decreasing phase",
        (0, 4.2),
        key="seen_falling_s",
    ),
    _predicted(
        "LJM-D4",
        "positions called increasing once congested, 32 packets",
        "share",
        "stable: not told from steady",
        (None, 0.1),
        key="rising_while_congested",
    ),
)

UDP_WITH_CONTROL: tuple[Finding, ...] = (
    _predicted(
        "LJM-E8",
        "audio packets lost 25 s after the video's start",
        "packets",
        0,
        (0, 0),
        key="audio_lost_after_25_s",
    ),
    _predicted(
        "LJM-E8",
        "video packets lost 25 s after the video's start",
        "packets",
        0,
        (0, 0),
        key="video_lost_after_25_s",
    ),
)

INDEPENDENT_DELAYS: tuple[Finding, ...] = (
    # 200 windows of 7 steps: the standard error of both means is below 0.02.
    _predicted("LJM-D1", "extended PCT of independent delays", "", 0, (-0.06, 0.06), key="pct"),
    _predicted("LJM-D1", "PDT of independent delays", "", 0, (-0.06, 0.06), key="pdt"),
)
