"""What a source did by its requests, apart from what the path made of it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from trafficgen.formatting import format_count, format_duration, number, rate_text, size_text
from trafficgen.imports import special
from trafficgen.model_parts.estimate import Estimate, ModelPart, NonNegativeEstimate
from trafficgen.notebook import NotebookView
from trafficgen.units import FloatArray, IntArray


class WebPages(ModelPart):
    """Pages with objects: a main object, parsing, embedded objects one after the other, reading.

    Laws and names are those of the catalogue's ``web_3gpp2``: log-normal sizes within ends,
    exponential times, and as many embedded objects as a clipped Pareto law gives, less its low end.
    """

    #: Parameters that are whole numbers.
    WHOLE_NUMBERS: ClassVar = ("objects_low_count", "objects_high_count")

    pages: int = Field(ge=1)
    """Pages that were visited; of the last one it is not known whether all of it came."""
    objects: int = Field(ge=1)
    """Embedded objects of all of them."""
    parsed: int = Field(ge=0)
    """Pages that have embedded objects."""
    overlapping_share: float = Field(ge=0, le=1)
    """Share of the requests that were sent before the response to another had come; they are played
    one after the other."""
    request_bytes: NonNegativeEstimate
    """Payload of a request: the mean."""
    main_mu: Estimate
    """Mean of the logarithms of main objects' bytes, before they are cut off at the ends."""
    main_sigma: NonNegativeEstimate
    """Their standard deviation."""
    main_low_bytes: NonNegativeEstimate
    """Smallest main object, bytes: the smallest one that was captured, or less."""
    embedded_mu: Estimate
    """Mean of the logarithms of embedded objects' bytes, before they are cut off at the ends."""
    embedded_sigma: NonNegativeEstimate
    """Their standard deviation."""
    embedded_low_bytes: NonNegativeEstimate
    """Smallest embedded object, bytes."""
    high_bytes: NonNegativeEstimate
    """Largest object, bytes: the largest one that was captured, or more; without an upper end the
    capture shows none."""
    objects_shape: NonNegativeEstimate
    """Shape of the Pareto law of embedded objects of a page."""
    objects_low_count: NonNegativeEstimate
    """Its low end, which is taken off each draw: a whole number."""
    objects_high_count: NonNegativeEstimate
    """Its high end, which draws above it become; without an upper end the capture shows none."""
    parsing_s: NonNegativeEstimate
    """Mean time from a main object to the request for the first embedded one, s."""
    reading_s: NonNegativeEstimate
    """Mean time from the last object of a page to the next page, s."""
    ks: dict[str, float] = Field(default_factory=dict)
    """Largest distance of the captured quantity's distribution function to its law's, by quantity:
    ``main_bytes``, ``embedded_bytes``, ``objects_count``, ``parsing_s``, ``reading_s``."""

    @property
    def parameters(self) -> dict[str, Estimate]:
        """Parameters of ``web_3gpp2`` with their values."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if isinstance(value, Estimate)}


def describe_pages(pages: WebPages) -> str:
    """Describe pages for people, on a line."""
    mean = pages.objects / pages.pages
    return (
        f"{format_count(pages.pages, 'page')} with {number(mean, digits=2)} embedded objects each,"
        f" from {size_text(round(pages.embedded_low_bytes.value))} to"
        f" {size_text(round(pages.high_bytes.value))}; read for"
        f" {format_duration(pages.reading_s.value)} on average"
    )


Json = dict[str, object]
_Positive = Annotated[float, Field(gt=0)]
PolicyFamily = Literal["fixed", "throughput", "buffer", "bola", "dynamic", "mpc", "rate", "hybrid"]

#: Rungs next to each other are no further apart than this factor: Apple's HLS Authoring
#: Specification recommends 1.5 to 2. The estimated ones err by part of a step.
_WIDEST_STEP, _STEP_ERROR = 2.0, 0.1
#: Log step from 1 Mbit/s up, and what a factor of e in the rate adds to it: steps get shorter up
#: the ladder. By least squares over published ladders of video, each of which weighs the same
#: (Apple's HLS specification, Netflix, Pensieve, Yin and others 2015, DASH Industry Forum,
#: Bitmovin, Amazon, Microsoft, Twitch), which lie in this range, kbit/s.
_STEP_AT_1_MBPS, _STEP_SLOPE, _STEP_RANGE_KBPS = 0.48, -0.08, (100.0, 10_000.0)
#: The next step of a ladder is as much longer than usual as those below it are on average, each
#: weighing half of the one above it, with this many usual ones.
_OLDER, _USUAL_STEPS = 0.5, 1.0
#: It is this far off (log, standard deviation), which counts as that of this many steps: 0.13
#: on the same ladders, of each by what the others say.
STEP_SPREAD, _SPREAD_STEPS = 0.14, 2.0
#: Any log step is this far from the usual one (standard deviation), and a rung between visited ones
#: was passed over with this chance, beforehand.
_ANY_SPREAD, _PASSED_SHARE = 0.25, 0.5
#: Ladders have at least this many rungs, mostly; those that have end at each with this chance: 5 to
#: 10 rungs, 7 on average. One with fewer ends with the other chance.
_USUAL_RUNGS, _ENDS, _ENDS_EARLY = 5, 0.25, 0.1
#: A rung is so far from the middle of its neighbours (log, standard deviation): 0.06 to 0.1 on the
#: ladders of Apple's specification and of Netflix (Li and others 2014).
_UNEVEN, _FEWEST_EVEN = 0.1, 3
#: Standard errors in half an interval, and between which they count (log).
_INTERVAL_ERRORS, _LEAST_ERROR, _MOST_ERROR = 2.0, 1e-3, 1.0
#: Players take a rung within this share of the throughput: the mean of ExoPlayer (0.7), Shaka
#: (0.85), dash.js (0.9) and hls.js (0.95).
SAFE_SHARE = 0.85
#: The highest rung below a rate is at this share of it on published ladders, on average over rates
#: from 0.5 to 5 Mbit/s.
RUNG_SHARE = 0.79
#: How far these are from it (log, standard deviation).
SHARE_SPREAD = 0.12
#: Of sessions at one rung, so many have no other one: an assumption.
STAYS = 0.5
#: The lowest rung of the same ladders, kbit/s, and its spread (log, standard deviation); so many
#: players have begun at another one, whose rate is any of the range.
_LOWEST_RUNG_KBPS, _LOWEST_SPREAD, _ELSEWHERE = 250.0, 0.5, 0.1
#: Rates of rungs, kbit/s, and how many parts lists may have: a day of segments of 1 s.
_LOWEST_KBPS, _HIGHEST_KBPS = 1e-3, 1e12
#: Shortest segment, s: what follows is in whole segments.
_SHORTEST_SEGMENT_S = 1e-3
_MOST_RUNGS, MOST_SEGMENTS = 1000, 86_400
#: A setting of a policy.
PolicySetting = Estimate | str | bool | int | float | None


class Rung(ModelPart):
    """A rung of a ladder that segments were fetched at."""

    rate_kbps: NonNegativeEstimate
    """Bytes of responses over the media time in them, kbit/s."""
    segments: int = Field(ge=1)
    """Segments that were fetched at it."""


class RungSwitch(ModelPart):
    """A change of the rung."""

    time_s: float
    """First request at the new rung, s from the first media packet."""
    from_kbps: _Positive
    """Rung before it, kbit/s."""
    to_kbps: _Positive
    """Rung after it, kbit/s."""


class Stall(ModelPart):
    """A halt of the playback since the buffer is empty."""

    start_s: float
    """When it began, s from the first media packet."""
    duration_s: float = Field(ge=0)
    """How long it took, s."""


class Pacing(ModelPart):
    """How a server paces a response: a burst, then blocks at a rate of its own."""

    burst_bytes: NonNegativeEstimate
    """What it has sent, or is sending, at the start, bytes of payload."""
    rate_kbps: NonNegativeEstimate
    """Rate of the rest, payload, kbit/s."""
    block_bytes: NonNegativeEstimate
    """What it sends between two waits, bytes: the median, and what 95% of the blocks have."""

    @model_validator(mode="after")
    def _goes_on(self) -> Self:
        for name in ("rate_kbps", "block_bytes"):
            if not getattr(self, name).value > 0:
                raise ValueError(f"{name} must be positive")
        return self


class PlayerPolicy(ModelPart):
    """What chose the rungs of the segments, and how sure that is."""

    family: PolicyFamily
    """The likeliest, as ``simulate chunked --set policy=`` has it."""
    parameters: dict[str, PolicySetting] = Field(default_factory=dict)
    """Its likeliest settings by the names of ``chunked``, numbers with the range of likely ones."""
    rungs_above: int = Field(default=1, ge=0)
    """Rungs above those that were visited with which the choices are likeliest; 0: no other."""
    rungs_between: bool = True
    """Whether there are rungs where those that were visited are further apart than usual."""
    weight: float = Field(ge=0, le=1)
    """Its posterior weight; all families are equally likely beforehand if rungs are sure."""
    alternatives: dict[PolicyFamily, float] = Field(default_factory=dict)
    """Other families and their weights, likeliest first."""

    def to_json(self) -> Json:
        """Return it as `fit --json` has it."""
        return {
            "family": self.family,
            "parameters": {
                name: _known(value) if isinstance(value, Estimate) else value
                for name, value in self.parameters.items()
            },
            "weight": self.weight,
            "alternatives": [
                {"family": family, "weight": weight} for family, weight in self.alternatives.items()
            ],
        }


class Application(NotebookView, ModelPart):
    """What a source did, by the requests of its client and the responses to them."""

    kind: Literal["bulk", "paced", "chunked", "interactive"]
    """One long response, as fast as the path takes it or paced by its server; segments requested
    one by one; or requests of any sizes."""
    connections: int = Field(ge=1)
    """Connections that carried responses."""
    exchanges: int = Field(ge=1)
    """Requests with responses."""
    segment_s: NonNegativeEstimate | None = None
    """Media in a segment, s; null where that is not known."""
    rungs: tuple[Rung, ...] = Field(default=(), max_length=_MOST_RUNGS)
    """Rungs that were visited, lowest first."""
    switches: tuple[RungSwitch, ...] = Field(default=(), max_length=MOST_SEGMENTS)
    """Changes between them."""
    audio_kbps: NonNegativeEstimate | None = None
    """Rate of audio segments next to those of video; null without."""
    startup_s: Estimate | None = None
    """Time from the first media packet to the start of the playback, s."""
    start_media_s: float | None = Field(default=None, gt=0)
    """Media in the buffer with which the playback starts, s."""
    resume_media_s: float | None = Field(default=None, gt=0)
    """Media with which it goes on after a stall, s."""
    buffer_target_s: NonNegativeEstimate | None = None
    """Media in the buffer at which the player requests a segment again, s."""
    stalls: tuple[Stall, ...] | None = Field(default=None, max_length=MOST_SEGMENTS)
    """Stalls of the playback; null where they are not known."""
    policy: PlayerPolicy | None = None
    """What chose the rungs; null where that is not known."""
    content: tuple[_Positive, ...] = Field(default=(), max_length=MOST_SEGMENTS)
    """Sizes of the segments over their rung's mean, in order: those of the title."""
    pacing: Pacing | None = None
    """How the server paces its response, of a paced application."""
    pages: WebPages | None = None
    """Web pages that the client visited, of an interactive application; null where it visited none.
    """
    highest_throughput_kbps: float | None = Field(default=None, gt=0)
    """Rate at which the fastest twentieth of the segments came, kbit/s: a player of a faster path
    may choose rungs above those that were visited."""

    @model_validator(mode="after")
    def _segments_are_long(self) -> Self:
        if self.segment_s is not None and self.segment_s.value < _SHORTEST_SEGMENT_S:
            raise ValueError(
                f"segment_s must be {_SHORTEST_SEGMENT_S:g} s at least,"
                f" not {self.segment_s.value:g}"
            )
        return self

    @model_validator(mode="after")
    def _rungs_ascend(self) -> Self:
        rates = [one.rate_kbps.value for one in self.rungs]
        ends = (_LOWEST_KBPS, *rates, _HIGHEST_KBPS)
        if any(low > high for low, high in itertools.pairwise(ends)):
            raise ValueError(
                f"rungs must ascend from {_LOWEST_KBPS:g} to {_HIGHEST_KBPS:g} kbit/s at most;"
                " correct their rate_kbps"
            )
        return self

    @property
    def mean_rung_kbps(self) -> float:
        """Mean rate of the rungs that were fetched, by their segments, kbit/s; NaN without any."""
        segments = sum(one.segments for one in self.rungs)
        if not segments:
            return math.nan
        return sum(one.rate_kbps.value * one.segments for one in self.rungs) / segments

    def __repr__(self) -> str:
        return f"<Application: {'; '.join(describe_application(self).values())}>"

    __str__ = __repr__

    def to_json(self) -> Json:
        """Return it as `fit --json` has it; what is not known is null."""
        return {
            **{name: getattr(self, name) for name in ("kind", "connections", "exchanges")},
            "segment_s": _known(self.segment_s),
            "rungs": [
                {"kbps": _known(rung.rate_kbps), "segments": rung.segments} for rung in self.rungs
            ],
            "switches": [switch.model_dump() for switch in self.switches],
            "audio_kbps": _known(self.audio_kbps),
            "stalls": None if self.stalls is None else [one.model_dump() for one in self.stalls],
            "startup_s": _known(self.startup_s),
            "buffer_target_s": _known(self.buffer_target_s),
            "policy": None if self.policy is None else self.policy.to_json(),
            "pacing": None
            if self.pacing is None
            else {
                "burst_bytes": _known(self.pacing.burst_bytes),
                "kbps": _known(self.pacing.rate_kbps),
                "block_bytes": _known(self.pacing.block_bytes),
            },
            "pages": None if self.pages is None else self.pages.model_dump(),
        }


