"""The notebook in the examples runs from first to last cell, and is stored without outputs."""

from __future__ import annotations

import ast
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot

import trafficgen

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "notebook.ipynb"
CELLS: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def run_cell(source: str, names: dict[str, object]) -> object:
    """Run a cell as a notebook does, and return the value of its last line; None for others."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "cell", "exec"), names)
        return None
    tree.body.pop()
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("captures", "workloads"):
        (tmp_path / folder).symlink_to(NOTEBOOK.parent / folder)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", trafficgen.TrafficgenWarning)
        for cell in CELLS:
            if cell["cell_type"] == "code":
                shown = run_cell("".join(cell["source"]), names)
                view = getattr(shown, "_repr_html_", lambda shown=shown: repr(shown))()
                assert view != "None" or pyplot.get_fignums(), f"cell {cell['id']} shows nothing"
                pyplot.close("all")


def test_the_notebook_is_stored_as_it_is_opened_first() -> None:
    for cell in CELLS:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
        assert max(map(len, "".join(cell["source"]).splitlines())) <= 100
