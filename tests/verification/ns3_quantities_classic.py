"""Quantities of NGMN, 3GPP2 and constant streams that ns-3 draws too, with its differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import stats
from tests.verification.ns3_comparison import (
    DRAWS,
    LONGEST_S,
    WAIT_S,
    WHOLE,
    ByMoments,
    Clipped,
    Compared,
    Drawn,
    Floored,
    differences_of,
    gaps_of,
    gumbel_from,
    ns3_gaps_of,
    ns3_sizes_of,
    sizes_of,
)
from tests.verification.ns3_generators import ftp_model_1, sent, web_pages
from tests.verification.standard_laws import ONE_WAY_S, Between, play, sendings

from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray

# The classic set


_HEADERS = "compared without 2 bytes of compressed headers, which ns-3 leaves out"


def list_game_ngmn() -> list[Compared]:
    entry, seconds = "game_ngmn2008", 2400
    down, up = (f"ns3::TrafficGeneratorNgmnGaming[IsDownlink={way}]" for way in ("true", "false"))
    header = 2  # of compressed headers, which ns-3 does not count

    def ours(flow: int, *, to_server: bool) -> Drawn:
        return lambda: sizes_of(entry, flow, up=to_server, duration_s=seconds)() - header

    return [
        Compared(
            entry,
            "sizes to the client",
            Floored(gumbel_from(120, 36)),
            ours(0, to_server=False),
            ns3_sizes_of(down, seconds),
            why=_HEADERS,
        ),
        Compared(
            entry,
            "sizes to the server",
            Floored(gumbel_from(45, 5.7)),
            ours(1, to_server=True),
            ns3_sizes_of(up, seconds),
            why=_HEADERS,
        ),
        Compared(
            entry,
            "gaps to the server",
            ByMoments(0.04),
            gaps_of(entry, 1, up=True, duration_s=seconds),
            ns3_gaps_of(up, seconds),
            unit="ms",
            per_draw=1e3,
            printed=(0.04, None),
        ),
        Compared(
            entry,
            "gaps to the client",
            gumbel_from(0.055, 0.006),
            gaps_of(entry, duration_s=seconds),
            ns3_gaps_of(down, seconds),
            unit="ms",
            per_draw=1e3,
            ns3_law=Floored(stats.gumbel_r(0.055, 0.0057), 0.001),
            why="ns-3 has b = 5.7 ms for 6, and cuts gaps down to whole milliseconds",
        ),
    ]


def list_video_ngmn() -> list[Compared]:
    entry, generator, seconds = "video_ngmn2008", "ns3::TrafficGeneratorNgmnVideo", 600
    spacing = Clipped(stats.pareto(1.2, scale=0.0025), 0.0125)

    def frames(time_s: FloatArray, packets: int) -> FloatArray:
        starts_s = time_s[::packets]
        return differences_of(starts_s)

    def within(gaps_s: FloatArray, packets: int) -> FloatArray:
        return np.asarray(gaps_s[np.arange(1, gaps_s.size + 1) % packets != 0])

    def ours() -> tuple[FloatArray, FloatArray]:
        return sendings(play(entry, (("duration_s", seconds),)))

    return [
        Compared(
            entry,
            "sizes",
            Clipped(stats.pareto(1.2, scale=40), 250),
            lambda: ours()[1],
            ns3_sizes_of(generator, seconds),
            printed=(100, None),
            ns3_law=Floored(Clipped(stats.pareto(1.2, scale=40), 250)),
            why=WHOLE,
        ),
        Compared(
            entry,
            "frame intervals",
            ByMoments(0.1),
            lambda: frames(ours()[0], 8),
            lambda: frames(sent(generator, seconds)[0], 20),
            unit="ms",
            per_draw=1e3,
            printed=(0.1, None),
            ns3_law=ByMoments(
                0.1 + 19 * spacing.moments()[0], math.sqrt(19) * spacing.moments()[1]
            ),
            why="ns-3 has 20 packets a frame, not 8, and counts the interval from the last",
        ),
        Compared(
            entry,
            "spacings",
            spacing,
            lambda: within(differences_of(ours()[0]), 8),
            lambda: within(ns3_gaps_of(generator, seconds)(), 20),
            unit="ms",
            per_draw=1e3,
            printed=(0.006, None),
        ),
    ]


def _waits(entry: str, mean_s: float, **settings: Any) -> Drawn:
    """Return waits of mean 1, drawn with a mean of half a second, between files of one packet."""

    def draw() -> FloatArray:
        table = play(entry, (*settings.items(), ("duration_s", LONGEST_S)))
        times_s = table.time_ns[table.to_client & (table.payload_bytes > 0)] / 1e9
        return (np.diff(times_s) - ONE_WAY_S) * mean_s / WAIT_S

    return draw


def list_ftp_ngmn() -> list[Compared]:
    entry, smaller = "ftp_ngmn2008", 1000
    generator = "ns3::TrafficGeneratorNgmnFtpMulti[PacketSize=2048]"
    # Files of a thousandth: 40,000 of them have 80 GB.
    scaled = {
        "size_mu": 14.45 - math.log(smaller),
        "size_high_bytes": 5e6 / smaller,
        "reading_s": WAIT_S,
        "duration_s": LONGEST_S,
    }
    seconds = 180 * 12_000
    return [
        Compared(
            entry,
            "sizes",
            Between(stats.lognorm(0.35, scale=math.exp(14.45)), 0, 5e6),
            lambda: _ended_by_short_packets(play(entry, tuple(scaled.items()))) * smaller,
            ns3_sizes_of(generator, seconds),
            unit="MB",
            per_draw=1e-6,
            printed=(2e6, 0.722e6),
            why="ns-3 rounds up to whole writes (512 bytes by default)",
        ),
        Compared(
            entry,
            "reading times",
            Between(stats.expon(scale=180)),
            _waits(entry, 180, size_mu=math.log(1e3), size_sigma=1e-9, reading_s=WAIT_S),
            ns3_gaps_of(generator, seconds),
            unit="s",
            printed=(180, None),
        ),
    ]


def list_ftp_model_1() -> list[Compared]:
    entry, size, per_s = "ftp_3gpp_model1", 500_000, 1.5
    write = 1448

    def ours() -> PacketTable:
        return play(entry, (("duration_s", 8000),))

    def files() -> FloatArray:
        table = ours()
        rows = table.to_client & (table.payload_bytes > 0)
        sizes = np.bincount(table.flow[rows], weights=table.payload_bytes[rows])
        return sizes[:-1].astype(float)

    def gaps() -> FloatArray:
        starts_ns = ours().flows.column("first_time_ns").to_numpy()
        return np.asarray(np.diff(np.sort(starts_ns)) / 1e9)

    return [
        Compared(
            entry,
            "sizes",
            ByMoments(size),
            files,
            lambda: ftp_model_1(size, per_s, 100)[1],
            printed=(size, None),
            ns3_law=ByMoments(math.ceil(size / write) * write),
            why=f"ns-3 rounds up to whole writes of {write:,} bytes, over UDP and at once",
        ),
        Compared(
            entry,
            "gaps",
            Between(stats.expon(scale=1 / per_s)),
            gaps,
            lambda: differences_of(ftp_model_1(write, per_s, DRAWS)[0]),
            unit="s",
            why="ns-3 serves users in turn, where the text has them at random",
        ),
    ]


def _ended_by_short_packets(table: PacketTable) -> FloatArray:
    """Return sizes of files, bytes, that end with a packet that is not full (1 in 1,448 is)."""
    payload = table.payload_bytes[table.to_client & (table.payload_bytes > 0)]
    ends = np.flatnonzero(payload < payload.max()) + 1
    return np.add.reduceat(payload, [0, *ends[:-1]]).astype(float)


def _objects(kind: str, **settings: Any) -> FloatArray:
    """Return sizes of the objects of web pages but those of one kind, which have a fixed size."""
    fixed = 123
    changed = {f"{kind}_mu": math.log(fixed), f"{kind}_sigma": 1e-9, "reading_s": WAIT_S}
    table = play("web_3gpp2", (*(changed | settings).items(), ("duration_s", LONGEST_S)))
    asks_s = table.time_ns[~table.to_client & (table.payload_bytes > 0)] / 1e9
    rows = table.to_client & (table.payload_bytes > 0)
    place = np.searchsorted(asks_s, table.time_ns[rows] / 1e9, side="right") - 1
    return np.bincount(place, weights=table.payload_bytes[rows]).astype(float)[:-1]


def list_web() -> list[Compared]:
    fixed = 123

    def others(kind: str) -> FloatArray:
        sizes = _objects(kind)
        return np.asarray(sizes[sizes != fixed])

    def counts() -> FloatArray:
        sizes = _objects("embedded")
        mains = np.flatnonzero(sizes != fixed)
        return np.diff(mains).astype(float) - 1

    main = Between(stats.lognorm(1.37, scale=math.exp(8.37)), 100, 2e6)
    embedded = Between(stats.lognorm(2.36, scale=math.exp(6.17)), 50, 2e6)
    solved = _lognormal_of(10_710, 25_032)
    solved_embedded = _lognormal_of(7_758, 126_168)
    count = Clipped(stats.pareto(1.1, loc=-2, scale=2), 53)
    return [
        Compared(
            "web_3gpp2",
            "sizes of main objects",
            main,
            lambda: others("embedded"),
            lambda: web_pages(DRAWS)["main"],
            unit="kB",
            per_draw=1e-3,
            printed=(10_710, 25_032),
            ns3_law=Between(solved, 100, 2e6),
            why="ns-3 solves mu and sigma from the mean and the SD that the document prints",
        ),
        Compared(
            "web_3gpp2",
            "sizes of embedded objects",
            embedded,
            lambda: others("main"),
            lambda: web_pages(DRAWS)["embedded"],
            unit="kB",
            per_draw=1e-3,
            printed=(7_758, 126_168),
            ns3_law=Floored(Between(solved_embedded, 50, 2e6)),
            why="ns-3 solves mu and sigma from the mean and the SD that the document prints",
        ),
        Compared(
            "web_3gpp2",
            "embedded objects of a page",
            count,
            counts,
            lambda: web_pages(DRAWS)["objects"],
            unit="",
            printed=(5.64, None),
            ns3_law=Floored(Between(stats.pareto(1.1, loc=-2, scale=2), 0, 53)),
            why="ns-3 draws again above 55 and cuts down; only a clip gives the document's 5.64",
        ),
        *(
            Compared(
                "web_3gpp2",
                f"{name} times",
                Between(stats.expon(scale=mean_s)),
                partial(_think_time, name),
                partial(_think_time_of_ns3, name),
                unit="s",
                printed=(mean_s, None),
            )
            for name, mean_s in (("reading", 30.0), ("parsing", 0.13))
        ),
    ]


def _think_time(name: str) -> FloatArray:
    return _think_times()[name]


def _think_time_of_ns3(name: str) -> FloatArray:
    return web_pages(DRAWS)[name]


@cache
def _think_times() -> dict[str, FloatArray]:
    """Return reading and parsing times of web pages, s, drawn with a reading time of ``WAIT_S``."""
    main, embedded = 123, 456
    settings = {"main_mu": math.log(main), "embedded_mu": math.log(embedded), "reading_s": WAIT_S}
    settings |= {"main_sigma": 1e-9, "embedded_sigma": 1e-9, "duration_s": LONGEST_S}
    table = play("web_3gpp2", tuple(settings.items()))
    rows = table.payload_bytes > 0
    time_s, is_object = table.time_ns[rows] / 1e9, table.to_client[rows]
    answers = np.flatnonzero(is_object[:-1])
    size = table.payload_bytes[rows][answers]
    wait_s = time_s[answers + 1] - time_s[answers]
    follows = np.append(size[1:], main)
    travel_s = wait_s[(size == embedded) & (follows == embedded)].min()
    return {
        "parsing": wait_s[(size == main) & (follows == embedded)] - travel_s,
        "reading": (wait_s[(size == embedded) & (follows == main)] - travel_s)[:-1] * 30 / WAIT_S,
    }


# Constants


def list_constants() -> list[Compared]:
    seconds = 100
    audio, pose = (f"ns3::TrafficGenerator3gpp{name}" for name in ("AudioData", "PoseControl"))
    audio += "[DataRate=1.12]"
    shorter = "ns-3 sends each 4 ms by default, not 10; the rate is the same"
    voice = ("voip_ngmn2008", "ns3::TrafficGeneratorNgmnVoip", 40)

    def in_talk(times: Callable[[], tuple[FloatArray, FloatArray]], what: str) -> Drawn:
        def draw() -> FloatArray:
            time_s, sizes = times()
            talks = sizes == voice[2]
            if what == "sizes":
                return np.asarray(sizes[talks])
            return np.asarray(differences_of(time_s)[talks[:-1] & talks[1:]])

        return draw

    def call() -> tuple[FloatArray, FloatArray]:
        return sendings(play(voice[0], (("duration_s", seconds),)), 1, up=True)

    ms: dict[str, Any] = {"unit": "ms", "per_draw": 1e3}
    data, place = "xr_3gpp38838_audio_data", "xr_3gpp38838_pose"
    return [
        Compared(
            data,
            "sizes",
            ByMoments(1400),
            sizes_of(data, duration_s=seconds),
            ns3_sizes_of(audio, seconds),
            ns3_law=ByMoments(560),
            why=shorter,
        ),
        Compared(
            data,
            "gaps",
            ByMoments(0.010),
            gaps_of(data, duration_s=seconds),
            ns3_gaps_of(audio, seconds),
            **ms,
            printed=(0.010, None),
            ns3_law=ByMoments(0.004),
            why=shorter,
        ),
        Compared(
            place,
            "sizes",
            ByMoments(100),
            sizes_of(place, up=True, duration_s=seconds),
            ns3_sizes_of(pose, seconds),
            printed=(100, None),
        ),
        Compared(
            place,
            "gaps",
            ByMoments(0.004),
            gaps_of(place, up=True, duration_s=seconds),
            ns3_gaps_of(pose, seconds),
            **ms,
            printed=(0.004, None),
        ),
        Compared(
            voice[0],
            "sizes in talk",
            ByMoments(40),
            in_talk(call, "sizes"),
            in_talk(lambda: sent(voice[1], seconds), "sizes"),
            printed=(40, None),
        ),
        Compared(
            voice[0],
            "gaps in talk",
            ByMoments(0.02),
            in_talk(call, "gaps"),
            in_talk(lambda: sent(voice[1], seconds), "gaps"),
            **ms,
            printed=(0.02, None),
            ns3_law=ByMoments(40 * 8 / 12_200),
            why="ns-3 spaces packets by their bits at 12.2 kbit/s, headers included",
        ),
    ]


def _lognormal_of(mean: float, sd: float) -> Any:
    variance = math.log(1 + (sd / mean) ** 2)
    return stats.lognorm(math.sqrt(variance), scale=mean / math.exp(variance / 2))
