"""What one session contributes to a population: estimates with errors, and features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trafficgen.calibration.population.across_sessions import Observed
from trafficgen.calibration.population.cut_sessions import Ends
from trafficgen.critical_values import NORMAL_95
from trafficgen.flows import SessionView, widen_bin
from trafficgen.models import (
    FIRST_PART_S,
    MOST_PARTS,
    Estimate,
    FittedProvenance,
    Model,
    PopulationQuantity,
    Stream,
)
from trafficgen.units import (
    FloatArray,
    IntArray,
    bps_from_bytes,
    bytes_from_bps,
    ns_from_s,
    s_from_ns,
)


class EstimateLimits:
    """How errors and features of a session are measured."""

    #: Batches behind the standard error of a mean rate: fewer make it noisy, more make neighbouring
    #: batches depend on each other.
    batches: int = 16
    #: Bins in which the variation of the rate is a feature, s.
    rate_bin_s: float = 1.0
    #: Bins at most; sessions of more get wider ones.
    most_bins: int = 1_000_000
    #: Rates below this, bit/s, and variations below the next have no logarithm to compare.
    smallest_rate_bps: float = 1e-6
    smallest_variation: float = 0.01
    #: The last part of a profile begins before this share of the session: a short rest says little.
    last_part_begins: float = 0.75
    #: Where no part's rate is off by more than this share, it does not change.
    same_rate: float = 0.1


_LIMITS = EstimateLimits()
#: What a session shows as it starts.
_OF_START: frozenset[PopulationQuantity] = frozenset(
    ("silence_s", "media_start_s", "buffering_ratio", "buffering_duration_s")
)


@dataclass(frozen=True)
class SessionEstimates:
    """One fitted session of a corpus.

    Attributes:
        name: Capture and session, for people.
        observed: Its quantities; one that is zero or absent is left out.
        unknown: Quantities that could not be measured, such as the loss without numbers.
        features: Features of its packet process, shape (f,).
        levels_bps: Levels of its rate, bit/s; empty if none were found.
        ends: How it lies in its capture; None where that is not known.
        profile: Rate of its first stream in parts of time, as a prototype has it.
    """

    name: str
    model: Model
    observed: dict[PopulationQuantity, Observed]
    unknown: frozenset[PopulationQuantity]
    features: FloatArray
    levels_bps: tuple[float, ...] = ()
    ends: Ends | None = None
    profile: tuple[float, ...] = ()

    @property
    def length(self) -> Observed:
        """Its length, s, which the capture may have cut."""
        return self.observed["media_duration_s"]

    def cut(self) -> SessionEstimates:
        """Return the session with a length that is a lower bound."""
        length = replace(self.length, is_cut=True)
        return replace(self, observed={**self.observed, "media_duration_s": length})


def describe_session(
    view: SessionView,
    model: Model,
    *,
    name: str,
    media_start_s: float,
    levels_bps: tuple[float, ...] = (),
    ends: Ends | None = None,
) -> SessionEstimates:
    """Summarise a fitted session for a population.

    Standard errors come from the fit's intervals; those of mean rates are by batch means (16
    batches of equal length; Law and Kelton). Lengths and silences are measured, not estimated:
    their error is 0. ``media_start_s`` counts from the first packet of the capture.
    """
    time_ns, size_bytes = view.media_time_ns, view.media_ip_bytes
    buffering_s = model.buffering.duration_s.value if model.buffering else 0.0
    change = int(np.searchsorted(time_ns, view.first_media_ns + ns_from_s(buffering_s)))
    playout_error = _log_error_of_rate(time_ns[change:], size_bytes[change:])
    observed: dict[PopulationQuantity, Observed] = {
        "media_duration_s": Observed(buffering_s + model.playout.duration_s.value),
        "playout_rate_bps": _observe(model.playout.rate_bps, default=playout_error),
        "silence_s": Observed(model.startup.silence_s.value),
        "media_start_s": Observed(media_start_s),
    }
    if model.buffering is not None:
        buffering_error = _log_error_of_rate(time_ns[:change], size_bytes[:change])
        error = float(np.hypot(playout_error, buffering_error))
        observed["buffering_ratio"] = _observe(model.buffering.ratio, default=error)
        observed["buffering_duration_s"] = _observe(model.buffering.duration_s)
    conditions, unknown = _conditions(model)
    observed |= conditions
    starts = ends is None or not ends.begins_before
    if not starts:
        unknown |= _OF_START
    return SessionEstimates(
        name=name,
        model=model,
        observed={
            quantity: each
            for quantity, each in observed.items()
            if each.value > 0 and quantity not in unknown
        },
        unknown=unknown,
        features=_features(model, time_ns[change:], size_bytes[change:]),
        levels_bps=levels_bps,
        ends=ends,
        profile=_profile(view, model.streams[0]) if starts else (),
    )


def _profile(view: SessionView, stream: Stream) -> tuple[float, ...]:
    """Return the rate of the heaviest stream in parts of time over that of its phases there.

    The parts are those of :class:`~trafficgen.models.Prototype`, the last one is the rest; without
    any the rate does not change.
    """
    of_first = view.table.flow[view.media] == view.heaviest_flow
    time_s = s_from_ns(view.media_time_ns[of_first] - view.first_media_ns)
    end_s = stream.phases[-1].end_s
    starts_s = FIRST_PART_S * 2.0 ** np.arange(MOST_PARTS - 1)
    edges_s = np.append(starts_s[starts_s < _LIMITS.last_part_begins * end_s], end_s)
    place = np.searchsorted(edges_s[:-1], time_s, side="right")
    found = np.bincount(place, weights=view.media_ip_bytes[of_first], minlength=edges_s.size)
    sent = np.zeros(edges_s.size)
    for phase in stream.phases:
        inside_s = np.diff(np.clip(edges_s, phase.start_s, phase.end_s), prepend=phase.start_s)
        sent += bytes_from_bps(phase.rate_bps, inside_s)
    factors = np.where(sent > 0, found / np.maximum(sent, 1.0), 1.0)
    if np.all(np.abs(factors - 1) <= _LIMITS.same_rate):
        return ()
    return tuple(float(f"{factor:.3g}") for factor in factors)


def _conditions(
    model: Model,
) -> tuple[dict[PopulationQuantity, Observed], frozenset[PopulationQuantity]]:
    """Return round-trip time and loss of the path, and the names of those that are unknown."""
    if not isinstance(model.provenance, FittedProvenance):
        return {}, frozenset({"rtt_s", "loss_rate"})
    rtt_s, loss = model.provenance.conditions.rtt_s, model.provenance.conditions.loss_rate
    observed: dict[PopulationQuantity, Observed] = {}
    if rtt_s is not None:
        observed["rtt_s"] = _observe(rtt_s)
    if loss is not None and loss.low is not None and loss.high is not None and loss.high > 0:
        # The middle of a Wilson interval has two losses in four more packets: it is never zero.
        middle = (loss.low + loss.high) / 2
        observed["loss_rate"] = Observed(middle, (loss.high - loss.low) / 2 / NORMAL_95 / middle)
    wanted: dict[PopulationQuantity, Estimate | None] = {"rtt_s": rtt_s, "loss_rate": loss}
    return observed, frozenset(name for name, estimate in wanted.items() if estimate is None)


def _observe(estimate: Estimate, *, default: float = 0.0) -> Observed:
    """Return an estimate with the error of its logarithm: by its interval, else the default."""
    low, high, error = estimate.low, estimate.high, default
    if low is not None and high is not None and estimate.value > 0:
        if low > 0:
            error = float(np.log(high / low)) / (2 * NORMAL_95)
        else:
            error = (high - low) / (2 * NORMAL_95 * estimate.value)
    return Observed(estimate.value, error)


def _log_error_of_rate(time_ns: IntArray, size_bytes: IntArray) -> float:
    """Return the standard error of a mean rate's logarithm by batch means; 0 for few packets."""
    count = _LIMITS.batches
    if time_ns.size < 2 * count or time_ns[-1] == time_ns[0]:
        return 0.0
    edges = np.linspace(time_ns[0], time_ns[-1] + 1, count + 1)
    batch = np.minimum(np.searchsorted(edges, time_ns, side="right") - 1, count - 1)
    sums = np.bincount(batch, weights=size_bytes, minlength=count)
    return float(sums.std(ddof=1) / np.sqrt(count) / sums.mean())


