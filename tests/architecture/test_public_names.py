"""The public names of the package: listed, there, documented, and the same whatever was used
before.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest
import typer

import trafficgen
from trafficgen.cli.app import command_table

COMMANDS = (
    "inspect",
    "fit",
    "generate",
    "simulate",
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


#: Functions that share the options of a command, where it is not that of its name alone.
FUNCTIONS = {
    "fit": ("fit", "fit_population", "fit_same_source"),
    "reproduce": ("reproduce", "leave_one_out", "measure_sensitivity"),
    "generate": ("generate", "generate_workload", "estimate_workload"),
    "simulate": ("simulate", "simulate_workload"),
}
#: Flags of what a command shows or writes beside its result: functions return that.
SHOWN = {"json", "quiet", "verbose", "force", "report", "interactive", "plots", "plot_format"}
#: Further flags that no function has under their name -> why.
DIFFERENT = {
    ("generate", "set"): "settings, a dictionary",
    ("simulate", "set"): "settings, a dictionary",
    ("simulate", "outside_files"): "of load_workload and Path.load, which read such files",
    ("export", "set"): "settings, a dictionary",
    ("export", "snaplen"): "a setting of the targets pcap and pcapng",
    ("generate", "dry_run"): "estimate_workload",
    ("generate", "outside_files"): "of load_workload and Path.load, which read such files",
    ("export", "outside_files"): "of load_workload",
    ("fit", "population"): "fit_population",
    ("fit", "same_source"): "fit_same_source",
    ("fit", "out"): "save_model of the fit's model",
    ("fit", "exchanges"): "save_exchanges of measure_exchanges",
    ("compare", "fail_above"): "exceeded_limits of the comparison",
    ("compare", "against"): "rank_catalogue",
    ("inspect", "flows"): "how many are printed; to_pandas has all",
    ("models_show", "full"): "how much is printed",
    ("models_list", "paths"): "Path.presets",
    ("models_diff", "all"): "how many are printed",
    ("reproduce", "memory"): "memory_bytes of simulate: an experiment in Python is not limited",
    ("reproduce", "list"): "the rows of its result",
    ("reproduce", "leave_one_out"): "leave_one_out, a function",
    ("reproduce", "sensitivity"): "measure_sensitivity",
    ("explore", "browser"): "open_browser: a page is served without one",
    ("demo", "out"): "folder, its only argument",
}


def test_options_of_functions_have_the_names_of_flags() -> None:
    missing = set()
    for name in (*COMMANDS, "explore", "demo"):
        group: Any = typer.main.get_command(command_table())
        for part in name.split("_"):
            group = group.commands[part]
        taken: set[str] = set()
        for function in (getattr(trafficgen, one) for one in FUNCTIONS.get(name, (name,))):
            taken |= set(inspect.signature(function).parameters) | set(
                getattr(function, "other_names", ())
            )
        flags = [one for one in group.params if one.opts[0].startswith("-")]
        # Of flags of one option (`--to`, `--until`) a function takes the name of one.
        spelt = [[flag.lstrip("-").replace("-", "_") for flag in one.opts] for one in flags]
        missing |= {(name, one[-1]) for one in spelt if not {*one} & (taken | SHOWN)}
    assert missing == set(DIFFERENT)


@pytest.mark.parametrize("used_before", ["generate", "ProjectionReport", "compare"])
def test_export_is_a_function_whatever_was_used_before(used_before: str) -> None:
    code = (
        f"import trafficgen; trafficgen.{used_before}; assert callable(trafficgen.export),"
        " trafficgen.export"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
