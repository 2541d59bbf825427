"""Options of the commands that play over a path."""

from __future__ import annotations

from typing import Annotated

import typer

from trafficgen.cli._completion import complete_competitor, complete_path, complete_setting
from trafficgen.options import parse_pairs
from trafficgen.simulation.options import PATH_HELP

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
