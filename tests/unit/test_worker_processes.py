"""What reaches the terminal from processes that work for a command."""

from __future__ import annotations

import sys
import warnings

import pytest

from trafficgen.errors import CaptureWarning
from trafficgen.worker_processes import defer_interrupts, worker_pool

#: Categories of libraries: numpy, scipy and statsmodels warn with these or subclasses of them.
OF_LIBRARIES = (UserWarning, RuntimeWarning, DeprecationWarning, FutureWarning, ResourceWarning)


def warn_of_all() -> None:
    warnings.resetwarnings()
    for category in (*OF_LIBRARIES, CaptureWarning):
        warnings.warn(f"a {category.__name__}", category, stacklevel=1)


@pytest.mark.parametrize("options", [[], ["default"]])
def test_warnings_of_libraries_stay_in_workers_unless_asked_for(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setattr(sys, "warnoptions", options)
    with worker_pool(1) as pool:
        with defer_interrupts():
            done = pool.submit(warn_of_all)
        done.result()
    said = capfd.readouterr().err
    assert "a CaptureWarning" in said
    for category in OF_LIBRARIES:
        assert (f"a {category.__name__}" in said) == bool(options)
