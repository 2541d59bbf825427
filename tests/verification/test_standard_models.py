"""Traffic of standard models against their formulas, computed here from the documents' numbers and
not from the entries: laws by Kolmogorov and Smirnov's distance, moments, structure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.verification.records import RecordCheck
from tests.verification.standard_laws import (
    BY_CHANCE,
    ERRORS,
    ONE_WAY_S,
    SEED,
    WITHIN_S,
    Between,
    files_over_tcp,
    ks_distance,
    play,
    sendings,
    truncated_normal,
)

import trafficgen
from trafficgen.models.published import entry_names, load_entry
from trafficgen.units import BoolArray, FloatArray

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Law:
    """The law of a quantity of a flow."""

    entry: str
    what: str  #: sizes or gaps
    law: Between
    flow: int = 0
    up: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    #: What rounding to whole bytes took away, undone by a uniform draw.
    rounding: tuple[float, float] = (-0.5, 0.5)
    is_inner: bool = False  #: whether the first and the last sending have laws of their own


def _xr(entry: str, mean: float, flow: int = 0, sd: float = 0.105, **more: Any) -> Law:
    low, high = more.pop("ends", (0.5, 1.5))
    return Law(entry, "sizes", truncated_normal(mean, sd, low, high), flow, **more)


def _gumbel(loc: float, scale: float, low: float = 0.0) -> Between:
    return Between(stats.gumbel_r(loc, scale), low)


def _lecci(app: str, fps: int, alpha: float, beta: float, gap_share: float) -> list[Law]:
    mean, rate = 30e6 / 8 / fps, 30.0
    size = Between(stats.logistic(mean, mean * alpha * rate**beta), 0, 2 * mean)
    gap = Between(stats.logistic(1 / fps, gap_share / fps), 0, 2 / fps)
    entry, settings = (
        f"vr_lecci2021_{app}",
        {"duration_s": 30} | ({} if fps == 60 else {"fps": fps}),
    )
    return [
        Law(entry, "sizes", size, settings=settings),
        Law(entry, "gaps", gap, settings=settings),
    ]


def _rta(mode: str, way: str, gap: tuple[float, float], size: tuple[float, float]) -> list[Law]:
    entry, up = f"game_rta_{mode}_{way}", way == "ul"
    return [
        Law(entry, "gaps", _gumbel(gap[0] / 1e3, gap[1] / 1e3), up=up, is_inner=True),
        Law(entry, "sizes", _gumbel(*size), up=up, is_inner=True),
    ]


def _weibull(scale: float) -> Between:
    return Between(stats.weibull_min(0.8099, scale=scale), 0)


FRAME = 30e6 / 60 / 8  #: mean frame of XR video, bytes
LONGER = {"duration_s": 30}
LAWS = [
    _xr("xr_3gpp38838_video", FRAME, settings=LONGER),
    _xr("xr_3gpp38838_video", FRAME / 2, settings={"eyes": 2}),
    _xr("xr_3gpp38838_ar_ul_video", 10e6 / 60 / 8, up=True, settings=LONGER),
    _xr("xr_3gpp38838_video_slices", FRAME * 2 / 9, settings=LONGER),
    _xr("xr_3gpp38838_video_slices", FRAME * 7 / 9, 1, settings=LONGER),
    _xr("xr_3gpp38838_video_gop", 111_111.1, settings=LONGER),
    _xr("xr_3gpp38838_video_gop", 55_555.6, 1, settings=LONGER),
    *(_xr(f"xr_3gpp38838_{app}_session", FRAME) for app in ("vr", "cg", "ar")),
    _xr("xr_3gpp38838_ar_session", 10e6 / 60 / 8, 2, up=True),
    _xr("xr_3gpp_immersive_gaming", 100e6 / 60 / 8, sd=0.25, ends=(0.25, 3.0)),
    _xr("xr_3gpp_ul_video_upload", 20e6 / 30 / 8, up=True, settings=LONGER),
    Law(
        "video_rfc8593",
        "sizes",
        Between(stats.laplace(4166.67, 0.15 * 4166.67)),
        settings={"duration_s": 300},
    ),
    Law(
        "video_rfc8593",
        "gaps",
        Between(stats.laplace(1 / 30, 0.15 / 30)),
        settings={"duration_s": 300},
    ),
    Law(  # ten times as large, so that rounding to whole bytes hardly shows
        "haptics_3gpp",
        "sizes",
        Between(stats.pareto(7, scale=630), 630, 2170),
        settings={"duration_s": 600, "size_low_bytes": 630, "size_high_bytes": 2170},
    ),
    *_lecci("virus_popper", 60, 0.178430, -0.240335, 0.0372050),
    *_lecci("minecraft", 60, 0.185706, -0.187212, 0.0713267),
    *_lecci("google_earth_cities", 60, 0.259685, -0.253901, 0.0345717),
    *_lecci("google_earth_tour", 60, 0.255414, -0.203082, 0.0346823),
    *_lecci("virus_popper", 30, 0.178430, -0.240335, 0.0143331 * 30**0.176368),
    *_lecci("minecraft", 30, 0.185706, -0.187212, 0.0241927 * 30**0.226662),
    *_lecci("google_earth_cities", 30, 0.259685, -0.253901, 0.00895304 * 30**0.311908),
    *_lecci("google_earth_tour", 30, 0.255414, -0.203082, 0.0105597 * 30**0.275602),
    Law("video_tgax_mc1", "sizes", _weibull(10_425)),
    Law("video_tgax_mc2", "sizes", _weibull(20_850)),
    Law("video_tgax_conference", "sizes", _weibull(6950)),
    Law("video_tgax_conference", "sizes", _weibull(6950), 1, up=True),
    *_rta("status_sync", "dl", (13, 3.7), (50, 11)),
    *_rta("status_sync", "ul", (15, 5.7), (38, 3.7)),
    *_rta("lockstep", "dl", (28, 4.2), (210, 35)),
    *_rta("lockstep", "ul", (22, 3.4), (92, 38)),
    Law("game_ngmn2008", "gaps", _gumbel(0.055, 0.006)),
    Law("game_ngmn2008", "sizes", _gumbel(122, 36, 2), rounding=(0, 1)),
    Law("game_ngmn2008", "sizes", _gumbel(47, 5.7, 2), 1, up=True, rounding=(0, 1)),
]


def _drawn(law: Law) -> FloatArray:
    time_s, size_bytes = sendings(play(law.entry, tuple(law.settings.items())), law.flow, up=law.up)
    if law.what == "gaps":
        return np.diff(time_s[:-1] if law.is_inner else time_s)
    sizes = size_bytes[1:-1] if law.is_inner else size_bytes
    return sizes + np.random.default_rng(SEED).uniform(*law.rounding, sizes.size)


@pytest.mark.parametrize("law", LAWS, ids=[f"{one.entry}-{one.what}-{one.flow}" for one in LAWS])
def test_sizes_and_gaps_have_the_laws_of_the_document(law: Law, record_check: RecordCheck) -> None:
    drawn = _drawn(law)
    mean, sd = law.law.moments()
    about = [f"{key}={value}" for key, value in law.settings.items() if key != "duration_s"]
    about += [f"flow {law.flow}"] if law.flow else []
    name = f"`{law.entry}`" + (f" ({', '.join(about)})" if about else "")
    unit, factor = ("ms", 1e3) if law.what == "gaps" else ("bytes", 1)
    for what, expected, measured in (
        (f"{name}, mean of {law.what}", mean, drawn.mean()),
        (f"{name}, SD of {law.what}", sd, drawn.std(ddof=1)),
    ):
        record_check(
            what,
            expected=expected * factor,
            measured=float(measured) * factor,
            unit=unit,
            accepted=f"KS below {BY_CHANCE / math.sqrt(drawn.size):.3f}",
        )
    distance = ks_distance(drawn, law.law)
    assert distance < BY_CHANCE / math.sqrt(drawn.size), distance
    assert abs(drawn.mean() - mean) < ERRORS * sd / math.sqrt(drawn.size)


@pytest.mark.parametrize("entry", ["xr_3gpp38838_video", "xr_3gpp38838_ar_ul_video"])
def test_jitter_is_an_offset_on_the_grid_and_does_not_add_up(
    entry: str, record_check: RecordCheck
) -> None:
    time_s, _ = sendings(play(entry, (("duration_s", 30),)), up="ul" in entry)
    offsets_s = time_s - np.arange(time_s.size) / 60
    offsets_s -= offsets_s.mean()
    assert np.abs(offsets_s).max() < 0.0045
    law = Between(stats.norm(0, 0.002), -0.004, 0.004)
    record_check(
        f"`{entry}`, SD of jitter",
        printed=2,
        expected=1e3 * law.moments()[1],
        measured=1e3 * float(offsets_s.std()),
        unit="ms",
        accepted=f"KS below {BY_CHANCE / math.sqrt(time_s.size):.3f}",
    )
    assert law.moments()[1] == pytest.approx(0.00176, abs=5e-6)
    assert ks_distance(offsets_s, law) < BY_CHANCE / math.sqrt(time_s.size)
    assert abs(offsets_s[:300].mean() - offsets_s[-300:].mean()) < 4 * 0.0018 * math.sqrt(2 / 300)


def test_without_jitter_frames_are_on_the_grid() -> None:
    time_s, _ = sendings(play("xr_3gpp38838_video", (("jitter", "off"), ("fps", 90))))
    assert np.allclose(np.diff(time_s), 1 / 90, atol=2e-9)


def test_gaps_of_haptics_are_whole_steps_of_a_rounded_exponential_law(
    record_check: RecordCheck,
) -> None:
    time_s, sizes = sendings(play("haptics_3gpp", (("jitter", "off"), ("duration_s", 3000))))
    mean, sd = Between(stats.pareto(7, scale=63), 63, 217).moments()
    for what, document, found in (("mean", mean, sizes.mean()), ("SD", sd, sizes.std())):
        record_check(
            f"`haptics_3gpp`, {what} of sizes",
            expected=document,
            measured=float(found),
            unit="bytes",
            accepted=f"the mean within {ERRORS:g} standard errors and 0.1 of rounding",
        )
    assert abs(sizes.mean() - mean) < ERRORS * sd / math.sqrt(sizes.size) + 0.1
    steps = np.diff(time_s) / 0.032
    assert np.allclose(steps, np.rint(steps), atol=1e-6)
    assert steps.min() > 0.5
    expected_s, measured_s = 0.032 / (1 - math.exp(-0.015 * 32)), float(np.diff(time_s).mean())
    record_check(
        "`haptics_3gpp`, mean of gaps",
        printed=1 / 0.015,
        expected=1e3 * expected_s,
        measured=1e3 * measured_s,
        unit="ms",
        accepted=f"within {ERRORS:g} standard errors",
    )
    assert abs(measured_s - expected_s) < ERRORS * expected_s / math.sqrt(steps.size)


def test_slices_of_a_frame_leave_together_and_every_eighth_frame_is_an_i_frame() -> None:
    slices = play("xr_3gpp38838_video_slices", tuple(LONGER.items()))
    assert np.array_equal(sendings(slices)[0], sendings(slices, 1)[0])
    for frames in (8, 4, 16):
        gop = play("xr_3gpp38838_video_gop", (*LONGER.items(), ("gop_frames", frames)))
        i_s, p_s = sendings(gop)[0], sendings(gop, 1)[0]
        between = np.diff(np.searchsorted(p_s, i_s))
        assert set(between.tolist()) == {frames - 1}
        rate_bps = gop.payload_bytes.sum() * 8 / LONGER["duration_s"]
        assert rate_bps == pytest.approx(30e6, rel=0.01)


@pytest.mark.parametrize(
    ("entry", "flow", "up", "size", "period_ms"),
    [
        ("xr_3gpp38838_pose", 0, True, 100, 4),
        ("xr_3gpp38838_audio_data", 0, False, 1400, 10),
        ("xr_3gpp38838_vr_session", 1, True, 100, 4),
        ("xr_3gpp38838_cg_session", 1, True, 100, 4),
        ("xr_3gpp38838_ar_session", 1, True, 100, 4),
        ("xr_3gpp38838_ar_session", 3, True, 1400, 10),
    ],
)
def test_periodic_streams_have_one_size_and_one_period(
    entry: str, flow: int, *, up: bool, size: int, period_ms: float, record_check: RecordCheck
) -> None:
    time_s, sizes = sendings(play(entry), flow, up=up)
    name = f"`{entry}`" + (f" (flow {flow})" if flow else "")
    for what, document, drawn, unit in (
        ("sizes", size, sizes, "bytes"),
        ("gaps", period_ms, np.diff(time_s) * 1e3, "ms"),
    ):
        record_check(
            f"{name}, mean of {what}",
            printed=document,
            expected=document,
            measured=float(drawn.mean()),
            unit=unit,
            accepted="the same",
        )
    assert set(sizes.tolist()) == {size}
    assert np.allclose(np.diff(time_s), period_ms / 1e3, atol=2e-9)


@pytest.mark.parametrize(
    ("number", "mbps", "scale"),
    [(1, 2, 6950), (2, 4, 13900), (3, 6, 20850), (4, 8, 27800), (5, 10, 34750), (6, 15.6, 54210)],
)
def test_frames_over_tcp_have_the_sizes_and_the_rate_of_their_class(
    number: int, mbps: float, scale: float, record_check: RecordCheck
) -> None:
    table = play(f"video_tgax_bv{number}")
    law = _weibull(scale)
    mean, sd = law.moments()
    period_s = mean * 8 / (mbps * 1e6)
    rows = table.to_client & (table.payload_bytes > 0)
    frames = np.floor(table.time_ns[rows] / 1e9 / period_s + 1e-3).astype(int)
    sizes = np.bincount(frames, weights=table.payload_bytes[rows])[:-1]
    rate_mbps = sizes.mean() * 8 / period_s / 1e6
    record_check(
        f"`video_tgax_bv{number}`, rate",
        printed=mbps,
        expected=mbps,
        measured=rate_mbps,
        unit="Mbit/s",
        accepted=f"within {ERRORS:g} standard errors",
    )
    assert abs(sizes.mean() - mean) < ERRORS * sd / math.sqrt(sizes.size)
    # A window or an acknowledgement that comes late moves some bytes into the next period.
    assert ks_distance(sizes, law) < BY_CHANCE / math.sqrt(sizes.size) + 0.01


@pytest.mark.parametrize(
    ("entry", "leave", "talk", "silent"),
    [("voip_ngmn2008", 0.01, 40, 15), ("voip_tgax", 0.016, 36, 10)],
)
def test_a_call_talks_and_is_silent_for_as_long_as_the_chain_says(
    entry: str, leave: float, talk: int, silent: int, record_check: RecordCheck
) -> None:
    time_s, sizes = sendings(play(entry, (("duration_s", 3000),)), 1, up=True)
    assert set(sizes.tolist()) == {talk, silent}
    ends = np.flatnonzero(np.diff(sizes) != 0) + 1
    runs = np.split(np.arange(sizes.size), ends)[1:-1]
    spurts = np.array([run.size for run in runs if sizes[run[0]] == talk])
    silences_s = np.array(
        [time_s[run[-1] + 1] - time_s[run[0]] for run in runs if sizes[run[0]] == silent]
    )
    for what, found_s in (("talk", spurts * 0.02), ("silence", silences_s)):
        expected_s = 0.02 / leave
        record_check(
            f"`{entry}`, mean length of {what}",
            expected=expected_s,
            measured=float(found_s.mean()),
            unit="s",
            accepted=f"within {ERRORS:g} standard errors",
        )
        assert abs(found_s.mean() - expected_s) < ERRORS * expected_s / math.sqrt(found_s.size)
    within = np.concatenate([np.diff(time_s[run]) for run in runs if sizes[run[0]] == silent])
    assert np.allclose(within, 0.16, atol=2e-9)
    in_talk_s = np.concatenate([np.diff(time_s[run]) for run in runs if sizes[run[0]] == talk])
    assert np.allclose(in_talk_s, 0.02, atol=2e-9)
    talks_s, silent_s = spurts.sum() * 0.02, silences_s.sum()
    for what, expected, measured, unit in (
        ("mean of sizes in talk", talk, sizes[sizes == talk].mean(), "bytes"),
        ("mean of sizes in silence", silent, sizes[sizes == silent].mean(), "bytes"),
        ("mean of gaps in talk", 20, in_talk_s.mean() * 1e3, "ms"),
        ("mean of gaps in silence", 160, within.mean() * 1e3, "ms"),
        ("activity", 50, 100 * talks_s / (talks_s + silent_s), "%"),
    ):
        record_check(
            f"`{entry}`, {what}",
            printed=expected,
            expected=expected,
            measured=float(measured),
            unit=unit,
            accepted="5 percentage points off" if unit == "%" else "the same",
        )
        assert measured == pytest.approx(expected, abs=5 if unit == "%" else 1e-3)


def test_jitter_before_the_link_delays_voice_to_the_client_only(record_check: RecordCheck) -> None:
    table = play("voip_tgax", (("duration_s", 3000),))
    down_s, _ = sendings(table)
    up_s, _ = sendings(table, 1, up=True)
    up_ms = np.diff(up_s) * 1e3
    assert np.all((np.abs(up_ms % 20) < 1e-3) | (np.abs(up_ms % 20 - 20) < 1e-3))
    assert (np.abs(np.diff(down_s) * 1e3 % 20 - 10) < 9.99).mean() > 0.9
    # Steps of 20 ms wrap offsets: the characteristic function there, 1 / (1 + (b w)^2), has b.
    per_ms = 2 * math.pi / 20
    found = float(abs(np.exp(1j * per_ms * down_s * 1e3).mean()))
    expected = 1 / (1 + (5.11 * per_ms) ** 2)
    record_check(
        "`voip_tgax`, SD of jitter to the client",
        expected=math.sqrt(2) * 5.11,
        measured=math.sqrt(2) * math.sqrt(1 / found - 1) / per_ms,
        unit="ms",
        accepted=f"within {ERRORS:g} standard errors of its characteristic function",
    )
    assert abs(found - expected) < ERRORS / math.sqrt(2 * down_s.size)


def test_parties_talk_together_and_are_silent_together_as_in_p59(record_check: RecordCheck) -> None:
    length_s = 3000
    table = play("speech_itup59", (("duration_s", length_s),))
    slots = np.zeros((2, length_s * 50), dtype=bool)
    for flow, up in ((0, False), (1, True)):
        time_s, sizes = sendings(table, flow, up=up)
        assert set(sizes.tolist()) == {172}
        slots[flow, np.round(time_s / 0.02).astype(int)] = True
    server, client = slots
    cycle_s = 0.854 + 0.4 * 0.226 + 0.6 * 0.456
    for what, share, measured in (
        ("nobody talks", 0.6 * 0.456 / cycle_s, (~server & ~client).mean()),
        ("both talk", 0.4 * 0.226 / cycle_s, (server & client).mean()),
        ("a party talks", (0.854 / 2 + 0.4 * 0.226) / cycle_s, server.mean()),
    ):
        record_check(
            f"`speech_itup59`, {what}",
            expected=100 * share,
            measured=100 * float(measured),
            unit="%",
            accepted="1.5 percentage points off",
        )
        assert measured == pytest.approx(share, abs=0.015)
    state = server + 2 * client
    ends = np.flatnonzero(np.diff(state) != 0) + 1
    runs = np.split(state, ends)[1:-1]
    # From clause 3: a party talks, or both do, until nobody or the other talks; then it pauses.
    talk_s = (0.854 + 0.4 * 0.226) / (1 - 0.4 / 2)
    spurt_s = 0.6 * talk_s + 0.4 * (0.226 + talk_s / 2)
    silent_s = (0.854 + 0.6 * 0.456) / (1 - 0.6 / 2)
    pause_s = 0.6 * (0.456 + silent_s / 2) + 0.4 * silent_s
    talks, pauses = (_lengths_s(server, talking) for talking in (True, False))
    for what, printed, expected, lengths_s in (
        ("single talk", 0.854, 0.854, [run.size * 0.02 for run in runs if run[0] in (1, 2)]),
        ("double talk", 0.226, 0.226, [run.size * 0.02 for run in runs if run[0] == 3]),
        ("mutual silence", 0.456, 0.456, [run.size * 0.02 for run in runs if run[0] == 0]),
        ("talk-spurts (table 1, with hangover)", 1.004, spurt_s, talks),
        ("pauses (table 1, with hangover)", 1.587, pause_s, pauses),
    ):
        found_s = float(np.mean(lengths_s))
        record_check(
            f"`speech_itup59`, mean of lengths of {what}",
            printed=printed,
            expected=expected,
            measured=found_s,
            unit="s",
            accepted=f"within {ERRORS:g} standard errors",
        )
        error_s = float(np.std(lengths_s)) / math.sqrt(len(lengths_s))
        assert abs(found_s - expected) < ERRORS * error_s


def _lengths_s(talks: BoolArray, talking: bool) -> list[float]:
    """Return how long a party talks, or is silent, at a time; slots have 20 ms."""
    runs = np.split(talks, np.flatnonzero(np.diff(talks)) + 1)[1:-1]
    return [run.size * 0.02 for run in runs if run[0] == talking]


@pytest.mark.parametrize(
    ("codec", "payload", "frame_ms", "printed_kbps"),
    [
        ("g711", 160, 20, 64),
        ("g729", 20, 20, 8),
        ("g723_1", 24, 30, 6.3),
        ("g726_32", 80, 20, 32),
        ("ilbc", 38, 20, 15.2),
    ],
)
def test_a_codec_has_its_payload_and_its_rate(
    codec: str, payload: int, frame_ms: int, printed_kbps: float, record_check: RecordCheck
) -> None:
    time_s, sizes = sendings(play("speech_itup59", (("codec", codec),)))
    assert set(sizes.tolist()) == {payload + 12}
    gap_ms = 1e3 * float(np.diff(time_s).min())
    assert gap_ms == pytest.approx(frame_ms, abs=1e-3)
    record_check(
        f"`speech_itup59` (codec={codec}), rate of talk without headers",
        printed=printed_kbps,
        expected=payload * 8 / frame_ms,
        measured=float(sizes.mean() - 12) * 8 / gap_ms,
        unit="kbit/s",
        accepted="the same",
    )


def test_a_virtual_desktop_has_the_rates_of_its_two_directions(record_check: RecordCheck) -> None:
    table = play("vdi_tgax", (("duration_s", 1200),))
    large = 22.4 / 76.1
    down_bytes = (1 - large) * 41.0 + large * 1478.3
    sd_bytes = math.sqrt(large * (1 - large)) * (1478.3 - 41.0)
    for flow, up, size, gap_s, sd in (
        (0, False, down_bytes, 0.0602269, math.hypot(sd_bytes, down_bytes)),
        (1, True, 50.598, 0.0482870, 50.9),
    ):
        rows = (table.flow == flow) & (table.to_client != up)
        rate_bps = table.payload_bytes[rows].sum() * 8 / 1200
        expected = size * 8 / gap_s
        record_check(
            f"`vdi_tgax`, rate {'to the server' if up else 'to the client'}",
            expected=expected / 1e3,
            measured=rate_bps / 1e3,
            unit="kbit/s",
            accepted=f"within {ERRORS:g} standard errors",
        )
        assert abs(rate_bps - expected) < ERRORS * sd * 8 / gap_s / math.sqrt(1200 / gap_s)


@pytest.mark.parametrize(
    ("entry", "flow", "up", "kbps"),
    [
        ("xr_3gpp38838_video", 0, False, 30_000),
        ("xr_3gpp38838_ar_ul_video", 0, True, 10_000),
        ("xr_3gpp38838_pose", 0, True, 200),
        ("xr_3gpp38838_audio_data", 0, False, 1120),
        ("xr_3gpp_immersive_gaming", 0, False, 100_107),  # cut at a quarter and at three times
        ("xr_3gpp_ul_video_upload", 0, True, 20_000),
        ("vr_lecci2021_virus_popper", 0, False, 30_000),
        ("vr_lecci2021_minecraft", 0, False, 30_000),
        ("vr_lecci2021_google_earth_cities", 0, False, 30_000),
        ("vr_lecci2021_google_earth_tour", 0, False, 30_000),
        ("video_tgax_mc1", 0, False, 3000),
        ("video_tgax_mc2", 0, False, 6000),
        ("video_tgax_conference", 0, False, 2000),
        ("video_tgax_conference", 1, True, 2000),
        ("game_rta_status_sync_dl", 0, False, 29.8),
        ("game_rta_status_sync_ul", 0, True, 17.6),
        ("game_rta_lockstep_dl", 0, False, 60.5),
        ("game_rta_lockstep_ul", 0, True, 38.0),
        ("game_ngmn2008", 0, False, (120 + 0.5772 * 36 + 1.5) * 8 / 58.463),
        ("game_ngmn2008", 1, True, (45 + 0.5772 * 5.7 + 1.5) * 8 / 40),
        ("video_rfc8593", 0, False, 1000),
    ],
)
def test_a_stream_has_the_rate_of_its_document(
    entry: str, flow: int, *, up: bool, kbps: float, record_check: RecordCheck
) -> None:
    time_s, sizes = sendings(play(entry), flow, up=up)
    time_s, sizes = time_s[1:-1], sizes[1:-1]
    gaps_s = np.diff(time_s)
    found = float(sizes.mean() * 8 / gaps_s.mean() / 1e3)
    record_check(
        f"`{entry}`" + (f" (flow {flow})" if flow else "") + ", rate",
        expected=kbps,
        measured=found,
        unit="kbit/s",
        accepted=f"within {ERRORS:g} standard errors",
    )
    spread = math.hypot(sizes.std() / sizes.mean(), gaps_s.std() / gaps_s.mean())
    # The rates of games are known to three digits.
    assert abs(found / kbps - 1) < ERRORS * spread / math.sqrt(sizes.size) + 2e-3


def test_video_of_ngmn_has_clipped_sizes_and_spacings(record_check: RecordCheck) -> None:
    time_s, sizes = sendings(play("video_ngmn2008", (("duration_s", 300),)))

    def clipped_mean(shape: float, low: float, high: float) -> float:
        return low + low / (shape - 1) * (1 - math.pow(low / high, shape - 1))

    spacing_s = np.diff(time_s).reshape(-1)[np.arange(1, time_s.size) % 8 != 0]
    rate_bps = sizes.sum() * 8 / 300
    size = clipped_mean(1.2, 40, 250)
    for what, expected, measured, unit, off in (
        ("mean size", size, sizes.mean(), "bytes", 0.02),
        ("mean spacing", clipped_mean(1.2, 2.5, 12.5), spacing_s.mean() * 1e3, "ms", 0.02),
        ("rate", size * 8 * 10 * 8 / 1e3, rate_bps / 1e3, "kbit/s", 0.02),
    ):
        record_check(
            f"`video_ngmn2008`, {what}",
            expected=expected,
            measured=float(measured),
            unit=unit,
            accepted="2% off",
        )
        assert measured == pytest.approx(expected, rel=off)
    assert size == pytest.approx(101.4, abs=0.1)
    assert (sizes == 250).mean() == pytest.approx((40 / 250) ** 1.2, abs=0.01)
    assert sizes.min() == 40


def test_files_of_ngmn_have_sizes_of_a_truncated_lognormal_law(record_check: RecordCheck) -> None:
    sizes, reading_s = files_over_tcp(play("ftp_ngmn2008", (("duration_s", 20_000),)))
    law = Between(stats.lognorm(0.35, scale=math.exp(14.45)), 0, 5e6)
    mean, _ = law.moments()
    record_check(
        "`ftp_ngmn2008`, mean size of files",
        expected=mean / 1e6,
        measured=float(sizes[:-1].mean()) / 1e6,
        unit="MB",
        accepted=f"within {ERRORS:g} standard errors",
    )
    assert ks_distance(sizes[:-1], law) < BY_CHANCE / math.sqrt(sizes.size - 1)
    assert abs(reading_s.mean() - 180) < ERRORS * 180 / math.sqrt(reading_s.size)


def test_a_user_of_model_2_reads_from_the_end_of_a_file_to_the_next(
    record_check: RecordCheck,
) -> None:
    sizes, reading_s = files_over_tcp(play("ftp_3gpp_model2", (("duration_s", 1000),)))
    assert (sizes[:-1] % 500_000 == 0).all()
    shortest_s = WITHIN_S - ONE_WAY_S
    record_check(
        "`ftp_3gpp_model2`, mean of reading times",
        printed=5,
        expected=5,
        measured=float(reading_s.mean()) - shortest_s,  # of an exponential law, from any time on
        unit="s",
        accepted=f"KS below {BY_CHANCE / math.sqrt(reading_s.size):.3f}",
    )
    read = ks_distance(reading_s, Between(stats.expon(scale=5), WITHIN_S - ONE_WAY_S))
    assert read < BY_CHANCE / math.sqrt(reading_s.size)


@pytest.mark.parametrize(
    ("entry", "settings", "size", "gap_s"),
    [
        ("ftp_3gpp_model1", {"duration_s": 200}, 500_000, 1 / 1.5),
        ("ftp_3gpp_model1", {"duration_s": 80, "file_bytes": 2_000_000}, 2_000_000, 1 / 1.5),
        ("ftp_3gpp_model3", {"duration_s": 60}, 500_000, 0.2),
        ("ftp_3gpp_model3_im", {"duration_s": 600}, 100_000, 2.0),
    ],
)
def test_files_arrive_in_a_poisson_process_over_a_connection_each(
    entry: str, settings: dict[str, Any], size: int, gap_s: float, record_check: RecordCheck
) -> None:
    table = play(entry, tuple(settings.items()))
    rows = table.to_client & (table.payload_bytes > 0)
    sizes = np.bincount(table.flow[rows], weights=table.payload_bytes[rows])
    assert (sizes[:-1] == size).all()
    starts_s = np.sort(table.flows.column("first_time_ns").to_numpy()) / 1e9
    gaps_s = np.diff(starts_s)
    name = f"`{entry}`" + (f" (file_bytes={size})" if "file_bytes" in settings else "")
    for what, expected, measured, unit in (
        ("mean of sizes", size, sizes[:-1].mean(), "bytes"),
        ("mean of gaps", gap_s, gaps_s.mean(), "s"),
        ("SD of gaps", gap_s, gaps_s.std(), "s"),
    ):
        record_check(
            f"{name}, {what}",
            expected=expected,
            measured=float(measured),
            unit=unit,
            accepted="the same"
            if unit == "bytes"
            else f"KS below {BY_CHANCE / math.sqrt(gaps_s.size):.3f}",
        )
    law = stats.expon(scale=gap_s)
    assert ks_distance(gaps_s, law) < BY_CHANCE / math.sqrt(gaps_s.size)


LENGTH_S = 21_000


@pytest.mark.parametrize("constant", ["main", "embedded"])
def test_pages_have_objects_of_the_laws_of_the_document(
    constant: str, record_check: RecordCheck
) -> None:
    """Objects of one kind get one size, by which they are told from the other kind."""
    fixed = 123
    settings = {f"{constant}_mu": math.log(fixed), f"{constant}_sigma": 1e-9}
    table = play("web_3gpp2", (*settings.items(), ("duration_s", LENGTH_S)))
    asks_s = table.time_ns[~table.to_client & (table.payload_bytes > 0)] / 1e9
    rows = table.to_client & (table.payload_bytes > 0)
    place = np.searchsorted(asks_s, table.time_ns[rows] / 1e9, side="right") - 1
    sizes = np.bincount(place, weights=table.payload_bytes[rows])[:-1]
    assert set(table.payload_bytes[~table.to_client & (table.payload_bytes > 0)]) == {350}
    others = sizes[sizes != fixed]
    if constant == "embedded":
        law = Between(stats.lognorm(1.37, scale=math.exp(8.37)), 100, 2e6)
        pages = others.size
        # Of a law with infinite variance that is clipped at 53; rounded to whole objects.
        count = 2 + 2 / 0.1 * (1 - (2 / 55) ** 0.1) - 2
        measured = (sizes.size - pages) / pages
        record_check(
            "`web_3gpp2`, embedded objects of a page",
            printed=5.64,
            expected=count,
            measured=measured,
            unit="",
            accepted="0.9 off",
        )
        assert count == pytest.approx(5.64, abs=0.01)
        assert measured == pytest.approx(count, abs=ERRORS * 9.5 / math.sqrt(pages))
        length_s = LENGTH_S / pages
        # Reading, parsing, and a round trip or some for each object.
        error_s = ERRORS * 30 / math.sqrt(pages)
        assert 30.13 - error_s < length_s < 30.13 + 10 * 2 * ONE_WAY_S + error_s
    else:
        law = Between(stats.lognorm(2.36, scale=math.exp(6.17)), 50, 2e6)
        pages = sizes.size - others.size
        mean, sd = law.moments()
        of_a_page = float(others.sum()) / pages
        record_check(
            "`web_3gpp2`, bytes of embedded objects of a page",
            expected=5.64 * mean / 1e3,
            measured=of_a_page / 1e3,
            unit="kB",
            accepted=f"within {ERRORS:g} standard errors",
        )
        error = math.hypot(math.sqrt(5.64) * sd, 10.59 * mean) / math.sqrt(pages)
        assert abs(of_a_page - 5.64 * mean) < ERRORS * error
    distance = ks_distance(others, law)
    assert distance < BY_CHANCE / math.sqrt(others.size)
    record_check(
        f"`web_3gpp2`, median size of {'main' if constant == 'embedded' else 'embedded'} objects",
        expected=float(law.law.ppf((law.law.cdf(law.low) + law.law.cdf(law.high)) / 2)),
        measured=float(np.median(others)),
        unit="bytes",
        accepted=f"KS below {BY_CHANCE / math.sqrt(others.size):.3f}",
    )


def test_devices_send_once_each_evenly_or_in_a_rush(record_check: RecordCheck) -> None:
    rush = play("mtc_3gpp37868")
    assert len(rush) == 10_000
    # The first packet of the table is at 0: the law is compared from there on.
    times_s = rush.time_ns / 1e9
    law = stats.beta(3, 4, scale=10)
    first_s = float(law.mean() - times_s.mean())
    assert 0 < first_s < law.ppf(0.01)
    assert ks_distance(times_s + first_s, law) < BY_CHANCE / 100
    record_check(
        "`mtc_3gpp37868`, SD of the arrivals of model 2",
        expected=law.std(),
        measured=float(times_s.std()),
        unit="s",
        accepted="KS below 0.020",
    )
    at_the_peak = np.abs(times_s + first_s - 4) < 0.25
    peak = float(at_the_peak.mean() / 0.5 * 10)
    expected = (law.cdf(4.25) - law.cdf(3.75)) / 0.5 * 10
    record_check(
        "`mtc_3gpp37868`, arrivals around the peak of model 2, at 4 s, to the mean rate",
        expected=float(expected),
        measured=peak,
        unit="",
        accepted=f"within {ERRORS:g} standard errors",
    )
    assert expected == pytest.approx(2.07, abs=0.01)
    assert abs(peak - expected) < ERRORS * expected / math.sqrt(at_the_peak.sum())
    even = play("mtc_3gpp37868", (("arrivals_model", 1), ("duration_s", 61))).time_ns / 1e9
    assert ks_distance(even, stats.uniform(0, 60)) < BY_CHANCE / 100


GAMES = 400


@pytest.mark.parametrize(
    ("mode", "way", "first", "last"),
    [
        ("status_sync", "dl", (0, 20), (500, 600)),
        ("status_sync", "ul", (0, 20), (400, 550)),
        ("lockstep", "dl", (0, 80), (1400, 1500)),
        ("lockstep", "ul", (0, 80), (500, 600)),
    ],
)
def test_the_first_and_the_last_packet_of_a_game_have_laws_of_their_own(
    mode: str, way: str, first: tuple[int, int], last: tuple[int, int], record_check: RecordCheck
) -> None:
    entry = f"game_rta_{mode}_{way}"
    games = [
        sendings(trafficgen.generate(entry, seed=seed, settings={"duration_s": 1}), up=way == "ul")
        for seed in range(GAMES)
    ]
    assert all(time_s[-1] == pytest.approx(1) for time_s, _ in games)
    for what, place, (low, high) in (("first", 0, first), ("last", -1, last)):
        sizes = np.array([sizes[place] for _, sizes in games])
        assert low <= sizes.min()
        assert sizes.max() <= high
        record_check(
            f"`{entry}`, mean of sizes of {what} packets",
            expected=(low + high) / 2,
            measured=float(sizes.mean()),
            unit="bytes",
            accepted=f"within {ERRORS:g} standard errors",
        )
        error = (high - low) / math.sqrt(12 * GAMES)
        assert abs(sizes.mean() - (low + high) / 2) < ERRORS * error


def test_every_entry_of_a_standard_is_checked_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    names = [name for name in entry_names() if load_entry(name).mechanism.kind == "streams"]
    assert len(names) >= 25
    built = {law.entry for law in LAWS} | {f"video_tgax_bv{n}" for n in range(1, 7)}
    assert [name for name in names if name not in built and f'"{name}"' not in text] == []
