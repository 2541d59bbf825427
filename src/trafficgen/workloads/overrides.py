"""Options in place of keys of a workload file: a window, arrivals, a popularity, variations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from trafficgen.errors import GenerationError
from trafficgen.formatting import format_count, format_duration, number
from trafficgen.generation.arrivals import Arrivals, FirstArrivals, PoissonArrivals
from trafficgen.models import Model
from trafficgen.workloads.arrivals import ArrivalsPart
from trafficgen.workloads.clips import ClipsPart, PlannedClips, PopularityPart
from trafficgen.workloads.column_files import ColumnFiles
from trafficgen.workloads.description import Variation
from trafficgen.workloads.plan import PlannedWorkload


def override_window(workload: PlannedWorkload, window_s: float) -> PlannedWorkload:
    """Return the workload whose sessions start in another time, s.

    Where the file says both how many sessions there are and in which time, these are the first of
    them. Elsewhere as many start as the rates give.

    Raises:
        GenerationError: If sessions of a certain number start in a shorter time.
    """

    def shorten(arrivals: Arrivals, sessions: int | None) -> tuple[Arrivals, int | None]:
        if sessions is None or (workload.window_s is None and arrivals.has_rate):
            return arrivals, None
        if workload.window_s is None:
            return arrivals, sessions
        return FirstArrivals(arrivals, sessions, workload.window_s), None

    counted = [workload.sessions, *(group.sessions for group in workload.groups)]
    if workload.window_s is not None and window_s > workload.window_s and any(counted):
        raise GenerationError(
            f"[--for {format_duration(window_s)}] is longer than the"
            f" {format_duration(workload.window_s)} in which the sessions of {workload.name} start;"
            " give [--sessions] too, or change 'for' and 'sessions' in the workload file"
        )
    if window_s == workload.window_s:
        return workload
    groups = list(workload.groups)
    for place, group in enumerate(groups):
        if group.arrivals is not None:
            arrivals, sessions = shorten(group.arrivals, group.sessions)
            groups[place] = replace(group, arrivals=arrivals, sessions=sessions)
    arrivals, sessions = shorten(workload.arrivals, workload.sessions)
    return replace(
        workload, groups=tuple(groups), arrivals=arrivals, sessions=sessions, window_s=window_s
    )


def keep_rate(
    workload: PlannedWorkload, *, sessions: int | None, window_s: float | None
) -> PlannedWorkload:
    """Return the workload at the one rate that options give, in place of numbers of its file.

    It has the arrivals that options give; ``sessions`` and ``window_s`` are given too, or None.

    Raises:
        GenerationError: If options give all three, and they do not fit each other; or two, and
            groups with arrivals of their own need the time of the file.
    """
    arrivals = workload.arrivals
    if not isinstance(arrivals, PoissonArrivals) or not arrivals.is_constant:
        return workload
    if window_s is None and any(group.arrivals is not None for group in workload.groups):
        window_s = workload.window_s  # these groups need it
    if sessions is not None and window_s is not None:
        if arrivals.explain(sessions=sessions, window_s=window_s):
            expected = float(arrivals.intensity.expected(np.array(window_s)))
            raise GenerationError(
                f"[--sessions {sessions}] in {format_duration(window_s)} does not fit the arrival"
                f" rate, at which about {number(expected, digits=3)} sessions start in that time;"
                " leave [--sessions], the time or the rate out"
            )
        return workload
    if sessions is not None and workload.window_s is not None:
        replaced = f"the {format_duration(workload.window_s)} of the file"
        workload = replace(workload, window_s=None)
    elif sessions is None and None not in (workload.sessions, workload.window_s):
        replaced = f"the {format_count(workload.sessions or 0, 'session')} of the file"
        workload = replace(workload, sessions=None)
    else:
        return workload
    remark = f"the arrival rate that is given replaces {replaced}"
    return replace(workload, remarks=(*workload.remarks, remark))


def override_arrivals(workload: PlannedWorkload, part: ArrivalsPart) -> PlannedWorkload:
    """Return the workload with other arrivals, for groups that have none of their own.

    Raises:
        GenerationError: If all groups have arrivals of their own.
        WorkloadFileError: If a file that the arrivals name cannot be used.
    """
    if all(group.arrivals is not None for group in workload.groups):
        raise GenerationError(
            f"all groups of {workload.name} have arrivals of their own; change 'groups.0.arrivals'"
            " and the others in the workload file"
        )
    files = ColumnFiles(Path(), "[--arrivals|arrivals]", are_of_user=True)
    return replace(
        workload,
        arrivals=files.check(part.kind, lambda: part.arrivals(files)),
        description=workload.description.model_copy(update={"arrivals": part}),
        digests=(*workload.digests, *files.digests),
    )


def override_popularity(workload: PlannedWorkload, part: PopularityPart) -> PlannedWorkload:
    """Return the workload with another popularity of clips, for all groups that have clips.

    Raises:
        GenerationError: If no group has clips, or the popularity has more than a group.
        WorkloadFileError: If a file of weights cannot be used.
    """
    files, law = ColumnFiles(Path(), "[--popularity|popularity]", are_of_user=True), part.part
    given = files.check(part.kind, lambda: law.count(files))

    def change(clips: PlannedClips, group: str) -> PlannedClips:
        count, known = given, clips.popularity.weights.size
        most = known if clips.variants is None else len(clips.variants.values)
        if clips.variants is not None and (count or 0) > most:
            raise GenerationError(
                f"[--popularity|popularity]: {count} clips are requested, group {group!r}"
                f" has {most}; ask for fewer"
            )
        popularity = law.popularity(known if count is None else count, files)
        return replace(clips, popularity=popularity)

    if all(group.clips is None for group in workload.groups):
        raise GenerationError(
            f"no group of {workload.name} has clips; write 'clips' in the workload file, such as"
            " clips: {popularity: zipf:0.8}"
        )
    clips = workload.description.clips or ClipsPart()
    return replace(
        workload,
        groups=tuple(
            replace(group, clips=group.clips and change(group.clips, group.name))
            for group in workload.groups
        ),
        description=workload.description.model_copy(
            update={"clips": clips.model_copy(update={"popularity": part})}
        ),
        digests=(*workload.digests, *files.digests),
    )


def limit_variation(workload: PlannedWorkload) -> PlannedWorkload:
    """Return the workload with what varies all groups kept from published models.

    Those follow their own options: only a duration that they are given can vary. Without a fitted
    model in the workload nothing is changed, and what cannot vary is refused.
    """
    if not any(isinstance(group.model, Model) for group in workload.groups):
        return workload
    groups, untouched = list(workload.groups), []
    for place, group in enumerate(groups):
        own = Variation().overridden(workload.description.groups[place])
        limited = replace(own, duration=group.variation.duration) if group.has_length else own
        if not isinstance(group.model, Model) and limited != group.variation:
            groups[place] = replace(group, variation=limited)
            untouched.append(group.name)
    if not untouched:
        return workload
    remark = (
        f"variations do not touch group {' and '.join(untouched)}: published models follow their"
        " options, and vary in a given duration alone"
    )
    return replace(workload, groups=tuple(groups), remarks=(*workload.remarks, remark))
