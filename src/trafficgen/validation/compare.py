"""Comparing a candidate with a reference, beside the baselines that people use today."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from trafficgen.flows import SessionView, clock_tick_ns, rate_curve, resegment
from trafficgen.formatting import number, one_line
from trafficgen.notebook import NotebookView, RateLines, rates_of_packets
from trafficgen.progress import report_step
from trafficgen.tables import RateCurve
from trafficgen.validation.baselines import BASELINES, baseline_view
from trafficgen.validation.measurement import Measurement, burst_threshold_s, measure
from trafficgen.validation.metrics import (
    Metrics,
    compute_metrics,
    flat_metrics,
    incomparable_rates,
    median_metrics,
    noise_levels,
)
from trafficgen.validation.totals import Totals, paired_totals, total_metrics, totals_of

#: Baselines that draw anything are the median of this many runs.
_RUNS = 5
_WITHOUT_DRAWS = ("cbr",)
_RUNS_OF = {name: 1 if name in _WITHOUT_DRAWS else _RUNS for name in BASELINES}
_MEASURED = "sides and baselines"
#: Clocks up to this granularity, that of most captures, are taken as they are.
_FINE_TICK_NS = 1000


@dataclass(frozen=True)
class ComparedSides:
    """The sessions that were compared, as they were measured: offload undone, on one clock.

    Attributes:
        reference_view: Session of the reference.
        candidate_view: Session of the candidate.
        reference: What was measured on it.
        candidate: The same of the candidate.
    """

    reference_view: SessionView
    candidate_view: SessionView
    reference: Measurement
    candidate: Measurement


@dataclass(frozen=True)
class Comparison(NotebookView):
    """How close a candidate is to a reference; distances are 0 for equal sides.

    Baselines take their totals from the reference, so ``wins`` and ``ties`` leave packets, bytes
    and duration out.

    Attributes:
        metrics: Nested metrics, NaN where one cannot be computed.
        baselines: The same for each baseline.
        totals: Packets, bytes and duration of the media to the client, reference and candidate.
        wins: Flat name of a metric -> baselines that the candidate beats.
        ties: Flat name of a metric -> baselines that differ from the candidate by no more than
            chance.
        noise: Flat name of a metric -> distance that chance alone gives once in 20 times.
        absent: Flat name of a metric or its beginning, such as ``rate.10`` -> why it cannot be
            computed.
        burst_threshold_s: Largest gap within a burst on both sides, s; None where the reference has
            no bursts.
        resegmented_packets: Segmentation-offload packets that were cut to MTU size first, reference
            and candidate.
        seed: Seed of the baselines.
        names: What reference and candidate are called, for people.
        sides: What was measured on both sides, for drawings; None in a comparison that was made
            without.

    Example:
        >>> import trafficgen
        >>> capture = "examples/captures/http_burst_then_paced.pcap.gz"
        >>> _ = trafficgen.generate("cbr", "steady.parquet", duration_s=50, settings={"rate_kbps": 1000})
        >>> comparison = trafficgen.compare(capture, "steady.parquet")
        >>> print(f"{comparison.flat()['gap_s.ks']:.2f}, chance alone gives {comparison.noise['gap_s.ks']:.2f}")
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
    sides: ComparedSides | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        flat = self.flat()
        reference, candidate = (one_line(name) for name in self.names)
        sizes, gaps = (number(flat.get(name), digits=3) for name in ("packet_bytes.ks", "gap_s.ks"))
        return (
            f"<Comparison of {candidate} with {reference}: KS distance of packet sizes {sizes},"
            f" of gaps {gaps}>"
        )

    def _notebook_data(self) -> dict[str, object]:
        baselines = self.flat_baselines()
        return {
            "metrics (0 for equal sides)": [
                {
                    "metric": name,
                    "candidate": value,
                    **{key: metrics.get(name) for key, metrics in baselines.items()},
                    "beats": ", ".join(self.wins.get(name, ())),
                    "chance alone": self.noise.get(name),
                }
                for name, value in self.flat().items()
            ],
            "burst_threshold_s": self.burst_threshold_s,
            "seed": self.seed,
        }

    def _notebook_rates(self) -> RateLines | None:
        if self.sides is None:
            return None
        views = (self.sides.reference_view, self.sides.candidate_view)
        return rates_of_packets(
            *(
                (name, view.media_time_ns, view.media_ip_bytes)
                for name, view in zip(self.names, views, strict=True)
            )
        )

    def flat(self) -> dict[str, float]:
        """Return the metrics by flat name, such as ``gap_s.ks``; NaN where one cannot be
        computed.
        """
        return flat_metrics(self.metrics)

    def flat_baselines(self) -> dict[str, dict[str, float]]:
        """Return the metrics of each baseline by flat name; NaN where one cannot be computed."""
        return {name: flat_metrics(metrics) for name, metrics in self.baselines.items()}

    def rate_curves(self) -> tuple[RateCurve, RateCurve] | None:
        """Return the rates of reference and candidate over time; None in a comparison that was made
        without them.
        """
        if self.sides is None:
            return None
        views = self.sides.reference_view, self.sides.candidate_view
        reference, candidate = (
            rate_curve(view.media_time_ns, view.media_ip_bytes) for view in views
        )
        return reference, candidate

    def to_json(self) -> dict[str, object]:
        """Return the object that `compare --json` prints; what cannot be computed is None."""
        parts: dict[str, object] = {
            "metrics": self.metrics,
            "baselines": self.baselines,
            "totals": paired_totals(*self.totals),
            "wins": self.wins,
            "ties": self.ties,
            "noise": self.noise,
            "absent": self.absent,
            "burst_threshold_s": self.burst_threshold_s,
            "resegmented_packets": dict(
                zip(("reference", "candidate"), self.resegmented_packets, strict=True)
            ),
            "seed": self.seed,
        }
        return {name: _finite(part) for name, part in parts.items()}


