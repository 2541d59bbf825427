"""Quantities of 3GPP XR, measured VR, encoders, IEEE 802.11ax and RTA TIG that ns-3 draws too, with
its differences.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats
from tests.verification.ns3_comparison import (
    DRAWS,
    WHOLE,
    ByMoments,
    Compared,
    Floored,
    Mixed,
    files_of,
    gaps_of,
    gumbel_from,
    ns3_gaps_of,
    ns3_sizes_of,
    sizes_of,
)
from tests.verification.ns3_generators import encoded, sent, vr_bursts
from tests.verification.standard_laws import Between, play, sendings, truncated_normal

from trafficgen.units import FloatArray

# 3GPP XR


def list_xr(entry: str, mbps: float, *, up: bool = False) -> list[Compared]:
    mean, seconds = mbps * 1e6 / 60 / 8, DRAWS / 60
    generator = f"ns3::TrafficGenerator3gppGenericVideo[DataRate={mbps:g}]"
    jitter = Between(stats.norm(0, 0.002), -0.004, 0.004)
    return [
        Compared(
            entry,
            "sizes",
            truncated_normal(mean, 0.105, 0.5, 1.5),
            sizes_of(entry, up=up, duration_s=seconds),
            ns3_sizes_of(generator, seconds),
            ns3_law=Floored(stats.norm(mean, math.sqrt(0.105 * mean))),
            why="ns-3 takes the standard deviation for the variance",
        ),
        Compared(
            entry,
            "gaps",
            ByMoments(1 / 60, math.sqrt(2) * jitter.moments()[1]),
            gaps_of(entry, up=up, duration_s=seconds),
            ns3_gaps_of(generator, seconds),
            unit="ms",
            per_draw=1e3,
            ns3_law=Between(stats.norm(1 / 60, math.sqrt(2) / 1e3), 1 / 60 - 0.002, 1 / 60 + 0.002),
            why="ns-3 adds jitter to each gap, so that frames drift, with a variance of 2 ms² in"
            " ±2 ms; in the document it is an offset of frames on a grid",
        ),
    ]


# Measured VR

#: Entry -> name of the application in vr-app, and alpha, beta and gamma of the authors.
VR_APPS = {
    "virus_popper": ("VirusPopper", 0.178430, -0.240335, 0.0372050),
    "minecraft": ("Minecraft", 0.185706, -0.187212, 0.0713267),
    "google_earth_cities": ("GoogleEarthVrCities", 0.259685, -0.253901, 0.0345717),
    "google_earth_tour": ("GoogleEarthVrTour", 0.255414, -0.203082, 0.0346823),
}
_VR_MBPS = 30.0


def vr_laws(app: str) -> tuple[Between, Between]:
    """Return the laws of sizes, bytes, and gaps, s, of an application at 60 frame/s."""
    _, alpha, beta, gamma = VR_APPS[app]
    mean, period_s = _VR_MBPS * 1e6 / 8 / 60, 1 / 60
    size = stats.logistic(mean, mean * alpha * _VR_MBPS**beta)
    return Between(size, 0, 2 * mean), Between(
        stats.logistic(period_s, period_s * gamma), 0, 2 * period_s
    )


def vr_generator(app: str) -> str:
    return f"ns3::VrBurstGenerator[VrAppName={VR_APPS[app][0]}|TargetDataRate={_VR_MBPS:g}Mbps]"


def list_vr(app: str) -> list[Compared]:
    entry, seconds, rate = f"vr_lecci2021_{app}", DRAWS / 60, f"{_VR_MBPS:g}Mbps"
    size, gap = vr_laws(app)
    why = "" if app == "virus_popper" else VR_BY_ATTRIBUTE
    return [
        Compared(
            entry,
            "sizes",
            size,
            sizes_of(entry, duration_s=seconds),
            lambda: vr_bursts(vr_generator(app), DRAWS, rate)[0],
            why=why,
        ),
        Compared(
            entry,
            "gaps",
            gap,
            gaps_of(entry, duration_s=seconds),
            lambda: vr_bursts(vr_generator(app), DRAWS, rate)[1],
            unit="ms",
            per_draw=1e3,
            why=why,
        ),
    ]


#: What happens where the attribute of the application is set last, as in the module's examples.
VR_BY_ATTRIBUTE = (
    "compared with the rate set after the application; in the other order ns-3 keeps the numbers"
    " of Virus Popper"
)


# Encoders


def list_encoder() -> list[Compared]:
    entry, rate_bps, fps = "video_rfc8593", 1e6, 30
    mean, seconds = rate_bps / 8 / fps, DRAWS / fps
    return [
        Compared(
            entry,
            "sizes",
            Between(stats.laplace(mean, 0.15 * mean)),
            sizes_of(entry, duration_s=seconds),
            lambda: encoded(rate_bps, fps, DRAWS)[0],
            why=WHOLE,
        ),
        Compared(
            entry,
            "gaps",
            Between(stats.laplace(1 / fps, 0.15 / fps)),
            gaps_of(entry, duration_s=seconds),
            lambda: encoded(rate_bps, fps, DRAWS)[1],
            unit="ms",
            per_draw=1e3,
        ),
    ]


# 802.11ax and RTA TIG

SCALES = {"bv1": 6950, "bv2": 13900, "bv3": 20850, "bv4": 27800, "bv5": 34750, "bv6": 54210}
SCALES |= {"mc1": 10425, "mc2": 20850}


def compare_tgax_video(name: str) -> Compared:
    entry = f"video_tgax_{name}"
    # A second between frames keeps those apart that take several round trips of TCP.
    ours = files_of(entry, period_s=1.0, duration_s=DRAWS // 2)
    return Compared(
        entry,
        "sizes",
        Between(stats.weibull_min(0.8099, scale=SCALES[name]), 0),
        ours if name.startswith("bv") else sizes_of(entry, duration_s=DRAWS * 0.0335),
        ns3_sizes_of(f"ns3::TgaxVideoTraffic[TrafficModelClassIdentifier={name.upper()}]", 1300),
        unit="kB",
        per_draw=1e-3,
    )


_NEGATIVE = "a size below 0 (1.3 of 100,000) becomes one of 4 GB in ns-3; here it is drawn again"


def list_tgax_conference() -> list[Compared]:
    entry, seconds = "video_tgax_conference", 1300
    generator = "ns3::TgaxVideoTraffic[TrafficModelClassIdentifier=BV1]"
    law = Between(stats.weibull_min(0.8099, scale=SCALES["bv1"]), 0)
    return [
        Compared(
            entry,
            "sizes",
            law,
            sizes_of(entry, duration_s=seconds),
            ns3_sizes_of(generator, seconds),
            unit="kB",
            per_draw=1e-3,
        ),
        Compared(
            entry,
            "gaps",
            ByMoments(law.moments()[0] * 8 / 2e6),
            gaps_of(entry, duration_s=seconds),
            ns3_gaps_of(generator, seconds),
            unit="ms",
            per_draw=1e3,
            why="ns-3 takes the mean size in whole bytes",
        ),
    ]


def list_rta(mode: str, way: str, gap_ms: tuple[float, float], size: tuple[float, float]) -> Any:
    entry, up = f"game_rta_{mode}_{way}", way == "ul"
    preset = "".join(part.capitalize() for part in f"{mode}_{way}".split("_"))
    generator, seconds = f"ns3::RtaTigMobileGaming[ModelPresets={preset}]", 1200
    yield Compared(
        entry,
        "sizes",
        gumbel_from(*size),
        sizes_of(entry, up=up, duration_s=seconds),
        ns3_sizes_of(generator, seconds),
        why=_NEGATIVE if (mode, way) == ("lockstep", "ul") else "",
    )
    yield Compared(
        entry,
        "gaps",
        gumbel_from(gap_ms[0] / 1e3, gap_ms[1] / 1e3),
        gaps_of(entry, up=up, duration_s=seconds),
        ns3_gaps_of(generator, seconds),
        unit="ms",
        per_draw=1e3,
    )


def list_vdi() -> list[Compared]:
    seconds = 2500
    large = 22.4 / 76.1
    down = Mixed(((1 - large, stats.norm(41.0, 3.2)), (large, stats.norm(1478.3, 11.6))))
    laws = {
        "Downlink": (down, stats.expon(scale=0.0602269), False),
        "Uplink": (stats.norm(50.598, 5.0753), stats.expon(scale=0.0482870), True),
    }
    found = []
    for flow, (way, (size, gap, up)) in enumerate(laws.items()):
        generator = f"ns3::TgaxVirtualDesktop[ModelPresets={way}]"
        name, where = "vdi_tgax", "to the server" if up else "to the client"
        found += [
            Compared(
                name,
                f"sizes {where}",
                size if isinstance(size, Mixed) else Between(size),
                sizes_of(name, flow, up=up, duration_s=seconds),
                ns3_sizes_of(generator, seconds),
                ns3_law=Floored(size),
                why=WHOLE,
            ),
            Compared(
                name,
                f"gaps {where}",
                Between(gap),
                gaps_of(name, flow, up=up, duration_s=seconds),
                ns3_gaps_of(generator, seconds),
                unit="ms",
                per_draw=1e3,
            ),
        ]
    return found


def _runs_s(time_s: FloatArray, sizes: FloatArray, talk: float) -> FloatArray:
    """Return the lengths of talk, s: packets of one size in a row, 20 ms each."""
    ends = np.flatnonzero(np.diff(sizes) != 0) + 1
    runs = np.split(sizes, ends)[1:-1]
    return 0.02 * np.array([run.size for run in runs if run[0] == talk])


VOIP_S = 20_000


def compare_voip_tgax() -> Compared:
    return Compared(
        "voip_tgax",
        "lengths of talk",
        Between(stats.expon(scale=1.25)),
        lambda: _runs_s(*sendings(play("voip_tgax", (("duration_s", VOIP_S),)), 1, up=True), 36),
        lambda: _runs_s(*sent("ns3::TgaxVoipTraffic[BoundDelayJitter=0ms]", VOIP_S), 33),
        unit="s",
        ns3_law=Between(stats.gamma(2, scale=1.25)),
        why="ns-3 waits for the chain to leave the state and then for an exponential time to end:"
        " twice the mean",
    )
