"""What users write, with the types that mypy must see; checked by `make lint` and, from outside, by
test_public_types.

Nothing here is run. A line with a wrong argument carries the error that mypy must report: an ignore
that is not needed is an error itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np
import numpy.typing as npt

import trafficgen
from trafficgen.models import Estimate, Phase
from trafficgen.models.published.listing import CatalogueModels


def look_into_a_capture(capture: Path) -> None:
    found = trafficgen.inspect([capture, "second.pcap"], idle_timeout_s=30.0)
    assert_type(found, trafficgen.Inspection)
    assert_type(found.duration_s, float)
    assert_type(found.warnings, tuple[str, ...])
    table = trafficgen.read_packets(capture)
    assert_type(table, trafficgen.PacketTable)
    assert_type(len(table), int)
    assert_type(table.time_s, npt.NDArray[np.float64])
    assert_type(table.ip_bytes, npt.NDArray[np.int64])
    assert_type(table.select(table.to_client), trafficgen.PacketTable)
    trafficgen.inspect(capture, idle_timeout="30 s")  # type: ignore[call-arg]
    trafficgen.inspect(7)  # type: ignore[arg-type]


def fit_and_play(capture: str) -> None:
    fitted = trafficgen.fit(capture, seed=1)
    assert_type(fitted, trafficgen.Fit)
    assert_type(fitted.model, trafficgen.Model)
    assert_type(fitted.model.playout.rate_bps, Estimate)
    assert_type(fitted.model.playout.rate_bps.low, float | None)
    assert_type(fitted.model.streams[0].phases[0], Phase)
    assert_type(trafficgen.generate(fitted.model, "synthetic.pcap"), trafficgen.PacketTable)
    trafficgen.fit(capture, seed="one")  # type: ignore[arg-type]
    trafficgen.generate(fitted.model, at="server")  # type: ignore[arg-type]


def models(name: str) -> None:
    assert_type(trafficgen.load_model(name), trafficgen.Model | trafficgen.PublishedModel)
    assert_type(trafficgen.models_list(), CatalogueModels)
    assert_type(trafficgen.models_schema(), dict[str, object])


def many_captures(captures: list[str]) -> None:
    assert_type(trafficgen.fit_population(captures), trafficgen.PopulationFit)
    assert_type(trafficgen.fit_same_source(captures).model, trafficgen.Model)


def over_a_path() -> None:
    path = trafficgen.Path.parse("rate=725kbps,delay=45ms")
    assert_type(path, trafficgen.Path)
    result = trafficgen.simulate("cbr", path=path, compete=["tcp@-10s"])
    assert_type(result, trafficgen.SimulationResult)
    assert_type(result.flows[0].measure.rate_kbps, float)
    assert_type(result.series_time_s, npt.NDArray[np.float64])
    assert_type(result.packets(), trafficgen.PacketTable)
    trafficgen.simulate("cbr")  # type: ignore[call-arg]


def judge(reference: str, candidate: str) -> None:
    comparison = trafficgen.compare(reference, candidate)
    assert_type(comparison, trafficgen.Comparison)
    assert_type(comparison.flat(), dict[str, float])
    assert_type(
        [limit.metric for limit in trafficgen.exceeded_limits(comparison, ["gap_s.ks=0.1"])],
        list[str],
    )
    found = trafficgen.reproduce("BMW-T1", runs=2)
    assert_type(found.rows, tuple[trafficgen.FindingResult, ...])
    assert_type(found.rows[0].interval, tuple[float, float])


def hand_over(table: trafficgen.PacketTable) -> None:
    report = trafficgen.export(table, to="mgen", directory="for-mgen")
    assert_type(report, trafficgen.ProjectionReport)
    assert_type(report.packets, int | None)
    assert_type(
        trafficgen.convert("frames.txt", frame_rate_fps=25).report,
        trafficgen.ProjectionReport | None,
    )


def what_goes_wrong(capture: str) -> None:
    try:
        trafficgen.fit(capture)
    except trafficgen.TooFewObservationsError as error:
        assert_type(error.required, int)
    except trafficgen.InputFileError as error:
        assert_type(error.remedy, str)


def in_a_notebook(capture: str) -> None:
    assert_type(trafficgen.inspect(capture)._repr_html_(), str)
