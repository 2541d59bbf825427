"""Values of any length, and the memory that is too little: by all options that commands have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from tests.cli.conftest import Command

from trafficgen.cli.app import COMMANDS, command_table

#: What commands need to come to what is tested.
_INPUTS = {
    "inspect": ["cbr.csv"],
    "fit": ["cbr.csv"],
    "generate": ["cbr", "-o", "out.csv", "--duration", "1s"],
    "simulate": ["cbr", "--path", "rate=1Mbps", "--duration", "1s"],
    "compare": ["cbr.csv", "cbr.csv"],
    "convert": ["cbr.csv", "-o", "out.csv"],
    "export": ["cbr.csv", "--to", "pcap", "-o", "out"],
    "explore": ["cbr", "--port", "99999"],  # it must not serve
    "reproduce": ["BMW-T1.1"],
    "models show": ["cbr"],
    "models diff": ["cbr", "cbr"],
}


def _commands() -> Iterator[tuple[str, Any]]:
    table: Any = typer.main.get_command(command_table())
    for name in COMMANDS:
        group = getattr(table.commands[name], "commands", None)
        if group is None:
            yield name, table.commands[name]
        else:
            yield from ((f"{name} {one}", part) for one, part in group.items())


def _options() -> list[tuple[str, str]]:
    return [
        (name, option.opts[-1])
        for name, command in _commands()
        for option in command.params
        if option.param_type_name == "option" and not option.is_flag
    ]


@pytest.fixture
def ready(command: Command) -> Command:
    """Return the command, with a packet table to read."""
    assert command("generate", "cbr", "-o", "cbr.csv", "--duration", "12s", "-q").code == 0
    return command


@pytest.mark.parametrize("value", ["9" * 5000, "a" * 5000, "a " * 2500, "=," * 2500])
def test_errors_about_long_values_are_short(ready: Command, value: str) -> None:
    refused = 0
    for name, option in _options():
        result = ready(*name.split(), *_INPUTS.get(name, []), option, value)
        lines = [line for line in result.err.splitlines() if line.startswith("trafficgen: ")]
        assert "Traceback" not in result.err, (name, option)
        assert result.code in (0, 2), (name, option, result.err)
        assert len(lines) == (result.code == 2), (name, option, result.err)
        assert all(len(line) <= 300 for line in lines), (name, option)
        refused += result.code == 2
    assert refused > 50


def test_errors_about_long_arguments_are_short(ready: Command) -> None:
    for name, _ in _commands():
        result = ready(*name.split(), "a" * 5000, "b" * 5000)
        if name == "models list":
            assert result.code == 0  # words to search for
            assert len(result.out) <= 300
            continue
        assert result.code == 2, name
        assert len(result.err.splitlines()[-1]) <= 300, name


def test_too_little_memory_is_refused_first_with_the_least_that_works(ready: Command) -> None:
    commands = [name for name, option in _options() if option == "--memory"]
    assert {"inspect", "fit", "generate", "compare", "convert", "export"} <= {*commands}
    for name in commands:
        words = [*name.split(), *_INPUTS[name], "--force"]
        if name == "inspect":
            words.pop()
        result = ready(*words, "--memory", "1MB")
        assert result.code == 2, name
        (line,) = result.err.splitlines()
        least = re.search(r"1MB of memory is too little. Use (\S+) or more", line)
        assert least is not None, line
        assert ready(*words, "--memory", least[1]).code == 0, name
