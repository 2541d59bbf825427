"""Each model of a standard is exported to every target; those that cannot hold it say why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen.export.targets import TARGETS
from trafficgen.models.published import entry_names, load_entry, parameters_for_engine
from trafficgen.tables import PacketTable

pytestmark = pytest.mark.long

NAMES = [name for name in entry_names() if load_entry(name).mechanism.kind == "streams"]


def has_uplink(name: str) -> bool:
    flows: Any = parameters_for_engine(load_entry(name))["flows"]
    return any(flow["direction"] == "up" for flow in flows)


UPLINKS = [name for name in NAMES if has_uplink(name)]
#: Targets that send one direction, the client's unless they are told otherwise.
ONE_WAY = [
    name
    for name, target in TARGETS.items()
    if ("direction", "to_client") in {(one.name, one.default) for one in target.settings}
]
#: What differs from a second of the entry: fewer packets, or a longer one for a first file.
SETTINGS: dict[str, dict[str, Any]] = {
    "mtc_3gpp37868": {"devices_count": 20},
    "ftp_3gpp_model1": {"duration_s": 3},
    "ftp_3gpp_model3_im": {"duration_s": 10},
    "speech_itup59": {"duration_s": 5},
}
#: What a target is asked for next where it refuses a table, and why it refuses.
ALTERNATIVES: dict[str, dict[str, str] | None] = {
    "add settings={'direction': 'to_server'}": {"direction": "to_server"},
    "add settings={'mode': 'exact'}": {"mode": "exact"},
    "mgen writes at most 8192 bytes at once": None,
    "choose a flow of UDP or a target that sends TCP": None,
}


def play(name: str) -> PacketTable:
    return trafficgen.generate(name, seed=2, settings={"duration_s": 1, **SETTINGS.get(name, {})})


def export(table: PacketTable, target: str, folder: Path) -> dict[str, str] | None:
    """Export a table, with the settings that a refusal asks for, and return these; None where it
    is refused for good.
    """
    asked: dict[str, str] = {}
    for _ in ALTERNATIVES:
        try:
            report = trafficgen.export(table, to=target, directory=folder, settings=asked)
        except trafficgen.ExportError as error:
            (remedy,) = [then for reason, then in ALTERNATIVES.items() if reason in str(error)]
            if remedy is None:
                return None
            asked |= remedy
        else:
            assert report.files
            assert all((folder / file).exists() for file in report.files)
            return asked
    pytest.fail(f"{target} refuses with {asked}")


@pytest.mark.parametrize("name", NAMES)
def test_a_model_plays_into_every_target_that_can_hold_it(name: str, tmp_path: Path) -> None:
    table = play(name)
    refused = {target for target in TARGETS if export(table, target, tmp_path / target) is None}
    assert {name for name in refused if TARGETS[name].protocols != "UDP"} <= {"mgen"}


@pytest.mark.parametrize("name", UPLINKS)
def test_an_uplink_alone_is_refused_with_the_setting_that_sends_it(
    name: str, tmp_path: Path
) -> None:
    table = play(name)
    sent = ~table.to_client & (table.payload_bytes > 0)
    table = table.select_flows(np.unique(table.flow[sent]).tolist())
    for target in ONE_WAY:
        asked = export(table, target, tmp_path / target)
        if asked is None:
            assert name == "vdi_tgax" or TARGETS[target].protocols == "UDP", "a target of UDP"
        elif (name, target) != ("vdi_tgax", "trex"):  # acknowledgements are frames, too
            assert asked["direction"] == "to_server"
