"""What the program is built on: pinned in both languages, and under licences that let others use
it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from release.requirements import list_requirements

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINS = [
    line
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line[:1] not in ("", "#")
]
#: Licences of what is installed with the program, as SPDX names them; `deny.toml` has the list for
#: crates.
ALLOWED = {
    *tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))["licenses"]["allow"],
    *(
        "0BSD",
        "CC0-1.0",
        "HPND",
        "ISC",
        "MIT-0",
        "MIT-CMU",
        "MPL-2.0",
        "PSF-2.0",
        "Python-2.0",
        "Unlicense",
    ),
}
#: What older metadata call them: classifiers, and free text of the field License.
SPOKEN = {
    "OSI Approved :: Apache Software License": "Apache-2.0",
    "OSI Approved :: BSD License": "BSD-3-Clause",
    "OSI Approved :: ISC License (ISCL)": "ISC",
    "OSI Approved :: MIT License": "MIT",
    "OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "OSI Approved :: Python Software Foundation License": "PSF-2.0",
    "Public Domain": "Unlicense",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
}


def _allowed(expression: str) -> bool:
    """Return whether a choice of licences of an SPDX expression is allowed in all its parts."""
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    joined = " ".join(words).replace("( ", "(").replace(" )", ")")
    terms = re.sub(r"[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.+-]+)?", _as_truth, joined)
    return bool(_value(re.findall(r"\(|\)|\w+", terms)))


def _as_truth(found: re.Match[str]) -> str:
    return (
        found[0].lower() if found[0] in ("AND", "OR") else ("yes" if found[0] in ALLOWED else "no")
    )


def _value(words: list[str]) -> bool:
    """Return the value of terms joined by ``or`` and ``and``, which binds more tightly (SPDX 2.3,
    annex D).
    """
    sums, product = [], True
    while words and words[0] != ")":
        word = words.pop(0)
        if word == "(":
            product = _value(words) and product
            words.pop(0)
        elif word == "or":
            sums.append(product)
            product = True
        elif word != "and":
            product = product and word == "yes"
    return any((*sums, product))


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("MIT/Apache-2.0", True),
        ("(MIT OR GPL-2.0-only) AND Unicode-3.0", True),
        ("(AGPL-3.0-only OR GPL-2.0-only) AND MIT", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MIT OR GPL-2.0-only AND AGPL-3.0-only", True),
    ],
)
def test_expressions_of_licences_are_understood(expression: str, allowed: bool) -> None:
    assert _allowed(expression) is allowed


def test_every_crate_may_be_used() -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    packages = json.loads(done.stdout)["packages"]
    assert len(packages) > 50
    assert [
        (one["name"], one["license"])
        for one in packages
        if not _allowed(one["license"] or "unknown")
    ] == []


def _needed() -> dict[str, Distribution]:
    """Return all that is installed with the program and its extras, by name."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(text) for text in list_requirements(["all"])]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found or (
            wanted.marker is not None and not wanted.marker.evaluate({"extra": ""})
        ):
            continue
        try:
            found[name] = distribution(wanted.name)
        except PackageNotFoundError:
            continue
        waiting += [Requirement(text) for text in found[name].requires or []]
    return found


def _licence(package: Distribution) -> str:
    for expression in package.metadata.get_all("License-Expression") or []:
        return str(expression)
    prefix = "License :: "
    spoken = [
        text.removeprefix(prefix)
        for text in package.metadata.get_all("Classifier") or []
        if prefix in text
    ]
    if spoken:
        return " OR ".join(SPOKEN.get(text, "unknown") for text in spoken)
    return "".join(package.metadata.get_all("License") or ["unknown"]).strip()


def test_every_package_that_is_installed_with_the_program_may_be_used() -> None:
    needed = _needed()
    assert len(needed) > 20
    licences = {name: _licence(package) for name, package in needed.items()}
    assert {
        name: text for name, text in licences.items() if not _allowed(SPOKEN.get(text, text))
    } == {}


def test_every_package_is_pinned_to_one_version() -> None:
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+( ?;.*)?", pin) for pin in PINS)
    pinned = {canonicalize_name(pin.partition("==")[0]) for pin in PINS}
    groups = [PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"].values()]
    groups += PROJECT["project"].get("optional-dependencies", {}).values()
    wanted = {
        canonicalize_name(Requirement(text).name)
        for group in groups
        for text in group
        if isinstance(text, str)
    }
    own = canonicalize_name(PROJECT["project"]["name"])
    assert wanted - pinned - {own} == set()
    assert set(_needed()) - pinned == set()


def test_pins_name_no_address() -> None:
    assert not [pin for pin in PINS if "://" in pin or "@" in pin]


def test_crates_are_locked() -> None:
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    assert all("checksum" in one for one in locked if "source" in one)
    assert {one["name"] for one in locked if "source" not in one} == {
        "trafficgen-core",
        "trafficgen-py",
    }


def test_the_bill_of_materials_names_every_pin_and_every_locked_crate(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    out = tmp_path / "sbom.json"
    subprocess.run([sys.executable, ROOT / "release" / "sbom.py", out], check=True)
    bill = json.loads(out.read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    urls = [one["purl"] for one in bill["components"]]
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    assert len(urls) == len(set(urls)) == len(PINS) + sum("source" in one for one in locked)
    assert "pkg:pypi/numpy@" in " ".join(urls)
