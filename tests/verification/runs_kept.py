"""Files of runs of mixes in the kernel and in ns-3."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path

from tests.verification.mixes import Got


def load_runs(file: Path) -> dict[str, list[Got]]:
    """Load the kept runs of each mix."""
    kept = json.loads(file.read_text(encoding="utf-8"))["runs"]
    return {
        name: [Got(**{**run, "rates_bps": tuple(run["rates_bps"])}) for run in runs]
        for name, runs in kept.items()
    }


def keep_runs(file: Path, name: str, runs: Iterable[Got], *, of: str) -> None:
    """Put the runs of a mix in place of those that the file had of it."""
    kept = json.loads(file.read_text(encoding="utf-8"))["runs"] if file.exists() else {}
    kept[name] = [dataclasses.asdict(run) for run in runs]
    rows = (
        f"  {json.dumps(key)}: [\n" + ",\n".join(f"   {json.dumps(run)}" for run in found) + "\n  ]"
        for key, found in kept.items()
    )
    text = f'{{\n "of": {json.dumps(of)},\n "runs": {{\n' + ",\n".join(rows) + "\n }\n}\n"
    file.write_text(text, encoding="utf-8")
