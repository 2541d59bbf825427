"""Every public name shows how it is used, and what it shows runs and prints what it says."""

from __future__ import annotations

import doctest
import functools
import inspect
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trafficgen
import trafficgen.models

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = [name for name in trafficgen.__all__ if not name.startswith("__")]
#: Parts of a model that everyone meets who looks into one.
PARTS = ("Estimate", "Law")
# Long outputs are wrapped in docstrings.
_FLAGS = doctest.ELLIPSIS | doctest.REPORT_NDIFF | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(scope="module")
def remembered_fit() -> Callable[..., Any]:
    """Return `fit` as users call it, but each capture is fitted once: several examples begin with
    the same fit.
    """
    fit, done = trafficgen.fit, {}

    @functools.wraps(fit)
    def fit_once(path: str, **options: Any) -> Any:
        key = (path, *sorted(options.items()))
        if not path.startswith("examples/"):
            return fit(path, **options)
        if key not in done:
            done[key] = fit(path, **options)
        return done[key]

    return fit_once


def _docstring(thing: object) -> str:
    """Return a thing's own docstring: that of a class without what it inherits."""
    own = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    return inspect.cleandoc(own or "")


def _run(name: str, thing: object) -> None:
    _, heading, section = _docstring(thing).partition("\nExample:\n")
    assert heading, f"{name} has no example in its docstring"
    shown = doctest.DocTestParser().get_doctest(inspect.cleandoc(section), {}, name, name, 0)
    assert any(example.want for example in shown.examples), f"the example of {name} shows no result"
    report = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trafficgen.TrafficgenWarning)
        outcome = doctest.DocTestRunner(optionflags=_FLAGS).run(shown, out=report.write)
    assert outcome.failed == 0, report.getvalue()


@pytest.fixture
def where_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remembered_fit: Callable[..., Any]
) -> None:
    """Stand in a folder of its own that has the shipped captures, as the root of the repository
    does.
    """
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trafficgen, "fit", remembered_fit)


@pytest.mark.usefixtures("where_examples_run")
@pytest.mark.parametrize("name", PUBLIC)
def test_example_of_public_name_prints_what_it_says(name: str) -> None:
    _run(name, getattr(trafficgen, name))


@pytest.mark.usefixtures("where_examples_run")
@pytest.mark.parametrize("name", PARTS)
def test_example_of_a_part_of_models_prints_what_it_says(name: str) -> None:
    _run(name, getattr(trafficgen.models, name))
