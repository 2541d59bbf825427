"""What Latecki, Jin and Mulik found, set-up by set-up (LJM).

Statements about the mechanism have thresholds of their own, given with each of them.
"""

from __future__ import annotations

from functools import partial

from trafficgen.reproduction.base import Finding

ENTRY = "twostream_latecki2003"

_predicted = partial(Finding, role="predicted", entry=ENTRY)
_input = partial(Finding, role="input", entry=ENTRY)

TCP_WITHOUT_CONTROL: tuple[Finding, ...] = (
    _input(
        id="LJM-E1",
        quantity="audio packets before the video",
        unit="packets",
        published=1000,
        low=1000,
        high=1000,
        key="audio_packets_before_video",
    ),
    _input(id="LJM-E1", quantity="video frames", unit="frames", published=6000, low=6000, high=6000, key="frames"),
    _input(
        id="LJM-E2",
        quantity="audio delay before the video",
        unit="ms",
        published=53,
        low=47.7,
        high=58.3,
        key="base_delay_ms",
    ),
    _predicted(
        id="LJM-E2",
        quantity="rise of mean audio delay without control",
        unit="ms",
        published=1221,
        low=800,
        high=1700,
        key="delay_rise_ms",
    ),
    _predicted(
        id="LJM-E3",
        quantity="mean frame delay without control",
        unit="ms",
        published=8409,
        low=5000,
        high=None,
        key="frame_delay_ms",
    ),
    _predicted(
        id="LJM-E4",
        quantity="audio loss without control",
        unit="share",
        published=0.0477,
        low=0.03,
        high=0.07,
        key="audio_loss",
        gap="what a full queue drops hangs on how acknowledgements fall between audio packets: about 3.4% here",
    ),
    _predicted(
        id="LJM-E5",
        quantity="frames dropped at the sender without control",
        unit="share",
        published=0.1775,
        low=0.12,
        high=0.24,
        key="frames_dropped",
    ),
    # Own threshold: the long scale sees more trends than the short one.
    _predicted(
        id="LJM-D4",
        quantity="positions with a trend over TCP, 128 less 32 packets",
        unit="share",
        published="long trends",
        low=0.05,
        high=None,
        key="long_less_short",
    ),
    _predicted(
        id="LJM-C3",
        quantity="longest gap between audio packets sent",
        unit="ms",
        published="always sent",
        low=None,
        high=44,
        key="longest_audio_gap_ms",
    ),
)

