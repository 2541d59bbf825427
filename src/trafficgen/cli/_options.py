"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from trafficgen.cli._completion import (
    ARRIVALS,
    SPREADS,
    complete,
    complete_competitor,
    complete_path,
    complete_setting,
)
from trafficgen.input_files import allow_outside_files
from trafficgen.option_names import name_options
from trafficgen.options import Option, check_bounds, check_options, list_options, parse_pairs
from trafficgen.simulation.options import PATH_HELP
from trafficgen.units import FEWEST_FRAME_BYTES, WHOLE_FRAME_BYTES

PathOption = Annotated[
    str | None, typer.Option("--path", metavar="PATH", help=PATH_HELP, autocompletion=complete_path)
]
Compete = Annotated[
    list[str] | None,
    typer.Option(
        "--compete",
        metavar="FLOW",
        help=(
            "A competing flow, repeatable: tcp@-10s (starts 10 s before the session's first"
            " packet), tcp:reno@-10s..60s (also stops), cbr:200kbps, ping, or a model with options,"
            " NAME(key=value). tcp is CUBIC with SACK, as in Linux; tcp:bbr is BBR, tcp:bbr3"
            " its version 3; quic, quic:reno, quic:bbr and quic:bbr3 likewise. up:tcp sends from"
            " the clients' end; tcp(via=LINK) passes one link of a chain."
        ),
        autocompletion=complete_competitor,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set an option of a published model, see `models show`.",
        autocompletion=complete_setting,
    ),
]


def settings_of(given: list[str] | None) -> dict[str, str]:
    """Parse the settings of ``--set``; a wrong one is a usage error."""
    try:
        return parse_pairs(given or ())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--set") from None


def _allow_outside_files(allowed: bool) -> bool:
    if allowed:
        allow_outside_files()
    return allowed


Captures = Annotated[
    list[str],
    typer.Argument(
        metavar="CAPTURE...",
        help=(
            "pcap or pcapng files (plain, gz, zst, xz; several are read as one) or one packet table"
            " (.parquet, .csv) or trace (see convert); - is standard input."
        ),
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")
]
Seed = Annotated[
    int, typer.Option(min=0, help="Seed of everything random; the same seed gives the same result.")
]
FlowChoice = Annotated[int | None, typer.Option("--flow", min=0, help="Take this flow alone.")]
SessionChoice = Annotated[
    int | None,
    typer.Option(
        "--session",
        min=0,
        help="Take this session; default: the one that carries most bytes to a client.",
    ),
]
OutsideFiles = Annotated[
    bool,
    typer.Option(
        "--outside-files",
        callback=_allow_outside_files,
        help="Let a workload or path file name files outside of its folder.",
    ),
]
Snaplen = Annotated[
    int | None,
    typer.Option(
        "--snaplen",
        min=FEWEST_FRAME_BYTES,
        max=WHOLE_FRAME_BYTES,
        metavar="BYTES",
        help="Bytes kept of a frame in a pcap; default: all.",
    ),
]


#: Options whose values are completed by a function.
_COMPLETED = {
    "--path": complete_path,
    "--arrivals": complete(ARRIVALS),
    "--vary": complete(SPREADS),
}


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace parameters of a command whose class declares options by these options.

    The command is called with an object of each class, as the Python function of its name is with
    ``options``, whose options come last in the help text.
    """
    signature = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    own, names = list[inspect.Parameter](), dict[str, list[str]]()
    for name in sorted(signature.parameters, key=lambda name: name == "options"):
        if name in groups:
            declared = list(_declare(groups[name]))
            names[name] = [one.name for one in declared]
            own += declared
        else:
            parameter = signature.parameters[name]
            own.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name]))

    @wraps(command)
    def with_options(**given: Any) -> None:
        made = {}
        for group, members in names.items():
            values = {name: given.pop(name) for name in members}
            try:
                made[group] = groups[group](**values)
                check_options(made[group])
            except ValueError as error:
                raise typer.BadParameter(str(error)) from None
        for name, value in given.items():
            if isinstance(value, int | float):
                _check_own(hints[name], name, value)
        command(**made, **given)

    with_options.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in own}
    return with_options


def _check_own(hint: Any, name: str, value: float) -> None:
    """Refuse a number of an option of the command itself that is out of bounds."""
    flag = name
    for how in get_args(hint)[1:]:  # typer takes the first flag for a default
        named = [how.default, *(how.param_decls or ())]
        flag = next((one for one in named if str(one).startswith("--")), flag)
    try:
        check_bounds(flag, name, value)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _declare(options: Any) -> Iterator[inspect.Parameter]:
    """Yield a parameter of a command for each option that a class declares."""
    types = get_type_hints(options)
    for one, how in list_options(options):
        kind = types[one.name]
        if how.parse is not None:
            is_list = any(get_origin(part) is list for part in get_args(kind))
            kind = list[Any] if is_list else Any
        yield inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_command_default(one, how),
            annotation=Annotated[kind, _typer_option(how)],
        )


def _command_default(one: Field[Any], how: Option) -> Any:
    if how.text is not None:
        return how.text
    if one.default_factory is not MISSING:
        return one.default_factory()
    return inspect.Parameter.empty if one.default is MISSING else one.default


def _typer_option(how: Option) -> Any:
    parser = None if how.parse is None else _with_message(how.parse)
    return typer.Option(
        *how.flags,
        *how.aliases,
        help=name_options(how.help, flags=True),
        metavar=how.metavar,
        parser=parser,
        min=how.low,
        autocompletion=_COMPLETED.get(how.flags[0]) or complete(how.values),
    )


def _with_message(parse: Callable[[str], object]) -> Callable[[str], object]:
    """Keep the message of a parser: the command line would show the value alone."""

    def parse_text(text: str) -> object:
        try:
            return parse(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parse_text
