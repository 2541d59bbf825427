"""The page "How sure are we", from the results in ``docs/verification``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reference_pages.markdown import Rows, bullets, table
from reproduction_pages import (
    format_number,
    leave_one_out_sections,
    reproduced_sections,
    sensitivity_sections,
)
from trafficgen.formatting import format_count
from trafficgen.units import ms_from_s
from transfers import Errors, errors_of

RESULTS = Path(__file__).resolve().parent / "verification"
_CHECKED = ("check", "expected", "found", "unit", "accepted", "result")

_INTRODUCTION = """# How sure are we

<!-- Made by `make docs` from docs/verification; do not edit. -->

Results can be wrong in four places: a model can misrepresent its capture, an interval can be too
narrow, a simulated source or path can behave differently from the real one, and an export can lose
packets or timing. This page compares each with something outside the program, and shows what
missed.

The figures are records of runs; each section names the command that renews them. Records are
renewed by hand. The tests make the same checks (`make test-all`, `make verify`, `make ns3`,
`make kernel`) and fail when a figure leaves its range."""


def page() -> str:
    """Return the page."""
    parts = [_INTRODUCTION]
    for part, sections in _SECTIONS.items():
        path = RESULTS / f"{part}.json"
        if path.exists():
            results = json.loads(path.read_text(encoding="utf-8"))
            parts += [*sections(results), _made_by(results)]
    # Results name the unit as their keys do.
    return "\n\n".join([*parts, _OPEN]).replace("kbps", "kbit/s") + "\n"


_OPEN = """## What has not been checked

- The papers' own captures are not public: findings are compared with published tables and text
  only.
- OMNeT++, TRex's server, mahimahi and MGEN's CLONE were not run; their exports follow manuals and
  source code.
- Intervals of quantities not listed above: the methods are the same, but their coverage was not
  measured.
