"""All options of all commands that take a number x absurd ones: each is refused in one line."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from tests.cli.conftest import Command

from trafficgen.cli.app import command_table

#: What the help calls a quantity -> how it is written.
_FORMS: dict[str | None, str] = {
    **{"TIME": "{}s", "R": "{}/s", "FACTOR": "{}", "FPS": "{}", "RATE": "{}bps"},
    **{"SIZE": "{}MB", "BYTES": "{}"},
}
_LONG = "1" + "0" * 400
#: Command -> what it needs besides, where that is not one name.
_NEEDED = {
    "simulate": ("cbr", "--path", "rate=1Mbps"),
    "compare": ("cbr", "cbr"),
    "convert": ("cbr", "-o", "table.csv"),
    "export": ("cbr", "--to", "pcap", "-o", "exported"),
    "reproduce": ("BMW-B1",),
}


def options_with(forms: dict[str | None, str]) -> list[tuple[str, str, str]]:
    """Return command, flag and form of each option with a quantity of these names."""
    group: Any = typer.main.get_command(command_table())
    return [
        (name, next(one for one in option.opts if one.startswith("--")), forms[option.metavar])
        for name, command in group.commands.items()
        for option in command.params
        if option.opts[0].startswith("-") and not option.is_flag and option.metavar in forms
    ]


QUANTITIES = options_with(_FORMS)
#: Counts, numbers of flows and sessions, and seeds, which have no name in the help.
COUNTS = options_with({None: "{}"})


def test_options_with_numbers_are_found() -> None:
    assert len(QUANTITIES) > 25
    assert len(COUNTS) > 20
    assert set(_FORMS.values()) == {form for _, _, form in QUANTITIES}


@pytest.mark.parametrize("number", ["1e300", "-1e300", _LONG], ids=["large", "negative", "long"])
@pytest.mark.parametrize(("name", "flag", "form"), QUANTITIES)
def test_absurd_quantities_are_refused(
    command: Command, name: str, flag: str, form: str, number: str
) -> None:
    if flag == "--memory" and number == "1e300":
        return  # more than any computer has is not a limit
    result = command(name, *_NEEDED.get(name, ("cbr",)), flag, form.format(number))
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert flag in result.err, result.err
    assert len(result.err) < 700


#: Commands with counts that they multiply their work with.
_COUNTED = {
    "generate": ("cbr", "-o", "out", "--duration", "1s"),
    "simulate": ("cbr", "--path", "rate=1Mbps", "--duration", "1s"),
    "export": ("cbr", "--to", "pcap", "-o", "out", "--duration", "1s"),
    "reproduce": ("BMW-B1",),
}


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        (name, flag)
        for name, flag, _ in COUNTS
        if name in _COUNTED and flag not in ("--seed", "--flow", "--workers")
    ],
)
def test_the_largest_counts_that_are_numbers_are_refused_before_the_work(
    command: Command, name: str, flag: str
) -> None:
    more = ("--leave-one-out",) if flag == "--draws" else ()
    result = command(name, *_COUNTED[name], *more, flag, str(10**18))
    assert result.code == 2
    assert result.err.count("\n") == 1, result.err
    assert len(result.err) < 700


@pytest.mark.parametrize("number", ["1e300", f"-{_LONG}", _LONG], ids=["float", "negative", "long"])
@pytest.mark.parametrize(("name", "flag", "form"), COUNTS)
def test_absurd_counts_are_one_line(
    command: Command, name: str, flag: str, form: str, number: str
) -> None:
    result = command(name, "no-such-file", flag, form.format(number))
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert len(result.err) < 700
