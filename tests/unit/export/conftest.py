"""The table that the tests of exports share with those of packet files."""

from __future__ import annotations

from tests.unit.packet_files.conftest import table

__all__ = ["table"]
