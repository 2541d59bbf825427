"""The public names of the package: listed, there, documented, and the same whatever was used
before.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from types import ModuleType

import pytest

import trafficgen

COMMANDS = (
    "inspect",
    "fit",
    "generate",
    "compare",
    "convert",
    "export",
    "reproduce",
    "models_diff",
    "models_list",
    "models_show",
    "models_schema",
)


def test_public_names_are_sorted_and_listed_once() -> None:
    assert trafficgen.__all__ == sorted(set(trafficgen.__all__))


@pytest.mark.parametrize("name", trafficgen.__all__)
def test_public_name_can_be_imported(name: str) -> None:
    assert not isinstance(getattr(trafficgen, name), ModuleType)


@pytest.mark.parametrize("name", [name for name in trafficgen.__all__ if not name.startswith("__")])
def test_public_name_has_a_docstring_of_its_own(name: str) -> None:
    thing = getattr(trafficgen, name)
    docstring = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    assert docstring, f"{name} has no docstring"
    assert not docstring.startswith(f"{name}("), (
        f"{name} has only the docstring that dataclass makes"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_function_of_a_command_names_its_arguments(name: str) -> None:
    signature = inspect.signature(getattr(trafficgen, name))
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    assert kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) <= 2
    assert signature.return_annotation is not inspect.Signature.empty


@pytest.mark.parametrize("used_before", ["generate", "ProjectionReport", "compare"])
def test_export_is_a_function_whatever_was_used_before(used_before: str) -> None:
    code = (
        f"import trafficgen; trafficgen.{used_before}; assert callable(trafficgen.export),"
        " trafficgen.export"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
