"""Choose the packet process of a stream's phase: the simplest that plays like the capture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from trafficgen.calibration.processes.bursts import (
    fit_simple,
    propose_dependent_bursts,
    propose_pauses,
)
from trafficgen.calibration.processes.fractional_noise import propose_fgn
from trafficgen.calibration.processes.frames import propose_frames
from trafficgen.calibration.processes.mmpp import propose_mmpp
from trafficgen.calibration.processes.modulated import propose_modulated
from trafficgen.calibration.processes.phase_packets import (
    FittedProcess,
    GeneratorOf,
    LawFitter,
    PhasePackets,
)
from trafficgen.calibration.processes.self_checks import Check, check_process
from trafficgen.calibration.processes.semi_markov import propose_rate_states
from trafficgen.models import ProcessChoice, TriedProcess
from trafficgen.progress import report_step


@dataclass(frozen=True)
class ChoiceLimits:
    """When a process is checked, and when another one replaces it."""

    #: Fewer packets say nothing about rates: the simplest process is taken unchecked.
    fewest_checked: int = 50
    #: Distances of a proven process may exceed chance by this factor and this much.
    tolerable: float = 1.5
    tolerable_slack: float = 0.02
    #: A process that fails replaces another that failed only if its score falls to this share.
    clearly_better: float = 0.85


_LIMITS = ChoiceLimits()
_DIGITS = 4


@dataclass(frozen=True)
class Proposal:
    """A process to try.

    Attributes:
        name: What to call it in messages.
        propose: Fits it; None where the packets do not support it.
        proven: Whether it passes a test of its own before it is proposed: it need not pass the
            check, which has few bins of 10 s, but must be better than independent gaps and not far
            beyond chance in any rate.
        varies: Whether its sessions truly differ from one another, since a few long states or slow
            swings make up each. Of others, sessions that differ much are a sign of laws that do not
            fit together.
    """

    name: str
    propose: Callable[[PhasePackets, LawFitter], FittedProcess | None]
    proven: bool = False
    varies: bool = False


_NOISE = Proposal("fgn", propose_fgn, varies=True)
#: In the order in which they are tried: those with fewer assumptions and numbers first.
PROPOSALS: tuple[Proposal, ...] = (
    Proposal("mmpp", propose_mmpp, proven=True, varies=True),
    Proposal("rate states", propose_rate_states, proven=True, varies=True),
    _NOISE,
    Proposal("frames", propose_frames),
    Proposal("dependent bursts", propose_dependent_bursts),
    Proposal("pauses", propose_pauses),
    Proposal("modulated", propose_modulated),
)


def fit_process(packets: PhasePackets, *, generator_of: GeneratorOf) -> FittedProcess:
    """Fit the simplest packet process that passes a self-check.

    First come bursts where a threshold was found in the stream's gaps, else independent gaps
    (renewal). A process passes when sessions that it plays differ from the packets, in rates at
    several scales and their autocorrelation, no more than from one another. Where it fails, the
    others are fitted in order of their complexity until one passes; where all fail, the one that
    comes closest is taken. Fractional noise is tried even after rate states passed: two states
    follow many a swinging rate, and the nearer of the two is taken.
    """
    name, count = packets.name, packets.time_ns.size
    report_step(f"{name}: fitting independent gaps or bursts of {count} packets")
    simple = fit_simple(packets, generator_of)
    if count < _LIMITS.fewest_checked:
        return simple
    fitted = [simple]
    checks = [check_process(simple.process, packets, generator_of=generator_of, independent=True)]
    best, settled = 0, checks[0].passed
    for number, proposal in enumerate(PROPOSALS, start=1):
        if settled and not (best and proposal is _NOISE):
            continue
        report_step(f"{name}: trying {proposal.name} ({number} of {len(PROPOSALS)})")
        found = proposal.propose(packets, LawFitter(generator_of, packets.tick_s))
        if found is None:
            continue
        check = check_process(
            found.process, packets, generator_of=generator_of, independent=not proposal.varies
        )
        fitted.append(found)
        checks.append(check)
        passed = check.passed or (proposal.proven and _is_tolerable(check))
        if check.score < (1.0 if passed else _LIMITS.clearly_better) * checks[best].score:
            best, settled = len(fitted) - 1, passed
    return replace(fitted[best], choice=_describe_choice(fitted, checks, best))


def _describe_choice(fitted: list[FittedProcess], checks: list[Check], best: int) -> ProcessChoice:
    tried = tuple(
        TriedProcess(
            kind=found.process.kind,
            passed=check.passed,
            score=round(check.score, _DIGITS),
            distances={name: round(apart, _DIGITS) for name, apart in check.distances.items()},
        )
        for found, check in zip(fitted, checks, strict=True)
    )
    return ProcessChoice(chosen=best, tried=tried)


def _is_tolerable(check: Check) -> bool:
    """Return whether rates and their autocorrelation are not far beyond chance."""
    return all(
        distance <= _LIMITS.tolerable * check.chance[name] + _LIMITS.tolerable_slack
        for name, distance in check.distances.items()
        if "rate" in name
    )
