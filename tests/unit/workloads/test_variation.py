"""Sessions that differ by a stated spread, and the same packets whatever makes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.workloads.conftest import Load

import trafficgen
from trafficgen.errors import GenerationError, WorkloadFileError
from trafficgen.generation.columns import superpose
from trafficgen.models import Law, Model, read_model, with_laws
from trafficgen.tables import PacketTable
from trafficgen.workloads.description import Variation, VaryPart
from trafficgen.workloads.group_player import _factors
from trafficgen.workloads.options import WorkloadOptions
from trafficgen.workloads.sessions import parse_variation, plan_model, sessions_of_workload


@pytest.fixture
def model(folder: Path) -> Model:
    read = read_model(folder / "udp.json")
    assert isinstance(read, Model)
    return read


def _play(model: Model, **given: Any) -> PacketTable:
    return trafficgen.generate(model, **{"sessions": 300, "duration_s": 4.0, "seed": 2, **given})


def _of_sessions(table: PacketTable, values: Any) -> Any:
    return np.bincount(table.flow, weights=values, minlength=table.flows.num_rows)


def test_rates_have_the_spread_that_is_asked_for(model: Model) -> None:
    plain, varied = _play(model), _play(model, vary="rate=50%")
    counts = [_of_sessions(table, np.ones(len(table))) for table in (plain, varied)]
    assert counts[1].mean() == pytest.approx(counts[0].mean(), rel=0.1)
    variance = [np.var(count) / count.mean() ** 2 for count in counts]
    assert np.sqrt(variance[1] - variance[0]) == pytest.approx(0.5, rel=0.25)


@pytest.mark.parametrize("options", [{}, {"vary": "20%"}])
def test_a_table_beyond_the_memory_is_refused_with_what_writes_it(
    model: Model, options: dict[str, Any]
) -> None:
    with pytest.raises(GenerationError, match=r"GB of memory, .*; generate_workload\(model, out\)"):
        trafficgen.generate(model, sessions=1_000_000, duration_s=36_000, **options)


def test_spreads_may_exceed_the_mean(model: Model) -> None:
    spread = VaryPart.model_validate("rate=300%").spread("rate")
    assert spread == 3
    rates = _factors({"vary rate": (np.arange(200_000) + 0.5) / 200_000}, "rate", spread=3, count=1)
    assert rates.mean() == pytest.approx(1, rel=0.02)
    with pytest.raises(GenerationError, match=r"invalid spread '10'; write .*, such as 10%$"):
        trafficgen.generate(model, sessions=2, vary="10")
    with pytest.raises(GenerationError, match=r"invalid spread '1001%'; .* from 0% to 1000%"):
        trafficgen.generate(model, sessions=2, vary="rate=1001%")


def test_lengths_have_the_spread_that_is_asked_for(model: Model) -> None:
    sessions = sessions_of_workload(
        plan_model(model, WorkloadOptions(sessions=2000, duration_s=4.0, vary="duration=30%")),
        seed=2,
    )
    lengths_s = np.array(
        [
            player.model.timeline(viewing).length_s  # type: ignore[union-attr]
            for player, viewing in sessions.viewings(0, 2000)
        ]
    )
    assert lengths_s.mean() == pytest.approx(4.0, rel=0.03)
    assert lengths_s.std() / lengths_s.mean() == pytest.approx(0.3, rel=0.1)


def test_datagrams_differ_in_size_between_sessions(model: Model) -> None:
    plain, varied = _play(model), _play(model, vary="size=20%")
    np.testing.assert_array_equal(varied.time_ns, plain.time_ns)
    media = plain.to_client
    factor = varied.payload_bytes[media] / plain.payload_bytes[media]
    each = _of_sessions(varied.select(media), factor) / np.bincount(varied.flow[media])
    assert each.std() == pytest.approx(0.2, rel=0.3)
    assert varied.ip_bytes.max() <= 1500


def test_the_rate_of_all_sessions_is_scaled(model: Model) -> None:
    plain, faster = _play(model), _play(model, scale_rate=2.0)
    assert len(faster) == pytest.approx(2 * len(plain), rel=0.05)


def test_jitter_delays_packets_and_keeps_their_order(model: Model) -> None:
    plain, late = _play(model, sessions=3), _play(model, sessions=3, jitter_s=0.05)
    assert len(late) == len(plain)
    for flow in range(3):
        before, after = (table.time_ns[table.flow == flow] for table in (plain, late))
        assert (np.diff(after) >= 0).all()
        delay_s = (after - before) / 1e9
        assert delay_s.min() >= 0
        assert 0.03 < delay_s.max() <= 0.05
        assert delay_s[1:].mean() == pytest.approx(0.025, abs=0.008)


def test_varied_packets_do_not_depend_on_blocks_or_workers(model: Model, tmp_path: Path) -> None:
    how: dict[str, Any] = {
        "sessions": 60, "duration_s": 3.0, "arrival_rate_per_s": 5.0, "seed": 7,
        "vary": "duration=30%,rate=20%,size=10%", "jitter_s": 0.01, "scale_rate": 1.5,
    }  # fmt: skip
    trafficgen.generate_workload(model, tmp_path / "one.pcap", **how)
    trafficgen.generate_workload(
        model, tmp_path / "two.pcap", **how, workers=2, memory_bytes=1_000_000
    )
    assert (tmp_path / "one.pcap").read_bytes() == (tmp_path / "two.pcap").read_bytes()
    sessions = sessions_of_workload(plan_model(model, WorkloadOptions(**how)), seed=7)
    alone = superpose(sessions.block(9, 1)[0])
    among = superpose(sessions.block(5, 10)[0])
    assert (
        among.filter(np.asarray(among.column("flow")) == 4)
        .drop_columns("flow")
        .equals(alone.drop_columns("flow"))
    )


def test_a_group_has_its_own_variation_and_the_command_overrides_it(load: Load) -> None:
    workload = load(
        "sessions: 4\nvary: 20%\ngroups:\n- {model: udp.json, share: 50%, vary: 'rate=5%'}\n"
        "- {model: tcp.json, scale_rate: 2, jitter: 5ms}\n"
    )
    first, second = (group.variation for group in workload.groups)
    assert (first.duration, first.rate) == (0, 0.05)
    assert (second.duration, second.rate, second.scale_rate, second.jitter_s) == (0.2, 0.2, 2, 5e-3)
    varied = parse_variation(WorkloadOptions(vary="size=5%", scale_rate=3.0))
    mixed = sessions_of_workload(workload, seed=1, varied=varied).workload
    first, second = (group.variation for group in mixed.groups)
    assert (first.rate, first.size, first.scale_rate) == (0, 0.05, 3)
    assert (second.size, second.scale_rate, second.jitter_s) == (0.05, 3, 5e-3)


def test_what_varies_all_groups_does_not_touch_published_models(load: Load) -> None:
    text = """
