"""How far the laws that a tool draws may be from the model's before they are refused."""

from __future__ import annotations

from collections.abc import Mapping

from trafficgen.errors import ExportError
from trafficgen.export.settings import Setting, Settings

LAW_SETTINGS = (
    Setting("largest_ks", 0.2, "Of a model: distance above which a law is refused.", low=0, high=1),
    Setting("approximate", False, "Of a model: hand over laws that are farther, too."),
)


def refuse_far(distances: Mapping[str, float], settings: Settings, *, target: str) -> None:
    """Refuse laws that are farther from the model's than the setting ``largest_ks``, unless
    ``approximate`` is on.

    Raises:
        ExportError: If there is one; the message names the farthest.
    """
    name, farthest = max(distances.items(), key=lambda item: item[1])
    limit = settings.number("largest_ks")
    if farthest > limit and not settings.flag("approximate"):
        raise ExportError(
            f"{target} cannot draw {name.removesuffix('.ks')}: the closest of its laws is"
            f" {farthest:g} away (KS), more than {limit:g}; generate packets and export those, or"
            " --set approximate=on"
        )
