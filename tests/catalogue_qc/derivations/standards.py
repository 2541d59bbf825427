"""Moments of the models of standards, a second time and mostly in closed form.

Derived from descriptions of the documents (laws, parameters and truncation of each model), before
any entry was compared and without the laws of scipy; numbers and formulas stand next to each other.
Each model has its moments by flow and quantity: mean and standard deviation of what is sent, bytes,
and of the time between sendings, s, or the constant they have.
"""

from __future__ import annotations

import math
from statistics import NormalDist

#: Euler and Mascheroni's constant: mean of the standard law of the largest extreme value.
EULER = 0.577215664901533
NORMAL = NormalDist()
Moments = tuple[float, float]


def constant(value: float) -> Moments:
    return value, 0.0


def exponential(mean: float) -> Moments:
    return mean, mean


def whole_packets(mean_s: float) -> Moments:
    """An exponential law in whole steps of 20 ms: geometric, of the same mean."""
    return mean_s, math.sqrt(mean_s * (mean_s - 0.02))


def truncated_normal(mean: float, sd: float, low: float, high: float) -> Moments:
    """Moments of a normal law whose draws beyond two ends are repeated."""
    a, b = (low - mean) / sd, (high - mean) / sd
    mass = NORMAL.cdf(b) - NORMAL.cdf(a)
    shift = (NORMAL.pdf(a) - NORMAL.pdf(b)) / mass
    spread = 1 + (a * NORMAL.pdf(a) - b * NORMAL.pdf(b)) / mass - shift**2
    return mean + sd * shift, sd * math.sqrt(spread)


def largest_extreme_value(a: float, b: float) -> Moments:
    """x = a - b ln(-ln u); the mass below 0 is under 2e-5 in all models here."""
    return a + EULER * b, math.pi / math.sqrt(6) * b


def logistic(loc: float, scale: float) -> Moments:
    """Draws outside of [0, 2 loc] are repeated; its mean stays.

    Its variance is summed over the strips of a fine grid. (The truncation stands in the description
    and was left out at first, which the comparison showed: 1% of one application's SD.)
    """
    t, strips = loc / scale, 20_000
    places = [(at + 0.5) / strips * t for at in range(strips)]
    density = [math.exp(-x) / (1 + math.exp(-x)) ** 2 for x in places]
    second = sum(x * x * d for x, d in zip(places, density, strict=True)) / sum(density)
    return loc, scale * math.sqrt(second)


def weibull(shape: float, scale: float) -> Moments:
    first, second = (scale**n * math.gamma(1 + n / shape) for n in (1, 2))
    return first, math.sqrt(second - first**2)


def clipped_pareto(shape: float, low: float, high: float) -> Moments:
    """P(X > x) = (low / x)^shape; the mass above ``high`` sits on it."""
    first = low + low**shape * (high ** (1 - shape) - low ** (1 - shape)) / (1 - shape)
    second = low**2 + 2 * low**shape * (high ** (2 - shape) - low ** (2 - shape)) / (2 - shape)
    return first, math.sqrt(second - first**2)


def truncated_pareto(shape: float, low: float, high: float) -> Moments:
    """Draws above ``high`` are repeated: the moments below it over their probability."""

    def partial(n: int) -> float:
        ends = math.pow(low, n - shape) - math.pow(high, n - shape)
        return shape * math.pow(low, shape) * ends / (shape - n)

    mass, first, second = (partial(n) for n in (0, 1, 2))
    return first / mass, math.sqrt(second / mass - (first / mass) ** 2)


def laplace(mean: float, scale: float) -> Moments:
    """Clipped at 0: exp(-mean / scale) / 2 of the draws lie below, by ``scale`` on average."""
    below = 0.5 * math.exp(-mean / scale)
    first = mean + scale * below
    second = mean**2 + 2 * scale**2 - below * 2 * scale**2
    return first, math.sqrt(second - first**2)


def exponential_in_steps(rate: float, step: float) -> Moments:
    """Rounded up to whole steps: P(more than k steps) = exp(-k rate step), a geometric law."""
    stays = math.exp(-rate * step)
    return step / (1 - stays), step * math.sqrt(stays) / (1 - stays)


def truncated_lognormal(mu: float, sigma: float, low: float, high: float) -> Moments:
    """Partial moments: E[X^n; X < x] = exp(n mu + n^2 s^2 / 2) Phi((ln x - mu) / s - n s)."""

    def partial(n: int, x: float) -> float:
        if x <= 0:
            return 0.0
        place = (math.log(x) - mu) / sigma - n * sigma
        return math.exp(n * mu + (n * sigma) ** 2 / 2) * NORMAL.cdf(place)

    mass, first, second = (partial(n, high) - partial(n, low) for n in (0, 1, 2))
    return first / mass, math.sqrt(second / mass - (first / mass) ** 2)