#: More rungs are described by their ends.
_FEW_RUNGS = 5


def describe_application(application: Application) -> dict[str, str]:
    """Describe what a source did for people: a text for each part that is known."""
    connections = format_count(application.connections, "connection")
    if application.kind != "chunked":
        requests = format_count(application.exchanges, "request")
        lines = {"requests": f"{application.kind}: {requests} over {connections}"}
        pacing, pages = application.pacing, application.pages
        if pacing is not None:
            lines["pacing"] = describe_pacing(pacing)
        return lines if pages is None else {**lines, "pages": describe_pages(pages)}
    return {"segments": _describe_segments(application), "player": _describe_player(application)}


def describe_pacing(pacing: Pacing) -> str:
    """Describe how a server paces its response, in a few words."""
    burst, block = (size_text(one.value) for one in (pacing.burst_bytes, pacing.block_bytes))
    return f"{burst} at once, then {rate_text(pacing.rate_kbps.value)} in blocks of {block}"


def _describe_segments(application: Application) -> str:
    rates = [rate_text(rung.rate_kbps.value) for rung in application.rungs]
    if len(rates) > _FEW_RUNGS:
        rates = [f"{len(rates)} levels from {rates[0]} to {rates[-1]}"]
    length, switches = application.segment_s, len(application.switches)
    parts = [
        format_count(sum(rung.segments for rung in application.rungs), "segment"),
        "" if length is None else f"of {format_duration(length.value)}",
        f"at {', '.join(rates)};" if rates else "",
        format_count(switches, "switch", "switches") if switches else "no switches",
    ]
    text = " ".join(filter(None, parts))
    audio = application.audio_kbps
    return text if audio is None else f"{text}, with audio of {rate_text(audio.value)}"


