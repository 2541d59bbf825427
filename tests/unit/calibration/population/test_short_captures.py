"""Captures of one source that are too short for a model are left out before they are fitted."""

from __future__ import annotations

from pathlib import Path

import pytest

from trafficgen import fit_same_source, generate
from trafficgen.calibration import session_fit
from trafficgen.errors import CalibrationError


def test_short_captures_are_refused_before_their_laws_are_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = [tmp_path / f"{rate}.pcap" for rate in (300, 400)]
    for path, rate in zip(short, (300, 400), strict=True):
        generate("cbr", path, duration_s=2, settings={"rate_kbps": rate})

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("laws of a capture were fitted that is too short for a model")

    monkeypatch.setattr(session_fit, "fit_streams", refuse)
    monkeypatch.setattr(session_fit, "find_phases", refuse)
    with pytest.raises(CalibrationError, match=r"none of the 2 captures .* too little media"):
        fit_same_source(short)
