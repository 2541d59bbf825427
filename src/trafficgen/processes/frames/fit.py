"""Fit the frame clock: from timestamps and packets to frames, their times, sizes and packets."""

from __future__ import annotations

from typing import Literal

import numpy as np

from trafficgen.processes.fitting import FittedProcess, LawFitter, PhasePackets, Proposal
from trafficgen.processes.frames.group_of_pictures import FoundGroup, find_group, fit_profile
from trafficgen.processes.frames.model import FrameName, FrameProcess, FrameType
from trafficgen.processes.frames.timing import (
    Frames,
    FrameTiming,
    fit_timing,
    frames_of,
    frames_of_bursts,
    score_spectrum,
    scores_within_types,
)
from trafficgen.processes.trains.fit import find_trains, gaps_before
from trafficgen.units import BoolArray, FloatArray, IntArray, s_from_ns

_NAMES: tuple[FrameName, ...] = ("key", "predicted", "bidirectional")

GapScale = Literal["packet", "frame", "bytes"]


class FrameLimits:
    """How frames are cut into packets."""

    #: Packets that begin a frame with parameter sets are smaller than this share of the next one.
    lead_share: float = 0.3
    most_leads: int = 4
    #: Leads are kept where this share of a type's frames begins with as many of them, or where
    #: this number of frames begins with leads of about the same sizes.
    common_leads: float = 0.25
    same_leads: int = 5
    #: Leads are sent at once where gaps after them are below this share of others in their frames.
    at_once: float = 0.25
    #: Packets of a frame are equal when they differ by less than this share, in at least this share
    #: of the frames; leads too.
    equal_within: float = 0.1
    equal_share: float = 0.8
    #: Gaps, or times of frames, have no order to keep where their logarithms spread less than this.
    regular_spread: float = 0.1
    #: Gaps are all the same where they differ by no more ticks of the timestamps than that.
    rounded_ticks: float = 1.5


_LIMITS = FrameLimits()


