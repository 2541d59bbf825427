"""`trafficgen demo`."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

import trafficgen
from trafficgen.cli._output import Messages, say_line
from trafficgen.cli._outputs import Force
from trafficgen.cli._progress import clear_line
from trafficgen.outputs import keep_existing


def demo(
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="DIR", help="Folder for the results.")
    ] = Path("demo-results"),
    force: Force = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print errors only.")] = False,
) -> None:
    """Take a tour with a capture that comes with trafficgen.

    It inspects, fits, generates, compares and exports. Each step is one line. commands.sh in the
    folder of the results has the commands.

    Example: trafficgen demo
    """
    if not force:
        keep_existing()
    from trafficgen.demo import find_missing_extra, take_steps  # noqa: PLC0415 - --help needs none of it

    messages = Messages(quiet=quiet)
    warnings.simplefilter("ignore", trafficgen.CaptureWarning)  # the capture is known
    steps = take_steps(out)
    with messages.progress("reading"):
        for line in steps:
            clear_line()
            say_line(line)
            sys.stdout.flush()
    if (error := find_missing_extra()) is not None:
        messages.say(f"note: no reports were written: {error}")
    messages.say(f"results are in {out}; commands.sh there has the commands")
