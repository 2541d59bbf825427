"""Modules import each other without a cycle, imports for type checkers included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src"


def module_name(path: Path) -> str:
    """Return the dotted name of a source file."""
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(SOURCES.rglob("*.py"))}


def outside_functions(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports of a module, of its classes and conditions, but not of its functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from outside_functions(child)


def imported_modules(path: Path) -> set[str]:
    """Return the modules of the package that a source file names in its imports."""
    found: set[str] = set()
    for statement in outside_functions(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        else:
            names = [
                inner
                if (inner := f"{statement.module}.{alias.name}") in MODULES
                else str(statement.module)
                for alias in statement.names
            ]
        found.update(name for name in names if name in MODULES)
    return found


def test_modules_import_each_other_without_a_cycle() -> None:
    graph = {name: imported_modules(path) for name, path in MODULES.items()}
    assert sum(map(len, graph.values())) > len(MODULES)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_imports_of_the_package_are_absolute() -> None:
    relative = [
        str(path.relative_to(SOURCES))
        for path in MODULES.values()
        for statement in outside_functions(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(statement, ast.ImportFrom) and statement.level
    ]
    assert relative == []
