"""Report of a ranking: which published models are nearest to a capture."""

from __future__ import annotations

import numpy as np

from trafficgen.formatting import number
from trafficgen.provenance import software_version
from trafficgen.reports.charts import Axis, Chart, Curve, Rule
from trafficgen.reports.page import Headline, Mark, Report, Text, build_report, tabulate
from trafficgen.validation.ranking import FEATURES, Ranking

#: Models that are drawn.
_DRAWN = 15
_ABOUT = (
    "Both directions are compared by packet sizes, gaps, bytes and spacing of bursts, and rates"
    " over 1 s. A distance is 0 for equal traffic and 0.5 where samples differ by a factor of two"
    " on the average. Options of rate and frame rate are set to what was measured where that is"
    " nearer.",
)


def report_ranking(ranking: Ranking) -> Report:
    """Make the report of a ranking."""
    first, second = ranking.models[:2]
    near = first.distance <= 2 * ranking.own_distance + 0.1
    mark: Mark = "good" if near else "warn" if first.distance <= 0.5 else "bad"
    headline = Headline(
        mark=mark,
        sentence=ranking.verdict(),
        figures={
            first.name: number(first.distance, digits=2),
            f"next: {second.name}": number(second.distance, digits=2),
            "two runs of the nearest": number(ranking.own_distance, digits=2),
        },
    )
    records = [
        {
            "model": one.command,
            "distance": one.distance,
            **{label: one.features[name] for name, label in FEATURES.items()},
        }
        for one in ranking.models
    ]
    return build_report(
        "The catalogue, ranked",
        ranking.name,
        headline,
        {
            "Summary": (Text(_ABOUT, kind="lead"), _chart_distances(ranking)),
            "All models": (tabulate("Distances by feature", records),),
        },
        made_by=f"{software_version()}: trafficgen compare {ranking.name} --against catalogue"
        f" --seed {ranking.seed}",
    )


def _chart_distances(ranking: Ranking) -> Chart:
    drawn = ranking.models[:_DRAWN][::-1]
    points = Curve(
        name="distance",
        role="synthetic",
        x=[one.distance for one in drawn],
        y=np.arange(len(drawn), dtype=np.float64),
        shape="points",
    )
    return Chart(
        name="distances",
        title="Distance of the nearest models",
        x=Axis(label="distance", low=0),
        y=Axis(label="", categories=tuple(one.name for one in drawn)),
        layers=(Rule(name="two runs of the nearest", at=ranking.own_distance, axis="x"), points),
    )
