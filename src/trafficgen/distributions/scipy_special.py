"""Scipy's special functions, loaded in a third of the time.

Scipy copies all names of numpy, and so would load numpy's compiler front end and its test tools:
0.07 s, a tenth of a short fit. Code that asks for them later gets them. It would also parse the
documentation of each function: 0.05 s.
"""

from __future__ import annotations

from trafficgen.lean_imports import numpy_without_tools, scipy_without_notes

with numpy_without_tools(), scipy_without_notes():
    from scipy import special

__all__ = ["special"]
