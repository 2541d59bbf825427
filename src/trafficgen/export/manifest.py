"""The list of the files of an export, by which the next export into the folder knows them."""

from __future__ import annotations

import json
from pathlib import Path

from trafficgen.errors import InputFileError
from trafficgen.json_text import JsonTextError, read_json
from trafficgen.provenance import file_digest
from trafficgen.standard_streams import read_text_file

MANIFEST = ".trafficgen-export.json"

#: A hundred thousand files with their digests have less.
_LARGEST_BYTES = 16_000_000


def write_manifest(folder: Path) -> None:
    """Write the names and SHA-256 digests of all files of a folder into it."""
    digests = {path.name: file_digest(path) for path in sorted(folder.iterdir())}
    text = json.dumps({"files": digests}, indent=1)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, str | None]:
    """Return the files that an earlier export put into a folder, each with its digest.

    The list itself is one of them, without a digest. The result is empty where no list can be read:
    texts of the export, such as its README, may hold what others wrote.
    """
    try:
        text = read_text_file(folder / MANIFEST, most_bytes=_LARGEST_BYTES, remedy="", regular=True)
        content = read_json(text)
    except (InputFileError, JsonTextError):
        return {}
    files = content.get("files") if isinstance(content, dict) else None
    if not isinstance(files, dict):
        return {}
    named = {name: digest for name, digest in files.items() if Path(name).name == name}
    return {**{name: str(digest) for name, digest in named.items()}, MANIFEST: None}