def _features(model: Model, time_ns: IntArray, size_bytes: IntArray) -> FloatArray:
    """Return features of a playout: rate, sizes, variability, streams and transport."""
    stream, bin_s = model.streams[0], _LIMITS.rate_bin_s
    span_s, mean_bytes = bin_s, 1.0
    bins: FloatArray = np.zeros(1)
    if time_ns.size:
        span_s = max(s_from_ns(int(time_ns[-1] - time_ns[0])), bin_s)
        mean_bytes = float(size_bytes.mean())
        bin_s = widen_bin(bin_s, span_s=span_s, most_bins=_LIMITS.most_bins)
        place = (time_ns - time_ns[0]) // ns_from_s(bin_s)
        bins = np.bincount(place, weights=size_bytes).astype(np.float64)
    variation = float(bins.std() / bins.mean()) if bins.mean() > 0 else 0.0
    rate_bps = bps_from_bytes(float(size_bytes.sum()), span_s)
    return np.array(
        [
            np.log(max(rate_bps, _LIMITS.smallest_rate_bps)),
            np.log(mean_bytes),
            np.log(max(variation, _LIMITS.smallest_variation)),
            float(len(model.streams)),
            float(stream.transport.protocol == "tcp"),
            float(stream.transport.rtp is not None),
        ]
    )
