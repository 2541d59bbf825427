"""Findings of section 4.1, with the ranges of the published findings or thresholds of our own, said in the quantity."""

from __future__ import annotations

import math

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.nichols.rows import row

_TINY = math.ulp(1.0)

_BUFFERING: tuple[Finding, ...] = (
    row(
        "NIC-B1", "silence before the first media packet (340 at 725 kbps)", "s", 5, (4, 6), key="silence", role="input"
    ),
    row("NIC-B1", "buffering rate (340 at 725 kbps)", "kbps", "500 to 600", (480, 620), key="buffering_rate"),
    row("NIC-B1", "length of buffering (340 at 725 kbps)", "s", 10, (8, 12), key="buffering_length", role="input"),
    row("NIC-B1", "rate after buffering (340 at 725 kbps)", "kbps", 340, (306, 374), key="playout_rate", role="input"),
    row(
        "NIC-B2",
        "smallest offered / encoded rate below 548 at 725 kbps",
        "",
        2,
        (2, 4),
        key="smallest_multiple",
        role="input",
    ),
    row(
        "NIC-B2",
        "largest offered / encoded rate below 548 at 725 kbps",
        "",
        4,
        (2, 4),
        key="largest_multiple",
        role="input",
    ),
    row("NIC-B2", "first sendings / encoded rate (548 at 725 kbps)", "", 1, (0.9, 1.15), key="multiple_548"),
    row("NIC-B2", "rank correlation of buffering and encoded rate at 1500 kbps", "", "grows", (0.9, 1), key="growth"),
    row("NIC-B2", "buffering rate of 340 / of 548 at 725 kbps", "", "similar", (0.85, 1.15), key="ratio_340_548"),
    row("NIC-B3", "largest mean loss in buffering", "share", "almost 0.8", (0.65, 0.85), key="largest_loss"),
    row(
        "NIC-B3",
        "largest loss in a second of buffering (340 at 725 kbps)",
        "share",
        "almost 0.4",
        (0.3, 0.45),
        key="peak_340",
    ),
    row("NIC-B3", "the same of the TCP flow beside it", "share", "almost 0.4", (0.3, 0.45), key="tcp_peak_340"),
    row(
        "NIC-B3",
        "rank correlation of loss in buffering with encoded rate up to 340 at 725 kbps",
        "",
        "rises",
        (0.5, 1),
        key="rise_to_340",
    ),
    row(
        "NIC-B3",
        "loss in buffering of 548 / the lower of 340 and 764 at 725 kbps",
        "",
        "dips",
        (None, 1),
        key="dip_548",
    ),
    row("NIC-B3", "mean loss in buffering at 1500 kbps", "share", "present", (_TINY, None), key="loss_1500"),
    row("NIC-B3", "mean loss in buffering at 1500 / at 725 kbps", "", "lower", (None, 1), key="loss_1500_ratio"),
    row(
        "NIC-B4",
        "least correlation of length of buffering with encoded rate at the three capacities",
        "",
        "about linear",
        (0.9, 1),
        key="length_correlation",
    ),
    row(
        "NIC-B4",
        "spread of post-buffering lengths below capacity at 725 kbps",
        "",
        "same",
        (0, 0.15),
        key="post_spread",
    ),
    row(
        "NIC-B4",
        "post-buffering length of thinned / other clips at 725 kbps",
        "",
        "shorter",
        (None, 1),
        key="post_shorter",
    ),
    row(
        "NIC-F1", "buffering rate / TCP-friendly rate (340 at 725 kbps)", "", "above 1", (1, None), key="friendly_ratio"
    ),
)

_PLAYOUT: tuple[Finding, ...] = (
    row("NIC-P1", "smallest slope of rate on encoded rate below capacity", "", 1, (0.9, 1.1), key="smallest_slope"),
    row("NIC-P1", "largest slope of rate on encoded rate below capacity", "", 1, (0.9, 1.1), key="largest_slope"),
    row(
        "NIC-P1",
        "largest mean loss after buffering at 250 kbps",
        "share",
        "almost 0.4",
        (0.3, 0.44),
        key="post_loss_250",
    ),
    row(
        "NIC-P1",
        "rate in the last 10 s / capacity, mean of clips above 250 kbps",
        "",
        "below fair share",
        (None, 0.5),
        key="last_share_250",
    ),
    row("NIC-P1", "share of clips thinned at 1500 kbps", "share", 0, (0, 0.08), key="thinned_1500"),
    row(
        "NIC-P1", "rate after buffering of 1128 / of 764 at 250 kbps", "", "higher again", (1, None), key="higher_again"
    ),
    row("NIC-P2", "time of thinning (548 at 250 kbps)", "s", "almost 40", (35, 45), key="thinned_548_s", role="input"),
    row(
        "NIC-P2", "rate in the last 10 s (548 at 250 kbps)", "kbps", 50, (40, 60), key="thinned_548_kbps", role="input"
    ),
    row("NIC-P2", "loss before thinning (548 at 250 kbps)", "share", "over 0.8", (0.72, 1), key="loss_548"),
    row(
        "NIC-P2",
        "largest offered rate of 5 s in the first 20 s / encoded rate (548 at 250 kbps)",
        "",
        "above 1",
        (1.5, None),
        key="offered_548",
    ),
    row("NIC-P3", "rate after buffering (548 at 725 kbps)", "kbps", "above fair share", (400, 600), key="post_548"),
    row("NIC-P3", "share of runs thinned (548 at 725 kbps)", "share", 0, (0, 0.08), key="thinned_548_at_725"),
    row("NIC-P3", "rate after buffering (340 at 725 kbps)", "kbps", "fair share", (306, 400), key="post_340"),
    row(
        "NIC-P3",
        "largest offered rate of 5 s in the first 20 s / encoded rate (1128 at 725 kbps)",
        "",
        "far above 1",
        (1.5, None),
        key="offered_1128",
    ),
    row(
        "NIC-P3",
        "largest loss in a second of buffering (1128 at 725 kbps)",
        "share",
        "over 0.8",
        (0.72, 1),
        key="peak_1128",
    ),
    row("NIC-P3", "rate in the last 10 s (1128 at 725 kbps)", "kbps", "below fair share", (None, 362), key="last_1128"),
    row(
        "NIC-P4",
        "share of pairs of thinned clips in which the higher rate keeps no more of its frames",
        "share",
        1,
        (0.92, 1),
        key="order",
    ),
)

_BURSTS: tuple[Finding, ...] = (
    row(
        "NIC-I1",
        "share of gaps below 5 ms, lesser of 340 and 548 at 725 kbps",
        "share",
        "above 0.9",
        (0.9, 1),
        key="gaps_below_5ms",
    ),
    row("NIC-I1", "median gap in bursts, 548 less 340", "ms", 0.5, (0.3, 0.7), key="gap_difference_ms", role="input"),
    row("NIC-I2", "time between bursts (340 at 725 kbps)", "s", 0.3, (0.27, 0.33), key="idle_340", role="input"),
    row("NIC-I2", "time between bursts (548 at 725 kbps)", "s", 0.475, (0.43, 0.52), key="idle_548", role="input"),
    row(
        "NIC-I2",
        "time between bursts after buffering, 340 / 548",
        "",
        "same",
        (0.9, 1.1),
        key="idle_after",
        role="input",
    ),
    row("NIC-I2", "bytes of a burst, 548 / 340", "", "somewhat larger", (1.05, 1.6), key="burst_ratio"),
)

FINDINGS = (*_BUFFERING, *_PLAYOUT, *_BURSTS)
