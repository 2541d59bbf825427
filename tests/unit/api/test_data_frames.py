"""Results as data frames: a row each, units in the names, types that allow missing values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import trafficgen


def test_a_simulation_gives_a_row_an_interval() -> None:
    path = "rate=725kbps,delay=45ms"
    result = trafficgen.simulate("wmedia9_nichols2004", path=path, duration_s=20, compete="tcp@-5s")
    frame = result.to_pandas()
    assert np.array_equal(frame.index.to_numpy(float), result.series_time_s)
    assert set(frame.columns) == set(result.series) - {"interval_s", "start_s"}
    assert frame["media_kbps"].tolist() == list(result.series["media_kbps"])
    assert set(map(str, frame.dtypes)) == {"Float64"}
    assert frame["buffer_s"].isna().any()


def test_a_reproduction_gives_a_row_a_quantity() -> None:
    found = trafficgen.reproduce("BMW-T1.1", runs=1, workers=1)
    frame = found.to_pandas()
    assert frame["simulated"].tolist() == [row.simulated for row in found.rows]
    assert frame["accept_low"].tolist() == [row.finding.low for row in found.rows]
    assert frame["ok"].dtype == "boolean"
    assert frame["high"].isna().all()


def test_what_a_paper_says_in_words_has_a_column_of_its_own() -> None:
    found = trafficgen.reproduce("BMW-T1.1", runs=1, workers=1)
    first = found.rows[0]
    spoken = replace(first, finding=replace(first.finding, published="long", low=None))
    frame = replace(found, rows=(spoken, *found.rows[1:])).to_pandas()
    assert frame["published_words"].tolist()[0] == "long"
    assert frame["published"].isna().tolist() == [True, *[False] * (len(found.rows) - 1)]
    assert str(frame["published"].dtype) == str(frame["accept_low"].dtype) == "Float64"