def mixed(parts: list[tuple[float, Moments]]) -> Moments:
    total = sum(weight for weight, _ in parts)
    first = sum(weight * mean for weight, (mean, _) in parts) / total
    second = sum(weight * (mean**2 + sd**2) for weight, (mean, sd) in parts) / total
    return first, math.sqrt(second - first**2)


def xr_frame(mbps: float, fps: float, *, sd: float = 0.105, ends: Moments = (0.5, 1.5)) -> Moments:
    """TR 38.838: M = R / F / 8, SD 10.5% of M, 50..150% of M."""
    mean = mbps * 1e6 / fps / 8
    return truncated_normal(mean, sd * mean, ends[0] * mean, ends[1] * mean)


def scaled(moments: Moments, factor: float) -> Moments:
    return factor * moments[0], factor * moments[1]


def lecci(alpha: float, beta: float, gamma: float) -> dict[str, Moments]:
    """IEEE Access 9:129782 at 30 Mbit/s and 60 frame/s."""
    mean = 30e6 / 8 / 60
    return {
        "video bytes": logistic(mean, mean * alpha * 30**beta),
        "video gap": logistic(1 / 60, gamma / 60),
    }


def tgax_video(
    scale: float, mbps: float, flows: tuple[str, ...] = ("video",)
) -> dict[str, Moments]:
    """11-14/0571 table 5: shape 0.8099; the interval gives the rate of the class."""
    size = weibull(0.8099, scale)
    interval = constant(size[0] * 8 / (mbps * 1e6))
    return {
        f"{flow} {what}": one
        for flow in flows
        for what, one in (("bytes", size), ("gap", interval))
    }


def rta(gap_ms: Moments, size: Moments) -> dict[str, Moments]:
    """11-18/2009 table 4-3."""
    return {
        "game bytes": largest_extreme_value(*size),
        "game gap": scaled(largest_extreme_value(*gap_ms), 1e-3),
    }


