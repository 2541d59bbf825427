"""Findings of the thesis as rows."""

from __future__ import annotations

from functools import partial

from trafficgen.reproduction import rows
from trafficgen.reproduction.nichols.testbed import ENTRY

row = partial(rows.row, entry=ENTRY)
