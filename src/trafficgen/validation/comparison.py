"""Result of a comparison: metrics, baselines, the verdict on them, and limits to check."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from trafficgen.data_frames import frame_rows
from trafficgen.errors import SelectionError
from trafficgen.flows import rate_curve
from trafficgen.formatting import number, one_line, suggest_name
from trafficgen.json_text import finite
from trafficgen.notebook import NotebookView
from trafficgen.options import checks_arguments
from trafficgen.tables import RateCurve
from trafficgen.validation.measurement import Measurement, Totals
from trafficgen.validation.metrics import METRIC_NAMES, METRICS, Metrics, flat_metrics
from trafficgen.validation.two_sample import TwoSampleTests
from trafficgen.validation.verdict import Verdict, find_closer_baselines, judge

if TYPE_CHECKING:
    import pandas as pd

#: Limits on the AUC of a classifier, which is not a metric: 0.5 is equal.
TWO_SAMPLE_LIMITS = {f"two_sample.{of}": of for of in ("windows", "sessions")}


@dataclass(frozen=True, eq=False)
class Comparison(NotebookView):
    """How close a candidate is to a reference; distances are 0 for equal sides.

    Baselines take their totals from the reference, so ``wins`` and ``ties`` leave packets, bytes
    and duration out.

    Attributes:
        metrics: Nested metrics, NaN where one cannot be computed.
        baselines: The same for each baseline.
        totals: Packets, bytes and duration of the media to the client, reference and candidate.
        wins: Flat name of a metric -> baselines that the candidate beats.
        ties: Flat name of a metric -> baselines that differ from the candidate by chance at most.
        noise: Flat name of a metric -> distance that chance alone exceeds once in 20 times.
        absent: Flat name of a metric, or its beginning such as ``rate.10`` -> why it is missing.
        burst_threshold_s: Largest gap within a burst on both sides, s; None where the reference has
            no bursts.
        resegmented_packets: Segmentation-offload packets cut to MTU size first, reference and
            candidate.
        seed: Seed of the baselines.
        names: Names of reference and candidate, for people.
        sides: Measurements of reference and candidate, for charts; None if not kept.
        two_sample: A classifier's attempts to distinguish the sides' windows and sessions.

    Example:
        >>> import trafficgen
        >>> capture = "examples/captures/http_burst_then_paced.pcap.gz"
        >>> settings = {"rate_kbps": 1000}
        >>> _ = trafficgen.generate("cbr", "steady.parquet", duration_s=50, settings=settings)
        >>> comparison = trafficgen.compare(capture, "steady.parquet")
        >>> distance, noise = comparison.flat()["gap_s.ks"], comparison.noise["gap_s.ks"]
        >>> print(f"{distance:.2f}, chance alone gives {noise:.2f}")
        0.99, chance alone gives 0.03
    """

    metrics: Metrics
    baselines: dict[str, Metrics]
    totals: tuple[Totals, Totals]
    wins: dict[str, list[str]]
    ties: dict[str, list[str]]
    noise: dict[str, float]
    absent: dict[str, str]
    burst_threshold_s: float | None
    resegmented_packets: tuple[int, int]
    seed: int
    names: tuple[str, str] = ("reference", "candidate")
    sides: tuple[Measurement, Measurement] | None = field(default=None, repr=False, compare=False)
    two_sample: TwoSampleTests = field(default_factory=lambda: TwoSampleTests({}, {}))

    def __repr__(self) -> str:
        reference, candidate = (one_line(name) for name in self.names)
        sizes, gaps = (
            number(self.flat().get(name), digits=3) for name in ("packet_bytes.ks", "gap_s.ks")
        )
        return (
            f"<Comparison of {candidate} with {reference}: KS distance of packet sizes {sizes},"
            f" of gaps {gaps}; {self.verdict().summary.removesuffix('.')}>"
        )

    def flat(self) -> dict[str, float]:
        """Return the metrics by flat name, such as ``gap_s.ks``; NaN: not computable."""
        return flat_metrics(self.metrics)

    def flat_baselines(self) -> dict[str, dict[str, float]]:
        """Return the metrics of each baseline by flat name; NaN: not computable."""
        return {name: flat_metrics(metrics) for name, metrics in self.baselines.items()}

    def verdict(self) -> Verdict:
        """Judge the comparison in words; see :func:`~trafficgen.validation.verdict.judge`."""
        return judge(self)

    def losses(self) -> dict[str, list[str]]:
        """Return by flat name the baselines that are closer than the candidate beyond chance."""
        return {name: find_closer_baselines(self, name) for name in self.flat()}

    def rate_curves(self) -> tuple[RateCurve, RateCurve] | None:
        """Return the rates of reference and candidate over time; None without measurements."""
        if self.sides is None:
            return None
        reference, candidate = (
            rate_curve(side.view.media_time_ns, side.view.media_ip_bytes) for side in self.sides
        )
        return reference, candidate

    def to_pandas(self) -> pd.DataFrame:
        """Return a row a metric: ``candidate``, a column a baseline, ``chance`` and ``beats``.

        ``beats`` names the baselines that the candidate beats, ``chance`` is the distance that
        chance alone exceeds once in 20 times. What could not be computed is ``pd.NA``.
        """
        sides = {"candidate": self.flat(), **self.flat_baselines(), "chance": self.noise}
        rows = [
            {"metric": name, "beats": ", ".join(self.wins.get(name, ()))}
            | {side: values.get(name) for side, values in sides.items()}
            for name in self.flat()
        ]
        columns = {"metric": str, **dict.fromkeys(sides, float), "beats": str}
        return frame_rows(rows, columns).set_index("metric")

    def to_json(self) -> dict[str, object]:
        """Return what `trafficgen compare --json` prints; null where one cannot be computed."""
        reference, candidate = map(asdict, self.totals)
        cut = dict(zip(("reference", "candidate"), self.resegmented_packets, strict=True))
        parts: dict[str, object] = {
            "metrics": self.metrics,
            "baselines": self.baselines,
            "totals": {name: [value, candidate[name]] for name, value in reference.items()},
            "wins": self.wins,
            "ties": self.ties,
            "noise": self.noise,
            "absent": self.absent,
            "two_sample": self.two_sample.to_json(),
            "burst_threshold_s": self.burst_threshold_s,
            "resegmented_packets": cut,
            "seed": self.seed,
        }
        return {name: finite(part) for name, part in parts.items()}

    def _notebook_data(self) -> dict[str, object]:
        baselines = self.flat_baselines()
        rows = [
            {
                "metric": name,
                "candidate": value,
                **{key: metrics.get(name) for key, metrics in baselines.items()},
                "beats": ", ".join(self.wins.get(name, ())),
                "chance alone": self.noise.get(name),
            }
            for name, value in self.flat().items()
        ]
        verdict = [*self.two_sample.lines(), *self.verdict().lines()]
        return {"verdict": verdict, "metrics (0: equal)": rows, "seed": self.seed}


@dataclass(frozen=True)
class ExceededLimit:
    """A metric above its limit.

    Attributes:
        metric: Flat name, such as ``gap_s.ks``.
        limit: Largest value allowed.
        value: Value of the comparison; None where it could not be computed, which fails the check.
        reason: Why it could not be computed, where known.
    """

    metric: str
    limit: float
    value: float | None
    reason: str | None = None

    def __str__(self) -> str:
        if self.value is None:
            why = f" ({self.reason})" if self.reason else ""
            return f"{self.metric} could not be computed{why}, so it fails the limit {self.limit:g}"
        return f"{self.metric} is {self.value:g}, above {self.limit:g}"


@checks_arguments
def exceeded_limits(
    comparison: Comparison, limits: str | Iterable[str] | Mapping[str, float]
) -> list[ExceededLimit]:
    """Find the limits that a comparison exceeds.

    Args:
        comparison: The comparison.
        limits: One or several texts of the form ``METRIC=VALUE``, such as ``gap_s.ks=0.1``; METRIC
            is a flat name or, where that is unique, the part before its first point, such as
            ``packets``. A dictionary of METRIC -> VALUE is taken too.

    Raises:
        SelectionError: If a text has another form or names an unknown metric.

    Example:
        >>> import trafficgen
        >>> settings = {"rate_kbps": 1000}
        >>> _ = trafficgen.generate("cbr", "steady.parquet", duration_s=50, settings=settings)
        >>> capture = "examples/captures/http_burst_then_paced.pcap.gz"
        >>> comparison = trafficgen.compare(capture, "steady.parquet")
        >>> limits = ["gap_s.ks=0.1", "packet_bytes.ks=1"]
        >>> for limit in trafficgen.exceeded_limits(comparison, limits):
        ...     print(limit.metric, "is above", limit.limit)
        gap_s.ks is above 0.1
    """
    if isinstance(limits, Mapping):
        limits = [f"{name}={value}" for name, value in limits.items()]
    limits = [limits] if isinstance(limits, str) else list(limits)
    exceeded = []
    flat = comparison.flat() | _two_sample_aucs(comparison)
    for text in limits:
        named, limit = _parse_limit(text)
        metric = _flat_name(named, list(flat))
        value = flat[metric]
        if math.isnan(value):
            absent = comparison.absent.items()
            reasons = [why for name, why in absent if f"{metric}.".startswith(f"{name}.")]
            exceeded.append(ExceededLimit(metric, limit, None, *reasons[:1]))
        elif value > limit:
            exceeded.append(ExceededLimit(metric, limit, value))
    return exceeded


def _two_sample_aucs(comparison: Comparison) -> dict[str, float]:
    found = comparison.two_sample.found
    return {
        name: found[of].auc if of in found else math.nan for name, of in TWO_SAMPLE_LIMITS.items()
    }


def check_limits(limits: Iterable[str]) -> None:
    """Check the names and numbers of ``METRIC=VALUE``, before there is a comparison.

    Raises:
        SelectionError: If a text has another form or names an unknown metric.
    """
    for text in limits:
        _flat_name(_parse_limit(text)[0], [*METRIC_NAMES, *METRICS, *TWO_SAMPLE_LIMITS])


def _flat_name(named: str, metrics: list[str]) -> str:
    if named in metrics:
        return named
    matching = [metric for metric in metrics if metric.partition(".")[0] == named]
    if len(matching) != 1:
        raise SelectionError(
            what=f"metric {named!r}{suggest_name(named, metrics)}",
            available=f"metrics are {', '.join(matching or metrics)}",
        )
    return matching[0]


def _parse_limit(text: object) -> tuple[str, float]:
    if not isinstance(text, str):
        raise TypeError(f"limits must be texts such as 'gap_s.ks=0.1', not {text!r}")
    metric, _, number = text.rpartition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = math.nan
    if not metric or math.isnan(limit):
        raise SelectionError(
            what=f"limit in {text!r}",
            available="write METRIC=VALUE with a number, such as gap_s.ks=0.1",
        )
    return metric.strip(), limit