def _describe_player(application: Application) -> str:
    startup, target, policy = (
        application.startup_s,
        application.buffer_target_s,
        application.policy,
    )
    parts = [] if startup is None else [f"starts after {format_duration(startup.value)}"]
    if target is not None:
        parts.append(f"fills its buffer to {format_duration(target.value)}")
    if application.stalls is None:
        parts.append("stalls not known")
    else:
        length_s = sum(stall.duration_s for stall in application.stalls)
        count = format_count(len(application.stalls), "stall")
        parts.append(f"{count} of {format_duration(length_s)}" if length_s else "no stalls")
    if policy is not None:
        parts.append(f"policy {policy.family} (weight {number(policy.weight, digits=2)})")
    return ", ".join(parts)


def _known(value: Estimate | None) -> Json | None:
    return None if value is None else value.model_dump(include={"value", "low", "high"})


def estimate_ladder(rungs: Sequence[Rung], clock: Estimate) -> list[float]:
    """Return where rungs are most likely, kbit/s, given that steps of ladders are about even.

    What is in a segment makes it larger or smaller than its rung's mean, so that few segments say
    little of it, and rungs next to it more: the mean of a Gaussian Markov field of the logarithms,
    with rungs between that were not visited.

    Args:
        rungs: Those that were visited, ascending, whose intervals say how sure they are.
        clock: Media in a segment, s, whose error is that of all rungs alike.

    Source: Rue and Held, Gaussian Markov Random Fields (2005), chapter 3 (second differences);
    how uneven ladders are, and what counts as a step left out, is ours.
    """
    rates = [rung.rate_kbps.value for rung in rungs]
    if len(rates) < _FEWEST_EVEN:
        return rates
    own = np.array([_relative_width(rung.rate_kbps) for rung in rungs]) - _relative_width(clock)
    errors = np.clip(own / 2 / _INTERVAL_ERRORS, _LEAST_ERROR, _MOST_ERROR)
    logs = np.log(rates)
    # Steps that are wider than usual by more than the errors of their ends are several.
    steps = (np.diff(logs) - np.hypot(errors[:-1], errors[1:])) / math.log(_WIDEST_STEP)
    places = np.cumsum([0, *np.maximum(np.ceil(steps - _STEP_ERROR), 1)]).astype(int)
    precision = np.zeros(places[-1] + 1)
    precision[places] = errors**-2
    measured = np.zeros(len(precision))
    measured[places] = logs
    bend = np.zeros((len(precision) - 2, len(precision)))
    for row in range(len(bend)):
        bend[row, row : row + 3] = (-0.5, 1.0, -0.5)
    even = np.diag(precision) + bend.T @ bend / _UNEVEN**2
    found: list[float] = np.exp(np.linalg.solve(even, precision * measured))[places].tolist()
    return found if found == sorted(found) else rates


