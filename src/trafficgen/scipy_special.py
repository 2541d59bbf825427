"""Scipy's special functions, without tools of numpy that they do not use.

Scipy copies all names of numpy, and so would load numpy's compiler front end and its test tools:
0.07 s, a tenth of a short fit. Code that asks for them later gets them.
"""

from __future__ import annotations

from trafficgen.lean_imports import numpy_without_tools

with numpy_without_tools():
    from scipy import special

__all__ = ["special"]
