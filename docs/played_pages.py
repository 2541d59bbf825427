"""Sections of "How sure are we" on fits: what they play next to captures, and over other paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from reference_pages.markdown import table
from reproduction_pages import format_number
from transfers import Errors, errors_of

# Captures and what is played from their fits


def classified_sections(results: Mapping[str, Any]) -> Iterator[str]:
    """Describe how well a classifier distinguishes played sessions from captures."""
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
        " capture, which may lie in the interval of `generate --dry-run` (*covered*). Sessions keep"
        " the rate of their capture, which therefore hardly ever lies outside; that the interval"
        " holds *other* sessions of known sources, and is not too wide, is tested apart"
        " (`tests/unit/workloads/test_estimate.py`). Comparisons are all metrics of `compare` with"
        " all baselines, for one session."
    )
    yield table(
        (
            *("within", "captures", "median AUC", "median KS of gaps", "of sizes"),
            *("median volume error", "worst above 15%", "covered", "closer or as close"),
        ),
        [_summarise_kind(row["kind"], within) for row in across],
    )
    yield (
        "Sessions whose first 10 s have more than 1.5 times the rate of the rest: of captures of"
        " 20 s and more, of the rates of the phases that were found in them, and of three played"
        " sessions each. *Any buffering* counts all fits with a phase of buffering: it is longer"
        " than 10 s where a player fills its buffer slowly, or less than 1.5 times as fast, and so"
        " is not a fast start by this measure. Rates of phases are means: where the first segments"
        " alone came faster, they show no fast start. Of the six players of segments of the lab,"
        " the five whose logs show that their buffer was filled have buffering, which ends within"
        " 2 s of that; the sixth never filled it, and has none"
        " (`tests/verification/test_buffering_of_lab_players.py`):"
    )
    yield table(
        ("fast starts", "captures", "in captures", "in phases", "when played", "any buffering"),
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
        return ("0", *("-",) * 4)
    captured, found = (
        np.array([row[key] for row in own]) > _FAST_START
        for key in ("start_ratio", "start_ratio_by_phases")
    )
    played = np.array([row["start_ratios"] for row in own], dtype=float) > _FAST_START
    buffering = [row["buffering"] for row in own]
    return (str(len(own)), *(f"{np.mean(one):.0%}" for one in (captured, found, played, buffering)))


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


def held_out_sections(results: Mapping[str, Any]) -> Iterator[str]:
    """Describe how near played sessions are to packets that were not fitted."""
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


# Populations


def population_sections(results: Mapping[str, Any]) -> Iterator[str]:
    """Describe how well a classifier distinguishes sessions of populations from recorded ones."""
    rows = results["corpora"]
    met = sum(row["held_out"] <= POPULATION_GOAL for row in rows)
    yield "## Sessions of a population next to sessions that were not fitted"
    yield (
        "Half of a corpus is fitted as a population, as many sessions as the other half has are"
        " generated, and a classifier has to distinguish whole sessions: generated ones from those"
        " *held out*, recorded ones that were held out from those that were fitted (*recorded*:"
        " what sessions differ among themselves), and generated ones from those *fitted*. A"
        " generated session is seen for as long as the capture of a recorded one lasts. AUCs are"
        f" means over {results['splits']} divisions; those of features are of each alone, held"
        " out. Populations were changed on others; a first run of B1 showed what to look for"
        f" there. The goal is an AUC of at most {POPULATION_GOAL} for what was held out:"
        f" {met} of {len(rows)} corpora meet it. *Nearest* says how alike the rate (in bins of"
        " 0.1 s) of a session and of the likest fitted one are: medians of correlations, of"
        " generated sessions and, in brackets, of recorded ones that were held out; 1 is a copy."
    )
    yield table(
        ("corpus", "sessions", "held out", "recorded", "fitted", "nearest", "differs most in"),
        [
            (
                *(row["corpus"], str(row["sessions"])),
                *(f"{row[key]:.2f}" for key in ("held_out", "recorded", "fitted")),
                f"{row['played_alike']:.2f} ({row['recorded_alike']:.2f})",
                row["features"].replace("_", "\\_"),
            )
            for row in rows
        ],
    )
    yield (
        "Recordings: "
        + ", ".join(f"`{one['project']}` at {one['revision']}" for one in results["sources"])
        + "."
    )


#: Largest AUC of whole sessions of a population that counts as alike.
POPULATION_GOAL = 0.75


# Other paths


def transfer_sections(results: Mapping[str, Any]) -> Iterator[str]:
    """Describe how near fits are on paths that they were not made on."""
    rows = results["transfers"]
    moved = [row for row in rows if row["fitted_at"] != row["played_at"]]
    apart = [row for row in moved if row["captures"] == 1]
    yield "## Sessions over other paths"
    yield (
        "A session is fitted at one path and played over another: by `simulate`, which plays its"
        " player where that is known (*model*), by its packets alone (*packets*), and by the"
        " smaller of the path's capacity and the rate of the fitted session (*least*). *There* is"
        " what was recorded on that path, or what the true player did there in simulation. Rates"
        " are IP bytes of the media over the session. One path does not show the rungs that were"
        " not visited on it, nor which of several policies explains the visited ones: most of the"
        " error. Where no player is found, packets are played. Two sessions of a player are also"
        " fitted together (`fit --same-source`), and played over paths that neither of them had:"
        " one between theirs, and one faster than both."
    )
    yield table(
        ("sessions", "pairs", "by", "median error", "largest", "within 10 %"),
        [
            _describe_errors(name, by, errors_of(own, key))
            for name, own in _groups_of_transfers(rows)
            for by, key in _PREDICTIONS.items()
        ],
    )
    yield (
        "The goal is a mean rate within 10%, the share of segments at each rung within 15 points,"
        " switches a minute within 30%, and the time in stalls within 2 s or 30%, in 80% of the"
        " pairs. Packets alone show a rate only."
    )
    yield table(
        ("sessions", "pairs", *_POINTS, "all"),
        [
            _count_points(name, own)
            for name, own in _groups_of_transfers(rows, by_path=True)
            if own[0] in moved
        ],
    )
    missed = [row for row in apart if not all(_find_points(row))]
    wider = [row for row in missed if row["least_kbps"] < row["rate_kbps"]]
    yield (
        f"Of the {len(missed)} pairs of one capture that miss a goal, {len(wider)} are played over"
        " a faster path than the session had, where its player takes rungs that the capture does"
        " not show: how far apart they are, and whether it climbs them one by one, decide its rate"
        " and its few switches. Several captures of one source show more of them"
        " ([how to](../how-to/play-over-a-path.md)); above the highest one, they are as uncertain."
    )
    short = [row for row in moved if row["captures"] > 1 and not (_find_points(row)[0])]
    above = sum(row["model_kbps"] > row["rate_kbps"] for row in short)
    if short:
        yield (
            f"With two captures, {len(short)} pairs miss the rate, {above} of them by taking too"
            " much: on a path faster than both, players have a next rung that is lower, or none,"
            " which no capture shows."
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


_POINTS = ("rate", "rungs", "switches", "stalls")


def _count_points(name: str, rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """Count the pairs in which each point holds, and all of them."""
    hold = np.array([_find_points(row) for row in rows])
    counts = (*hold.sum(axis=0), hold.all(axis=1).sum())
    return (name, str(len(rows)), *(f"{count} ({count / len(rows):.0%})" for count in counts))


def _find_points(row: Mapping[str, Any]) -> tuple[bool, ...]:
    """Return whether rate, rungs, switches and stalls of a pair are near the truth."""
    off, stalled_s = row["rung_shares_off"], row["model_stalled_s"]
    if off is None or stalled_s is None:
        return (abs(row["model_kbps"] / row["rate_kbps"] - 1) <= _RATE, False, False, False)
    switches = abs(row["model_switches_per_min"] - row["switches_per_min"])
    longest_s = max(_STALLED_S, _SWITCHES * row["stalled_s"])
    return (
        abs(row["model_kbps"] / row["rate_kbps"] - 1) <= _RATE,
        off <= _SHARES,
        switches <= _SWITCHES * row["switches_per_min"],
        abs(stalled_s - row["stalled_s"]) <= longest_s,
    )


_RATE, _SHARES, _SWITCHES, _STALLED_S = 0.1, 0.15, 0.3, 2.0
_PREDICTIONS = {"model": "model_kbps", "packets": "packets_kbps", "least": "least_kbps"}


def _describe_errors(name: str, by: str, errors: Errors) -> tuple[str, ...]:
    sizes = np.abs(errors)
    near = f"{int((sizes <= 0.1).sum())}"
    return (name, str(sizes.size), by, f"{np.median(sizes):.0%}", f"{sizes.max():.0%}", near)


def _groups_of_transfers(
    rows: list[dict[str, Any]], *, by_path: bool = False
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for kind in ("recorded", "simulated"):
        own = [row for row in rows if row["source"].startswith(kind)]
        pooled = [row for row in own if row["captures"] > 1]
        moved = [row for row in own if row not in pooled and row["fitted_at"] != row["played_at"]]
        yield f"{kind}, another path", moved
        yield f"{kind}, its own path", [row for row in own if row not in (*moved, *pooled)]
        if not by_path:
            yield f"{kind}, two captures, a third path", pooled
            continue
        for path in dict.fromkeys(row["played_at"] for row in pooled):
            yield (
                f"{kind}, two captures, at {path}",
                [row for row in pooled if row["played_at"] == path],
            )
