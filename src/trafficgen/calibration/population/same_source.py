"""Captures of one source over several paths: `trafficgen fit --same-source`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from trafficgen.calibration.application.recognition import find_segments
from trafficgen.calibration.fit import Fit, fit_open_session, recognise_source
from trafficgen.calibration.options import FitOptions, SessionFitOptions
from trafficgen.calibration.population.across_sessions import WIDEST_INTERVAL, is_too_wide
from trafficgen.calibration.population.fit_population import (
    nothing_fitted_error,
    warn_of_copies,
    warn_of_left_out,
)
from trafficgen.calibration.population.pooled_player import SeenPlayer, pool_players
from trafficgen.calibration.response.response_curve import (
    Observations,
    PathIntervals,
    fit_response_curve,
    measure_intervals,
)
from trafficgen.calibration.session_fit import SessionInputs
from trafficgen.capture.inputs import Paths, as_paths, name_in_model
from trafficgen.capture.memory import share_memory
from trafficgen.capture.session import open_session
from trafficgen.errors import TrafficgenError
from trafficgen.flows import SessionView
from trafficgen.formatting import count_warnings, format_count
from trafficgen.models import (
    Estimate,
    FittedProvenance,
    Model,
    PathCondition,
    PooledResponse,
    ResponseCurve,
    ResponseKind,
)
from trafficgen.models.parameters import TableOf
from trafficgen.notebook import NotebookView
from trafficgen.options import takes
from trafficgen.progress import report_each
from trafficgen.units import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


class SameSourceLimits:
    """How captures are cut into intervals, and when their rates answer to the path."""

    #: Intervals are at least this long, s: a source takes a second or two to react.
    shortest_interval_s: float = 2.0
    #: A capture that is long enough has at least this many intervals;
    intervals_of_capture: int = 20
    #: with fewer known ones than this there is no curve.
    fewest_intervals: int = 8
    #: The source answers if the best value of a curve's interval is below 1 and the fall reaches
    #: this share,
    less: float = 0.9
    #: and does not if the worst of the interval leaves this share of the rate.
    hardly_less: float = 0.8
    #: It thins if this share of the rate's fall (on the logarithmic scale) is fewer frames.
    share_by_frames: float = 0.5
    #: It switches levels if its rates lie in this many clusters at most,
    most_levels: int = 6
    #: no wider than this ratio, which a steady encoder stays within,
    level_ratio: float = 1.2
    #: separated by this ratio at least,
    level_distance: float = 1.15
    #: that hold this share of the intervals.
    share_in_levels: float = 0.9
    #: Digits to which losses are compared: smaller ones do not make a path congested.
    loss_digits: int = 3


_LIMITS = SameSourceLimits()
#: Conditions in words, and by how much the 5% and 95% points of one that varies differ: loss as a
#: share, s, or as a ratio.
_CONDITIONS: dict[PathCondition, tuple[str, float]] = {
    "loss_rate": ("loss", 0.01),
    "queueing_delay_s": ("queueing delay", 0.02),
    "throughput_bps": ("throughput of TCP", 1.3),
    "link_rate_bps": ("link rate", 1.2),
}
#: Conditions that are rates: more of them is less congestion.
_RATES: tuple[PathCondition, ...] = ("throughput_bps", "link_rate_bps")


@dataclass(frozen=True, eq=False)
class SameSourceFit(NotebookView):
    """The model of a source that was captured over several paths.

    Attributes:
        model: The source, ready to be saved or played.
        calmest: Summary of the least congested capture's fit, as `trafficgen fit --json` prints it.
        left_out: What could not be fitted -> why.
        warnings: What is doubtful, one sentence each.

    Example:
        >>> import trafficgen
        >>> model, rates = "wmedia9_nichols2004", ("2Mbps", "300kbps")
        >>> for rate in rates:
        ...     path = f"rate={rate},delay=40ms,queue=20p"
        ...     _ = trafficgen.simulate(model, path=path, duration_s=60, out=f"{rate}.parquet")
        >>> fitted = trafficgen.fit_same_source([f"{rate}.parquet" for rate in rates])
        >>> fitted.response.kind
        'thinning'
        >>> fitted.response.evidence[-1]
        'fewer frames make up 100% of the changes of the rate'
    """

    model: Model
    calmest: dict[str, object]
    left_out: dict[str, str]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        paths = format_count(len(self.response.captures), "path")
        kind = self.response.kind.replace("_", " ")
        return f"<SameSourceFit over {paths}: {kind}{count_warnings(self.warnings)}>"

    def _notebook_data(self) -> dict[str, object]:
        response = self.response
        return {
            "uncongested_rate_bps": response.uncongested_rate_bps,
            "processes from": response.source,
            "evidence": response.evidence,
            "response": [
                {"to": curve.condition, **point.model_dump()}
                for curve in response.curves
                for point in curve.points
            ],
            "without a curve": [f"{name}: {reason}" for name, reason in response.absent.items()],
            "left_out": [f"{name}: {reason}" for name, reason in self.left_out.items()],
            "warnings": self.warnings,
        }

    @property
    def response(self) -> PooledResponse:
        """The source's answer to congestion."""
        assert self.model.same_source is not None
        return self.model.same_source

    def to_pandas(self, of: TableOf = "parameters") -> pd.DataFrame:
        """Return a table of the model, as :meth:`Model.to_pandas` does."""
        return self.model.to_pandas(of)

    def to_json(self) -> dict[str, object]:
        """Return the least congested capture's summary, and the response under ``same_source``."""
        response = {**self.response.model_dump(mode="json"), "left_out": self.left_out}
        application = self.model.application
        return {
            **self.calmest,
            "application": None if application is None else application.to_json(),
            "absent": self.model.absent,
            "same_source": response,
            "warnings": list(self.warnings),
        }


