"""Two models differ where their uncertainty does not explain it, and where nothing is uncertain."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot

import trafficgen
from trafficgen.errors import ModelFileError
from trafficgen.models import (
    Atom,
    CapacityStep,
    CaptureConditions,
    Estimate,
    Law,
    Model,
    Phase,
    Playout,
    PublishedProvenance,
    PublishedSource,
    RegisteredProcess,
    RenewalProcess,
    Startup,
    Stream,
    Transport,
    describe_capacity,
)
from trafficgen.models.differences import Difference, _compare, describe_value
from trafficgen.processes.trains.model import Trains


def _estimate(value: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value=value, low=low, high=high, method="by hand")


def _law(scale: float, observations: int = 1000) -> Law:
    params = {"a": 2.0, "loc": 0.0, "scale": scale}
    return Law(unit="s", family="gamma", params=params, observations=observations)


def _model(
    *,
    rate_bps: Estimate | None = None,
    gap_s: Law | None = None,
    names: tuple[str, ...] = ("video",),
    protocol: str = "udp",
) -> Model:
    source = PublishedSource(authors=("N.",), year=2000, title="By hand", supports=("tests",))
    sizes = Law(
        unit="bytes", family="atoms", atoms=(Atom(value=1000, p=1),), integer=True, observations=9
    )
    transport = {"protocol": protocol, "server_port": 80, "client_port": 9, "header_bytes": 52}
    process = RenewalProcess(gap_s=gap_s or _law(0.01), packet_bytes=sizes)
    phase = Phase(name="playout", start_s=0, duration_s=10, rate_bps=8e5, process=process)
    return Model(
        name="by_hand",
        provenance=PublishedProvenance(citations=(source,)),
        startup=Startup(silence_s=_estimate(1.0)),
        playout=Playout(duration_s=_estimate(10.0), rate_bps=rate_bps or _estimate(8e5, 7e5, 9e5)),
        streams=tuple(
            Stream(
                name=name,
                media="video",
                transport=Transport.model_validate(transport),
                phases=(phase,),
            )
            for name in names
        ),
    )


@pytest.mark.parametrize(
    ("rate_bps", "basis"),
    [
        (_estimate(8.5e5, 8e5, 9.5e5), None),  # the intervals overlap
        (_estimate(9.5e5, 9.1e5, 9.9e5), "interval"),
        (_estimate(8.9e5), None),  # within the other's interval
        (_estimate(9.1e5), "interval"),
    ],
)
def test_estimates_differ_beyond_their_intervals_only(
    rate_bps: Estimate, basis: str | None
) -> None:
    found = trafficgen.models_diff(_model(), _model(rate_bps=rate_bps))
    assert [(one.what, one.basis) for one in found.differences] == (
        [("playout.rate_bps", basis)] if basis else []
    )
    assert found.matches == (4 if basis else 5)


def test_an_estimate_without_any_interval_is_listed_as_not_judged() -> None:
    first, second = (_model(rate_bps=_estimate(value)) for value in (8e5, 9e5))
    found = trafficgen.models_diff(first, second)
    assert [(one.what, one.basis) for one in found.differences] == [
        ("playout.rate_bps", "no_interval")
    ]
    frame = found.to_pandas()
    assert list(frame["first"]) == ["800 kbit/s"]
    assert list(frame["first_value"]) == [800_000.0]
    assert found.summary == "0 of 4 estimates and laws differ beyond their uncertainty"


@pytest.mark.parametrize(("observations", "differs"), [(100, False), (10_000, True)])
def test_laws_differ_by_more_than_chance_in_samples_of_their_size(
    observations: int, differs: bool
) -> None:
    first, second = (_model(gap_s=_law(scale, observations)) for scale in (0.01, 0.011))
    found = trafficgen.models_diff(first, second).differences
    assert [one.what for one in found] == ["streams.video.phases.playout.process.gap_s"] * differs
    if differs:
        assert found[0].ks == pytest.approx(0.0514, abs=0.001)  # of the two gamma laws
        assert found[0].ks_limit == pytest.approx(1.36 * (2 / observations) ** 0.5)


def test_streams_are_matched_by_name_and_other_properties_compared() -> None:
    first, second = _model(names=("video", "audio")), _model(names=("audio",), protocol="tcp")
    found = trafficgen.models_diff(first, second).differences
    assert [(one.what, one.first, one.second) for one in found] == [
        ("streams.video", "video", None),
        ("streams.audio.transport.protocol", "udp", "tcp"),
    ]


def test_a_published_model_is_refused() -> None:
    with pytest.raises(ModelFileError, match="cbr: is a published model"):
        trafficgen.models_diff(_model(), "cbr")


def test_processes_of_two_kinds_are_told_apart_by_their_means() -> None:
    one = _model()
    noise = RegisteredProcess(source="mine", settings={})
    phase = one.streams[0].phases[0].model_copy(update={"process": noise})
    stream = one.streams[0].model_copy(update={"phases": (phase,)})
    (found,) = trafficgen.models_diff(
        one, one.model_copy(update={"streams": (stream,)})
    ).differences
    assert (found.first, found.second) == (
        "renewal: 800 kbit/s, a packet every 10 ms",
        "registered: 800 kbit/s",
    )


def test_streams_of_other_names_are_paired_by_role_then_by_rate_and_it_says_so() -> None:
    def named(name: str, media: str, rate_bps: float) -> Stream:
        stream = _model().streams[0]
        phase = stream.phases[0].model_copy(update={"rate_bps": rate_bps})
        return stream.model_copy(update={"name": name, "media": media, "phases": (phase,)})

    first, second = (
        _model().model_copy(update={"streams": streams})
        for streams in (
            (named("audio", "audio", 6e4), named("video", "video", 8e5)),
            (named("unknown-1", "unknown", 9e5), named("unknown-2", "unknown", 5e4)),
        )
    )
    found = trafficgen.models_diff(first, second)
    assert found.pairs == (("video", "unknown-1"), ("audio", "unknown-2"))
    assert "stream video is compared with unknown-1, the nearest" in found.summary
    assert found.matches == trafficgen.models_diff(first, first).matches
    films = _model().model_copy(update={"streams": (named("film", "video", 6e4),)})
    sound = _model().model_copy(update={"streams": (named("audio", "audio", 6e4),)})
    assert trafficgen.models_diff(films, sound).pairs == ()


def test_what_differs_is_drawn_relative_to_the_first_model() -> None:
    found = trafficgen.models_diff(_model(), _model(rate_bps=_estimate(16e5, 12e5, 20e5)))
    axes = found.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["playout.rate_bps"]
    drawn = [np.asarray(line.get_xdata()).tolist() for line in axes.get_lines()]
    assert drawn[1] == [1.0]
    assert drawn[2][:2] == pytest.approx([1.5, 2.5])
    assert drawn[3] == [2.0]
    pyplot.close("all")
    with pytest.raises(trafficgen.SettingError, match="has no chart"):
        trafficgen.models_diff(_model(), _model()).plot()


@pytest.mark.long
def test_the_catalogue_is_drawn_by_the_rates_that_its_models_play() -> None:
    axes = trafficgen.models_list().plot()
    names = [label.get_text() for label in axes.get_yticklabels()][::-1]
    assert names == [one.name for one in trafficgen.models_list()]
    drawn = np.asarray(axes.get_lines()[0].get_xdata(), dtype=float).tolist()
    rates = dict(zip(names[::-1], drawn, strict=True))
    assert rates["cbr"] == pytest.approx(340, rel=0.05)
    assert rates["hlsjs"] > rates["chunked"] > rates["wmedia9_nichols2004"]
    pyplot.close("all")


def test_the_capacity_over_time_is_one_line_however_many_steps_it_has() -> None:
    def steps(*rates_kbps: float) -> tuple[CapacityStep, ...]:
        return tuple(
            CapacityStep(start_s=10.0 * place, kbps=_estimate(kbps))
            for place, kbps in enumerate(rates_kbps)
        )

    def capacities(*sides: tuple[CapacityStep, ...] | None) -> list[Difference]:
        conditions = [CaptureConditions(capacity=steps) for steps in sides]
        return [one for one in _compare("conditions", *conditions) if one is not None]

    slow, fast = steps(*range(1000, 1024)), steps(5000, 8000)
    (found,) = capacities(slow, fast)
    assert (found.basis, found.first, found.second) == (
        "value",
        describe_capacity(slow),
        describe_capacity(fast),
    )
    assert [one.second for one in capacities(slow, None)] == [None]
    assert capacities(slow, slow) == []


def test_the_order_of_trains_is_of_its_capture_but_having_one_is_of_the_model() -> None:
    one, other = (Trains(packets=(1,), gap_ranks=r, size_ranks=r) for r in ("AA", "//"))
    assert list(_compare("trains", one, other)) == []
    (found,) = _compare("trains", one, None)
    assert found is not None
    assert (found.what, found.basis) == ("trains", "value")


@pytest.mark.parametrize(
    ("what", "value", "text"),
    [
        (
            "playout.rate_bps",
            {"value": 8e5, "low": 7e5, "high": None},
            "800 kbit/s [700 kbit/s, -]",
        ),
        ("provenance.conditions.rtt_s", 2.4e-5, "0.024 ms"),
        ("provenance.conditions.queueing_delay_s.median", 0.0066, "6.6 ms"),
        ("buffering.ratio", 2.5, "2.5"),
        ("streams.audio", "audio", "audio"),
        ("startup", None, "none"),
    ],
)
def test_values_have_the_unit_of_their_name(what: str, value: object, text: str) -> None:
    assert describe_value(what, value) == text
