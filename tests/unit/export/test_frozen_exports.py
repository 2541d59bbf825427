"""Exports for tools that cannot be run here stay as they are, byte for byte, until someone wants
them changed.
"""

from __future__ import annotations

import filecmp
from pathlib import Path

import pytest
from tests.golden.exports import FOLDER, FROZEN, write

from trafficgen.export.exporting import MANIFEST


@pytest.mark.parametrize("name", FROZEN)
def test_an_export_is_what_it_was(name: str, tmp_path: Path) -> None:
    """If the change is wanted: ``python -m tests.golden.exports`` writes the files anew."""
    write(name, tmp_path / name)
    compared = filecmp.dircmp(tmp_path / name, FOLDER / name, ignore=[MANIFEST])
    assert (compared.left_only, compared.right_only) == ([], [])
    assert filecmp.cmpfiles(tmp_path / name, FOLDER / name, compared.common, shallow=False)[1:] == (
        [],
        [],
    )
