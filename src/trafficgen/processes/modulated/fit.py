"""Fit renewal gaps under a slowly varying rate: bins with an autocorrelation, laws by class."""

from __future__ import annotations

import math

import numpy as np

from trafficgen.distributions.fitting.empirical import quantile_points
from trafficgen.distributions.law import Atom, Law, QuantilePoint
from trafficgen.flows import sum_in_bins
from trafficgen.processes.autocorrelated_series import sample_autocorrelation
from trafficgen.processes.fitting import FittedProcess, LawFitter, PhasePackets, Proposal
from trafficgen.processes.modulated.model import ModulatedProcess, RateClass
from trafficgen.processes.trains.fit import find_trains
from trafficgen.units import BoolArray, FloatArray, ns_from_s

_DIGITS = 4


class BinLimits:
    """How finely the rate of a phase is described."""

    #: Width of the bins, s; phases of more bins than the second get wider ones.
    width_s: float = 0.5
    fewest: int = 12
    most: int = 100_000
    #: The autocorrelation covers this time, this share of the bins, and no more lags than these.
    lags_s: float = 15.0
    largest_lag_share: float = 1 / 3
    most_lags: int = 96
    #: The law of the bytes of a bin has a point for this many active bins, within bounds.
    bins_per_point: int = 4
    points: tuple[int, int] = (8, 32)
    #: A class of rates has this many packets, and bursts of its own where these are this many.
    packets_per_class: int = 1000
    fewest_bursts: int = 20
    most_classes: int = 4


_LIMITS = BinLimits()


def propose_modulated(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Fit renewal gaps under a slowly varying rate; None with too few packets or bins.

    The bytes of successive bins get a smoothed empirical law and their sample autocorrelation.
    Active bins are parted into up to four classes of rate with about the same bytes; each has its
    own laws of gaps (within a bin) and sizes. So slow ups and downs (scenes, key frames, quality, a
    sender that follows its path) come out as measured, and gaps are short where the rate is high.

    Source: Cario and Nelson, "Autoregressive to anything" (1996), for the marginal law with an
    autocorrelation.
    """
    width_s = _LIMITS.width_s * max(1, math.ceil(packets.span_s / (_LIMITS.most * _LIMITS.width_s)))
    start_ns = packets.span_ns[0]
    bins = int(packets.span_s / width_s)
    if bins < _LIMITS.fewest:
        return None
    bin_ns = ns_from_s(width_s)
    size_bytes = sum_in_bins(
        packets.time_ns, packets.ip_bytes, start_ns=start_ns, bin_ns=bin_ns, bins=bins
    )
    most_lags = min(_LIMITS.most_lags, int(bins * _LIMITS.largest_lag_share))
    correlation = sample_autocorrelation(
        size_bytes, min(most_lags, round(_LIMITS.lags_s / width_s))
    )
    bounds = _class_bounds(size_bytes, packets=packets.time_ns.size)
    bin_of = (packets.time_ns - start_ns) // bin_ns
    np.minimum(bin_of, bins - 1, out=bin_of)
    class_of = np.searchsorted(bounds, size_bytes, side="left").astype(np.uint8)[bin_of]
    del bin_of  # as long as the session
    classes = []
    for number, bound in enumerate([*bounds, None]):
        found = _rate_class(packets, class_of == number, bound, fit, number=number, width_s=width_s)
        if found is None:
            return None
        classes.append(found)
    process = ModulatedProcess(
        bin_s=width_s,
        bin_bytes=_law_of_bins(size_bytes),
        autocorrelation=tuple(round(float(r), _DIGITS) for r in correlation),
        classes=tuple(classes),
    )
    return FittedProcess(process, fit.problems)


def _rate_class(
    packets: PhasePackets,
    mine: BoolArray,
    bound: float | None,
    fit: LawFitter,
    *,
    number: int,
    width_s: float,
) -> RateClass | None:
    """Fit the laws of one class of rates; None where it has no gaps."""
    gap_s = packets.gap_s
    within = mine[:-1] & (gap_s < width_s)
    known_s = np.append(math.nan, gap_s)
    known_s[1:][~within] = math.nan
    known_s = known_s[mine]
    threshold_s = packets.threshold_s
    idle, burst_packets = None, None
    pause = gap_s > (math.inf if threshold_s is None else threshold_s)
    long = within & pause
    if np.count_nonzero(long) >= _LIMITS.fewest_bursts:
        within &= ~long
        idle = fit.law(f"class {number} idle_s", gap_s[long], "s")
        ends = np.flatnonzero(mine & np.append(pause, True))
        bursts = np.diff(np.flatnonzero(np.concatenate(([True], pause, [True]))))
        counts = bursts[np.concatenate(([0], np.cumsum(pause)))[ends]]
        burst_packets = fit.law(
            f"class {number} burst_packets", counts.astype(np.float64), "packets"
        )
    if not within.any():
        return None
    del gap_s, pause, long  # as long as the session
    sizes = packets.ip_bytes[mine]
    trains = find_trains(known_s, sizes)
    del known_s
    return RateClass(
        up_to_bytes=bound,
        gap_s=fit.law(f"class {number} gap_s", packets.gap_s[within], "s"),
        idle_s=idle,
        burst_packets=burst_packets,
        packet_bytes=fit.law(f"class {number} packet_bytes", sizes, "bytes"),
        trains=trains,
        pauses_in_trains=trains is not None and idle is not None,
    )


def _class_bounds(size_bytes: FloatArray, *, packets: int) -> list[float]:
    """Return the upper bounds of all classes but the last, each with about the same bytes."""
    classes = int(np.clip(packets // _LIMITS.packets_per_class, 1, _LIMITS.most_classes))
    active = np.sort(size_bytes[size_bytes > 0])
    total = np.cumsum(active)
    at = np.searchsorted(total, total[-1] * np.arange(1, classes) / classes)
    bounds = np.unique(active[np.minimum(at, active.size - 1)])
    return [float(bound) for bound in bounds if bound < active[-1]]


def _law_of_bins(size_bytes: FloatArray) -> Law:
    """Smooth the empirical law of the bytes of a bin, with the share of idle bins as an atom."""
    active = np.sort(size_bytes[size_bytes > 0])
    idle = 1 - active.size / size_bytes.size
    atoms = [Atom(value=0.0, p=idle)] if idle > 0 else []
    points: tuple[QuantilePoint, ...] = ()
    if active[0] == active[-1]:
        atoms.append(Atom(value=float(active[0]), p=1 - idle))
    else:
        most = int(np.clip(active.size // _LIMITS.bins_per_point, *_LIMITS.points))
        points = quantile_points(active, most=most)
    return Law(
        unit="bytes",
        family="quantiles" if points else "atoms",
        quantiles=points,
        atoms=tuple(atoms),
        integer=True,
        observations=size_bytes.size,
    )


#: What `fit` tries.
PROPOSALS = (Proposal("modulated", 9, propose_modulated),)
