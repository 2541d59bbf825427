from __future__ import annotations

from dataclasses import replace

import numpy as np

from trafficgen.calibration.phases.phase_rows import divide_stream
from trafficgen.calibration.phases.rebuffering import Stall
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.units import IntArray, ns_array_from_s

PHASES = Phases(0.0, 10.0, 9.0, 11.0, 100.0, 800.0, 400.0)


def every_second(*until: tuple[int, int]) -> IntArray:
    return ns_array_from_s(
        np.concatenate([np.arange(start, stop, dtype=np.float64) for start, stop in until])
    )


def named(time_ns: IntArray, phases: Phases) -> list[tuple[str, int, int, float, float]]:
    return [
        (part.name, part.start, part.stop, part.start_s, part.end_s)
        for part in divide_stream(time_ns, phases, zero_ns=0)
    ]


def test_the_packet_at_the_end_of_buffering_belongs_to_the_side_that_is_said() -> None:
    time_ns = every_second((0, 101))
    assert named(time_ns, PHASES) == [("buffering", 0, 10, 0, 10), ("playout", 10, 101, 10, 100)]
    assert named(time_ns, replace(PHASES, side="right"))[0] == ("buffering", 0, 11, 0, 10)


def test_buffering_is_divided_where_its_rate_falls_but_not_beyond_its_end() -> None:
    phases = replace(PHASES, side="right", falls_s=(4.0, 12.0))
    assert named(every_second((0, 101)), phases) == [
        ("buffering", 0, 4, 0, 4),
        ("buffering", 4, 11, 4, 10),
        ("playout", 11, 101, 10, 100),
    ]


def test_a_stall_is_a_gap_and_its_refill_a_phase() -> None:
    stall = Stall(start_s=40, end_s=50, refill_end_s=60, refill_kbps=800.0)
    time_ns = every_second((0, 41), (50, 101))
    assert named(time_ns, replace(PHASES, stalls=(stall,))) == [
        ("buffering", 0, 10, 0, 10),
        ("playout", 10, 41, 10, 40),
        ("rebuffering", 41, 52, 50, 60),
        ("playout", 52, 92, 60, 100),
    ]
    without_refill = replace(stall, refill_end_s=50, refill_kbps=None)
    assert [part[0] for part in named(time_ns, replace(PHASES, stalls=(without_refill,)))] == [
        "buffering",
        "playout",
        "playout",
    ]


def test_a_stray_has_the_packet_before_it_and_so_a_gap() -> None:
    time_ns = every_second((0, 31), (100, 101))
    assert named(time_ns, replace(PHASES, playout_end_s=30.0)) == [
        ("buffering", 0, 10, 0, 10),
        ("playout", 10, 31, 10, 30),
        ("end", 30, 32, 30, 100),
    ]


def test_phases_reach_no_further_than_the_streams_own_packets() -> None:
    assert named(every_second((5, 9)), PHASES) == [("buffering", 0, 4, 5, 8)]
    assert named(every_second((20, 31)), PHASES) == [("playout", 0, 11, 20, 30)]


def test_phases_leave_out_a_silence_longer_than_their_packets() -> None:
    """A stream of half a millisecond in a phase of a year was played as 3 * 10**12 packets."""
    time_ns = every_second((0, 4), (9, 20), (97, 99))
    assert named(time_ns, PHASES) == [("buffering", 0, 5, 0, 10), ("playout", 5, 17, 10, 98)]
    assert named(every_second((0, 4), (60, 62)), PHASES) == [
        ("buffering", 0, 4, 0, 3),  # of 10 s
        ("playout", 4, 6, 60, 61),  # not from 10 s on
    ]
    assert named(every_second((0, 6), (60, 62)), PHASES)[0] == ("buffering", 0, 6, 0, 10)
