"""Say in one line where a fitted model, as it plays, differs from its capture beyond chance.

A part is what one stream sends in one phase: it has a packet process of its own.
"""

from __future__ import annotations

from trafficgen.formatting import format_count, list_first, printable, rate_text
from trafficgen.models.process import TriedProcess
from trafficgen.models.schema import Model
from trafficgen.models.stream import Phase
from trafficgen.option_names import name_options
from trafficgen.units import kbps_from_bps

#: Parts that the line names; the others are counted.
_MOST_NAMED = 2
_RATE = "rate."
#: A longer part without this statistic has a rate so constant that it was not judged.
_AUTOCORRELATION, _LONG_ENOUGH_S = "rate_acf", 11.0


def list_judged_parts(model: Model) -> list[tuple[str, TriedProcess]]:
    """Return the chosen process of each part whose rates were checked, with the part's name."""
    found = [
        (f"{stream.name}, {phase.name}", phase.choice.tried[phase.choice.chosen])
        for stream in model.streams
        for phase in stream.phases
        if phase.choice is not None
    ]
    return [(name, tried) for name, tried in found if any("rate" in one for one in tried.distances)]


def describe_judged_parts(model: Model) -> str | None:
    """Say how many of the checked parts passed, and which were not checked; None without any."""
    parts = list_judged_parts(model)
    if not parts:
        return None
    checked = {name for name, _ in parts}
    short = [
        f"{printable(stream.name)} in the {phase.name}"
        for stream in model.streams
        for phase in stream.phases
        if f"{stream.name}, {phase.name}" not in checked
    ]
    constant = [
        f"{printable(stream.name)} in the {phase.name}"
        for stream in model.streams
        for phase in stream.phases
        if _has_constant_rate(phase)
    ]
    passed = sum(tried.passed for _, tried in parts)
    verdict = "passed" if passed == len(parts) else "failed"
    rest = f"; too short to check: {list_first(short)}" if short else ""
    if constant:
        rest += f"; constant rate, without an autocorrelation to judge: {list_first(constant)}"
    return (
        f"self-check {verdict}: played rates match in {passed} of"
        f" {format_count(len(parts), 'checked part')} (stream, phase){rest}"
    )


def describe_failed_checks(model: Model) -> str | None:
    """Describe in one line what differs, and by how much; None if every checked part passed."""
    parts = list_judged_parts(model)
    failed = [(name, tried) for name, tried in parts if not tried.passed]
    if not failed:
        return None
    named = "; ".join(f"{name}: {_worst(tried)}" for name, tried in failed[:_MOST_NAMED])
    more = f"; and {len(failed) - _MOST_NAMED} more" if len(failed) > _MOST_NAMED else ""
    return name_options(
        f"in {len(failed)} of {len(parts)} part{'s' if len(parts) > 1 else ''} the played rate"
        f" differs from the capture ({named}{more}); see with [trafficgen compare|compare()]"
        " whether that matters to you before you rely on the model"
    )


def _has_constant_rate(phase: Phase) -> bool:
    """Return whether the rates of a part were checked, but not their autocorrelation."""
    judged = {} if phase.choice is None else phase.choice.tried[phase.choice.chosen].distances
    is_checked = any(name.startswith(_RATE) for name in judged)
    return is_checked and _AUTOCORRELATION not in judged and phase.duration_s > _LONG_ENOUGH_S


def _worst(tried: TriedProcess) -> str:
    """Describe the statistic that is farthest beyond what chance explains."""
    if not tried.beyond_chance:
        return tried.kind.replace("_", " ")
    name = max(tried.beyond_chance, key=lambda one: tried.distances[one] - tried.beyond_chance[one])
    apart, chance = tried.distances[name], tried.beyond_chance[name]
    if not name.startswith(_RATE):
        # The distance is half the largest difference of the autocorrelations.
        return f"autocorrelation of the rate off by {2 * apart:.2f}, chance {2 * chance:.2f}"
    bins = f"{name.removeprefix(_RATE)} s bins"
    if (seen := tried.differs_at.get(name)) is None:
        return f"rate in {bins} off by KS {apart:.2f}, chance {chance:.2f}"
    rate = f"at most {rate_text(kbps_from_bps(seen.rate_bps))}" if seen.rate_bps else "silent"
    return f"{rate} in {seen.played:.0%} of the {bins}, measured {seen.measured:.0%}"
