"""Make what is generated in the documentation, or check that it is up to date: `make docs`.

Without names everything is made: reference pages from the code, the outputs on all pages by running
their commands, the pictures. With ``--check`` nothing is written, and the exit code is 1 when
something differs.
"""

from __future__ import annotations

import argparse
import sys

import benchmark_pages
import console_pages
import pictures
import reference_pages
import verification_pages
from reference_pages.glossary import glossary_page

ROOT = console_pages.ROOT
#: Pages that are made from code or data, from the root of the repository -> function that makes it.
MADE = {
    **{f"docs/reference/{name}": make for name, make in reference_pages.PAGES.items()},
    "docs/glossary.md": glossary_page,
    "docs/explanation/how-sure-are-we.md": verification_pages.page,
    "docs/explanation/how-fast.md": benchmark_pages.page,
}


def source_of(name: str) -> str:
    """Return the text of a page before its commands are run."""
    return MADE[name]() if name in MADE else (ROOT / name).read_text(encoding="utf-8")


def is_current(name: str, text: str) -> bool:
    """Return whether a page says what it should; outputs of commands may differ in numbers."""
    path = ROOT / name
    return path.exists() and console_pages.same_words(path.read_text(encoding="utf-8"), text)


def all_pages() -> list[str]:
    """Return the names of all pages that are made or hold commands, from the repository's root."""
    written = [
        "README.md",
        *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))),
    ]
    written = [name for name in written if name not in MADE and not name.startswith("docs/_build/")]
    return [*MADE, *(name for name in written if console_pages.has_commands(source_of(name)))]


def main() -> int:
    """Read the arguments, write or check; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "pages",
        nargs="*",
        metavar="PAGE",
        help="pages from the root; default: all, and the pictures",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 when something differs"
    )
    arguments = parser.parse_args()
    stale = []
    for name in arguments.pages or all_pages():
        source = source_of(name)
        missing = console_pages.missing_for(source)
        if missing:
            print(f"left as it is: {name} needs {', '.join(missing)}", file=sys.stderr)
            continue
        try:
            text = console_pages.run_page(name, source)
        except console_pages.CommandFailedError as error:
            print(error, file=sys.stderr)
            return 1
        if arguments.check:
            stale += [] if is_current(name, text) else [name]
        else:
            (ROOT / name).parent.mkdir(exist_ok=True)
            (ROOT / name).write_text(text, encoding="utf-8")
            print(f"made {name}")
    if not arguments.check and not arguments.pages:
        pictures.draw_pictures()
        benchmark_pages.draw_picture(ROOT / benchmark_pages.PICTURE)
        print(f"made {benchmark_pages.PICTURE}")
    if stale:
        print(f"out of date, run `make docs`: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
