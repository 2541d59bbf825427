"""Charts of the path of a capture and of the source's response to congestion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trafficgen.calibration.path.loss_measures import LossSource
from trafficgen.calibration.path.path_records import PathSeries, sum_intervals
from trafficgen.calibration.response.congestion_response import (
    INTERVAL_S,
    padhye_bps,
    tcp_friendly_bps,
)
from trafficgen.formatting import format_duration, number
from trafficgen.models import LossModel, ResponsePoint
from trafficgen.reports.fit.rate import phase_spans
from trafficgen.reports.fit.subject import FitSubject
from trafficgen.reports.page import TIME, Axis, Band, Chart, Curve, Layer, Role, Rule
from trafficgen.reports.samples import choose_bin_s, points_with_intervals, relative_rate_axis
from trafficgen.units import FloatArray, kbps_from_bps, s_from_ns

#: What loss was counted from, for people.
LOSS_SOURCES: Mapping[LossSource, str] = {
    "rtp": "gaps in RTP's sequence numbers",
    "tcp": "TCP segments that were retransmitted",
    "rtcp": "RTCP reports",
    "pair": "packets that the receiver's capture lacks",
    "arrival": "arrival times of the table",
}
#: Intervals of the charts over time.
_MOST_INTERVALS, _FINEST_S = 300, 1.0
#: Fewer runs of losses show no law.
_FEWEST_RUNS = 3


def chart_path(subject: FitSubject) -> Iterator[Chart | None]:
    """Chart loss and delay of the path, and how the rate follows them."""
    records = subject.session.path.records
    if records is not None and records.sent_ns.size:
        span_s = s_from_ns(int(np.ptp(records.sent_ns)))
        width_s = choose_bin_s(span_s, most=_MOST_INTERVALS, finest_s=_FINEST_S)
        series = sum_intervals(records, interval_s=width_s)
        yield _chart_loss(subject, series)
        yield _chart_delay(subject, series)
    yield _chart_loss_runs(subject)
    yield _chart_response(subject)
    yield _chart_friendliness(subject)


def _starts_s(series: PathSeries, subject: FitSubject) -> FloatArray:
    """Return the starts of the intervals, s from the first media packet; a series has no first."""
    records = subject.session.path.records
    assert records is not None
    zero_s = s_from_ns(int(records.sent_ns.min()) - subject.views.captured.first_media_ns)
    return zero_s + series.interval_s * np.arange(1, series.packets.size + 1, dtype=np.float64)


def _chart_loss(subject: FitSubject, series: PathSeries) -> Chart | None:
    loss = subject.session.path.loss
    if loss is None or not series.loss.any():
        return None
    x = _starts_s(series, subject)
    curve = Curve(name="loss", x=x, y=series.loss, role="measured", shape="steps")
    return Chart(
        name="loss",
        title="Loss over time",
        x=TIME,
        y=Axis(label="lost / sent packets", low=0),
        layers=(*phase_spans(subject), Rule(name="mean", at=loss.rate), curve),
        caption=(
            f"Intervals of {series.interval_s:g} s, by {LOSS_SOURCES[loss.source]}. In all"
            f" {loss.rate:.3%}, 95% interval {loss.low:.3%} to {loss.high:.3%}."
        ),
    )


def _chart_delay(subject: FitSubject, series: PathSeries) -> Chart | None:
    queueing = subject.provenance.conditions.queueing_delay_s
    if queueing is None or np.count_nonzero(np.isfinite(series.delay_s)) < 2:
        return None
    return Chart(
        name="queueing-delay",
        title="Queueing delay over time",
        x=TIME,
        y=Axis(label="one-way delay above the least", unit="s", low=0),
        layers=(
            *phase_spans(subject),
            Curve(name="delay", x=_starts_s(series, subject), y=series.delay_s, role="measured"),
        ),
        caption=(
            f"Means of {series.interval_s:g} s by {queueing.method}. Median"
            f" {format_duration(queueing.median)}, largest {format_duration(queueing.largest)}."
        ),
    )


def _chart_loss_runs(subject: FitSubject) -> Chart | None:
    loss = subject.session.path.loss
    if loss is None or loss.model is None or loss.lost_runs.size < _FEWEST_RUNS:
        return None
    runs = loss.lost_runs
    length = np.arange(1, int(runs.max()) + 1)
    counts = np.bincount(runs, minlength=length.size + 1)[1:]
    share = np.cumsum(counts[::-1])[::-1] / runs.size
    if length.size > _MOST_INTERVALS:
        kept = np.unique(np.geomspace(1, length.size, _MOST_INTERVALS).astype(np.int64)) - 1
        length, share = length[kept], share[kept]
    least = 0.3 / runs.size
    layers = list(_run_laws(loss.model, loss.rate, np.arange(1, int(length[-1]) + 2), least=least))
    measured = Curve(name="measured", x=length, y=share, role="measured", shape="points")
    other = "independent losses" if loss.model.kind == "gilbert" else "Gilbert's chain"
    return Chart(
        name="loss-runs",
        title="Runs of lost packets",
        x=Axis(label="packets lost in a row", low=0.5),
        y=Axis(label="share of runs that reach it", log=True, low=least, high=1.2),
        layers=(*layers, measured),
        caption=(
            f"{runs.size:,} runs. The chain of Gilbert has one more parameter than independent"
            f" losses; BIC puts {other} behind by {number(loss.model.delta_bic)}."
        ),
    )


def _run_laws(
    model: LossModel, rate: float, length: np.ndarray, *, least: float
) -> Iterator[Layer]:
    """Yield the geometric laws of the runs: of Gilbert's chain, and of independent losses."""
    back = model.bad_to_good
    curves = {
        "Gilbert's chain": (1 - back.value) ** (length - 1.0),
        "independent losses": rate ** (length - 1.0),
    }
    if back.low is not None and back.high is not None:
        low, high = (1 - back.high) ** (length - 1.0), (1 - back.low) ** (length - 1.0)
        shown = high >= least
        yield Band(
            name="95% interval of the chain",
            x=length[shown],
            low=np.maximum(low, least)[shown],
            high=high[shown],
            role="law",
        )
    chosen = "Gilbert's chain" if model.kind == "gilbert" else "independent losses"
    for name, y in curves.items():
        # The first point below shows where it goes.
        shown = np.concatenate(([True], y[:-1] >= least)) & (y > 0)
        role: Role = "law" if name == "Gilbert's chain" else "extra"
        yield Curve(name=name, x=length[shown], y=y[shown], role=role, dashed=name != chosen)


