"""What reaches the terminal from processes that work for a command."""

from __future__ import annotations

import os
import sys
import time
import warnings
from multiprocessing import active_children

import pytest

from trafficgen.errors import CaptureWarning
from trafficgen.worker_processes import defer_interrupts, worker_pool

#: Categories of libraries: numpy, scipy and statsmodels warn with these or subclasses of them.
OF_LIBRARIES = (UserWarning, RuntimeWarning, DeprecationWarning, FutureWarning, ResourceWarning)


def warn_of_all() -> None:
    warnings.resetwarnings()
    for category in (*OF_LIBRARIES, CaptureWarning):
        warnings.warn(f"a {category.__name__}", category, stacklevel=1)


def test_no_more_processes_than_cores_work_however_many_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    before = len(active_children())
    with worker_pool(10**9) as pool:
        with defer_interrupts():
            waiting = [pool.submit(time.sleep, 0.2) for _ in range(6)]
        assert len(active_children()) - before <= 2
        for one in waiting:
            one.result()


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


def test_workers_have_one_thread_of_linear_algebra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with worker_pool(1) as pool:
        with defer_interrupts():
            found = pool.submit(os.getenv, "OPENBLAS_NUM_THREADS")
        assert found.result() == "1"
    assert "OPENBLAS_NUM_THREADS" not in os.environ
