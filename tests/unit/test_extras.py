"""Optional dependencies: a module that is missing is one line with the command that installs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from trafficgen.errors import TrafficgenError
from trafficgen.imports import require


def test_an_installed_module_is_returned() -> None:
    assert require("explore", "json") is json


def test_a_missing_module_says_how_to_install_its_extra() -> None:
    with pytest.raises(TrafficgenError) as raised:
        require("explore", "no_such_module.part")
    assert str(raised.value) == (
        "no_such_module.part is not installed; run: pip install 'trafficgen-streaming[explore]'"
    )


def test_a_broken_installation_is_not_taken_for_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_extra.py").write_text("import another_missing_module\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="another_missing_module"):
        require("explore", "broken_extra")
    assert "broken_extra" not in sys.modules