POSE = {"pose bytes": constant(100), "pose gap": constant(0.004)}
XR = {"video bytes": xr_frame(30, 60), "video gap": constant(1 / 60)}
#: Entry -> flow and quantity -> mean and standard deviation.
MOMENTS: dict[str, dict[str, Moments]] = {
    "xr_3gpp38838_video": XR,
    "xr_3gpp38838_vr_session": XR | POSE,
    "xr_3gpp38838_cg_session": XR | POSE,
    # a = 2: an I-slice is a / (N - 1 + a) of the frame, each of the seven others 1 / (N - 1 + a).
    "xr_3gpp38838_video_slices": {"i_stream bytes": scaled(xr_frame(30, 60), 2 / 9)},
    # a = 2: I is a K / (K - 1 + a) of the mean frame, P is K / (K - 1 + a).
    "xr_3gpp38838_video_gop": {
        "i_stream bytes": scaled(xr_frame(30, 60), 16 / 9),
        "p_stream bytes": scaled(xr_frame(30, 60), 8 / 9),
    },
    "xr_3gpp38838_ar_ul_video": {"video bytes": xr_frame(10, 60), "video gap": constant(1 / 60)},
    "xr_3gpp38838_audio_data": {
        "audio_data bytes": constant(1.12e6 * 0.01 / 8),
        "audio_data gap": constant(0.01),
    },
    "xr_3gpp38838_pose": POSE,
    "xr_3gpp38838_ar_session": XR | POSE,
    "xr_3gpp_immersive_gaming": {
        "video bytes": xr_frame(100, 60, sd=0.25, ends=(0.25, 3)),
        "video gap": constant(1 / 60),
    },
    "xr_3gpp_ul_video_upload": {"video bytes": xr_frame(20, 30), "video gap": constant(1 / 30)},
    # LS R1-2509596: Pareto of 504..1736 bits, shape 7; exponential gaps of 0.015 per ms in steps.
    "haptics_3gpp": {
        "haptics bytes": truncated_pareto(7, 504 / 8, 1736 / 8),
        "haptics gap": exponential_in_steps(15, 0.032),
    },
    # RFC 8593: 1 Mbit/s at 30 frame/s; relative deviations are Laplace laws of scale 0.15.
    "video_rfc8593": {
        "video bytes": laplace(1e6 / 8 / 30, 0.15 * 1e6 / 8 / 30),
        "video gap": laplace(1 / 30, 0.15 / 30),
    },
    "vr_lecci2021_virus_popper": lecci(0.178430, -0.240335, 0.0372050),
    "vr_lecci2021_minecraft": lecci(0.185706, -0.187212, 0.0713267),
    "vr_lecci2021_google_earth_cities": lecci(0.259685, -0.253901, 0.0345717),
    "vr_lecci2021_google_earth_tour": lecci(0.255414, -0.203082, 0.0346823),
    "video_tgax_bv1": tgax_video(6950, 2),
    "video_tgax_bv2": tgax_video(13900, 4),
    "video_tgax_bv3": tgax_video(20850, 6),
    "video_tgax_bv4": tgax_video(27800, 8),
    "video_tgax_bv5": tgax_video(34750, 10),
    "video_tgax_bv6": tgax_video(54210, 15.6),
    "video_tgax_mc1": tgax_video(10425, 3),
    "video_tgax_mc2": tgax_video(20850, 6),
    "video_tgax_conference": tgax_video(6950, 2, ("to_client", "to_server")),
    "vdi_tgax": {
        "to_client bytes": mixed([(53.7, (41.0, 3.2)), (22.4, (1478.3, 11.6))]),
        "to_client gap": exponential(0.0602269),
        "to_server bytes": (50.598, 5.0753),
        "to_server gap": exponential(0.0482870),
    },
    "game_rta_status_sync_dl": rta((13, 3.7), (50, 11)),
    "game_rta_status_sync_ul": rta((15, 5.7), (38, 3.7)),
    "game_rta_lockstep_dl": rta((28, 4.2), (210, 35)),
    "game_rta_lockstep_ul": rta((22, 3.4), (92, 38)),
    "ftp_ngmn2008": {
        "files bytes": truncated_lognormal(14.45, 0.35, 0, 5e6),
        "files gap": exponential(180),
    },
    "ftp_3gpp_model1": {"files bytes": constant(500_000), "files gap": exponential(1 / 1.5)},
    "ftp_3gpp_model2": {"files bytes": constant(500_000), "files gap": exponential(5)},
    "ftp_3gpp_model3": {"files bytes": constant(500_000), "files gap": exponential(0.2)},
    "ftp_3gpp_model3_im": {"files bytes": constant(100_000), "files gap": exponential(2)},
    "web_3gpp2": {
        "web bytes": truncated_lognormal(8.37, 1.37, 100, 2e6),
        "web gap": exponential(0.13),
        "web bytes 2": truncated_lognormal(6.17, 2.36, 50, 2e6),
        "web gap 2": exponential(30),
        "web count 2": (clipped_pareto(1.1, 2, 55)[0] - 2, clipped_pareto(1.1, 2, 55)[1]),
    },
    "video_ngmn2008": {
        "video bytes": clipped_pareto(1.2, 40, 250),
        "video spacing": scaled(clipped_pareto(1.2, 2.5, 12.5), 1e-3),
        "video gap": constant(0.1),
    },
    # 2 bytes of compressed headers are added to the sizes.
    "game_ngmn2008": {
        "to_client bytes": (
            largest_extreme_value(120, 36)[0] + 2,
            largest_extreme_value(120, 36)[1],
        ),
        "to_client gap": scaled(largest_extreme_value(55, 6), 1e-3),
        "to_server bytes": (
            largest_extreme_value(45, 5.7)[0] + 2,
            largest_extreme_value(45, 5.7)[1],
        ),
        "to_server gap": constant(0.04),
    },
    # Two states stepped each 20 ms: the mean of one is 0.02 / p, the SD sqrt(1 - p) of that.
    "voip_ngmn2008": {
        "talk bytes": constant(40),
        "silence bytes": constant(15),
        "talk hold": (2.0, 2.0 * math.sqrt(0.99)),
        "silence hold": (2.0, 2.0 * math.sqrt(0.99)),
    },
    "voip_tgax": {
        "talk bytes": constant(33 + 3),
        "silence bytes": constant(7 + 3),
        "talk hold": (1.25, 1.25 * math.sqrt(1 - 0.016)),
        "silence hold": (1.25, 1.25 * math.sqrt(1 - 0.016)),
    },
    # P.59 clause 3: -0.854 ln u, -0.226 ln u, -0.456 ln u; packets make whole steps of 20 ms of it.
    "speech_itup59": {
        "server_talks hold": whole_packets(0.854),
        "both hold": whole_packets(0.226),
        "none hold": whole_packets(0.456),
        "server_talks bytes": constant(160 + 12),
    },
    # Beta(3, 4) over 10 s: mean 3/7, variance 12 / (49 * 8).
    "mtc_3gpp37868": {"devices once": (30 / 7, 10 * math.sqrt(12 / (49 * 8)))},
}
