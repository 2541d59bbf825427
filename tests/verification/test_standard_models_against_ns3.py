"""Standard models here and in ns-3: the same laws, or a difference that is explained and checked.

Each quantity is drawn from generated traffic and from ns-3's generator. Where ns-3's law is
another, it is written down here, and ns-3's draws have it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.verification.ns3_comparison import DRAWS, SAME, ByMoments, Compared
from tests.verification.ns3_generators import vr_bursts
from tests.verification.ns3_quantities_classic import (
    list_constants,
    list_ftp_model_1,
    list_ftp_ngmn,
    list_game_ngmn,
    list_video_ngmn,
    list_web,
)
from tests.verification.ns3_quantities_wireless import (
    SCALES,
    VR_APPS,
    compare_tgax_video,
    compare_voip_tgax,
    list_encoder,
    list_rta,
    list_tgax_conference,
    list_vdi,
    list_vr,
    list_xr,
    vr_generator,
    vr_laws,
)
from tests.verification.standard_laws import BY_CHANCE, ERRORS

from trafficgen.units import FloatArray

pytestmark = pytest.mark.ns3
COMPARED = [
    *list_xr("xr_3gpp38838_video", 30),
    *list_xr("xr_3gpp38838_ar_ul_video", 10, up=True),
    *(one for app in VR_APPS for one in list_vr(app)),
    *list_encoder(),
    *(compare_tgax_video(name) for name in SCALES),
    *list_tgax_conference(),
    *list_rta("status_sync", "dl", (13, 3.7), (50, 11)),
    *list_rta("status_sync", "ul", (15, 5.7), (38, 3.7)),
    *list_rta("lockstep", "dl", (28, 4.2), (210, 35)),
    *list_rta("lockstep", "ul", (22, 3.4), (92, 38)),
    *list_vdi(),
    compare_voip_tgax(),
    *list_game_ngmn(),
    *list_video_ngmn(),
    *list_ftp_ngmn(),
    *list_ftp_model_1(),
    *list_web(),
    *list_constants(),
]


def _distance(sample: FloatArray, law: Any) -> float:
    """Return the Kolmogorov-Smirnov distance to a law that may have values of positive mass."""
    values, counts = np.unique(sample, return_counts=True)
    return float(np.abs(np.cumsum(counts) / sample.size - law.cdf(values)).max())


def _matches(sample: FloatArray, law: Any) -> bool:
    """Return whether a sample has a law, or the moments, as far as chance lets it."""
    if not isinstance(law, ByMoments):
        return _distance(sample, law) < BY_CHANCE / math.sqrt(sample.size)
    error = ERRORS * law.sd / math.sqrt(sample.size)
    return bool(abs(sample.mean() - law.mean) <= max(error, 1e-3 * law.mean))


def _is_same(ours: FloatArray, theirs: FloatArray, document: Any) -> tuple[float, bool]:
    """Return the distance of two samples and whether they have one law, or one constant."""
    if document.moments()[1] == 0:
        is_same = bool(np.isclose(ours.mean(), theirs.mean(), rtol=1e-3))
        return float(not is_same), is_same
    distance = float(stats.ks_2samp(ours, theirs).statistic)
    return distance, distance < SAME


@pytest.mark.parametrize("one", COMPARED, ids=[f"{one.entry}-{one.what}" for one in COMPARED])
def test_ns3_draws_from_the_same_law_or_from_one_that_is_explained(
    one: Compared, record_property: Callable[[str, object], None]
) -> None:
    ours, theirs = one.ours(), one.ns3()
    distance, is_same = _is_same(ours, theirs, one.document)
    mean, sd = one.document.moments()
    rows = [("mean", mean, ours.mean(), theirs.mean(), one.printed[0])]
    if sd:
        rows.append(("SD", sd, ours.std(), theirs.std(), one.printed[1]))
    for name, document, here, there, printed in rows:
        row = {
            "what": f"`{one.entry}`, {name} of {one.what}",
            "unit": one.unit,
            "printed": None if printed is None else printed * one.per_draw,
            "expected": document * one.per_draw,
            "measured": float(here) * one.per_draw,
            "ns3": float(there) * one.per_draw,
            "distance": distance,
            "note": one.why,
        }
        record_property("check", json.dumps(row))
    assert abs(ours.mean() - mean) < ERRORS * sd / math.sqrt(ours.size) + 1e-6 * mean
    assert is_same or one.ns3_law is not None, distance
    assert one.ns3_law is None or one.why
    assert one.ns3_law is None or _matches(theirs, one.ns3_law)


@pytest.mark.parametrize("app", VR_APPS)
def test_the_attribute_of_the_application_keeps_the_laws_of_virus_popper(app: str) -> None:
    for drawn, law in zip(
        vr_bursts(vr_generator(app), DRAWS), vr_laws("virus_popper"), strict=True
    ):
        assert _matches(drawn, law)
