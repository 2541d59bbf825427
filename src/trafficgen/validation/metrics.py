"""Metrics of a comparison: distances of two measurements, and distances due to chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsFloat, TypeAlias, TypeVar

import numpy as np

from trafficgen.errors import TrafficgenError
from trafficgen.formatting import describe_value
from trafficgen.options import takes_name
from trafficgen.processes.fractional_noise.hurst import Hurst
from trafficgen.registry import Registry, calling_module, name_failures, require_function
from trafficgen.tables import PacketTable
from trafficgen.validation.distances import (
    MOST_BINS,
    Distances,
    are_too_few,
    autocorrelation_noise,
    ks_noise,
    largest_log10_ratio,
    rate_variances,
    sample_distances,
    variance_time_bins_s,
    variance_time_noise,
    wasserstein_noise,
)
from trafficgen.validation.measurement import RATE_BINS_S, Measurement, Totals

#: Nested metrics as `compare` prints them; a leaf is a number (NaN: not computable) or a pair
#: reference, candidate.
Metrics = dict[str, object]
_ACF_SAMPLE = "rate.0.5"
#: Metric -> total that it compares.
_TOTALS = {"packets": "packets", "bytes": "ip_bytes", "duration": "duration_s"}
#: Flat names of the metrics that every comparison has, in its order.
METRIC_NAMES = (
    *(
        f"{name}.{distance}"
        for name in ("packet_bytes", "gap_s", *(f"rate.{width}" for width in RATE_BINS_S))
        for distance in ("ks", "wasserstein")
    ),
    *(f"{name}.ks" for name in ("smoothness", "burst_packets", "burst_spacing_s")),
    *("rate_acf.max_abs_difference", "variance_time.max_abs_log10_ratio", "hurst"),
    *("phases.buffering_end_s", "phases.buffering_ratio"),
    *(f"{name}.relative_difference" for name in _TOTALS),
)
#: Gives the distance of a candidate's packets to those of a reference; 0: equal.
Metric: TypeAlias = Callable[[PacketTable, PacketTable], float]
_Metric = TypeVar("_Metric", bound=Metric)
#: Metrics of users, by name.
METRICS: Registry[Metric] = Registry(
    "metrics", taken={name.partition(".")[0] for name in METRIC_NAMES}
)


@takes_name
def register_metric(name: str) -> Callable[[_Metric], _Metric]:
    """Let `compare` compute a metric of your own, for the candidate and for all baselines.

    It has no sampling noise: `compare` judges it by the baselines alone. From the command line, an
    entry point of the group ``trafficgen.metrics`` with this name gives the module that registers
    it.

    Args:
        name: Its name, as in ``exceeded_limits(comparison, "NAME=0.1")``.

    Returns:
        A decorator of a function of two packet tables, the sessions of reference and candidate. It
        returns their distance, 0 for equal ones, or NaN where it is undefined.

    Raises:
        TrafficgenError: If the name is invalid, or that of a metric of trafficgen.

    Example:
        >>> import trafficgen
        >>> @trafficgen.register_metric("largest_packet")
        ... def compare_largest(
        ...     reference: trafficgen.PacketTable, candidate: trafficgen.PacketTable
        ... ) -> float:
        ...     largest = float(reference.ip_bytes.max())
        ...     return abs(float(candidate.ip_bytes.max()) - largest) / largest
        >>> settings = {"packet_bytes": 750}
        >>> _ = trafficgen.generate("cbr", "small.parquet", duration_s=20, settings=settings)
        >>> capture = "examples/captures/http_burst_then_paced.pcap.gz"
        >>> comparison = trafficgen.compare(capture, "small.parquet")
        >>> comparison.flat()["largest_packet"] > 0.4
        True
    """
    module = calling_module()

    def register(metric: _Metric) -> _Metric:
        require_function(metric, "register_metric")
        METRICS.register(name, metric, module=module)
        return metric

    return register


def compute_metrics(reference: Measurement, candidate: Measurement) -> Metrics:
    """Compute the metrics of a comparison, nested as `compare --json` prints them."""
    bins_s = variance_time_bins_s(reference_s=reference.span_s, candidate_s=candidate.span_s)
    curves = [
        rate_variances(side.view.media_time_ns, side.view.media_ip_bytes, bins_s=bins_s)
        for side in (reference, candidate)
    ]
    apart = {
        name: sample_distances(sample, candidate.samples[name])
        for name, sample in reference.samples.items()
    }
    apart.update(
        dict.fromkeys(incomparable_rates(reference, candidate), Distances(math.nan, math.nan))
    )
    return {
        **{name: vars(apart[name]) for name in ("packet_bytes", "gap_s")},
        "rate": {name: vars(apart[f"rate.{name}"]) for name in RATE_BINS_S},
        **{
            name: {"ks": apart[name].ks}
            for name in ("smoothness", "burst_packets", "burst_spacing_s")
        },
        "rate_acf": {
            "max_abs_difference": float(np.max(np.abs(reference.rate_acf - candidate.rate_acf)))
        },
        "variance_time": {"max_abs_log10_ratio": largest_log10_ratio(*curves)},
        "hurst": {"reference": _value(reference.hurst), "candidate": _value(candidate.hurst)},
        "phases": {
            "buffering_end_s": [reference.buffering_end_s, candidate.buffering_end_s],
            "buffering_ratio": [reference.buffering_ratio, candidate.buffering_ratio],
        },
        **total_metrics(reference.totals, candidate.totals),
        **{name: _compute_own(name, reference, candidate) for name in METRICS},
    }


def _compute_own(name: str, reference: Measurement, candidate: Measurement) -> float:
    """Compute a metric of a user; raise TrafficgenError if it fails or gives no number."""
    with name_failures(f"metric {name}"):
        found: Any = METRICS[name](reference.view.table, candidate.view.table)
    problem = ""
    if not isinstance(found, SupportsFloat) or getattr(found, "ndim", False):
        problem = "is not a number"
    elif float(found) < 0:
        problem = "is negative"
    if problem:
        raise TrafficgenError(
            f"metric {name} gives {describe_value(found)}, which {problem}; return a distance, 0"
            " for equal packets"
        )
    return float(found)


def total_metrics(reference: Totals, candidate: Totals) -> dict[str, dict[str, float]]:
    """Compute relative differences of packets, bytes and duration; NaN for a reference of 0."""
    pairs = {
        metric: (getattr(reference, name), getattr(candidate, name))
        for metric, name in _TOTALS.items()
    }
    return {
        metric: {"relative_difference": abs(other - one) / one if one else math.nan}
        for metric, (one, other) in pairs.items()
    }


def incomparable_rates(reference: Measurement, candidate: Measurement) -> dict[str, str]:
    """Find rates that cannot be compared: flat name such as ``rate.10`` -> reason.

    The number of bins depends on the length of a session, not on what it is like: two sessions of
    one bin each would have the largest distance. Bursts are different: their number is compared.
    """
    reasons = {}
    for width, bin_s in RATE_BINS_S.items():
        longest_s = max(reference.span_s, candidate.span_s)
        name = f"rate.{width}"
        n, m = reference.samples[name].size, candidate.samples[name].size
        if longest_s > MOST_BINS * bin_s:
            reasons[name] = (
                f"{longest_s:.0f} s are more than the {MOST_BINS:,} bins of {width} s that are"
                " compared"
            )
        elif are_too_few(n, m):
            reasons[name] = (
                f"{n} whole bins of {width} s in the reference and {m} in the candidate are too"
                " few: chance alone could give any distance"
            )
    return reasons


def noise_levels(reference: Measurement, candidate: Measurement) -> dict[str, float]:
    """Compute by flat name the distance that chance alone exceeds once in 20; phases have none."""
    levels = {}
    for name, sample in reference.samples.items():
        other = candidate.samples[name]
        levels[f"{name}.ks"] = ks_noise(sample.size, other.size)
        levels[f"{name}.wasserstein"] = wasserstein_noise(sample, other.size)
    bins = reference.samples[_ACF_SAMPLE].size, candidate.samples[_ACF_SAMPLE].size
    levels["rate_acf.max_abs_difference"] = autocorrelation_noise(*bins)
    levels["variance_time.max_abs_log10_ratio"] = variance_time_noise(
        reference_s=reference.span_s, candidate_s=candidate.span_s
    )
    levels["hurst"] = math.hypot(_half_width(reference.hurst), _half_width(candidate.hurst))
    return levels


def _value(estimate: Hurst | None) -> float:
    return math.nan if estimate is None else estimate.value


def _half_width(estimate: Hurst | None) -> float:
    """Return half the width of the 95% interval."""
    return math.nan if estimate is None else (estimate.high - estimate.low) / 2


def flat_metrics(metrics: Mapping[str, object]) -> dict[str, float]:
    """Flatten metrics to names such as ``rate.0.5.ks``, each 0 for equal sides.

    ``hurst`` and the two ``phases`` become the absolute difference of candidate and reference.
    """
    flat: dict[str, float] = {}
    for name, part in metrics.items():
        if isinstance(part, list):
            flat[name] = abs(part[1] - part[0])
        elif isinstance(part, Mapping) and set(part) == {"reference", "candidate"}:
            flat[name] = abs(part["candidate"] - part["reference"])
        elif isinstance(part, Mapping):
            flat.update({f"{name}.{key}": value for key, value in flat_metrics(part).items()})
        elif isinstance(part, float):
            flat[name] = part
    return flat


def median_metrics(runs: Sequence[Any]) -> Any:
    """Take the median of each metric, in nested parts, over runs; NaN where one run lacks it."""
    if isinstance(runs[0], dict):
        return {name: median_metrics([run[name] for run in runs]) for name in runs[0]}
    if isinstance(runs[0], list):
        return [median_metrics(values) for values in zip(*runs, strict=True)]
    return float(np.median(np.array(runs, dtype=np.float64)))  # of a NaN it is NaN