sessions: 9
vary: 20%
groups:
- {model: udp.json, share: 40%}
- {name: entry, model: cbr(duration_s=2), share: 30%}
- {name: timed, model: cbr, share: 30%, duration: 2s}
"""
    varied = parse_variation(WorkloadOptions(scale_rate=3.0))
    mixed = sessions_of_workload(load(text), seed=1, varied=varied)
    fitted, entry, timed = (group.variation for group in mixed.workload.groups)
    assert (fitted.duration, fitted.rate, fitted.scale_rate) == (0.2, 0.2, 3)
    assert entry == Variation()
    assert timed == Variation(duration=0.2)
    assert [line.partition(":")[0] for line in mixed.remarks] == [
        "variations do not touch group entry and timed"
    ]
    own = text.replace("share: 30%}", "share: 30%, vary: 'rate=10%'}")
    with pytest.raises(GenerationError, match=r"group 'entry': .* is a published model"):
        sessions_of_workload(load(own), seed=1)


def test_what_cannot_be_varied_is_refused(load: Load, model: Model, tmp_path: Path) -> None:
    with pytest.raises(GenerationError, match="is a published model"):
        trafficgen.generate("cbr", sessions=2, vary="rate=10%")
    with pytest.raises(GenerationError, match="ends by itself; give a duration"):
        trafficgen.generate("cbr", sessions=2, vary="duration=10%")
    assert len(trafficgen.generate("cbr", sessions=2, vary="duration=10%", duration_s=2.0)) > 10
    with pytest.raises(GenerationError, match=r"leave path=... out"):
        trafficgen.generate(model, path="rate=1Mbps,delay=1ms", jitter_s=0.1)
    with pytest.raises(GenerationError, match="vary='rate=2x'"):
        trafficgen.generate(model, vary="rate=2x")
    with pytest.raises(WorkloadFileError, match="vary"):
        load("sessions: 4\nvary: speed=5%\ngroups:\n- {model: udp.json}\n")


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("udp.json", {"scale_rate": 1.0}, " within .*; vary='20%' gives each a length and a rate"),
        ("udp.json", {}, " within .*; vary='20%' gives each a length and a rate"),
        ("udp.json", {"vary": "20%"}, None),
        ("cbr", {}, "; duration_s and vary='duration=20%' give each"),
        ("cbr", {"vary": "duration=20%"}, None),
        ("cbr", {"sessions": 2}, "; duration_s and vary='duration=20%' give each"),
        ("cbr", {"sessions": 1}, None),
        ("chunked", {"duration_s": 60.0}, None),
    ],
)
def test_sessions_that_come_out_alike_are_said_with_what_varies_them(
    folder: Path, tmp_path: Path, name: str, options: dict[str, Any], said: str | None
) -> None:
    model = folder / name if name.endswith(".json") else name
    given = {"sessions": 6, "duration_s": 40.0, "seed": 1, **options}
    written = trafficgen.generate_workload(model, tmp_path / "out.parquet", **given)
    if said is None:
        assert written.remarks == ()
        return
    (remark,) = written.remarks
    assert re.match(f"all {given['sessions']} sessions have the same number of bytes{said}", remark)


def test_sessions_that_draw_their_parameters_differ_more(model: Model, tmp_path: Path) -> None:
    def widen(law: Law) -> Law:
        known = {"low": {"scale": 0.03}, "high": {"scale": 0.07}, "observations": 20}
        return law.model_copy(update=known) if law.unit == "s" else law

    model = with_laws(model, widen)
    plain, drawn = _play(model, posterior=False), _play(model, posterior=True)
    counts = [_of_sessions(table, np.ones(len(table))) for table in (plain, drawn)]
    assert counts[1].mean() == pytest.approx(counts[0].mean(), rel=0.05)
    assert counts[1].std() > 1.3 * counts[0].std()
    how: dict[str, Any] = {"sessions": 20, "duration_s": 3.0, "seed": 7, "posterior": True}
    trafficgen.generate_workload(model, tmp_path / "one.pcap", **how)
    trafficgen.generate_workload(
        model, tmp_path / "two.pcap", **how, workers=2, memory_bytes=1_000_000
    )
    assert (tmp_path / "one.pcap").read_bytes() == (tmp_path / "two.pcap").read_bytes()


def test_a_workload_file_lets_sessions_draw_their_parameters(load: Load) -> None:
    groups = "[{model: udp.json, share: 50%}, {name: estimates, model: udp.json, posterior: false}]"
    workload = load(f"sessions: 4\nposterior: true\ngroups: {groups}\n")
    assert [group.variation.posterior for group in workload.groups] == [True, False]


def test_a_published_model_has_no_uncertainty_to_draw_from() -> None:
    with pytest.raises(GenerationError, match=r"cbr is a published model.*leave .*posterior"):
        trafficgen.generate("cbr", sessions=2, posterior=True)
