"""Delay budgets of flows: what arrived within them, and whether the user is satisfied."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trafficgen.simulation.sources import Source


@dataclass(frozen=True, kw_only=True)
class BudgetShare:
    """What of a flow arrived within its delay budget, as 3GPP TR 38.838 counts it.

    Attributes:
        flow: Name of the flow.
        budget_s: Its delay budget, s.
        sendings: Frames, or single packets, whose budget was over before the session.
        share: Share of them that arrived as a whole within it; NaN without sendings.
        wanted: Share that a satisfied user has; None: the source does not say.
    """

    flow: str
    budget_s: float
    sendings: int
    share: float
    wanted: float | None

    @property
    def is_met(self) -> bool:
        """Whether the share is at least the wanted one."""
        return self.wanted is None or self.share >= self.wanted

    def to_json(self) -> dict[str, object]:
        """Return it as in the JSON of `simulate`."""
        return {**vars(self), "is_met": self.is_met}


def judge_budgets(
    source: Source, facts: Mapping[str, Sequence[tuple[float, float]]]
) -> tuple[BudgetShare, ...]:
    """Return the share of each flow that has a delay budget, from the facts of a session's log."""
    flows = source.parameters.get("flows")
    known = [
        flow
        for flow in (flows if isinstance(flows, list) else ())
        if flow.get("delay_budget_s") is not None
    ]
    counts = zip(facts.get("budget_sent", ()), facts.get("budget_met", ()), strict=True)
    return tuple(
        BudgetShare(
            flow=flow["name"],
            budget_s=flow["delay_budget_s"],
            sendings=int(sent),
            share=met / sent if sent else math.nan,
            wanted=flow.get("success_share"),
        )
        for flow, ((_, sent), (_, met)) in zip(known, counts, strict=False)
    )
