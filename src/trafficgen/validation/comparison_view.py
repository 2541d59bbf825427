"""A comparison for people: one line, and a view for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trafficgen import html_view as html
from trafficgen.formatting import number, one_line

if TYPE_CHECKING:
    from trafficgen.validation.compare import Comparison
    from trafficgen.validation.verdict import Verdict


def line_of_comparison(comparison: Comparison) -> str:
    """Return who is compared with whom, two distances, and the verdict's summary on one line."""
    flat = comparison.flat()
    reference, candidate = (one_line(name) for name in comparison.names)
    sizes, gaps = (number(flat.get(name), digits=3) for name in ("packet_bytes.ks", "gap_s.ks"))
    summary = _verdict(comparison).summary.removesuffix(".")
    return (
        f"<Comparison of {candidate} with {reference}: KS distance of packet sizes {sizes}, of gaps"
        f" {gaps}; {summary[0].lower()}{summary[1:]}>"
    )


def view_of_comparison(comparison: Comparison) -> str:
    """Return the verdict, both rates over time, and every metric beside the baselines."""
    baselines = comparison.flat_baselines()
    header = ("metric", "candidate", *baselines, "beats", "ties with", "chance alone")
    rows = [
        (
            name,
            number(value, digits=3),
            *(number(metrics.get(name), digits=3) for metrics in baselines.values()),
            ", ".join(comparison.wins.get(name, ())),
            ", ".join(comparison.ties.get(name, ())),
            number(comparison.noise.get(name), digits=3),
        )
        for name, value in comparison.flat().items()
    ]
    reference, candidate = comparison.names
    cut = sum(comparison.resegmented_packets)
    return html.view(
        f"{candidate} compared with {reference}",
        html.texts("Verdict", _verdict(comparison).lines()),
        _rates(comparison),
        html.paragraph("Distances, 0 for equal sides:"),
        html.table(
            header,
            rows,
            right=(*range(1, 2 + len(baselines)), len(header) - 1),
            what="metrics",
            shown=len(rows),
        ),
        html.facts(
            [
                ("largest gap within a burst, s", number(comparison.burst_threshold_s)),
                ("segmentation-offload packets cut first", number(cut) if cut else None),
                ("seed of the baselines", number(comparison.seed)),
            ]
        ),
    )


def _rates(comparison: Comparison) -> str:
    """Return the rates of the media on both sides; nothing for a comparison that does not hold
    them.
    """
    if comparison.sides is None:
        return ""
    views = (comparison.sides.reference_view, comparison.sides.candidate_view)
    return html.rate_curves(
        *(
            (name, view.media_time_ns, view.media_ip_bytes)
            for name, view in zip(comparison.names, views, strict=True)
        )
    )


def _verdict(comparison: Comparison) -> Verdict:
    from trafficgen.validation.verdict import verdict_of  # noqa: PLC0415 - it looks at comparisons, which show this

    return verdict_of(comparison)
