"""Shell scripts that lie beside exported files: they find the files wherever they are called
from.
"""

from __future__ import annotations

from pathlib import Path

_HEAD = """\
#!/bin/sh
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
"""


def write_script(path: Path, body: str) -> None:
    """Write an executable script for the POSIX shell; ``$here`` in ``body`` is the folder it lies
    in.
    """
    path.write_text(_HEAD + body, encoding="utf-8")
    path.chmod(0o755)
