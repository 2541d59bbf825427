"""A chart names its axes with their units; its colours can be told apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trafficgen.reports.page import DARK, LIGHT, Axis, Role

#: How full colour vision and simulated dichromats see linear RGB (Machado et al. 2009, severity 1).
VISION = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
#: Linear RGB to Oklab (Ottosson 2020), in which equal distances look about equal.
TO_CONES = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
TO_OKLAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(np.dot((0.2126, 0.7152, 0.0722), linear(colour)))


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_everybody_tells_all_colours_apart(colours: dict[Role, str], vision: str) -> None:
    def seen(colour: str) -> np.ndarray:
        light = np.clip(np.array(VISION[vision]) @ linear(colour), 0, 1)
        place: np.ndarray = np.array(TO_OKLAB) @ np.cbrt(np.array(TO_CONES) @ light)
        return place

    for one, other in itertools.combinations(colours, 2):
        apart = np.linalg.norm(seen(colours[one]) - seen(colours[other]))
        assert apart > 0.09, f"{one} and {other}"


@pytest.mark.parametrize(
    ("colours", "panel"), [(LIGHT, "#f6f7f9"), (DARK, "#1c2229")], ids=["light", "dark"]
)
def test_colours_stand_out_from_the_page(colours: dict[Role, str], panel: str) -> None:
    for role, colour in colours.items():
        dark, light = sorted([luminance(colour), luminance(panel)])
        assert (light + 0.05) / (dark + 0.05) >= 3, role


def test_an_axis_without_a_unit_is_its_label_alone() -> None:
    assert Axis(label="share").text == "share"
    assert Axis(label="time", unit="s").text == "time, s"
