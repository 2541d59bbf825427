"""Run the commands of pages: ``console`` blocks get the real output, ``python`` blocks must run.

A page is run from top to bottom in one temporary folder that holds the repository's ``examples``.
Lines of a console block that begin with ``$ `` are commands; what follows is their output, stdout
and stderr together. A block after the comment ``<!-- exits with N -->`` must exit with N. A block
of ``text output`` right after a python block gets what that printed. Blocks of any other language
(``sh``, ``text``) are not run. A page that says ``<!-- needs mgen tcpdump root -->`` is run where
these tools are installed, and by root, alone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(
    r"(?P<exit><!-- exits with (?P<code>\d+)"
    r" -->\n)?```(?P<language>console|python)\n(?P<body>.*?)```"
    r"(?P<shown>\n\n```text output\n.*?```)?",
    re.DOTALL,
)
_NEEDS = re.compile(r"^<!-- needs (?P<tools>[\w .+-]+) -->$", re.MULTILINE)
_NUMBER = re.compile(r"\d[\d.,]*(e[+-]?\d+)?")
_TIMEOUT_S = 120


@dataclass
class CommandFailedError(Exception):
    """A documented command does not do what its page says."""

    page: str
    command: str
    code: int
    output: str

    def __str__(self) -> str:
        return f"{self.page}: `{self.command}` exits with {self.code}:\n{self.output}"


def run_page(name: str, text: str) -> str:
    """Return the text of a page with the outputs that its commands give now.

    Raises:
        CommandFailedError: If one exits with another code than its page says.
    """
    if not has_commands(text):
        return text
    with tempfile.TemporaryDirectory(prefix="trafficgen-docs-") as folder:
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")

        def rerun(match: re.Match[str]) -> str:
            code, body = int(match["code"] or 0), match["body"]
            if match["language"] == "python":
                output = _run(
                    name,
                    [sys.executable, "-c", body],
                    body.partition("\n")[0],
                    folder=folder,
                    code=0,
                )
                shown = f"\n\n```text output\n{output}```" if match["shown"] else ""
                return f"```python\n{body}```{shown}"
            lines = []
            for command in re.findall(r"^\$ ((?:.*\\\n)*.*)", body, re.MULTILINE):
                output = _run(
                    name,
                    ["bash", "-o", "pipefail", "-c", command],
                    command,
                    folder=folder,
                    code=code,
                )
                lines.append(f"$ {command}\n{output}")
            return f"{match['exit'] or ''}```console\n{''.join(lines)}```"

        return _BLOCK.sub(rerun, text)


def has_commands(text: str) -> bool:
    """Return whether a page has blocks that are run."""
    return _BLOCK.search(text) is not None


def missing_for(text: str) -> list[str]:
    """Return what a page needs to be run and this machine does not have."""
    found = _NEEDS.search(text)
    needed = found["tools"].split() if found else []
    return [
        tool
        for tool in needed
        if (os.geteuid() != 0 if tool == "root" else shutil.which(tool) is None)
    ]


#: A sparkline, or the line of phases under one: as many characters as numbers gave.
_SPARKLINE = re.compile(r"[▁-█][▁-█ ]*|(?<=^phases )[ .bpse]+(?=  )")


def same_words(before: str, after: str) -> bool:
    """Return whether two pages differ only in numbers and column widths of printed output.

    Numbers of a fit may differ in their last digits between processors and versions of libraries.
    """
    return _BLOCK.sub(_masked, before) == _BLOCK.sub(_masked, after)


def _masked(block: re.Match[str]) -> str:
    lines = (_SPARKLINE.sub("▁", _NUMBER.sub("0", line)) for line in block[0].splitlines())
    return "\n".join(" ".join(line.split()) for line in lines)


def _run(page: str, command: list[str], shown: str, *, folder: str, code: int) -> str:
    scripts = str(Path(sys.executable).parent)
    environment = {
        "PATH": os.pathsep.join([scripts, os.environ.get("PATH", "")]),
        "HOME": folder,
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "100",
        "PYTHONHASHSEED": "0",
        "TRAFFICGEN_PROGRESS": "0",
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_TIMEOUT_S,
    )
    if done.returncode != code:
        raise CommandFailedError(page, shown, done.returncode, done.stdout)
    return done.stdout + ("" if done.stdout.endswith("\n") or not done.stdout else "\n")