def propose_frames(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Fit the frame clock of a phase; None without RTP timestamps or with too few frames.

    None as well where all gaps are the same but for rounding: a gap says as much as a clock.

    Frames are runs of packets with the same timestamp. With bidirectional prediction timestamps go
    back and forth, so the k-th frame sent is given the k-th smallest timestamp: what the decoder's
    clock asks for. Time by that clock and time that passed give the clock ratio (Theil-Sen); what
    is left is lateness.

    Source: Cario and Nelson, "Autoregressive to anything", Operations Research Letters 19 (1996),
    for the sizes.
    """
    frames = frames_of(packets)
    if frames is None or np.ptp(packets.gap_s) <= _LIMITS.rounded_ticks * packets.tick_s:
        return None
    return _fit_frames(packets, frames, fit)


def propose_burst_frames(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Fit frames that are bursts without timestamps; None where bursts do not look like frames."""
    frames = frames_of_bursts(packets)
    return None if frames is None else _fit_frames(packets, frames, fit)


def _fit_frames(packets: PhasePackets, frames: Frames, fit: LawFitter) -> FittedProcess | None:
    leads = _lead_packets(packets, frames)
    lead_gap_s = _gaps_after_leads(packets, frames, leads)
    shares = frames.counts - (0 if lead_gap_s is None else leads)
    gap_scale, gap_sample = _gap_within(packets, frames, shares)
    paced = gap_scale == "frame"
    trains = None
    if gap_sample.size and _log_spread(gap_sample, packets.tick_s) > _LIMITS.regular_spread:
        before_s = gaps_before(packets)
        trains = find_trains(before_s, packets.ip_bytes, first=frames.first, sized=False)
        del before_s  # as long as the session
    found = find_group(frames.frame_bytes)
    grouped = found is not None
    timing = fit_timing(frames, gap_s=gap_sample, paced=paced, grouped=grouped, fit=fit)
    if timing is None:
        return None
    paced_from_s = None
    if paced:
        paced_from_s, gap_sample = _share_from_instant(
            frames, timing, shares, gap_sample, packets.tick_s
        )
    if trains is not None:
        gap_scale, gap_sample = "packet", np.delete(gaps_before(packets), frames.first)
    sizes = frames.frame_bytes.astype(np.float64)
    types = found.types if found else np.zeros(frames.first.size, dtype=np.int64)
    group, scores = None, scores_within_types(sizes, types)
    if found is not None:
        profile = fit_profile(scores, found.places).round(3)
        scores = scores - np.append(profile, 0.0)[np.minimum(found.places, profile.size)]
        group = found.group.model_copy(update={"profile": tuple(profile.tolist())})
    process = FrameProcess(
        **vars(timing),
        types=_types(packets, frames, types, found=found, leads=leads, fit=fit),
        group=group,
        size_spectrum=score_spectrum(scores),
        packetisation="equal" if _is_equal(packets, frames, leads) else "filled",
        packet_bytes=fit.law("packet_bytes", _filled_sizes(packets, frames, leads), "bytes"),
        gap_within_s=fit.law("gap_within_s", gap_sample, "s") if gap_sample.size else None,
        gap_scale=gap_scale,
        paced_from_s=paced_from_s if gap_scale == "frame" else None,
        lead_gap_s=None
        if lead_gap_s is None or not paced
        else fit.law("lead_gap_s", lead_gap_s, "s"),
        trains=trains,
    )
    return FittedProcess(process, fit.problems)


def _gaps_after_leads(packets: PhasePackets, frames: Frames, leads: IntArray) -> FloatArray | None:
    """Return the gaps after leads, s, where these are sent at once; else None.

    They are far below what others of their frames have.
    """
    mine = np.flatnonzero((leads > 0) & (frames.counts > leads + 1))
    if mine.size < _LIMITS.same_leads:
        return None
    begun_s = s_from_ns(packets.time_ns[frames.first + leads] - packets.time_ns[frames.first])
    others = frames.counts - leads - 1
    after_s = begun_s[mine] / leads[mine]
    left_s = (frames.end_s - frames.start_s - begun_s)[mine] / others[mine]
    if np.median(after_s) > _LIMITS.at_once * np.median(left_s):
        return None
    return np.asarray(after_s, dtype=np.float64)


def _gap_within(
    packets: PhasePackets, frames: Frames, shares: IntArray
) -> tuple[GapScale, FloatArray]:
    """Return what gaps within frames scale with, and a sample of them, s; empty for single packets.

    ``shares`` are the packets of each frame that share its time. Gaps are those of packets, or fill
    the time of a frame (a sender that paces), or grow with the packet (a slow link): whichever
    leaves the smallest spread of the logarithm.
    """
    within = np.ones(packets.time_ns.size, dtype=np.bool_)
    within[frames.first] = False
    gap_s = packets.gap_s[within[1:]]
    if gap_s.size == 0:
        return "packet", gap_s
    several = shares > 1
    gaps_of_whole = shares / np.maximum(shares - 1, 1)
    whole_s = (frames.end_s - frames.start_s)[several] * gaps_of_whole[several]
    by_bytes_s = gap_s * float(packets.ip_bytes.max()) / np.maximum(packets.ip_bytes[within], 1)
    samples: dict[GapScale, FloatArray] = {"packet": gap_s, "frame": whole_s, "bytes": by_bytes_s}
    shared = gap_s * np.repeat(shares, frames.counts - 1)
    spread = {
        "packet": _log_spread(gap_s, packets.tick_s),
        "frame": _log_spread(shared, packets.tick_s) + 0.1,
        "bytes": _log_spread(by_bytes_s, packets.tick_s) + 0.1,
    }
    best = min(samples, key=lambda name: spread[name])
    return best, samples[best]


def _share_from_instant(
    frames: Frames, timing: FrameTiming, shares: IntArray, whole_s: FloatArray, tick_s: float
) -> tuple[float | None, FloatArray]:
    """Return from when after its instant the packets of a frame share its time, s, and times.

    The last of n packets comes at that moment and (n - 1) / n of the time: a line through the
    medians of frames with as many packets. None, and the times from the first packet on, where
    those spread less.
    """
    instant_s = timing.clock_ratio.value * frames.clock_s
    instant_s += frames.start_s[0] - instant_s[0] - timing.first_lateness_s
    usual = [n for n in np.unique(shares[shares > 1]) if (shares == n).sum() >= _LIMITS.same_leads]
    if timing.lateness_s is None or len(usual) < 2:
        return None, whole_s
    last_s = frames.end_s - instant_s
    medians_s = [np.median(last_s[shares == n]) for n in usual]
    weights = [np.sqrt((shares == n).sum()) for n in usual]
    from_s = float(np.polyfit([(n - 1) / n for n in usual], medians_s, 1, w=weights)[1])
    several = shares > 1
    shared_s = (last_s[several] - from_s) * shares[several] / (shares[several] - 1)
    nearer = shared_s.min() > 0 and _log_spread(shared_s, tick_s) < _log_spread(whole_s, tick_s)
    return (from_s, shared_s) if nearer else (None, whole_s)


def _log_spread(sample: FloatArray, tick_s: float) -> float:
    low, high = np.quantile(np.log(sample + tick_s), [0.1, 0.9])
    return float(high - low)


def _lead_packets(packets: PhasePackets, frames: Frames) -> IntArray:
    """Count the small packets of each frame before a far larger one, shape (k,)."""
    leads = np.zeros(frames.first.size, dtype=np.int64)
    sizes = packets.ip_bytes
    for number in range(1, _LIMITS.most_leads + 1):
        long_enough = np.flatnonzero(frames.counts > number)
        row = frames.first[long_enough]
        small = np.maximum.reduceat(sizes, frames.first)[long_enough] * _LIMITS.lead_share
        largest_lead = np.max([sizes[row + offset] for offset in range(number)], axis=0)
        leads[long_enough[(largest_lead < small) & (sizes[row + number] >= small)]] = number
    return leads


def _types(
    packets: PhasePackets,
    frames: Frames,
    types: IntArray,
    *,
    found: FoundGroup | None,
    leads: IntArray,
    fit: LawFitter,
) -> tuple[FrameType, ...]:
    parts = []
    for kind in np.unique(types).tolist():
        mine = types == kind
        name: FrameName = _NAMES[kind] if found else "frame"
        own_leads = np.where(mine, leads, 0)
        lead_bytes, share = _common_leads(packets, frames, own_leads, int(mine.sum()))
        law = fit.law(f"{name} frame_bytes", frames.frame_bytes[mine].astype(np.float64), "bytes")
        parts.append(FrameType(name=name, frame_bytes=law, lead_bytes=lead_bytes, lead_share=share))
    return tuple(parts)


def _common_leads(
    packets: PhasePackets, frames: Frames, leads: IntArray, members: int
) -> tuple[tuple[int, ...], float]:
    """Return the median sizes of the most frequent leads, and the share of frames with them."""
    if not leads.any():
        return (), 0.0
    number = int(np.bincount(leads[leads > 0]).argmax())
    rows = frames.first[leads == number]
    share = rows.size / members
    sizes = packets.ip_bytes[rows[:, None] + np.arange(number)]
    apart = np.ptp(sizes, axis=0) > _LIMITS.equal_within * np.median(sizes, axis=0)
    same = rows.size >= _LIMITS.same_leads and not apart.any()
    if share < _LIMITS.common_leads and not same:
        return (), 0.0
    return tuple(np.median(sizes, axis=0).astype(int).tolist()), share


def _is_equal(packets: PhasePackets, frames: Frames, leads: IntArray) -> bool:
    """Return whether frames are cut into packets of equal size."""
    several = np.flatnonzero(frames.counts - leads > 1)
    if several.size == 0:
        return False
    first = frames.first + leads
    bounds = np.stack((first, frames.first + frames.counts), axis=1).ravel()
    bounds = bounds[: -1 if bounds[-1] == packets.ip_bytes.size else None]
    largest = np.maximum.reduceat(packets.ip_bytes, bounds)[::2][several]
    smallest = np.minimum.reduceat(packets.ip_bytes, bounds)[::2][several]
    return float(np.mean(smallest >= (1 - _LIMITS.equal_within) * largest)) >= _LIMITS.equal_share


def _filled_sizes(packets: PhasePackets, frames: Frames, leads: IntArray) -> FloatArray:
    """Return the sizes of packets that are neither leads nor last of their frame, or the largest.

    Sizes below that of the single packets that follow are not filled, but they are what was sent.
    """
    number = np.arange(packets.ip_bytes.size) - np.repeat(frames.first, frames.counts)
    filling: BoolArray = number >= np.repeat(leads, frames.counts)
    filling[frames.first + frames.counts - 1] = False
    sizes = packets.ip_bytes[filling] if filling.any() else packets.ip_bytes.max(keepdims=True)
    return sizes.astype(np.float64)


#: What `fit` tries.
PROPOSALS = (
    Proposal("frames", 4, propose_frames, proven=True, refines=True),
    Proposal("frames as bursts", 5, propose_burst_frames, proven=True, refines=True),
)
