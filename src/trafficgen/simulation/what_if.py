"""What a session would be on another path, and how sure that is: repeats with other draws.

A fit leaves open what its capture does not show: the policy of a player, its buffer, the rungs that
it did not visit, the parameters of laws. Each repeat draws these again, and its own seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

import numpy as np

from trafficgen.errors import SimulationWarning
from trafficgen.generation.posterior import PosteriorSampler, draw_estimate, refuse_wide_intervals
from trafficgen.models import Application, Estimate, Model, PublishedModel
from trafficgen.models.application import (
    SAFE_SHARE,
    SHARE_SPREAD,
    STAYS,
    PlayerPolicy,
    PolicyFamily,
)
from trafficgen.progress import report_each
from trafficgen.randomness import random_stream
from trafficgen.simulation.applications import UnvisitedRungs
from trafficgen.simulation.options import SimulateOptions
from trafficgen.simulation.results import Answer, SimulationResult
from trafficgen.units import kbps_from_bps

_PURPOSE = "simulate/runs"
#: Policies that a fit weighs and that choose rungs, equally likely where a capture shows none.
_CHOOSING: tuple[PolicyFamily, ...] = ("throughput", "buffer", "bola", "dynamic", "mpc")

#: Policies that take a share of the throughput: that of players in use where it is not known.
_BY_THROUGHPUT: tuple[PolicyFamily, ...] = ("throughput", "dynamic")

#: Plays a model with options, and what says where its unvisited rungs are.
Play = Callable[[Model | PublishedModel, SimulateOptions, UnvisitedRungs], SimulationResult]


def repeat_runs(
    model: Model | PublishedModel, options: SimulateOptions, first: SimulationResult, play: Play
) -> tuple[Answer, ...]:
    """Return what a session measures, with the interval of this many runs as the options say.

    The first run has what is likeliest. Intervals hold a further run with a chance of 95%.

    Args:
        model: What is played.
        options: Those of the first run.
        first: Its result.
        play: Plays a model.
    """
    sampler = PosteriorSampler(model, seed=options.seed) if isinstance(model, Model) else None
    found = [_measure(first)]
    numbers = range(1, options.runs)
    for number in report_each(numbers, "repeating", total=len(numbers), unit="runs"):
        generator = random_stream(options.seed, session=number, purpose=_PURPOSE)
        changed = replace(options, seed=int(generator.integers(1 << 31)), out=None)
        drawn = model
        if sampler is not None:
            drawn = sampler.draw(number)
            with refuse_wide_intervals(drawn.name, "play it once, without [--runs]"):
                application = drawn.application and _draw_application(drawn.application, generator)
                drawn = drawn.model_copy(update={"application": application})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)  # the first run has warned
            found.append(_measure(play(drawn, changed, generator)))
    recorded = _recorded(model)
    return tuple(
        _answer(name, recorded.get(name), [one[name] for one in found])
        for name in found[0]
        if any(one[name] is not None for one in found)
    )


def _answer(name: str, recorded: float | None, values: list[float | None]) -> Answer:
    known = [value for value in values if value is not None]
    # The chance of a further run to be below: k of n + 1 where k of n are (Hyndman and Fan 1996).
    low, high = np.quantile(known, [0.025, 0.975], method="weibull").tolist()
    missing = len(values) - len(known)
    return Answer(name, recorded, values[0], low, high, runs=len(values), missing=missing)


def _measure(result: SimulationResult) -> dict[str, float | None]:
    """Return what is compared between runs; None where it does not happen."""
    media, seen = result.flows[0].measure, result.events.playback(result.end_s)
    found = {"mean_kbps": media.rate_kbps, "duration_s": result.end_s, "loss_rate": media.loss}
    playback = dict.fromkeys(_PLAYBACK) if seen is None else asdict(seen)
    numbers = found | {name: playback[name] for name in _PLAYBACK}
    return {
        name: float(value) if value is not None and np.isfinite(value) else None
        for name, value in numbers.items()
    }


_PLAYBACK = ("startup_s", "mean_rung_kbps", "switches_per_min", "stalls", "stalled_s")


def _recorded(model: Model | PublishedModel) -> Mapping[str, float]:
    """Return the same of the session that a model was fitted to, as far as it is known."""
    if not isinstance(model, Model):
        return {}
    parts = [part for part in (model.buffering, model.playout) if part is not None]
    duration_s = sum(part.duration_s.value for part in parts)
    sent = sum(part.duration_s.value * part.rate_bps.value for part in parts)
    found = {"duration_s": duration_s}
    if duration_s:
        found["mean_kbps"] = kbps_from_bps(sent / duration_s)
    application = model.application
    if application is None or not application.rungs:
        return found
    found["mean_rung_kbps"] = application.mean_rung_kbps
    startup_s = application.startup_s.value if application.startup_s else None
    if startup_s is not None:
        found["startup_s"] = startup_s + model.startup.silence_s.value
    if duration_s > (startup_s or 0.0):
        played_s = duration_s - (startup_s or 0.0)
        found["switches_per_min"] = 60.0 * len(application.switches) / played_s
    if application.stalls is not None:
        found["stalls"] = len(application.stalls)
        found["stalled_s"] = sum(stall.duration_s for stall in application.stalls)
    return found


def _draw_application(application: Application, generator: np.random.Generator) -> Application:
    """Return a client as the capture leaves it open: policy and rungs, or pages."""

    def draw(value: Estimate | None) -> Estimate | None:
        return None if value is None else draw_estimate(value, "log", generator)

    pages = application.pages
    if pages is not None:
        changed = {
            name: draw(value)
            for name, value in pages.parameters.items()
            if name not in pages.WHOLE_NUMBERS
        }
        return application.model_copy(update={"pages": pages.model_copy(update=changed)})
    pacing = application.pacing
    if pacing is not None:
        changed = {"rate_kbps": draw(pacing.rate_kbps), "burst_bytes": draw(pacing.burst_bytes)}
        return application.model_copy(update={"pacing": pacing.model_copy(update=changed)})
    drawn = [draw_estimate(rung.rate_kbps, "log", generator) for rung in application.rungs]
    rates = sorted(drawn, key=lambda one: one.value)
    pairs = zip(application.rungs, rates, strict=True)
    return application.model_copy(
        update={
            "segment_s": draw(application.segment_s),
            "rungs": tuple(rung.model_copy(update={"rate_kbps": rate}) for rung, rate in pairs),
            "buffer_target_s": draw(application.buffer_target_s),
            "audio_kbps": draw(application.audio_kbps),
            "policy": _draw_policy(application.policy, generator, rungs=len(application.rungs)),
        }
    )


def _draw_policy(
    policy: PlayerPolicy | None, generator: np.random.Generator, *, rungs: int
) -> PlayerPolicy:
    """Return a policy by the weights, the likeliest one with its parameters drawn."""
    stays = STAYS if rungs == 1 else 0.0
    weights: dict[PolicyFamily, float] = dict.fromkeys(_CHOOSING, (1 - stays) / len(_CHOOSING))
    weights["fixed"] = stays
    if policy is not None:
        weights = {policy.family: policy.weight, **policy.alternatives}
    shares = np.array([*weights.values()])
    family = [*weights][int(generator.choice(shares.size, p=shares / shares.sum()))]
    if policy is None or family != policy.family:
        share = SAFE_SHARE * float(np.exp(SHARE_SPREAD * generator.standard_normal()))
        usual = PlayerPolicy(family=family, weight=weights[family])
        if family not in _BY_THROUGHPUT:
            return usual
        return usual.model_copy(update={"parameters": {"throughput_share": share}})
    parameters = {
        name: draw_estimate(value, "log", generator) if isinstance(value, Estimate) else value
        for name, value in policy.parameters.items()
    }
    return policy.model_copy(update={"parameters": parameters, "alternatives": {}})
