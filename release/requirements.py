"""Print the packages that the program and the given extras need, one a line.

Pip installs them while the Rust core compiles, before the program itself can be installed.
"""

from __future__ import annotations

import sys
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


if __name__ == "__main__":
    print("\n".join(list_requirements(sys.argv[1:])))
