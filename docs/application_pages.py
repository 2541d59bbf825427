"""Section of "How sure are we" on what a fit says of a source's requests and of its path."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reference_pages.markdown import bullets, table
from trafficgen.formatting import format_count

_Rows = Sequence[Mapping[str, Any]]
_CLOCK, _FEW_SEGMENTS, _RESPONSES = 0.01, 2, 0.95
_GOALS = {
    "responses, bytes within 2%": "95%",
    "segment clock within 1%": "all",
    "rungs within 3%": "all",
    "switches within a segment": "90%",
    "stalls within 1 s (length: or 20%)": "all",
    "sessions whose number of stalls is right within one": "all",
    "stalls found in sessions without any": "0",
    "rates of the link within 3%, steps within 1 s": "all",
    "rates found whose interval holds the true one": "90 to 98%",
}


def application_sections(results: Mapping[str, Any]) -> Iterator[str]:
    """Describe what was found of responses, segments, stalls and the link, and what was missed."""
    rows = results["sessions"]
    parts = {
        f"{name}, {side}": [
            row for row in rows if (row["seed"] is None) == is_recorded and row["side"] == side
        ]
        for name, is_recorded in (("recorded", True), ("simulated", False))
        for side in ("receiver", "sender")
    }
    yield "## What a source requested, and its path"
    yield (
        "What a fit says of a session's requests, and of the rate of its path, beside the logs of"
        " recorded sessions and what simulated players did. Of recordings both ends of the path"
        " are fitted by themselves. Simulated players of six policies play over 1 Mbit/s,"
        " 3 Mbit/s, and 3 Mbit/s that fall to 0.5 at 30 s and rise to 2 at 60 s, for 120 s; ladder,"
        f" title and buffer are drawn anew for each of {len(results['seeds'])} seeds, which were"
        " not used for the estimators. A switch counts if it is found in its direction; a session"
        " whose stalls are not known has the wrong number."
    )
    points = {name: _count_points(own) for name, own in parts.items()}
    yield table(
        ("point", "goal", *parts),
        [(point, goal, *(one[point] for one in points.values())) for point, goal in _GOALS.items()],
    )
    yield f"What is missed, and why:\n\n{bullets(_list_reasons(rows, results['youtube']))}"
    yield "Each recorded session with requests; found of all, in brackets what the fit lists:"
    yield table(_COLUMNS, [_describe(row["session"], [row]) for row in rows if _is_listed(row)])
    yield "Simulated players, both sides and all seeds together:"
    names = dict.fromkeys(row["session"] for row in rows if row["seed"] is not None)
    yield table(
        _COLUMNS,
        [_describe(name, [one for one in rows if one["session"] == name]) for name in names],
    )


def _is_listed(row: Mapping[str, Any]) -> bool:
    return row["seed"] is None and "responses" in row


def _sum(rows: _Rows, key: str, place: int) -> int:
    return sum(row[key][place] or 0 for row in rows if key in row)


def _share(rows: _Rows, key: str, *, places: tuple[int, int] = (0, 1)) -> str:
    part, whole = (_sum(rows, key, place) for place in places)
    return f"{part} of {whole}" + (f" ({part / whole:.0%})" if whole else "")


def _count_points(rows: _Rows) -> dict[str, str]:
    segments = [row for row in rows if "clock_off" in row]
    clocks = sum(_is_clock_right(row) for row in segments)
    counted = [row["stalls"] for row in segments]
    right = sum(told is not None and abs(told - all_) <= 1 for _, all_, told in counted)
    invented = sum(told or 0 for _, all_, told in counted if all_ == 0)
    found = (
        _share(rows, "responses"),
        f"{clocks} of {len(segments)}",
        *(_share(rows, key) for key in ("rungs", "switches", "stalls")),
        f"{right} of {len(segments)}",
        str(invented),
        *(_share(rows, "capacity", places=places) for places in ((0, 1), (3, 2))),
    )
    return dict(zip(_GOALS, found, strict=True))


def _is_clock_right(row: Mapping[str, Any]) -> bool:
    return row["clock_off"] is not None and abs(row["clock_off"]) <= _CLOCK


def _list_reasons(rows: _Rows, youtube: _Rows) -> Iterator[str]:
    low = [
        f"{row['session']} at the {row['side']}"
        for row in rows
        if "responses" in row and row["responses"][0] < _RESPONSES * row["responses"][1]
    ]
    yield (
        f"Fewer than {_RESPONSES:.0%} of the responses: {', '.join(low) or 'nowhere'}. Before the"
        " path, packets that QUIC sends again are like any others, and count twice."
    )
    segments = [row for row in rows if "clock_off" in row]
    silent = [row for row in segments if "application" in row["absent"]]
    for why, count in Counter(row["absent"]["application"] for row in silent).most_common():
        lost = _sum([row for row in silent if row["absent"]["application"] == why], "switches", 1)
        yield (
            f"{format_count(count, 'capture')}: {why}. Rungs, switches ({lost}) and stalls are not"
            " known then."
        )
    others = sum(row["kind"] not in (None, "chunked") for row in segments)
    if others:
        yield (
            f"{format_count(others, 'capture')} taken for `interactive`: sizes over a wide ladder"
            " vary as widely."
        )
    told = [row for row in segments if row["kind"] == "chunked"]
    wrong = sum(not _is_clock_right(row) for row in told)
    guesses = sum(not _is_clock_right(row) and "segment_s" in row["absent"] for row in told)
    yield (
        f"{format_count(wrong, 'clock')} of the others, {guesses} of them guesses in sessions that"
        " never waited."
    )
    few = [count for row in told for count in row["segments_of_missed_rungs"]]
    rare = sum(count <= _FEW_SEGMENTS for count in few)
    yield (
        f"{format_count(len(few), 'rung')} where segments are found, {rare} of them with one or two"
        " segments: their sizes are taken for a neighbour's, which is off by them, and the switches"
        " between the two are missed."
    )
    # Reasons begin with the range of each session.
    unknown = Counter(
        re.sub(r"^from [^:]*: ", "", row["absent"]["stalls"])
        for row in told
        if row["stalls"][2] is None
    )
    for why, count in unknown.most_common():
        yield f"Stalls are not known of {format_count(count, 'capture')}: {why}."
    chunks, right, commonest = (
        sum(one[key] for one in youtube) for key in ("chunks", "right", "commonest")
    )
    reasons = "; ".join(dict.fromkeys(one["why"] for one in youtube if one["why"]))
    yield (
        f"YouTube over QUIC, quality of each chunk of video (goal 80%): {right} of"
        f" {chunks} ({commonest} if each is taken for its session's commonest). Its player requests"
        " ranges of bytes, whose sizes alone show no rung; bytes of video for as much audio do,"
        " where a quality stays for a few ranges and is well apart from others"
        f"{f' ({reasons})' if reasons else ''}."
    )


_COLUMNS = ("session", "side", "responses", "clock", "rungs", "switches", "stalls", "link")


def _describe(name: str, rows: _Rows) -> tuple[str, ...]:
    segments = [row for row in rows if "clock_off" in row]
    clocks = f"{sum(map(_is_clock_right, segments))} of {len(segments)}" if segments else "-"
    sides = dict.fromkeys(row["side"] for row in rows)
    return (
        *(name, " and ".join(sides), _told(rows, "responses"), clocks),
        *(_told(segments, key) for key in ("rungs", "switches", "stalls")),
        _told(rows, "capacity"),
    )


def _told(rows: _Rows, key: str) -> str:
    if not rows or key not in rows[0]:
        return "-"
    text = f"{_sum(rows, key, 0)} of {_sum(rows, key, 1)}"
    return text if len(rows[0][key]) == 2 else f"{text} ({_sum(rows, key, 2)})"
