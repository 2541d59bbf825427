"""Memory that arrays free is kept for the next ones."""

import platform
import subprocess
import sys

import pytest

_TURNS = 20
_ARRAYS = f"""
import resource
import numpy as np
import trafficgen._core

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

np.ones(1 << 17).sum()
np.ones(1 << 18).sum()
before = faults()
for _ in range({_TURNS}):
    np.ones(1 << 17).sum()
    np.ones(1 << 18).sum()
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the GNU C library alone learns")
def test_pages_of_freed_arrays_are_not_cleared_again() -> None:
    faults = int(subprocess.check_output([sys.executable, "-c", _ARRAYS], text=True))
    assert faults < 2 * _TURNS, "1 and 2 MB have 768 pages in each turn"
