"""What may stand as a destination in the scripts of sending tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.export.schedules import steady, table_of
from tests.unit.export.targets.test_ditg_model import SIZE, model_of
from tests.unit.export.test_iperf_runs import GAP

import trafficgen
from trafficgen.errors import SettingError
from trafficgen.export.targets import TARGETS

_SENDERS = [
    name
    for name, target in TARGETS.items()
    if any(one.name == "destination" for one in target.settings)
]
_NO_DESTINATIONS = (
    *(
        "",
        " ",
        "-x",
        "a b",
        "a\nb",
        "$(x)",
        "`x`",
        "a'b",
        "x; touch broken",
        "}; touch broken; #",
        "%n",
    ),
    *("127.0.0.1/5000", "192.0.2.7:80", "[::1]", "192.0.2.0/24", "http://example.org"),
    *(
        "999.1.1.1",
        "1.2.3",
        "7",
        "a:b:c",
        "::g",
        "::1%",
        "::1%$(x)",
        "a..b",
        "host-.org",
        "x" * 64,
        "x." * 130,
    ),
)


def test_the_senders_are_those_of_scripts() -> None:
    assert set(_SENDERS) >= {"iperf2", "iperf3", "mgen", "ditg"}


@pytest.mark.parametrize("name", _SENDERS)
@pytest.mark.parametrize("destination", _NO_DESTINATIONS)
def test_what_is_neither_an_address_nor_a_name_is_refused(
    tmp_path: Path, name: str, destination: str
) -> None:
    with pytest.raises(SettingError, match="neither an IP address nor a host name"):
        trafficgen.export(
            steady(), to=name, directory=tmp_path / "out", settings={"destination": destination}
        )
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
def test_addresses_and_names_stand_in_the_scripts(
    tmp_path: Path, name: str, destination: str
) -> None:
    trafficgen.export(steady(), to=name, directory=tmp_path, settings={"destination": destination})
    assert any(destination in path.read_text() for path in tmp_path.glob("flow0.*"))


def test_on_one_machine_mgen_does_not_send_from_ports_that_its_sink_listens_on(
    tmp_path: Path,
) -> None:
    same = {"first_port": 6000, "first_source_port": 6000}
    with pytest.raises(
        SettingError,
        match=r"port 6000 would be sent from and sent to on 127\.0\.0\.1; choose first_source",
    ):
        trafficgen.export(steady(), to="mgen", directory=tmp_path / "out", settings=same)
    last = {"first_port": 65535, "first_source_port": 65535}
    with pytest.raises(SettingError, match="choose first_source_port=65534"):
        trafficgen.export(steady(), to="mgen", directory=tmp_path / "out", settings=last)
    assert list(tmp_path.iterdir()) == []
    trafficgen.export(
        steady(),
        to="mgen",
        directory=tmp_path / "out",
        settings={**same, "destination": "192.0.2.7"},
    )
    assert "SRC 6000 DST 192.0.2.7/6000" in (tmp_path / "out" / "flow0.mgn").read_text()


def test_no_tcp_flow_goes_to_the_port_on_which_itgrecv_is_told_of_flows(tmp_path: Path) -> None:
    place = np.arange(100)
    tcp = table_of(place * 10_000_000, np.full(100, 1000), protocol="tcp")
    with pytest.raises(
        SettingError, match="a TCP flow would be sent to port 9000, on which ITGRecv listens"
    ):
        trafficgen.export(tcp, to="ditg", directory=tmp_path / "out", settings={"first_port": 9000})
    trafficgen.export(
        steady(), to="ditg", directory=tmp_path / "udp", settings={"first_port": 9000}
    )
    udp = model_of(gap=GAP, size=SIZE)
    transport = udp.streams[0].transport.model_copy(update={"protocol": "tcp", "header_bytes": 40})
    over_tcp = udp.streams[0].model_copy(update={"transport": transport})
    model = udp.model_copy(update={"streams": (over_tcp,)})
    with pytest.raises(SettingError, match="another signal_port or first_port"):
        trafficgen.export(
            model, to="ditg", directory=tmp_path / "out", settings={"signal_port": 10001}
        )
