"""The page of all commands, from the command table itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, cast

import typer

from reference_pages.markdown import page, table
from trafficgen.cli._help import examples_of
from trafficgen.cli.app import command_table


def cli_page() -> str:
    """Return the page of all commands, from the command table itself."""
    parts = [part for name, command in commands() for part in _command_parts(name, command)]
    return page("Command line", _CLI_INTRODUCTION, *parts)


_CLI_INTRODUCTION = """\
Every command has a Python function of the same name, see [Python](python.md). Results go to stdout,
messages and progress to stderr.

Exit codes: 0 done; 1 a requested check failed (`compare --fail-above`, `reproduce`); 2 bad input or
usage, with one line on stderr; 130 interrupted; 143 terminated; 129 hung up.

Commands keep existing files: they stop before the work starts, unless `--force` is given. They
never replace their inputs. `export` replaces only files of an earlier export. An output is written
under a temporary name (`.NAME.PROCESS.part`), synced to disk and renamed when complete, so an
interrupted command leaves no half-written file; the next command removes what a killed one left. A
symbolic link stays and the file it points to is replaced. FIFOs and devices are written directly.

On a terminal, tables and curves have colours and fit the width. In a pipe or a log, with `NO_COLOR`
or with `TERM=dumb`, each row is one plain line of any width. Work of more than two seconds shows
its progress: one line that is updated on a terminal, a line every 10 s in a log. `-q` or
`TRAFFICGEN_PROGRESS=0` silences it.

`trafficgen --version` prints the version. `trafficgen --install-completion` sets up completion in
your shell."""


def commands() -> Iterator[tuple[str, Any]]:
    """Yield each command with its full name, in the order of the help."""
    yield from _commands_of("trafficgen", cast("Any", typer.main.get_command(command_table())))


def _commands_of(prefix: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands_of(f"{prefix} {name}", command)
        else:
            yield f"{prefix} {name}", command


def _command_parts(name: str, command: Any) -> Iterator[str]:
    description = inspect.cleandoc(command.help).partition("Example:")[0]
    yield f"## {name}"
    yield " ".join(description.split())
    arguments = [parameter for parameter in command.params if parameter.param_type_name != "option"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    usage = " ".join(
        [name, *(["[OPTIONS]"] if options else []), *(str(part.metavar) for part in arguments)]
    )
    yield f"```text\n{usage}\n```"
    lines = examples_of(command.help)
    yield "Example:" if len(lines) == 1 else "Examples:"
    yield "```sh\n" + "\n".join(lines) + "\n```"
    if arguments:
        yield table(
            ("argument", "meaning"), [(f"`{part.metavar}`", str(part.help)) for part in arguments]
        )
    if options:
        yield table(("option", "meaning", "default"), [_option_row(option) for option in options])


def _option_row(option: Any) -> tuple[str, ...]:
    names = ", ".join(f"`{name}`" for name in option.opts)
    if option.secondary_opts:
        names += " / " + ", ".join(f"`{name}`" for name in option.secondary_opts)
    if not option.is_flag:
        names += f" `{option.metavar or 'N'}`"
    meaning = str(option.help)
    if option.min is not None:
        meaning += f" At least {option.min}."
    return names, meaning, _default(option)


def _default(option: Any) -> str:
    if option.required:
        return "required"
    if option.is_flag and option.default is not None:
        both = option.secondary_opts
        return f"`{(option.opts if option.default else both)[0]}`" if both else "off"
    return "" if option.default is None else f"`{option.default}`"
