"""Texts for people use plain words: docstrings, comments, help, messages and pages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import generate

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "trafficgen"
#: Words and phrases to avoid, and what to write instead.
BANNED = {
    r"tells?|told": "say what the program does: prints, reports, shows, says",
    r"said|asked": "name the actor and the action in the present",
    r"beside": "next to, compared with, or competing",
    r"(?:is|are|was) none": "is not one of, is invalid, or there is no",
    r"(?<!there )(?:is|are|was) no\s(?!(?:longer|more|less|fewer|further|\w+er) )": "is not a",
    r"sent again": "retransmitted",
    r"comes? out at": "is",
    r"strangers?": "unknown, untrusted",
    r"hangs? together": "is correlated, depends on",
    r"one's own": "your own",
    r"stands? (?:in|for|there|on)": "is in, represents",
    r"(?:kbps|Mbps|Gbps)(?![\w\"`'.\]]|_)": "kbit/s, Mbit/s (keys of JSON in backquotes)",
}
_BANNED = re.compile(r"(?<![\w_`\"'-])(?:" + "|".join(BANNED) + r")(?![\w_])", re.IGNORECASE)
PAGES = sorted(
    path
    for path in [
        *(ROOT / "docs").rglob("*.md"),
        *ROOT.glob("*.md"),
        ROOT / "examples" / "README.md",
    ]
    if "_build" not in path.parts and str(path.relative_to(ROOT)) not in generate.MADE
)


def texts_of_code(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings and comments of a source file with their lines."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def prose_of_page(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page outside code blocks, without inline code."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)


def banned(texts: Iterator[tuple[int, str]]) -> list[str]:
    """Return the banned words of texts, with their lines."""
    return [
        f"line {line}: {found[0]!r}"
        for line, text in texts
        for found in _BANNED.finditer(re.sub(r"`[^`]*`", "", text))
    ]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_code_speaks_plainly(path: Path) -> None:
    assert banned(texts_of_code(path)) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_speak_plainly(path: Path) -> None:
    assert banned(prose_of_page(path)) == []