@takes(FitOptions)
def fit_same_source(paths: Paths, options: FitOptions) -> SameSourceFit:
    """Fit captures of one source over several paths together: one model, one congestion response.

    A capture that cannot be fitted, or has too little for a model, is left out with a warning. The
    processes are those of the least congested capture (least loss, then least queueing, then most
    throughput): they are nearest to what the source sends by itself. The rate in each interval of
    the playouts is compared with the path one interval before: loss, queueing delay, throughput and
    link rate, if known and varying. The captures share the memory.

    Args:
        paths: Files of captures or packet tables, each read by itself.
        options: See :class:`~trafficgen.calibration.options.FitOptions`; given as keywords.

    Warns:
        CaptureWarning: For each capture that is left out.

    Raises:
        CalibrationError: If no capture can be fitted, or all are too short for a response.

    Example:
        >>> import trafficgen
        >>> model, rates = "wmedia9_nichols2004", ("2Mbps", "300kbps")
        >>> for rate in rates:
        ...     path = f"rate={rate},delay=40ms,queue=20p"
        ...     _ = trafficgen.simulate(model, path=path, duration_s=60, out=f"{rate}.parquet")
        >>> fitted = trafficgen.fit_same_source([f"{rate}.parquet" for rate in rates])
        >>> fitted
        <SameSourceFit over 2 paths: thinning>
    """
    names = as_paths(paths)
    if not names:
        raise nothing_fitted_error(names, {})
    options = replace(options, memory_bytes=share_memory(options.memory_bytes, len(names)))
    inputs = SessionInputs(refuse_unsuited=True)
    fits: list[tuple[str, Fit, SessionView]] = []
    left_out: dict[str, str] = {}
    for name in report_each(names, "fitting", total=len(names), unit="captures"):
        try:
            opened = open_session(name, options.choice, options)
            fitted = fit_open_session(opened, [name], options, inputs=inputs)
            fitted = recognise_source(fitted, opened, [name], SessionFitOptions())
        except TrafficgenError as error:
            left_out[name] = str(error)
            continue
        fits.append((name_in_model(name), fitted, opened.view))
    if not fits:
        raise nothing_fitted_error(names, left_out)
    interval_s = _choose_interval_s(
        [fitted.model.playout.duration_s.value for _, fitted, _ in fits]
    )
    captures = [
        _Capture(
            name,
            fitted,
            _measure_playout(fitted.model, view, interval_s),
            first_media_ns=view.table.origin_ns + view.first_media_ns,
        )
        for name, fitted, view in fits
    ]
    calmest = min(captures, key=_congestion)
    warnings = warn_of_left_out(left_out)
    if len(captures) == 1:
        warnings.append(
            "one capture shows one path only: give captures of the same source over others"
        )
    warnings += warn_of_copies(
        [one.name for one in captures], [_digest_of(one.fit.model) for one in captures]
    )
    model = _combine(captures, calmest, interval_s)
    model = _pool_application(model, captures, calmest)
    assert model.same_source is not None
    warnings += _warn_of_wide_curves(model.same_source)
    return SameSourceFit(
        model=model,
        calmest=calmest.fit.to_json(),
        left_out=left_out,
        warnings=(*warnings, *calmest.fit.warnings),
    )


