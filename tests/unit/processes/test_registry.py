"""Every kind of process of a model is played, proposed by a fit, and documented."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from trafficgen.models import PacketProcess
from trafficgen.processes.base import PlayableProcess, players

KINDS = get_args(get_args(PacketProcess)[0])


def test_every_kind_of_process_has_one_player() -> None:
    assert set(players()) == set(KINDS)
    assert len(set(players().values())) == len(KINDS)
    assert all(issubclass(player, PlayableProcess) for player in players().values())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_process_is_documented(kind: type) -> None:
    name = kind.model_fields["kind"].default  # type: ignore[attr-defined]
    root = Path(__file__).parents[3]
    assert f"`{name}`" in (root / "docs" / "reference" / "model-file.md").read_text()
