"""Say in one line where a fitted model, as it plays, differs from its capture beyond chance."""

from __future__ import annotations

from trafficgen.models.process import TriedProcess
from trafficgen.models.schema import Model

#: Parts that the line names; the others are counted.
_MOST_NAMED = 2
_RATE = "rate."


def list_judged_parts(model: Model) -> list[tuple[str, TriedProcess]]:
    """Return the chosen process of each part that was played and checked, with the part's name."""
    return [
        (f"{stream.name}, {phase.name}", phase.choice.tried[phase.choice.chosen])
        for stream in model.streams
        for phase in stream.phases
        if phase.choice is not None
    ]


def describe_failed_checks(model: Model) -> str | None:
    """Describe in one line what differs, and by how much; None if every checked part passed."""
    parts = list_judged_parts(model)
    failed = [(name, tried) for name, tried in parts if not tried.passed]
    if not failed:
        return None
    named = "; ".join(f"{name}: {_worst(tried)}" for name, tried in failed[:_MOST_NAMED])
    more = f"; and {len(failed) - _MOST_NAMED} more" if len(failed) > _MOST_NAMED else ""
    return (
        f"in {len(failed)} of {len(parts)} part{'s' if len(parts) > 1 else ''} the played rate"
        f" differs from the capture ({named}{more})"
    )


def _worst(tried: TriedProcess) -> str:
    """Describe the statistic that is farthest beyond what chance explains."""
    if not tried.beyond_chance:
        return tried.kind.replace("_", " ")
    name = max(tried.beyond_chance, key=lambda one: tried.distances[one] - tried.beyond_chance[one])
    apart, chance = tried.distances[name], tried.beyond_chance[name]
    if name.startswith(_RATE):
        return (
            f"rate in {name.removeprefix(_RATE)} s bins off by KS {apart:.2f}, chance {chance:.2f}"
        )
    # The distance is half the largest difference of the autocorrelations.
    return f"autocorrelation of the rate off by {2 * apart:.2f}, chance {2 * chance:.2f}"