def _digest_of(model: Model) -> str:
    origin = model.provenance
    return "".join(origin.digests) if isinstance(origin, FittedProvenance) else ""


def _warn_of_wide_curves(response: PooledResponse) -> list[str]:
    """Return a warning that names the curves whose intervals say nothing, if there are any."""
    wide = [
        curve.condition.replace("_", " ")
        for curve in response.curves
        if any(is_too_wide(point.relative_rate) for point in curve.points)
    ]
    if not wide:
        return []
    return [
        f"{len(response.captures)} captures do not show how the rate depends on"
        f" {', '.join(wide)}: intervals span a factor above {WIDEST_INTERVAL:g}; give more captures"
        " of the source, each over a path with other values"
    ]


@dataclass(frozen=True)
class _Capture:
    """A fitted capture of the source, with its rate and its path in intervals of the playout."""

    name: str
    fit: Fit
    intervals: PathIntervals
    first_media_ns: int

    @property
    def link_rate_bps(self) -> float | None:
        """Rate of the narrow link as the fit of the capture found it, bit/s."""
        link_rate_bps = self.fit.calibration.session.path.conditions.link_rate_bps
        return None if link_rate_bps is None else link_rate_bps.value


def _choose_interval_s(lengths_s: list[float]) -> float:
    """Return the length of the intervals into which playouts of these lengths are cut, s."""
    interval_s = float(np.median(lengths_s)) / _LIMITS.intervals_of_capture
    most_s = min(lengths_s) / _LIMITS.fewest_intervals
    return max(_LIMITS.shortest_interval_s, min(interval_s, most_s))


def _measure_playout(model: Model, view: SessionView, interval_s: float) -> PathIntervals:
    start_s = model.buffering.duration_s.value if model.buffering else 0.0
    return measure_intervals(view, start_s=start_s, interval_s=interval_s)


def _combine(captures: Sequence[_Capture], calmest: _Capture, interval_s: float) -> Model:
    """Return the model of the calmest capture with the response that all show, and their names."""
    model, intervals = calmest.fit.model, calmest.intervals
    uncongested_bps = model.playout.rate_bps.value
    if len(intervals):
        uncongested_bps = float(intervals.rate_bps.mean())
    curves, absent = _fit_curves(captures, uncongested_bps)
    kind, evidence = _classify(captures, curves)
    response = PooledResponse(
        kind=kind,
        evidence=tuple(evidence),
        interval_s=interval_s,
        uncongested_rate_bps=uncongested_bps,
        source=calmest.name,
        captures=tuple(each.name for each in captures),
        curves=tuple(curves),
        absent=absent,
    )
    origins = [each.fit.model.provenance for each in captures]
    fitted = [origin for origin in origins if isinstance(origin, FittedProvenance)]
    provenance = model.provenance.model_copy(
        update={
            "files": tuple(name for origin in fitted for name in origin.files),
            "digests": tuple(digest for origin in fitted for digest in origin.digests),
        }
    )
    description = (
        f"One source over {len(captures)} paths; its processes are those of {model.description}"
    )
    return model.model_copy(
        update={"same_source": response, "provenance": provenance, "description": description}
    )


