"""Each model of a standard is exported to every target; those that cannot hold it say why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trafficgen
from trafficgen.export.targets import TARGETS
from trafficgen.models.published import entry_names, load_entry

pytestmark = pytest.mark.long
NAMES = [name for name in entry_names() if load_entry(name).mechanism.kind == "streams"]
#: What differs from a second of the entry: fewer packets, or a longer one for a first file.
SETTINGS: dict[str, dict[str, Any]] = {
    "mtc_3gpp37868": {"devices_count": 20},
    "ftp_3gpp_model1": {"duration_s": 3},
    "ftp_3gpp_model3_im": {"duration_s": 10},
    "speech_itup59": {"duration_s": 5},
}
#: What a target is asked for next where it refuses a table, and why it refuses.
ALTERNATIVES: dict[str, dict[str, str] | None] = {
    "no packet goes to the client": {"direction": "to_server"},
    "add settings={'mode': 'exact'}": {"mode": "exact"},
    "otg sends UDP and the packets to the client are TCP": None,
    "mgen writes at most 8192 bytes at once": None,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_model_plays_into_every_target_that_can_hold_it(name: str, tmp_path: Path) -> None:
    table = trafficgen.generate(name, seed=2, settings={"duration_s": 1, **SETTINGS.get(name, {})})
    for target in TARGETS:
        asked: dict[str, str] | None = {}
        while asked is not None:
            try:
                report = trafficgen.export(
                    table, to=target, directory=tmp_path / target, settings=asked
                )
            except trafficgen.ExportError as error:
                (reason,) = [one for one in ALTERNATIVES if one in str(error)]
                if asked == ALTERNATIVES[reason]:
                    raise
                asked = ALTERNATIVES[reason]
            else:
                assert report.files
                assert all((tmp_path / target / file).exists() for file in report.files)
                asked = None
    refused = {*TARGETS} - {one.name for one in tmp_path.iterdir()}
    assert refused <= {"otg", "mgen"}