def _relative_width(estimate: Estimate) -> float:
    """Return the width of an interval (log); 0 without one."""
    low, high = estimate.low, estimate.high
    if low is None or high is None:
        return 0.0
    return math.log(high / low) if low > 0 else math.inf


def complete_ladder(
    visited_kbps: Sequence[float],
    throughput_kbps: float | None,
    *,
    most_above: int,
    likely_kbps: float | None = None,
    has_between: bool = True,
) -> list[float]:
    """Return the rungs with those that a player may have found besides, kbit/s, ascending.

    Steps wider than usual have rungs between; above the highest one there are more, unless it is
    likelier that the ladder ends there than that the path had no room for the next one.

    Args:
        visited_kbps: Rungs that were visited, ascending.
        throughput_kbps: What the path had room for; None where unknown.
        most_above: Rungs above the highest one.
        likely_kbps: Where one of those between or above is placed, if it is far from the others;
            None: by the steps of the ladder.
        has_between: Whether there are rungs where steps are wider than usual.
    """
    ladder = [*visited_kbps] if not has_between else [*visited_kbps[:1]]
    for low, high in itertools.pairwise(visited_kbps) if has_between else ():
        ladder += _fill_gap(low, high, likely_kbps)
    top_kbps = visited_kbps[-1]
    step, spread = predict_step(ladder)
    if throughput_kbps is None:
        return ladder
    safe_kbps = SAFE_SHARE * throughput_kbps
    # Whether there was room for a rung depends on the player's share, too.
    unsure = math.hypot(spread, SHARE_SPREAD)
    beyond = chance_of_step(step, unsure, math.log(safe_kbps / top_kbps))
    if chance_of_no_more(len(ladder), beyond) >= 0.5:
        return ladder
    # The median of what the next step may be.
    first_kbps = top_kbps * math.exp(step + spread * float(special.ndtri(1 - beyond / 2)))
    places = np.log(_continue_ladder(ladder, first_kbps, most_above)[len(ladder) :])
    places -= math.log(top_kbps)
    # A rung that the path had room for would have been visited.
    lowest_kbps = max(top_kbps * math.exp(step / 2), safe_kbps)
    if likely_kbps is not None and most_above and likely_kbps > lowest_kbps:
        far = math.log(likely_kbps / top_kbps)
        near = int(np.abs(places - far).argmin())
        # By the steps below it, and by a likely place that is within a step of the true one.
        weight = step**2 / (step**2 + 12 * (near + 1) * spread**2)
        scale = weight + (1 - weight) * far / places[near]
        ladder += (top_kbps * np.exp(scale * places[: near + 1])).tolist()
        most_above -= near + 1
        first_kbps = ladder[-1] * math.exp(predict_step(ladder)[0])
    return _continue_ladder(ladder, first_kbps, most_above)


