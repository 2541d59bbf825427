"""Frames of a fitted stream: their sizes by type, one after another, and their spacing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trafficgen.calibration.processes.frames import Frames, frames_of
from trafficgen.calibration.processes.group_of_pictures import find_group
from trafficgen.formatting import number
from trafficgen.models import FrameProcess
from trafficgen.reports.charts import Axis, Chart, Curve, Role
from trafficgen.reports.curves import Sample, chart_distribution
from trafficgen.reports.fit.packets import family_name
from trafficgen.reports.fit.subject import FitSubject, StreamPart
from trafficgen.reports.laws import PlottedLaw, chart_law

_TYPES: tuple[tuple[str, Role], ...] = (
    ("key", "other"),
    ("predicted", "measured"),
    ("bidirectional", "extra"),
)
#: Frames that are shown one by one.
_SHOWN = 240


def chart_frames(subject: FitSubject) -> Iterator[Chart | None]:
    """Yield charts of the frames of the heaviest phase that has a frame clock; nothing where
    there is none.
    """
    parts = [
        (part, frames)
        for part in subject.parts
        for frames in [frames_of(part.packets)]
        if frames is not None
    ]
    if not parts:
        return
    part, frames = max(
        parts, key=lambda pair: (_is_video(pair[0]), float(pair[1].frame_bytes.sum()))
    )
    sizes = frames.frame_bytes.astype(np.float64)
    found = find_group(sizes)
    types = found.types if found else np.full(sizes.size, 1)
    names = {1: "frame"} if found is None else {kind: name for kind, (name, _) in enumerate(_TYPES)}
    present = [kind for kind in range(len(_TYPES)) if np.any(types == kind)]
    process = part.phase.process
    yield _in_order(part, frames, types, present, names)
    for kind in present:
        laws = [
            PlottedLaw(name=family_name(one.frame_bytes), law=one.frame_bytes)
            for one in (process.types if isinstance(process, FrameProcess) else ())
            if one.name == names[kind]
        ]
        yield chart_law(
            f"frame-sizes-{names[kind]}",
            "Sizes of frames" if names[kind] == "frame" else f"Sizes of {names[kind]} frames",
            [Sample(name="measured", role=_TYPES[kind][1], values=sizes[types == kind])],
            laws,
            axis=Axis(label="frame, headers of its packets included", unit="bytes"),
            caption=f"{part.label}: {int(np.count_nonzero(types == kind)):,} frames.",
        )
    yield _spacing(subject, part, frames)


def _is_video(part: StreamPart) -> bool:
    return part.stream.media == "video"


def _in_order(
    part: StreamPart, frames: Frames, types: np.ndarray, present: list[int], names: dict[int, str]
) -> Chart:
    process = part.phase.process
    clock = ""
    if isinstance(process, FrameProcess):
        clock = f" {number(process.frame_rate_hz.value)} frames a second by the media clock."
        if process.group is not None:
            mean = sum(each.frames * each.share for each in process.group.distances)
            clock += f" A key frame comes every {number(mean)} frames in the mean."
    first = types[:_SHOWN]
    # Key frames last: they lie on top.
    curves = tuple(
        Curve(
            name=names[kind],
            x=frames.start_s[:_SHOWN][first == kind],
            y=frames.frame_bytes[:_SHOWN][first == kind].astype(np.float64),
            role=_TYPES[kind][1],
            shape="points",
        )
        for kind in reversed(present)
        if np.any(first == kind)
    )
    return Chart(
        name="frames",
        title="Frames one after another",
        x=Axis(label="time after the first frame of the phase", unit="s", low=0),
        y=Axis(label="frame", unit="bytes", low=0),
        layers=curves,
        caption=(
            f"{part.label}: the first {min(_SHOWN, frames.first.size)} of {frames.first.size:,}"
            f" frames; types by their sizes.{clock}"
        ),
    )


def _spacing(subject: FitSubject, part: StreamPart, frames: Frames) -> Chart | None:
    samples = [Sample(name="measured", role="measured", values=np.diff(frames.start_s))]
    place = part.stream.phases.index(part.phase)
    played = list(subject.played_packets(part.stream))
    again = frames_of(played[place]) if place < len(played) else None
    if again is not None:
        values = np.diff(again.start_s)
        samples.append(
            Sample(name="played by the model", role="synthetic", values=values, dashed=True)
        )
    return chart_distribution(
        "frame-spacing",
        "Spacing of the frames",
        samples,
        axis=Axis(label="first packet of a frame to that of the next", unit="s", log=True),
        caption=f"{part.label}. A step where all frames are on time; a slope where they are late.",
    )
