"""The glossary has every word that model files use."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

import trafficgen
from reference_pages.glossary import KEYS_HEADING, meanings_of_keys

PAGE = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"
TERMS, _, KEYS = PAGE.read_text(encoding="utf-8").partition(KEYS_HEADING)
#: Keys of one object of the schema whose values are words of the field.
DEFINITIONS = cast("dict[str, Any]", trafficgen.models_schema()["$defs"])


def kinds(part: str) -> list[str]:
    """Return the values that the key `kind` of a part may have."""
    kind = DEFINITIONS[part]["properties"]["kind"]
    return [str(value) for value in kind.get("enum", [kind.get("const")])]


PROCESSES = [name for name in DEFINITIONS if name.endswith("Process") and name != "TriedProcess"]
WORDS = [
    *(word for process in PROCESSES for word in kinds(process)),
    *kinds("CongestionResponse"),
    "buffering",
    "playout",
]


@pytest.mark.parametrize("word", WORDS)
def test_glossary_explains_phases_processes_and_responses(word: str) -> None:
    assert f"`{word}`" in TERMS


@pytest.mark.parametrize("key", sorted(meanings_of_keys()))
def test_glossary_has_every_key_of_the_model_file(key: str) -> None:
    assert f"| `{key}` |" in KEYS


def test_a_term_is_one_sentence() -> None:
    terms = re.split(r"\n- |\n\n", TERMS)
    entries = [text for text in terms if text.startswith("**")]
    assert len(entries) > 100
    assert [text for text in entries if len(re.findall(r"\.(?:\s|$)", text)) > 1] == []


def test_terms_are_explained_once() -> None:
    names = re.findall(r"^- (\*\*.*?\*\*): ", TERMS, re.MULTILINE)
    terms = [name for entry in names for name in re.findall(r"\*\*(.+?)\*\*", entry)]
    assert len(terms) == len(set(terms))


def test_meanings_of_a_key_do_not_repeat_each_other() -> None:
    for key, texts in meanings_of_keys().items():
        plain = [text.rstrip(".") for text in texts]
        repeated = [one for one in plain if any(one in two for two in plain if two != one)]
        assert repeated == [], key
