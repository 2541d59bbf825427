"""What may stand as a destination in the scripts of sending tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.export.schedules import steady

import trafficgen
from trafficgen.errors import SettingError
from trafficgen.export import TARGETS

_SENDERS = [name for name, target in TARGETS.items() if any(one.name == "destination" for one in target.settings)]
_NO_DESTINATIONS = (
    *("", " ", "-x", "a b", "a\nb", "$(x)", "`x`", "a'b", "x; touch broken", "}; touch broken; #", "%n"),
    *("127.0.0.1/5000", "192.0.2.7:80", "[::1]", "192.0.2.0/24", "http://example.org"),
    *("999.1.1.1", "1.2.3", "7", "a:b:c", "::g", "::1%", "::1%$(x)", "a..b", "host-.org", "x" * 64, "x." * 130),
)


def test_the_senders_are_those_of_scripts() -> None:
    assert set(_SENDERS) == {"iperf2", "iperf3", "mgen", "ditg"}


@pytest.mark.parametrize("name", _SENDERS)
@pytest.mark.parametrize("destination", _NO_DESTINATIONS)
def test_what_is_neither_an_address_nor_a_name_is_refused(tmp_path: Path, name: str, destination: str) -> None:
    with pytest.raises(SettingError, match="neither an IP address nor a host name"):
        trafficgen.export(steady(), to=name, directory=tmp_path / "out", settings={"destination": destination})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", _SENDERS)
@pytest.mark.parametrize(
    "destination",
    [
        *("192.0.2.7", "2001:db8::7", "::1", "fe80::1%eth0", "::ffff:192.0.2.7"),
        "localhost",
        "a-1.example.org.",
        "my_pc",
    ],
)
def test_addresses_and_names_stand_in_the_scripts(tmp_path: Path, name: str, destination: str) -> None:
    trafficgen.export(steady(), to=name, directory=tmp_path, settings={"destination": destination})
    assert any(destination in path.read_text() for path in tmp_path.glob("flow0.*"))
