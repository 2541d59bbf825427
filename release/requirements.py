"""Print the packages that the program, the given extras and the given groups need, one a line.

Pip installs them while the Rust core compiles, before the program itself can be installed; only
versions of pip from 25.1 on know groups by themselves.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def list_requirements(extras: list[str]) -> list[str]:
    """Return the core dependencies and those of extras; extras that name others are followed."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    own = project["name"]
    found = list(project["dependencies"])
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            if requirement.startswith(f"{own}["):
                inner = requirement.removeprefix(f"{own}[").removesuffix("]").split(",")
                found += list_requirements(inner)
            else:
                found.append(requirement)
    return list(dict.fromkeys(found))


def list_groups(groups: list[str]) -> list[str]:
    """Return the packages of dependency groups."""
    known = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["dependency-groups"]
    return [requirement for group in groups for requirement in known[group]]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*", metavar="EXTRA")
    parser.add_argument("--groups", nargs="*", default=[], metavar="GROUP")
    wanted = parser.parse_args()
    print("\n".join(list_requirements(wanted.extras) + list_groups(wanted.groups)))
