"""`trafficgen anonymise`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

import trafficgen
from trafficgen.cli._options import Captures, Decapsulate, Quiet, Snaplen, Verbose, messages_of
from trafficgen.cli._outputs import Force, Outputs, claim


def anonymise(
    captures: Captures,
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            metavar="OUT",
            help="File to write: .pcap, .pcapng, .parquet or .csv; without an ending a folder.",
        ),
    ],
    force: Force = False,
    key_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=(
                "Secret of the mapping, 32 bytes or 64 hexadecimal digits: the same key maps an"
                " address alike in every"
                " run. Default: one that nobody keeps."
            ),
        ),
    ] = None,
    ports: Annotated[
        str,
        typer.Option(
            metavar="keep|map", help="Keep ports, or exchange those from 1024 on among themselves."
        ),
    ] = "keep",
    times: Annotated[
        str,
        typer.Option(
            metavar="shift|keep", help="Move the first packet to 2020-01-01, or keep times."
        ),
    ] = "shift",
    snaplen: Snaplen = None,
    decapsulate: Decapsulate = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write a capture that can be shared: addresses mapped, payload dropped, times shifted.

    Addresses keep the prefixes they share (Crypto-PAn). SSRCs, sequence numbers and timestamps are
    mapped or shifted; URIs, notes and packets without IP are left out. Gaps, sizes and losses stay:
    fit gives the model of the original.

    Example: trafficgen anonymise capture.pcapng -o shared.pcap

    Example: trafficgen anonymise capture.pcapng -o shared.parquet --key-file secret.key --ports map
    """
    messages = messages_of(quiet=quiet, verbose=verbose)
    claim(Outputs(packets=out), force=force, inputs=[*captures, key_file])
    work = trafficgen.anonymise  # loaded here, so that only the work itself counts as progress
    with messages.progress("anonymising"):
        table = work(
            captures,
            out,
            key=key_file,
            ports=cast("Any", ports),
            times=cast("Any", times),
            snaplen_bytes=snaplen,
            decapsulate=decapsulate,
        )
    flows = table.flows.num_rows
    messages.say(f"{len(table):,} packets of {flows:,} flow{'s' * (flows != 1)} written to {out}")
    if key_file is None:
        messages.detail(
            "the key was drawn and not kept: another run maps addresses otherwise; see --key-file"
        )