def compare_tables(
    reference: SessionView, candidate: SessionView, *, seed: int = 0, undo_offload: bool = True
) -> Comparison:
    """Return how close a candidate is to a reference, both measured by the same code.

    Args:
        reference: Session that is to be met, usually of a capture.
        candidate: Session that is judged, usually synthetic.
        seed: Seed of the baselines and of the resampling in the search for phases, >= 0.
        undo_offload: Whether segmentation-offload packets are cut to MTU size on both sides first,
            as a fit does: they were handed to a network card, not sent.
    """
    reference, cut_in_reference = _without_offload(reference) if undo_offload else (reference, 0)
    candidate, cut_in_candidate = _without_offload(candidate) if undo_offload else (candidate, 0)
    tick_ns = clock_tick_ns(reference.media_time_ns)
    candidate = _by_clock(candidate, tick_ns)
    threshold_s = burst_threshold_s(reference)
    to_measure = 2 + sum(_RUNS_OF.values())
    report_step("measuring", 0, to_measure, unit=_MEASURED)
    measured = measure(reference, burst_threshold_s=threshold_s, seed=seed)
    done = itertools.count(1)
    totals = totals_of(reference), totals_of(candidate)

    def metrics_of(view: SessionView) -> tuple[Measurement, Metrics]:
        report_step("measuring", next(done), to_measure, unit=_MEASURED)
        other = measure(view, burst_threshold_s=threshold_s, seed=seed)
        apart = compute_metrics(measured, other, reference_view=reference, candidate_view=view)
        return other, {**apart, **total_metrics(totals[0], totals_of(view))}

    judged, metrics = metrics_of(candidate)
    baselines = {}
    for name in BASELINES:
        runs = range(_RUNS_OF[name])
        views = (
            _by_clock(baseline_view(reference, name=name, seed=seed, run=run), tick_ns)
            for run in runs
        )
        baselines[name] = median_metrics([metrics_of(view)[1] for view in views])
    flat = flat_metrics(metrics)
    noise = {name: level for name, level in noise_levels(measured, judged).items() if name in flat}
    copied = flat_metrics(total_metrics(*totals))
    distances = {name: distance for name, distance in flat.items() if name not in copied}
    wins, ties = judge_baselines(
        distances, {n: flat_metrics(m) for n, m in baselines.items()}, noise
    )
    return Comparison(
        metrics=metrics,
        baselines=baselines,
        totals=totals,
        wins=wins,
        ties=ties,
        noise=noise,
        absent=incomparable_rates(measured, judged),
        burst_threshold_s=threshold_s,
        resegmented_packets=(cut_in_reference, cut_in_candidate),
        seed=seed,
        sides=ComparedSides(reference, candidate, measured, judged),
    )


def _by_clock(view: SessionView, tick_ns: int) -> SessionView:
    """Return a session as a clock of this granularity would have seen it.

    A reference that was captured in milliseconds has gaps of whole milliseconds; what a candidate
    does between the ticks was there to be seen on one side only.
    """
    if tick_ns <= _FINE_TICK_NS:
        return view
    return replace(view, table=view.table.on_clock(tick_ns))


def _without_offload(view: SessionView) -> tuple[SessionView, int]:
    table, cut = resegment(view.table)
    return (replace(view, table=table) if cut else view), cut


def judge_baselines(
    candidate: Mapping[str, float],
    baselines: Mapping[str, Mapping[str, float]],
    noise: Mapping[str, float],
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return by metric the baselines that are beaten and those that are tied; metrics that are NaN
    are left out.
    """
    wins: dict[str, list[str]] = {}
    ties: dict[str, list[str]] = {}
    for name, distance in candidate.items():
        if math.isnan(distance):
            continue
        level = noise.get(name, 0.0)
        tied = [key for key, other in baselines.items() if _tied(distance, other[name], level)]
        wins[name] = [
            key for key, other in baselines.items() if key not in tied and distance < other[name]
        ]
        ties[name] = tied
    return wins, ties


def _tied(distance: float, other: float, level: float) -> bool:
    return distance == other or (distance < level and other < level)  # never with NaN


def _finite(value: object) -> object:
    """Return a nested value with every NaN and infinity replaced by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return value