def _continue_ladder(ladder_kbps: Sequence[float], next_kbps: float, more: int) -> list[float]:
    """Return a ladder with so many rungs more above it, kbit/s, by its steps and usual ones."""
    ladder = [*ladder_kbps]
    for _ in range(more):
        ladder.append(next_kbps)
        next_kbps *= math.exp(predict_step(ladder)[0])
    return ladder


def count_steps(low_kbps: float, high_kbps: float) -> int:
    """Return how many steps of a ladder there are between two rungs, at least."""
    steps = math.log(high_kbps / low_kbps) / math.log(_WIDEST_STEP)
    return max(math.ceil(steps - _STEP_ERROR), 1)


def chance_of_no_between(low_kbps: float, high_kbps: float) -> float:
    """Return how likely two rungs that were visited are next to each other.

    Steps are log-normal about the usual one; a rung between was passed over, as half of them are.
    """
    if count_steps(low_kbps, high_kbps) == 1:
        return 1.0
    far, usual = math.log(high_kbps / low_kbps), usual_step(math.sqrt(low_kbps * high_kbps))
    weights = weigh_steps(low_kbps, high_kbps, np.arange(1, round(far / usual) + 3))
    return float(weights[0] / weights.sum())


def weigh_steps(low_kbps: float, high_kbps: float, counts: IntArray) -> FloatArray:
    """Return how likely so many steps lead from a visited rung to the next one, up to a factor.

    Steps are evenly likely to be any number whose sum is about that far (a renewal process), and
    each rung between was passed over. ``counts`` and the result have shape (k,).
    """
    far = math.log(high_kbps / low_kbps)
    spreads = _ANY_SPREAD * np.sqrt(counts)
    off = (far - counts * usual_step(math.sqrt(low_kbps * high_kbps))) / spreads
    return np.asarray(np.exp(-0.5 * off**2) / spreads * _PASSED_SHARE**counts)