def _pool_application(model: Model, captures: Sequence[_Capture], calmest: _Capture) -> Model:
    """Return the model with the player that all captures show, if they have segments."""
    players = [
        SeenPlayer(
            each.name,
            each.fit.application,
            find_segments(each.fit.exchanges, "media", each.first_media_ns),
        )
        for each in captures
        if each.fit.exchanges is not None
        and each.fit.application is not None
        and each.fit.application.kind == "chunked"
    ]
    found = pool_players(players, calmest.name)
    if found is None:
        return model
    application, absent, evidence = found
    kept = {name: why for name, why in model.absent.items() if not name.startswith("application")}
    assert model.same_source is not None
    response = model.same_source.model_copy(
        update={"evidence": (*model.same_source.evidence, *evidence)}
    )
    return model.model_copy(
        update={"application": application, "absent": kept | absent, "same_source": response}
    )


def _congestion(capture: _Capture) -> tuple[float, float, float]:
    """Return the order of a capture from calm to congested: loss, queueing, throughput."""
    intervals = capture.intervals
    loss = float(np.nanmean(intervals.loss_rate)) if np.isfinite(intervals.loss_rate).any() else 0.0
    delay = intervals.queueing_delay_s
    queued_s = float(np.nanmedian(delay)) if np.isfinite(delay).any() else 0.0
    given_bps, fastest_bps = intervals.throughput_bps, capture.link_rate_bps
    if np.isfinite(given_bps).any():
        fastest_bps = float(np.nanmedian(given_bps))
    return round(loss, _LIMITS.loss_digits), queued_s, -(fastest_bps or 0.0)


def _fit_curves(
    captures: Sequence[_Capture], uncongested_bps: float
) -> tuple[list[ResponseCurve], dict[str, str]]:
    """Return the curve of each condition that varies, and why others have none."""
    curves: list[ResponseCurve] = []
    absent: dict[str, str] = {}
    for condition, (_, least) in _CONDITIONS.items():
        observations = _observe(captures, condition, uncongested_bps)
        known = observations.condition.size
        if known < _LIMITS.fewest_intervals:
            absent[condition] = f"{known} intervals show it, {_LIMITS.fewest_intervals} are needed"
            continue
        low, high = np.quantile(observations.condition, [0.05, 0.95]).tolist()
        varies = high >= least * max(low, 1e-12) if condition in _RATES else high - low >= least
        if varies:
            curves.append(fit_response_curve(observations, condition))
        else:
            absent[condition] = (
                f"it hardly varies: 90% of {known} intervals lie between {low:.4g} and {high:.4g}"
            )
    return curves, absent


def _observe(
    captures: Sequence[_Capture], condition: PathCondition, uncongested_bps: float
) -> Observations:
    """Return the intervals in which a condition and the rate one interval later are known."""
    columns: list[tuple[FloatArray, FloatArray, IntArray]] = []
    for number, capture in enumerate(captures):
        state = _condition(capture, condition)[:-1]
        rate = capture.intervals.rate_bps[1:]
        known = np.isfinite(state) & (rate > 0)
        log_rate = np.log(rate[known] / uncongested_bps)
        columns.append((state[known], log_rate, np.full(log_rate.size, number)))
    state, log_rate, number_of = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return Observations(state, log_rate, number_of, increasing=condition in _RATES)


def _condition(capture: _Capture, condition: PathCondition) -> FloatArray:
    intervals = capture.intervals
    if condition == "loss_rate":
        return intervals.path_loss()
    if condition == "queueing_delay_s":
        return intervals.queueing_delay_s
    if condition == "throughput_bps":
        return intervals.throughput_bps
    return np.full(len(intervals), capture.link_rate_bps or np.nan)


