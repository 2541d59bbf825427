"""Colours by what a thing stands for, told apart by the colour-blind: the palette of Okabe and Ito
(2008).

On dark ground the same hues are lighter, so that each keeps a contrast of at least 3 : 1 to what is
behind it.
"""

from __future__ import annotations

from trafficgen.reports.charts import Role

LIGHT: dict[Role, str] = {
    "measured": "#0072b2",
    "synthetic": "#c14e00",
    "law": "#007a59",
    "published": "#0072b2",
    "extra": "#b8860b",
    "other": "#a8447f",
    "more": "#2b83ba",
    "baseline": "#6b7280",
}
DARK: dict[Role, str] = {
    "measured": "#56b4e9",
    "synthetic": "#ff9d5c",
    "law": "#3ddbaa",
    "published": "#56b4e9",
    "extra": "#f0e442",
    "other": "#e39ac5",
    "more": "#9ad0f5",
    "baseline": "#9ca3af",
}


def css_variables(colours: dict[Role, str]) -> str:
    """Return the declarations of CSS variables, ``--role-measured`` and so on."""
    return " ".join(f"--role-{role}: {colour};" for role, colour in colours.items())
