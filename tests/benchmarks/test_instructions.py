"""Inner loops take no more instructions for a packet than they did, whatever else the machine is
doing.
"""

from __future__ import annotations

import platform
import shutil

import pytest
from benchmarks.instructions import LOOPS, TOLERANCE, Counted, compared


def test_a_loop_is_slower_beyond_the_tolerance() -> None:
    assert not Counted("write", stored=400.0, found=400.0 * (1 + TOLERANCE) - 1).is_slower
    assert Counted("write", stored=400.0, found=400.0 * (1 + TOLERANCE) + 1).is_slower
    assert not Counted("write", stored=400.0, found=100.0).is_slower


@pytest.mark.slow  # it builds an optimised core
@pytest.mark.skipif(platform.machine() != "x86_64", reason="instructions are stored for x86-64")
@pytest.mark.skipif(shutil.which("cargo") is None, reason="not installed: cargo")
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="not installed: valgrind")
def test_loops_have_not_become_slower() -> None:
    slower = [
        f"{result.loop}: {result.found:.0f} instructions for a packet, {result.change:+.0%}"
        for result in compared(list(LOOPS))
        if result.is_slower
    ]
    assert slower == [], (
        "if that is meant, `python benchmarks/instructions.py --store`, and say why in the commit"
    )
