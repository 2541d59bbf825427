"""A session of bursts and a comparison of it with another draw."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import build_table

from trafficgen.flows import SessionView, choose_session
from trafficgen.reports.drawing import _draw_for_page
from trafficgen.reports.page import Chart
from trafficgen.validation.compare import compare_sessions
from trafficgen.validation.comparison import Comparison


def bursts(seed: int) -> SessionView:
    """Return a minute of bursts of about 20 packets every half second."""
    generator = np.random.default_rng(seed)
    starts_s = np.arange(0, 60, 0.5) + generator.uniform(0, 0.05, 120)
    counts = generator.poisson(20, 120) + 1
    time_s = np.concatenate(
        [
            start_s + np.cumsum(generator.exponential(0.002, count))
            for start_s, count in zip(starts_s, counts, strict=True)
        ]
    )
    return choose_session(
        build_table(np.sort(time_s), ip_bytes=generator.integers(200, 1500, time_s.size))
    )


def texts_cut_on_a_phone(chart: Chart) -> list[str]:
    """Return texts beside the y axis that a picture cuts when a narrow page makes them larger."""
    figure = _draw_for_page(chart)[1]
    axis, (height, left) = figure.axes[0].yaxis, (figure.bbox.height, figure.bbox.x0)
    axis.label.set_fontsize(12)
    boxes = {axis.label.get_text(): (axis.label.get_window_extent().height, left)}
    for text in axis.get_ticklabels():
        text.set_fontsize(12)
        box = text.get_window_extent()
        boxes[text.get_text()] = (box.height, box.x0)
    return [text for text, (tall, x0) in boxes.items() if tall > height or x0 < left]


@pytest.fixture(scope="session")
def comparison() -> Comparison:
    return compare_sessions(bursts(1), bursts(2))