def _classify(
    captures: Sequence[_Capture], curves: Sequence[ResponseCurve]
) -> tuple[ResponseKind, list[str]]:
    """Return the class of the response and its evidence."""
    if not curves:
        total = sum(len(capture.intervals) for capture in captures)
        if total < _LIMITS.fewest_intervals:
            return "unknown", [f"the captures have {total} intervals: too short"]
        return "unknown", ["no known condition of the paths varies within or between the captures"]
    evidence = [_in_words(curve) for curve in curves]
    effects = [curve.end_to_end for curve in curves]
    if not any(_ends(effect)[1] < 1 and effect.value < _LIMITS.less for effect in effects):
        least = _LIMITS.hardly_less
        certain = any(_ends(effect)[0] > least for effect in effects)
        if certain and all(effect.value > least for effect in effects):
            text = f"the rate keeps more than {least:.0%} whatever the path does"
            return "unresponsive", [*evidence, text]
        text = "the intervals include both no answer and a fall of the rate: give more captures"
        return "unknown", [*evidence, text]
    thins, by_frames = _find_thinning(captures)
    if thins:
        return "thinning", [*evidence, by_frames]
    switches, by_levels = _find_levels(captures)
    kind: ResponseKind = "level_switching" if switches else "rate_following"
    return kind, [*evidence, by_frames, by_levels]


def _ends(effect: Estimate) -> tuple[float, float]:
    return effect.low or 0.0, np.inf if effect.high is None else effect.high


def _in_words(curve: ResponseCurve) -> str:
    calm, worst = curve.points[0].condition, curve.points[-1].condition
    if curve.condition in _RATES:
        calm, worst = worst, calm
    low, high = _ends(curve.end_to_end)
    return (
        f"{_CONDITIONS[curve.condition][0]} from {calm:.4g} to {worst:.4g}: the rate becomes"
        f" {curve.end_to_end.value:.2f} [{low:.2f}, {high:.2f}] times as high"
    )


def _find_thinning(captures: Sequence[_Capture]) -> tuple[bool, str]:
    """Return whether fewer frames make the rate fall, by the slope of log frames on log rate."""
    rate_bps = np.concatenate([capture.intervals.rate_bps for capture in captures])
    frames_hz = np.concatenate([capture.intervals.frames_hz for capture in captures])
    known = np.isfinite(frames_hz) & (rate_bps > 0)
    log_rate, log_frames = np.log(rate_bps[known]), np.log(frames_hz[known])
    if log_rate.size < _LIMITS.fewest_intervals or np.ptp(log_rate) == 0:
        return False, "frames are not seen (no RTP timestamps)"
    share = float(np.polyfit(log_rate, log_frames, 1)[0])
    text = f"fewer frames make up {share:.0%} of the changes of the rate"
    if not 0 <= share <= 1:  # frames and sizes change in opposite ways: no share of the two
        text = f"at half the rate there are {0.5**share:.0%} of the frames"
    return share >= _LIMITS.share_by_frames, text


def _find_levels(captures: Sequence[_Capture]) -> tuple[bool, str]:
    """Return whether the rates lie on a few levels that captures share or move between.

    A steady path has one rate: that it differs from the next capture's makes no ladder.
    """
    count = len(captures)
    with_levels = sum(each.fit.calibration.summary()["levels"] is not None for each in captures)
    if 2 * with_levels > count:
        return True, f"the fits of {with_levels} of {count} captures find levels of the rate"
    rates = np.concatenate([each.intervals.rate_bps for each in captures])
    capture = np.repeat(np.arange(count), [len(each.intervals) for each in captures])[rates > 0]
    rates = rates[rates > 0]
    order = np.argsort(rates, kind="stable")
    edges = np.flatnonzero(np.diff(np.log(rates[order])) > np.log(_LIMITS.level_distance)) + 1
    narrow = [
        rows
        for rows in np.split(order, edges)
        if rows.size >= 2 and np.ptp(np.log(rates[rows])) <= np.log(_LIMITS.level_ratio)
    ]
    share = sum(rows.size for rows in narrow) / max(rates.size, 1)
    visits = sum(np.unique(capture[rows]).size for rows in narrow)
    shared = visits > min(len(narrow), np.unique(capture).size)
    found = 2 <= len(narrow) <= _LIMITS.most_levels and share >= _LIMITS.share_in_levels and shared
    where = ", which captures share or move between" if shared else ""
    return found, f"{share:.0%} of the intervals' rates lie on {len(narrow)} separate levels{where}"
