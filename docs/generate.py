"""Make what is generated in the documentation, or check that it is up to date: `make docs`.

Without names everything is made: the reference pages from the code, the outputs in README, tutorial and how-to by
running their commands, the picture. With ``--check`` nothing is written and the exit code is 1 when something differs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import console_pages
import reference_pages

ROOT = console_pages.ROOT
REFERENCE = "docs/reference"
PICTURE = "docs/images/measured-and-synthetic.png"
CAPTURE = "examples/captures/http_burst_then_paced.pcap.gz"


def generated(name: str) -> str:
    """Return the text that a page should have now."""
    folder, _, file = name.rpartition("/")
    if folder == REFERENCE:
        return reference_pages.PAGES[file]()
    return console_pages.run_page(name)


def is_current(name: str, text: str) -> bool:
    """Return whether a page says what it should; outputs of commands may differ in numbers."""
    path = ROOT / name
    found = path.read_text(encoding="utf-8") if path.exists() else ""
    return found == text if name.startswith(REFERENCE) else console_pages.same_words(found, text)


def all_pages() -> list[str]:
    """Return the names of all pages that are generated or run, from the root of the repository."""
    return [*(f"{REFERENCE}/{name}" for name in reference_pages.PAGES), *console_pages.PAGES]


def draw_picture() -> None:
    """Draw the rate curves of README.md by the commands it names."""
    scripts = Path(sys.executable).parent
    with tempfile.TemporaryDirectory(prefix="trafficgen-docs-") as folder:
        model, synthetic = f"{folder}/model.json", f"{folder}/synthetic.pcap"
        command = str(scripts / "trafficgen")
        for arguments in (
            [command, "fit", "-q", CAPTURE, "-o", model],
            [command, "generate", "-q", model, "-o", synthetic, "--seed", "1"],
            [sys.executable, "examples/rate_curves.py", CAPTURE, synthetic, "-o", PICTURE],
        ):
            subprocess.run(arguments, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    """Read the arguments, write or check; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="pages from the root; default: all, and the picture")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when something differs")
    arguments = parser.parse_args()
    stale = []
    for name in arguments.pages or all_pages():
        missing = [] if name.startswith(REFERENCE) else console_pages.missing_for(name)
        if missing:
            print(f"left as it is: {name} needs {', '.join(missing)}", file=sys.stderr)
            continue
        try:
            text = generated(name)
        except console_pages.CommandFailedError as error:
            print(error, file=sys.stderr)
            return 1
        if arguments.check:
            stale += [] if is_current(name, text) else [name]
        else:
            (ROOT / name).write_text(text, encoding="utf-8")
            print(f"made {name}")
    if not arguments.check and not arguments.pages:
        draw_picture()
        print(f"made {PICTURE}")
    if stale:
        print(f"out of date, run `make docs`: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
