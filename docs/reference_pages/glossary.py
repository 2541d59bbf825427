"""The glossary: terms written by hand, then the keys of the model file from its JSON Schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import trafficgen
from reference_pages.markdown import Rows, table

GLOSSARY = Path(__file__).resolve().parents[1] / "glossary.md"
KEYS_HEADING = "## Keys of the model file\n"
_INTRODUCTION = """\
One line a key; its type and default are in the [reference](reference/model-file.md). A key of
several parts has a meaning for each.
"""


def glossary_page() -> str:
    """Return the terms as they are in the file, and the table of keys made anew."""
    terms, _, _ = GLOSSARY.read_text(encoding="utf-8").partition(KEYS_HEADING)
    rows: Rows = [
        (f"`{key}`", " ".join(texts)) for key, texts in sorted(meanings_of_keys().items())
    ]
    return f"{terms}{KEYS_HEADING}\n{_INTRODUCTION}\n{table(('key', 'meaning'), rows)}\n"


def meanings_of_keys() -> dict[str, list[str]]:
    """Return what the schema says of each key, in the order of its parts, each meaning once.

    A meaning that another one begins with or repeats is left out.
    """
    schema = cast("dict[str, Any]", trafficgen.model_json_schema())
    meanings: dict[str, list[str]] = {}
    for part in schema["$defs"].values():
        for key, value in part.get("properties", {}).items():
            text = " ".join(str(value.get("description", "")).split())
            known = meanings.setdefault(key, [])
            if text and not any(text.rstrip(".") in other for other in known):
                known[:] = [*(other for other in known if other.rstrip(".") not in text), text]
    return meanings