- Today's players and services in closed loop: `chunked` is a player from the literature; `dashjs`,
  `hlsjs`, `shaka` and `exoplayer` follow the source code of these players. None was measured."""


def _made_by(results: Mapping[str, Any]) -> str:
    seed = ""
    if "seed" in results:
        runs = format_count(results["runs"] * results.get("seeds", 1), "run")
        seed = f", seed {results['seed']}, {runs}"
    return (
        f"Made by `{results['command']}` with trafficgen {results['version']}"
        f" ({results['with']}){seed}."
    )


# Checks of the tests


def _theory(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## The simulated network against theory"
    yield (
        "Queues have closed forms (Kleinrock 1975; Gross and Harris for M/D/1/K). Bulk TCP at"
        " random loss has laws of its rate (Mathis and others 1997; Padhye and others 1998; RFC"
        " 9438), which are approximations themselves."
    )
    yield checks_table(results)


def _standards(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## Models of standards against their documents"
    yield (
        "*Expected* are moments and quantiles of the documents' formulas, truncation included,"
        " computed in the tests from the documents' numbers and not from the catalogue's entries;"
        " *found* those of generated traffic. Laws are compared by their Kolmogorov-Smirnov"
        " distance too. Whether the numbers are the documents' own is another question: how many"
        " public places give each stands in the [catalogue](../reference/catalogue.md), with a"
        " [table](../reference/catalogue.md#document-ours-ns-3) of document, ours and ns-3."
    )
    yield checks_table(results)


def _quic(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## QUIC against recordings and TCP"
    yield (
        "Two recorded sessions over aioquic with CUBIC (*expected*), and the same player, title and"
        " path here (*found*), with aioquic's acknowledgements, slow start and small packets that"
        " fill the window. Then bulk flows with one congestion control on 10 Mbit/s with 40 ms:"
        " means of three runs of 60 s over TCP (*expected*) and QUIC (*found*), after 10 s."
    )
    yield checks_table(results)


def _ns3(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## The simulated network against ns-3"
    yield (
        "The same dumbbell, bulk TCP beside constant-rate UDP, in ns-3 3.44 (*expected*) and here"
        " (*found*): means of eight runs of 60 s, payload. How the set-ups were chosen, and what is"
        " known of the one that disagrees, stands under"
        " [simulation](simulation.md#what-the-comparison-with-ns-3-says-and-what-not)."
    )
    yield checks_table(results)


def _kernel(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## The simulated network against the Linux kernel"
    yield (
        "Bulk TCP of Linux beside constant-rate UDP over a token bucket. *Expected* are means of"
        " runs that were recorded once: of three, or, for the mixes of flows on 10 Mbit/s, of five"
        " runs of 60 s in network namespaces (`make kernel` makes them anew). A mix names the"
        " congestion controls, the queue in bandwidth-delay products and the round trip; its rows"
        " are what all flows of a control get, the loss of all packets, and the mean wait of small"
        " probes in the queue. What is known of those beyond 10% stands under"
        " [simulation](simulation.md#where-bbr-and-cubic-part-from-the-kernel)."
    )
    yield checks_table(results)


def _intervals(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## Intervals and verdicts of a fit"
    yield (
        "Known generators make many sessions, the functions that `fit` is made of take each, and"
        " the share of 95% intervals that hold the truth is counted; likewise how often the true"
        " family is chosen, and how often buffering is seen where there is none. *Accepted* is what"
        " chance alone leaves, or by what the method is known to fall short."
    )
    yield checks_table(results)


def checks_table(results: Mapping[str, Any]) -> str:
    """Return the figures that checks noted, and the files they are in."""
    rows: Rows = [
        (
            check["what"],
            format_number(check["expected"]),
            format_number(check["measured"]),
            check["unit"],
            check["accepted"],
            check["result"],
        )
        for check in results["checks"]
    ]
    files = dict.fromkeys(check["test"].partition("::")[0] for check in results["checks"])
    return f"{table(_CHECKED, rows)}\n\nThe checks: {', '.join(f'`{file}`' for file in files)}."


# Exports


def _exports(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## What exports keep"
    yield (
        "How far the times in the files are from the table's, and how many sizes differ, as the"
        " report of each export counts them, with the defaults of each target. How exactly the"
        " tools then *send* it was measured on an idle machine:"
        " [exports](exports.md#how-exactly-they-send-it)."
    )
    for name in dict.fromkeys(row["table"] for row in results["exports"]):
        own = [row for row in results["exports"] if row["table"] == name]
        yield f"{name[:1].upper()}{name[1:]}:"
        yield table(
            ("target", "packets", "sizes changed", "largest timing error, ms", "mean, ms"),
            [_export_row(row) for row in own if "refused" not in row],
        )
        refused = [
            f"`{row['target']}` refuses it: {row['refused']}." for row in own if "refused" in row
        ]
        if refused:
            yield bullets(refused)
    yield "A target without packets holds a path or a law."


def _export_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    error = row["timing_error_s"]
    largest, mean = (f"{ms_from_s(error[key]):.4f}" for key in ("max", "mean"))
    counts = ("" if row[key] is None else str(row[key]) for key in ("packets", "packets_changed"))
    return (f"`{row['target']}`", *counts, largest, mean)


# Captures and what is played from their fits


def _classified(results: Mapping[str, Any]) -> Iterator[str]:
    within, across = results["within"], results["across"]
    yield "## Played traffic next to its capture"
    yield (
        "Captures are fitted and three sessions of each are played. A classifier then has to"
        " distinguish windows of the capture from windows of the sessions"
        " ([how to read it](metrics.md#distinguished-by-a-classifier)): an AUC of 0.5 is no better"
        " than chance, 1 always right. *Across* trains it on all other captures of a kind, in"
        " windows of 5 s, and judges one it has not seen; in brackets is what shuffled labels"
        " exceed once in 20 times. The other columns have constant rate, Poisson and resampling in"
        " the place of the sessions."
    )
    yield table(
        ("across", "captures", "played", *_BASELINES),
        [
            (row["kind"], str(row["captures"]), *(_auc(row, side) for side in _SIDES))
            for row in across
        ],
    )
    yield (
        "*Within* trains it on parts of one capture and judges the others. KS distances are means"
        " over the three sessions; the volume is off by the bytes of a session less those of the"
        " capture, which may lie in the interval of `generate --dry-run` (*covered*). Comparisons"
        " are all metrics of `compare` with all baselines, for one session."
    )
    yield table(
        (
            *("within", "captures", "median AUC", "median KS of gaps", "of sizes"),
            *("median volume error", "worst above 15%", "covered", "closer or as close"),
        ),
        [_summarise_kind(row["kind"], within) for row in across],
    )
    yield (
        "Sessions whose first 10 s have more than 1.5 times the rate of the rest (of captures of"
        " 20 s and more; of three played sessions each), and fits with a phase of buffering, which"
        " needs a rate that holds, not a fast start alone:"
    )
    yield table(
        ("fast starts", "captures", "in captures", "when played", "buffering found"),
        [(row["kind"], *_count_fast_starts(row["kind"], within)) for row in across],
    )
    yield "Each capture:"
    yield table(
        (
            *("capture", "kind", "processes", "AUC", "by chance", "differs most in"),
            *("KS of gaps", "of sizes", "volume, mean", "worst"),
        ),
        [_describe_capture(row) for row in within],
    )


_BASELINES = ("cbr", "poisson", "renewal")
_SIDES = ("played", *_BASELINES)


def _auc(row: Mapping[str, Any], side: str) -> str:
    return f"{row[side]:.2f} ({row[f'{side}_by_chance']:.2f})" if side in row else "-"


def _summarise_kind(kind: str, within: list[dict[str, Any]]) -> tuple[str, ...]:
    own = [row for row in within if kind in (row["kind"], "all")]
    aucs = [row["auc"] for row in own if row["auc"] is not None]
    errors = np.abs(np.array([row["volume_errors"] for row in own]))
    won, lost = (sum(row[key] for row in own) for key in ("won", "lost"))
    won += sum(row["tied"] for row in own)
    return (
        *(kind, str(len(own)), f"{np.median(aucs):.2f}"),
        *(f"{np.median([row[key] for row in own]):.3f}" for key in ("gap_ks", "size_ks")),
        *(f"{np.median(errors):.1%}", str(int((errors.max(axis=1) > _MOST_OFF).sum()))),
        _share_covered(own),
        f"{won / (won + lost):.1%}",
    )


def _share_covered(rows: list[dict[str, Any]]) -> str:
    known = [row["volume_covered"] for row in rows if row["volume_covered"] is not None]
    return f"{sum(known)} of {len(known)}"


_MOST_OFF = 0.15
_FAST_START = 1.5


def _count_fast_starts(kind: str, within: list[dict[str, Any]]) -> tuple[str, ...]:
    own = [row for row in within if kind in (row["kind"], "all") and row["start_ratio"] is not None]
    if not own:
        return ("0", *("-",) * 3)
    captured = np.array([row["start_ratio"] for row in own]) > _FAST_START
    played = np.array([row["start_ratios"] for row in own], dtype=float) > _FAST_START
    buffering = [row["buffering"] for row in own]
    return (str(len(own)), *(f"{np.mean(one):.0%}" for one in (captured, played, buffering)))


def _describe_capture(row: Mapping[str, Any]) -> tuple[str, ...]:
    errors = np.array(row["volume_errors"])
    return (
        *(f"`{row['capture']}`", row["kind"], row["processes"]),
        *("-" if row[key] is None else f"{row[key]:.2f}" for key in ("auc", "auc_by_chance")),
        row["features"].replace("_", "\\_"),
        *(f"{row[key]:.3f}" for key in ("gap_ks", "size_ks")),
        *(f"{errors.mean():+.1%}", f"{errors[np.abs(errors).argmax()]:+.1%}"),
    )


# Packets that were not fitted


def _held_out(results: Mapping[str, Any]) -> Iterator[str]:
    split, second = results["split"], results["second"]
    yield "## Played traffic next to packets that were not fitted"
    yield (
        "A fit of the first half of a capture (by time) is judged by both halves, and a fit of one"
        f" capture by a second one of the same source. Medians of means over {results['seeds']}"
        " played sessions. *Fitted* are the packets that the fit has seen, *unseen* the others;"
        " *recorded* has the fitted packets themselves in the place of a session: what a source"
        " differs from itself. Rates are bytes from the first packet to the last; a second capture"
        " may show another path or another video. `fit --from`, `--to` and `compare` do this for"
        " one capture."
    )
    yield table(
        (
            *("held out", "captures", "judged by", "rate error", "KS of gaps", "of sizes"),
            *("AUC", "by chance"),
        ),
        [
            (name, str(len(rows)), side, *_held_out_medians([row[side] for row in rows]))
            for name, rows in (("later half", split), ("second capture", second))
            for side in ("fitted", "unseen", "recorded")
        ],
    )


def _held_out_medians(rows: list[Mapping[str, Any]]) -> tuple[str, ...]:
    median = {
        key: np.median([abs(row[key]) for row in rows if row[key] is not None]) for key in rows[0]
    }
    return (
        f"{median['rate_error']:.1%}",
        *(f"{median[key]:.3f}" for key in ("gap_ks", "size_ks")),
        *(f"{median[key]:.2f}" for key in ("auc", "auc_by_chance")),
    )


# Other paths


def _transfer(results: Mapping[str, Any]) -> Iterator[str]:
    rows = results["transfers"]
    moved = [row for row in rows if row["fitted_at"] != row["played_at"]]
    yield "## Sessions over other paths"
    yield (
        "A session is fitted at one path and played over another: by `simulate`, which plays its"
        " player where that is known (*model*), by its packets alone (*packets*), and by the"
        " smaller of the path's capacity and the rate of the fitted session (*least*). *There* is"
        " what was recorded on that path, or what the true player did there in simulation. Rates"
        " are IP bytes of the media over the session. One path does not show the rungs that were"
        " not visited on it, nor which of several policies explains the visited ones: most of the"
        " error. A player that never waited shows no segments, so that its packets are played."
    )
    yield table(
        ("sessions", "pairs", "by", "median error", "largest", "within 10 %"),
        [
            _describe_errors(name, by, errors_of(own, key))
            for name, own in _groups_of_transfers(rows)
            for by, key in _PREDICTIONS.items()
        ],
    )
    yield "Each pair; rates and mean rungs in kbit/s, stalls in s:"
    yield table(
        (
            *("session", "fitted at", "played at", "there", *_PREDICTIONS),
            *("rung there", "rung", "stalled there", "stalled"),
        ),
        [
            (
                *(row[key] for key in ("source", "fitted_at", "played_at")),
                *(format_number(row[key]) for key in ("rate_kbps", *_PREDICTIONS.values())),
                *(format_number(row[key]) for key in ("rung_kbps", "model_rung_kbps")),
                *(format_number(row[key]) for key in ("stalled_s", "model_stalled_s")),
            )
            for row in moved
        ],
    )


_PREDICTIONS = {"model": "model_kbps", "packets": "packets_kbps", "least": "least_kbps"}


def _describe_errors(name: str, by: str, errors: Errors) -> tuple[str, ...]:
    sizes = np.abs(errors)
    near = f"{int((sizes <= 0.1).sum())}"
    return (name, str(sizes.size), by, f"{np.median(sizes):.0%}", f"{sizes.max():.0%}", near)


def _groups_of_transfers(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for kind in ("recorded", "simulated"):
        own = [row for row in rows if row["source"].startswith(kind)]
        moved = [row for row in own if row["fitted_at"] != row["played_at"]]
        yield f"{kind}, another path", moved
        yield f"{kind}, its own path", [row for row in own if row not in moved]


_SECTIONS = {
    "leave-one-out": leave_one_out_sections,
    "reproduce": reproduced_sections,
    "sensitivity": sensitivity_sections,
    "intervals": _intervals,
    "theory": _theory,
    "standards": _standards,
    "quic": _quic,
    "ns3": _ns3,
    "kernel": _kernel,
    "classified": _classified,
    "held-out": _held_out,
    "transfer": _transfer,
    "exports": _exports,
}
