"""Write the bill of materials (CycloneDX 1.6, JSON): every crate and Python package.

The same commit gives the same bytes: versions are those of Cargo.lock and constraints.txt, and
there is no date in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def bill() -> dict[str, object]:
    """Return the bill."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    subject = _component("pypi", project["name"], project["version"], project["license"])
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**subject, "type": "application"}},
        "components": sorted([*_crates(), *_packages()], key=lambda one: str(one["purl"])),
    }


def _crates() -> list[dict[str, object]]:
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    told = json.loads(
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    )
    licences = {(one["name"], one["version"]): one["license"] for one in told["packages"]}
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    found = []
    for one in locked:
        if "source" in one:
            made = _component(
                "cargo", one["name"], one["version"], licences.get((one["name"], one["version"]))
            )
            found.append({**made, "hashes": [{"alg": "SHA-256", "content": one["checksum"]}]})
    return found


def _packages() -> list[dict[str, object]]:
    found = []
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        pin = line.partition(";")[0].strip()
        if pin and not pin.startswith("#"):
            name, _, version = pin.partition("==")
            found.append(
                _component("pypi", name.lower().replace("_", "-"), version, _stated_licence(name))
            )
    return found


def _stated_licence(name: str) -> str | None:
    """Return the SPDX licence of a package; None if unknown."""
    try:
        return next(iter(distribution(name).metadata.get_all("License-Expression") or []), None)
    except PackageNotFoundError:
        return None


def _component(kind: str, name: str, version: str, licence: str | None) -> dict[str, object]:
    url = f"pkg:{kind}/{name}@{version}"
    licences = {"licenses": [{"expression": licence.replace("/", " OR ")}]} if licence else {}
    return {
        "type": "library",
        "name": name,
        "version": version,
        "purl": url,
        "bom-ref": url,
        **licences,
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(bill(), indent=2) + "\n", encoding="utf-8")