def _chart_response(subject: FitSubject) -> Chart | None:
    response = subject.session.response.response
    if not response.curve:
        return None
    rates = [point.relative_rate for point in response.curve]
    by_delay = any("delay" in point.state for point in response.curve)
    label = "queueing delay before, s" if by_delay else "loss before, lost / sent packets"
    return Chart(
        name="response",
        title="Rate by the state of the path",
        x=Axis(label=label, categories=tuple(_range(point) for point in response.curve)),
        y=relative_rate_axis(rates),
        layers=(
            Rule(name="median rate", at=1.0),
            points_with_intervals(rates, [float(place) for place in range(len(rates))]),
        ),
        caption=(
            f"Rate in the {format_duration(response.interval_s)} after each state / median rate."
            f" Class: {response.kind.replace('_', ' ')}. {'; '.join(response.evidence)}."
        ),
    )


def _range(point: ResponsePoint) -> str:
    return point.state if point.state == "no loss" else f"{point.low:g} - {point.high:g}"


def _chart_friendliness(subject: FitSubject) -> Chart | None:
    found, path = subject.session.response.response.friendliness, subject.session.path
    if found is None or path.records is None or path.rtt_s is None:
        return None
    series = sum_intervals(path.records, interval_s=INTERVAL_S)
    lossy = series.loss > 0
    rtt_s = path.rtt_s + np.nan_to_num(series.delay_s)[lossy]
    x = _starts_s(series, subject) + INTERVAL_S / 2
    one_kbps = kbps_from_bps(1.0)
    rate = series.goodput_bps * one_kbps
    bound = tcp_friendly_bps(rtt_s, series.loss[lossy]) * one_kbps
    padhye = padhye_bps(rtt_s, series.loss[lossy]) * one_kbps
    points: dict[str, Any] = {"x": x[lossy], "shape": "points"}
    return Chart(
        name="tcp-friendliness",
        title="Rate compared with TCP on the same path",
        x=TIME,
        y=Axis(label="rate", unit="kbit/s", log=True),
        layers=(
            Curve(name="measured", x=x, y=np.where(rate > 0, rate, np.nan), role="measured"),
            Curve(name="TCP-friendly bound", y=bound, role="extra", dashed=True, **points),
            Curve(name="TCP by Padhye's model", y=padhye, role="law", **points),
        ),
        caption=(
            f"Intervals of {INTERVAL_S:g} s; TCP's rate is known where packets were lost"
            f" ({found.intervals} intervals). The source is above the bound in"
            f" {found.above_bound.value:.0%} of them."
        ),
    )
