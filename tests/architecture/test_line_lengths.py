"""Lines of code and of pages have at most 100 columns."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import generate

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 100
#: Marks for linters at the end of a line do not count, as in ruff.
_MARKS = re.compile(r"\s+# (?:type: ignore|noqa).*")
#: A line that is one link, item marks and punctuation aside, cannot be broken.
_ONE_LINK = re.compile(
    r"[\s\-*|>]*!?\[?[^\s\]]*\]?[(<]?https?://\S+[.,]?|[\s\-*]*!?\[[^\]]*\]\(\S+\)"
)
#: Pages whose text comes from the code, where the length of a line is free.
_MADE = {ROOT / name for name in generate.MADE}


def tracked(*patterns: str) -> list[Path]:
    """Return the files of the repository whose names match."""
    command = ["git", "ls-files", "-z", "--", *patterns]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git repository")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def prose_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page outside code blocks, tables and comments, with their numbers."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith("|"):
            yield number, line


def long_lines(path: Path, lines: Iterator[tuple[int, str]]) -> list[str]:
    """Return the places of the lines that are too long."""
    return [
        f"{path.relative_to(ROOT)}:{number} has {len(line)} columns"
        for number, line in lines
        if len(_MARKS.sub("", line)) > COLUMNS and not _ONE_LINK.fullmatch(line)
    ]


def test_code_has_at_most_100_columns() -> None:
    files = tracked("*.py", "*.rs", "*.js", "*.css", "*.sh", "Makefile", ".ci/run", "*.toml")
    files = [path for path in files if "golden" not in path.parts]
    assert files
    assert [
        place
        for path in files
        for place in long_lines(
            path, iter(enumerate(path.read_text(encoding="utf-8").splitlines(), start=1))
        )
    ] == []


def test_pages_have_at_most_100_columns() -> None:
    pages = [path for path in tracked("*.md") if path not in _MADE]
    pages = [path for path in pages if "golden" not in path.parts]
    assert pages
    assert [place for path in pages for place in long_lines(path, prose_lines(path))] == []
