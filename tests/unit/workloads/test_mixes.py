"""Mixes of standards: workload files that come with trafficgen, by their names."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import trafficgen
from trafficgen.workloads.files import is_workload_file, mix_names


@pytest.mark.parametrize("name", mix_names())
def test_a_mix_is_found_by_its_name_and_plays(name: str, tmp_path: Path) -> None:
    assert is_workload_file(name)
    assert trafficgen.load_workload(name).name == name
    report = trafficgen.generate_workload(name, tmp_path / "out.parquet", sessions=4)
    assert report.sessions == 4


def test_users_of_the_ngmn_mix_have_its_shares() -> None:
    mix = trafficgen.load_workload("ngmn_mix")
    assert mix.sessions == 1000
    shares = {group.model.name: group.share for group in mix.groups}
    assert shares == {
        "voip_ngmn2008": 0.3,
        "web_3gpp2": 0.2,
        "video_ngmn2008": 0.2,
        "game_ngmn2008": 0.2,
        "ftp_ngmn2008": 0.1,
    }


def test_users_of_the_xr_mix_are_judged_by_their_delay_budgets() -> None:
    wide, narrow = (
        trafficgen.simulate_workload("xr_mix", path=f"rate={rate},delay=1ms", duration_s=1)
        for rate in ("1Gbps", "60Mbps")
    )
    users = Counter(one.satisfied for one in wide.sessions)
    assert users == {True: 6}
    assert sum(bool(one.satisfied) for one in narrow.sessions) < 6


def test_a_file_of_the_name_of_a_mix_counts_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("xr_mix").write_text("{}")
    assert not is_workload_file("xr_mix")
