from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from trafficgen.calibration.response.switch_hazards import (
    LevelAssociation,
    SwitchHazard,
    associate_switches,
)
from trafficgen.flows import choose_session
from trafficgen.processes.semi_markov.rate_levels import Levels
from trafficgen.tables import PacketTable
from trafficgen.units import ns_array_from_s

TableMaker = Callable[..., PacketTable]

#: 600 s of 20 packets a second; every 20 s the source steps down, ten seconds later up again.
TIME_S = np.arange(12_000) * 0.05


def levels() -> Levels:
    edge_s = np.append(np.arange(0.0, 600.0, 10.0), 600.0)
    level = np.arange(60) % 2 == 0
    return Levels(
        np.array([1e4, 2e4]), ns_array_from_s(edge_s), level.astype(np.int64), evidence_bic=50.0
    )


def sequence(lost_before: Callable[[float], bool]) -> list[int]:
    number, numbers = 0, []
    for time_s in TIME_S.tolist():
        number = (number + (2 if lost_before(time_s) else 1)) % 65536
        numbers.append(number)
    return numbers


def session(make_table: TableMaker, **columns: Any) -> PacketTable:
    return make_table(TIME_S, rtp_ssrc=1, **columns)


def test_loss_before_each_step_down_goes_with_it(make_table: TableMaker) -> None:
    numbers = sequence(lambda time_s: 6 <= time_s % 20 < 10 and round(time_s * 20) % 3 == 0)
    view = choose_session(session(make_table, rtp_sequence=numbers))
    found = associate_switches(view, levels())
    assert isinstance(found, LevelAssociation)
    assert isinstance(found.down, SwitchHazard)
    assert found.down.odds_ratio_per_sd["loss"].low > 1
    assert found.down.p_value < 0.01
    assert found.down.switches == 30


def test_few_switches_and_missing_numbers_give_a_reason(make_table: TableMaker) -> None:
    view = choose_session(make_table(TIME_S))
    few = Levels(
        np.array([1.0, 2.0]),
        ns_array_from_s(np.array([0.0, 300, 600])),
        np.array([0, 1]),
        evidence_bic=50.0,
    )
    assert associate_switches(view, few) == "1 switches, 10 are needed"
    assert (
        associate_switches(view, levels())
        == "neither RTP nor TCP sequence numbers in the media flows"
    )


def test_a_session_of_years_is_not_cut_into_seconds(make_table: TableMaker) -> None:
    view = choose_session(session(make_table, rtp_sequence=sequence(lambda time_s: False)))
    found = levels()
    edge_ns = found.edge_ns.copy()
    edge_ns[-1] = int(1e9 * 1e9)
    assert associate_switches(view, dataclasses.replace(found, edge_ns=edge_ns)) == (
        "the session is longer than 30 days"
    )