def chance_of_end(rungs: int) -> float:
    """Return how likely a ladder has no more than so many rungs, if it has these."""
    return _ENDS if rungs >= _USUAL_RUNGS else _ENDS_EARLY


def odds_of_lowest(rate_kbps: float) -> float:
    """Return how much likelier a rate is for the rung a player begins at than for any rung."""
    off = math.log(rate_kbps / _LOWEST_RUNG_KBPS) / _LOWEST_SPREAD
    density = math.exp(-0.5 * off**2) / (_LOWEST_SPREAD * math.sqrt(2 * math.pi))
    low_kbps, high_kbps = _STEP_RANGE_KBPS
    return _ELSEWHERE + (1 - _ELSEWHERE) * density * math.log(high_kbps / low_kbps)


def chance_of_step(step: float, spread: float, least: float) -> float:
    """Return how likely a normal log step is more than the least one."""
    return float(special.ndtr((step - least) / spread))


def chance_of_no_more(rungs: int, beyond: float) -> float:
    """Return how likely a ladder ends at a rung, where the next one was not taken.

    Args:
        rungs: Rungs up to there.
        beyond: How likely a next one is beyond what the path had room for.
    """
    ends = chance_of_end(rungs)
    return ends / (ends + (1 - ends) * beyond)


def usual_step(rate_kbps: float) -> float:
    """Return the log step that ladders usually have from a rung up."""
    lowest_kbps, highest_kbps = _STEP_RANGE_KBPS
    rate_kbps = min(max(rate_kbps, lowest_kbps), highest_kbps)
    return _STEP_AT_1_MBPS + _STEP_SLOPE * math.log(rate_kbps / 1000)


def predict_step(ladder_kbps: Sequence[float]) -> tuple[float, float]:
    """Return the next step of a ladder and its standard deviation (both log)."""
    usual = [usual_step(kbps) for kbps in ladder_kbps]
    longer = np.diff(np.log(ladder_kbps)) - usual[:-1]
    weights = _OLDER ** np.arange(len(longer))[::-1]
    mean = float(weights @ longer) / (float(weights.sum()) + _USUAL_STEPS)
    squares = _SPREAD_STEPS * STEP_SPREAD**2 + float(np.sum((longer - mean) ** 2))
    return usual[-1] + mean, math.sqrt(squares / (_SPREAD_STEPS + len(longer)))


def _fill_gap(low_kbps: float, high_kbps: float, likely_kbps: float | None) -> list[float]:
    """Return rungs above one up to the next that was visited, kbit/s, one of them at a rate."""
    if count_steps(low_kbps, high_kbps) == 1:
        return [high_kbps]
    ends = [low_kbps, high_kbps]
    # With less than half a step below it there is no rung between.
    if (
        likely_kbps is not None
        and likely_kbps < RUNG_SHARE * high_kbps
        and math.log(likely_kbps / low_kbps) > usual_step(low_kbps) / 2
    ):
        ends.insert(1, likely_kbps)
    found: list[float] = []
    for low, high in itertools.pairwise(ends):
        usual = round(math.log(high / low) / usual_step(math.sqrt(low * high)))
        found += _fill(low, high, max(usual, count_steps(low, high)))
    return found


def _fill(low: float, high: float, steps: int) -> list[float]:
    """Return rungs above one up to another in usual steps."""
    ratio = high / low
    ends = np.cumsum([usual_step(low * ratio ** (step / steps)) for step in range(steps)])
    return [*(low * ratio ** (ends[:-1] / ends[-1])).tolist(), high]
