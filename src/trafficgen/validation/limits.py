"""Limits on the metrics of a comparison: `compare --fail-above METRIC=VALUE`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from trafficgen.errors import SelectionError
from trafficgen.validation.comparison import Comparison


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


def exceeded_limits(comparison: Comparison, limits: Iterable[str]) -> list[ExceededLimit]:
    """Find the limits that a comparison exceeds.

    Args:
        comparison: The comparison.
        limits: Texts of the form ``METRIC=VALUE``, such as ``gap_s.ks=0.1``; METRIC is a flat name
            or, where that is unique, the part before its first point, such as ``packets``.

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
    exceeded = []
    flat = comparison.flat()
    for text in limits:
        named, limit = _parse_limit(text)
        metric = _flat_name(named, list(flat))
        value = flat[metric]
        if math.isnan(value):
            exceeded.append(ExceededLimit(metric, limit, None, _reason(comparison, metric)))
        elif value > limit:
            exceeded.append(ExceededLimit(metric, limit, value))
    return exceeded


def _reason(comparison: Comparison, metric: str) -> str | None:
    return next(
        (why for name, why in comparison.absent.items() if f"{metric}.".startswith(f"{name}.")),
        None,
    )


def _flat_name(named: str, metrics: list[str]) -> str:
    if named in metrics:
        return named
    matching = [metric for metric in metrics if metric.partition(".")[0] == named]
    if len(matching) != 1:
        raise SelectionError(
            what=f"metric {named!r}", available=f"metrics are {', '.join(matching or metrics)}"
        )
    return matching[0]


def _parse_limit(text: str) -> tuple[str, float]:
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
