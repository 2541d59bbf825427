"""What the commands share that play over a path: their options."""

from __future__ import annotations

from typing import Annotated

import typer

PATH_HELP = (
    "The path: keys such as rate=725kbps,delay=45ms,queue=80p,loss=0.03,loss_start=15s, or a YAML"
    " or JSON file with them. Keys: rate (default: no limit) or trace=FILE (mahimahi, CSV or JSON),"
    " delay (one way; 0), queue (80p or 10kB; default: the larger of 50 packets and twice the"
    " bandwidth-delay product), burst (token bucket), loss, loss_start, loss_stop, loss_burst,"
    " access (rate of each end's own link), reverse_rate, reverse_delay, reverse_queue,"
    " reverse_loss (default: as forward, without loss), hold=in_flight, overhead, reorder,"
    " reorder_delay."
)
PathOption = Annotated[str | None, typer.Option("--path", metavar="PATH", help=PATH_HELP)]
Compete = Annotated[
    list[str] | None,
    typer.Option(
        "--compete",
        metavar="FLOW",
        help=(
            "A flow beside the session, once for each: tcp@-10s (starts 10 s before the session's"
            " first packet), tcp:reno@-10s..60s (also stops), cbr:200kbps, ping, or a model with"
            " options, NAME(key=value). tcp is CUBIC with SACK, as Linux; tcp:reno and tcp:cubic"
            " name one."
        ),
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Set an option of a published model, see `models show`."
    ),
]


def settings_of(given: list[str] | None) -> dict[str, str]:
    """Return the settings of ``--set``.

    Raises:
        typer.BadParameter: If one is no ``KEY=VALUE``, or a key comes twice.
    """
    settings = {}
    for text in given or []:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise typer.BadParameter(f"{text!r} is no KEY=VALUE", param_hint="--set")
        if key in settings:
            raise typer.BadParameter(f"{key} is set twice", param_hint="--set")
        settings[key] = value
    return settings
