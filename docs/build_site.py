"""Build the documentation site: `make site`.

The pages are the Markdown files that a forge shows: those of ``docs``, and README, CHANGELOG,
CONTRIBUTING and others that they link to. They are first laid out as one tree in
``docs/_build/source``, with links between them turned to their places there, and then built by
Sphinx with the settings of ``docs/conf.py``. The list of pages is ``docs/README.md``: each of its
sections becomes a part of the navigation. Warnings, such as of a link that leads nowhere, end the
build.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "docs" / "_build"
#: The page that lists all others; the first page of the site.
LIST_OF_PAGES = "docs/README.md"
#: Files outside of docs, from the root of the repository -> place in the site.
FROM_OUTSIDE = {
    "README.md": "project/about.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "examples/README.md": "project/examples.md",
    "tests/catalogue_qc/README.md": "project/catalogue-review.md",
    "LICENSE": "project/LICENSE",
    "CITATION.cff": "project/CITATION.cff",
}
_COPIED = (".md", ".png", ".svg")
_FENCE = re.compile(r"^(`{3,}|~{3,})")
_LINK = re.compile(r"(?P<before>\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?=\))")
_SECTION = re.compile(r"^## +(.+)$")


def places() -> dict[str, str]:
    """Return each file of the site: from the root of the repository -> place in the site."""
    docs = ROOT / "docs"
    inside = [
        path.relative_to(docs).as_posix()
        for path in sorted(docs.rglob("*"))
        if path.suffix in _COPIED and BUILD not in path.parents
    ]
    found = {f"docs/{name}": name for name in inside}
    return {**found, LIST_OF_PAGES: "index.md", **FROM_OUTSIDE}


def links(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the relative links of a page outside code, with the numbers of their lines, from 0."""
    fence = None
    for number, line in enumerate(text.splitlines()):
        mark = _FENCE.match(line.strip())
        if mark and (fence is None or line.strip() == fence):
            fence = mark[1] if fence is None else None
        elif fence is None:
            bare = re.sub(r"`[^`]*`", lambda code: "`" * len(code[0]), line)
            yield from (
                (number, match) for match in _LINK.finditer(bare) if "://" not in match["target"]
            )


def moved(name: str, place_of: dict[str, str]) -> str:
    """Return the text of a page with its links turned to where their targets are in the site.

    Links to what is not in the site stay as they are, and Sphinx complains of them.
    """
    text = (ROOT / name).read_text(encoding="utf-8")
    lines = text.splitlines()
    for number, match in reversed(list(links(text))):
        target = os.path.normpath(PurePosixPath(name).parent / match["target"])
        if target in place_of:
            new = os.path.relpath(place_of[target], PurePosixPath(place_of[name]).parent)
            line = lines[number]
            lines[number] = line[: match.start("target")] + new + line[match.end("target") :]
    return "\n".join(lines) + "\n"


def navigation(place_of: dict[str, str]) -> str:
    """Return the tables of contents of the first page: one for each section of the page list."""
    text = (ROOT / LIST_OF_PAGES).read_text(encoding="utf-8")
    lines = text.splitlines()
    captions = [
        (number, match[1])
        for number, line in enumerate(lines)
        if (match := _SECTION.match(line)) is not None
    ]
    parts = []
    for (start, caption), (end, _) in zip(captions, [*captions[1:], (len(lines), "")], strict=True):
        targets = [
            os.path.normpath(PurePosixPath(LIST_OF_PAGES).parent / match["target"])
            for number, match in links(text)
            if start < number < end and match["target"].endswith(".md")
        ]
        parts.append(
            _contents([place_of[target] for target in dict.fromkeys(targets)], caption=caption)
        )
    return "\n".join(parts)


def below(name: str, place_of: dict[str, str]) -> str:
    """Return the contents of the folder ``NAME`` next to ``NAME.md``; empty if there is none."""
    folder = name.removesuffix(".md")
    pages = [
        place
        for source, place in place_of.items()
        if PurePosixPath(source).parent.as_posix() == folder
    ]
    here = PurePosixPath(place_of[name]).parent
    return _contents([os.path.relpath(place, here) for place in pages]) if pages else ""


def _contents(pages: list[str], *, caption: str | None = None) -> str:
    entries = "\n".join(page.removesuffix(".md") for page in pages)
    heading = f":caption: {caption}\n" if caption else ""
    return f"\n```{{toctree}}\n:hidden:\n{heading}\n{entries}\n```\n"


def lay_out(folder: Path) -> None:
    """Write the source tree of the site; unchanged files keep their time, so Sphinx skips them."""
    place_of = places()
    for name, place in place_of.items():
        if name.endswith(".md"):
            text = moved(name, place_of) + below(name, place_of)
            text += navigation(place_of) if name == LIST_OF_PAGES else ""
            content = text.encode()
        else:
            content = (ROOT / name).read_bytes()
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)
    known = {folder / place for place in place_of.values()}
    for path in folder.rglob("*"):
        if path.is_file() and path not in known:
            path.unlink()


def build(folder: Path) -> int:
    """Build the site in ``folder/html`` and return Sphinx's exit code; warnings are errors."""
    source = folder / "source"
    source.mkdir(parents=True, exist_ok=True)
    lay_out(source)
    options = ["--quiet", "--fail-on-warning", "--keep-going", "--nitpicky", "--builder", "html"]
    settings = ["--conf-dir", str(ROOT / "docs"), "--doctree-dir", str(folder / "doctrees")]
    command = [
        sys.executable,
        "-m",
        "sphinx",
        *options,
        *settings,
        str(source),
        str(folder / "html"),
    ]
    return subprocess.run(command, check=False).returncode


def main() -> int:
    """Read the arguments, build; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--folder", type=Path, default=BUILD, help="where source and html go (default: docs/_build)"
    )
    folder = parser.parse_args().folder.resolve()
    code = build(folder)
    if code == 0:
        print(f"made {os.path.relpath(folder / 'html' / 'index.html')}")
    return code


if __name__ == "__main__":
    sys.exit(main())
