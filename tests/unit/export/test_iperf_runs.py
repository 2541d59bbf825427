"""The scripts that run a tool once a file: which files they name, and what they tell of a run that
fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.unit.export.schedules import steady
from tests.unit.export.targets.test_ditg_model import SIZE, model_of

import trafficgen
from trafficgen.models import Law

pytestmark = pytest.mark.skipif(shutil.which("sh") is None, reason="not installed: sh")

GAP = Law(unit="s", family="expon", params={"loc": 0.0, "scale": 0.02}, observations=1)


def _stub(folder: Path, name: str, *, status: int) -> dict[str, str]:
    """Make a tool that notes its arguments, and return an environment in which it is found
    first.
    """
    folder.mkdir(exist_ok=True)
    tool = folder / name
    tool.write_text(f'#!/bin/sh\necho "$@" >> "{folder}/calls"\nexit {status}\n')
    tool.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def test_mgen_is_run_on_the_scripts_of_this_export_alone(tmp_path: Path) -> None:
    out = tmp_path / "it's a folder"
    out.mkdir()
    (out / "flow0-1.mgn").write_text(
        "0.0 ON 1 UDP DST 127.0.0.1/5000 PERIODIC [1 100]\n"
    )  # someone's own
    trafficgen.export(steady(), to="mgen", directory=out)
    assert len(list(out.glob("flow*.mgn"))) == 2
    subprocess.run(
        ["sh", str(out / "run.sh")],
        env=_stub(tmp_path / "bin", "mgen", status=0),
        check=True,
        cwd="/",
    )
    calls = (tmp_path / "bin" / "calls").read_text().splitlines()
    assert [call.partition(" input ")[2] for call in calls] == ["flow0.mgn txlog output flow0.log"]


def test_a_run_of_mgen_that_fails_is_told_by_the_status(tmp_path: Path) -> None:
    trafficgen.export(steady(), to="mgen", directory=tmp_path / "out")
    environment = _stub(tmp_path / "bin", "mgen", status=3)
    assert (
        subprocess.run(
            ["sh", str(tmp_path / "out" / "run.sh")], env=environment, check=False
        ).returncode
        == 1
    )


@pytest.mark.parametrize(("status", "expected"), [(0, 0), (3, 1)])
def test_itgsend_is_run_on_the_scripts_of_this_export_alone(
    tmp_path: Path, status: int, expected: int
) -> None:
    out = tmp_path / "it's a folder"
    out.mkdir()
    (out / "earlier.script").write_text("-a 127.0.0.1\n")
    report = trafficgen.export(model_of(gap=GAP, size=SIZE), to="ditg", directory=out)
    environment = _stub(tmp_path / "bin", "ITGSend", status=status)
    assert (
        subprocess.run(["sh", str(out / "run.sh")], env=environment, check=False).returncode
        == expected
    )
    called = {call.split()[0] for call in (tmp_path / "bin" / "calls").read_text().splitlines()}
    assert called == {name for name in report.files if name.endswith(".script")}


@pytest.mark.parametrize("target", ["mgen", "iperf2", "iperf3", "tcpreplay", "mahimahi"])
def test_scripts_find_their_folder_wherever_cd_searches(tmp_path: Path, target: str) -> None:
    """With CDPATH, `cd` goes to other folders and prints where it went."""
    trafficgen.export(steady(), to=target, directory=tmp_path / "out")
    (tmp_path / "elsewhere" / "out").mkdir(parents=True)
    scripts = list((tmp_path / "out").glob("*.sh"))
    assert scripts
    for script in scripts:
        lines = script.read_text().splitlines()
        (found,) = [line for line in lines if "cd " in line and "dirname" in line]
        own = found if found.startswith("here=") else f"{found}; here=$(pwd)"
        shell = [*("sh", "-c"), f'{own}; echo "$here"', str(Path("out") / script.name)]
        environment = {**os.environ, "CDPATH": str(tmp_path / "elsewhere")}
        said = subprocess.run(
            shell, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        assert said == f"{tmp_path / 'out'}\n"


def test_the_readme_of_iperf3_captures_what_it_sends_of_the_schedule_alone(tmp_path: Path) -> None:
    trafficgen.export(
        steady(),
        to="iperf3",
        directory=tmp_path / "out",
        settings={"servers": 2, "first_port": 6000},
    )
    readme = (tmp_path / "out" / "README.md").read_text()
    wanted = "udp and dst portrange 6000-6001 and udp[4:2] > 12"
    assert f"'{wanted}'" in readme
    if shutil.which("tcpdump") is not None:
        subprocess.run(["tcpdump", "-d", "-y", "EN10MB", wanted], check=True, capture_output=True)


def test_the_readme_of_a_model_says_how_close_the_run_comes(tmp_path: Path) -> None:
    trafficgen.export(model_of(gap=GAP, size=SIZE), to="ditg", directory=tmp_path / "out")
    readme = (tmp_path / "out" / "README.md").read_text()
    assert (
        "trafficgen generate MODEL.json -o wanted.parquet\ntrafficgen compare wanted.parquet"
        " sent.pcap --all" in readme
    )
