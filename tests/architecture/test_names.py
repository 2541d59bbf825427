"""Public functions are verbs with their objects; no name is a bare participle or a preposition."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src"
#: Participles that do not end in -ed.
IRREGULAR = """
begun bought brought built caught chosen done drawn felt found given gone got grown heard held
kept known laid left lent lost made meant met paid said seen sent shown sold spent split stood
taken taught thought thrown told torn understood won worn written
"""
PREPOSITIONS = """
above across after against along among around at before behind below beneath beside between
beyond by down during for from in inside into near of off on onto out over past since through to
toward towards under until up upon with within without
"""
#: First words that look like participles, or prepositions that say what they do.
ALLOWED = {
    "embed": "a verb",
    "exceeded": "exceeded_limits, a name that the Python API documents",
    "expected": "the expected value of statistics",
    "feed": "a verb",
    "need": "a verb",
    "seed": "a verb",
    "from": "conversions, as Python names them: from_dict, from_unconstrained",
    "to": "conversions, as Python names them: to_json, to_unconstrained",
    "split": "a verb",
    "with": "copies with a part changed, as pathlib's with_suffix",
}
#: Names of modules that are words of the field.
MODULES = {
    "mixed": "mixed law: atoms and a continuous part",
    "modulated": "modulated process",
    "tailed": "a law with a tail of its own",
    "testbed": "a noun",
    "truncated": "truncated distribution",
}


def is_bad_word(word: str) -> bool:
    """Return whether a first word is a participle or a preposition."""
    if word in ALLOWED:
        return False
    return word.endswith("ed") or word in {*IRREGULAR.split(), *PREPOSITIONS.split()}


def public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield public functions and methods; properties are nouns and left out."""
    classes = [child for child in tree.body if isinstance(child, ast.ClassDef)]
    for body in [tree.body, *(node.body for node in classes)]:
        for child in body:
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                decorators = {ast.unparse(one).rpartition(".")[2] for one in child.decorator_list}
                if not child.name.startswith("_") and not decorators & {
                    "property",
                    "cached_property",
                }:
                    yield child


def test_public_functions_begin_with_a_verb() -> None:
    wrong = [
        f"{path.relative_to(SOURCES)}:{function.lineno} {function.name}"
        for path in sorted(SOURCES.rglob("*.py"))
        for function in public_functions(ast.parse(path.read_text(encoding="utf-8")))
        if is_bad_word(function.name.partition("_")[0])
    ]
    assert wrong == []


def test_modules_are_named_for_their_idea() -> None:
    names = {path.stem.lstrip("_") for path in SOURCES.rglob("*.py")}
    assert [name for name in names if is_bad_word(name) and name not in MODULES] == []