TCP_WITH_CONTROL: tuple[Finding, ...] = (
    _predicted(
        id="LJM-E2",
        quantity="rise of mean audio delay with control",
        unit="ms",
        published=2,
        low=None,
        high=10,
        key="delay_rise_ms",
    ),
    _predicted(
        id="LJM-E3",
        quantity="mean frame delay with control",
        unit="ms",
        published=70,
        low=None,
        high=150,
        key="frame_delay_ms",
    ),
    _predicted(
        id="LJM-E3",
        quantity="frame delay above its least once converged",
        unit="ms",
        published="within 11",
        low=None,
        high=11,
        key="frame_delay_above_least_ms",
    ),
    _predicted(
        id="LJM-E4", quantity="audio loss with control", unit="share", published=0, low=0, high=0, key="audio_loss"
    ),
    _predicted(
        id="LJM-E5",
        quantity="frames dropped at the sender with control",
        unit="share",
        published=0.0503,
        low=None,
        high=0.08,
        key="frames_dropped",
    ),
    _predicted(
        id="LJM-E5",
        quantity="pauses after the first search",
        unit="",
        published="none",
        low=0,
        high=0,
        key="pauses_after_search",
    ),
    _predicted(id="LJM-E6", quantity="time to converge", unit="s", published=20, low=15, high=25, key="converged_s"),
    _predicted(id="LJM-E6", quantity="rate found", unit="kbps", published=48.8, low=45, high=56, key="found_kbps"),
    # Own threshold: the definitions, computed a second time on the same delays, give what was sent.
    _predicted(
        id="LJM-D3",
        quantity="verdicts that the definitions give for the delays that came",
        unit="share",
        published="three scales, sliding windows",
        low=0.99,
        high=1,
        key="verdicts_agree",
    ),
    # Own thresholds: halving [0, 100] to 0.5 kbps takes 8 rates; one more for each step back.
    _predicted(
        id="LJM-C1",
        quantity="rates tried before the first one is held",
        unit="",
        published="binary search",
        low=7,
        high=12,
        key="rates_tried",
    ),
    _predicted(
        id="LJM-C1",
        quantity="steps of the search to the middle of its bounds",
        unit="share",
        published="(R_min + R_max) / 2",
        low=0.9,
        high=1,
        key="halvings",
    ),
    _predicted(
        id="LJM-C1",
        quantity="longest stretch at one rate once held",
        unit="share",
        published="hold",
        low=0.9,
        high=1,
        key="held_share",
    ),
    _predicted(
        id="LJM-C2",
        quantity="pauses for increasing delays",
        unit="",
        published="at least one",
        low=1,
        high=None,
        key="pauses",
    ),
    # 14 ms is one frame on the line.
    _predicted(
        id="LJM-C2",
        quantity="audio delay above its base when a pause ends",
        unit="ms",
        published="queues drained",
        low=None,
        high=14,
        key="queue_after_pause_ms",
    ),
    _predicted(
        id="LJM-C3",
        quantity="longest gap between audio packets sent with control",
        unit="ms",
        published="always sent",
        low=None,
        high=44,
        key="longest_audio_gap_ms",
    ),
)

UDP_WITHOUT_CONTROL: tuple[Finding, ...] = (
    _predicted(
        id="LJM-E7",
        quantity="rise of audio delay within 5 s",
        unit="ms",
        published="short transition",
        low=200,
        high=None,
        key="rise_in_5_s_ms",
    ),
    _predicted(
        id="LJM-E7",
        quantity="spread of the stable delay over its mean",
        unit="share",
        published="stable",
        low=None,
        high=0.2,
        key="stable_spread",
    ),
    # Own thresholds: twice the shortest window (2.6 s); after the video 1.6 s more, in which the queue drains.
    _predicted(
        id="LJM-D2",
        quantity="rise seen by 32 packets after",
        unit="s",
        published="increasing phase",
        low=0,
        high=2.6,
        key="seen_rising_s",
    ),
    _predicted(
        id="LJM-D2",
        quantity="fall seen by 32 packets after the video's end",
        unit="s",
        published="decreasing phase",
        low=0,
        high=4.2,
        key="seen_falling_s",
    ),
    _predicted(
        id="LJM-D4",
        quantity="positions called increasing once congested, 32 packets",
        unit="share",
        published="stable: not told from steady",
        low=None,
        high=0.1,
        key="rising_while_congested",
    ),
)

UDP_WITH_CONTROL: tuple[Finding, ...] = (
    _predicted(
        id="LJM-E8",
        quantity="audio packets lost 25 s after the video's start",
        unit="packets",
        published=0,
        low=0,
        high=0,
        key="audio_lost_after_25_s",
    ),
    _predicted(
        id="LJM-E8",
        quantity="video packets lost 25 s after the video's start",
        unit="packets",
        published=0,
        low=0,
        high=0,
        key="video_lost_after_25_s",
    ),
)

INDEPENDENT_DELAYS: tuple[Finding, ...] = (
    # 200 windows of 7 steps: the standard error of both means is below 0.02.
    _predicted(
        id="LJM-D1",
        quantity="extended PCT of independent delays",
        unit="",
        published=0,
        low=-0.06,
        high=0.06,
        key="pct",
    ),
    _predicted(
        id="LJM-D1", quantity="PDT of independent delays", unit="", published=0, low=-0.06, high=0.06, key="pdt"
    ),
)
