"""`trafficgen compare`."""

from __future__ import annotations

from typing import Annotated

import typer

import trafficgen
from trafficgen.cli._curves import Curve, curve_bins, print_curves
from trafficgen.cli._options import (
    AsJson,
    FlowChoice,
    Memory,
    Quiet,
    Seed,
    SessionChoice,
    Verbose,
    memory_bytes_of,
    messages_of,
)
from trafficgen.cli._output import number, print_json
from trafficgen.cli._outputs import Force, Outputs, claim
from trafficgen.cli._reports import PlotFormats, PlotsFolder, ReportFile, write_reports
from trafficgen.cli._tables import print_table
from trafficgen.cli._terminal import say_line


def compare(
    reference: Annotated[
        str, typer.Argument(metavar="REFERENCE", help="Capture or packet table that was measured.")
    ],
    candidate: Annotated[
        str, typer.Argument(metavar="CANDIDATE", help="Capture or packet table that is judged.")
    ],
    flow: FlowChoice = None,
    session: SessionChoice = None,
    upload: Annotated[
        bool,
        typer.Option(
            "--upload", help="Take the packets to the servers of the reference: what was uploaded."
        ),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Compare all sessions as one.")] = False,
    candidate_flow: Annotated[
        int | None,
        typer.Option(
            min=0, help="Take this flow of the candidate; default: the same as of the reference."
        ),
    ] = None,
    candidate_session: Annotated[
        int | None,
        typer.Option(
            min=0, help="Take this session of the candidate; default: the same as of the reference."
        ),
    ] = None,
    candidate_upload: Annotated[
        bool | None,
        typer.Option(
            "--candidate-upload/--candidate-download",
            help=(
                "Take the packets to the servers, or to the clients, of the candidate; default: to"
                " the clients, "
                "with --upload whichever carry more."
            ),
            show_default=False,
        ),
    ] = None,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE",
            help="Exit with 1 when this metric is above this value; may be repeated.",
        ),
    ] = None,
    undo_offload: Annotated[
        bool,
        typer.Option(
            "--resegment/--keep-offload",
            help="Cut segmentation-offload packets back to MTU size first.",
        ),
    ] = True,
    report: ReportFile = None,
    plots: PlotsFolder = None,
    plot_formats: PlotFormats = None,
    force: Force = False,
    seed: Seed = 0,
    memory: Memory = "1GB",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Tell how close traffic is to a reference, beside what people use today: CBR, Poisson,
    resampled gaps and sizes.

    Example: trafficgen compare capture.pcapng synthetic.pcap --fail-above gap_s.ks=0.1 --fail-above
    packets=0.1

    Example: trafficgen compare capture.pcapng synthetic.pcap --report comparison.html --plots plots
    --plot-format svg
    """
    if sum((flow is not None, session is not None, every)) > 1:
        raise typer.BadParameter("give one of them", param_hint="--flow, --session, --all")
    if sum((candidate_flow is not None, candidate_session is not None, every)) > 1:
        raise typer.BadParameter(
            "give one of them", param_hint="--candidate-flow, --candidate-session, --all"
        )
    messages = messages_of(quiet=quiet, verbose=verbose)
    written = Outputs(report=report, plots=plots, plot_formats=plot_formats)
    claim(written, force=force, inputs=[reference, candidate])
    compare_both = trafficgen.compare  # loaded before the clock of the progress runs
    with messages.progress("reading"):
        comparison = compare_both(
            reference,
            candidate,
            flow=flow,
            session=session,
            upload=upload,
            every=every,
            candidate_flow=candidate_flow,
            candidate_session=candidate_session,
            candidate_upload=candidate_upload,
            seed=seed,
            undo_offload=undo_offload,
            memory_bytes=memory_bytes_of(memory),
        )
    write_reports(
        comparison, report=report, plots=plots, plot_formats=plot_formats, messages=messages
    )
    exceeded = trafficgen.exceeded_limits(comparison, fail_above or ())
    if as_json:
        print_json(comparison.to_json())
    else:
        _render(comparison)
    for limit in exceeded:
        messages.fail(f"failed: {limit}")
    if exceeded:
        raise typer.Exit(1)


def _render(comparison: trafficgen.Comparison) -> None:
    from trafficgen.validation import losses, verdict_of  # noqa: PLC0415 - not for --help

    baselines, lost = comparison.flat_baselines(), losses(comparison)
    header = ("metric", "candidate", *baselines, "beats", "ties with", "loses to")
    rows = [
        (
            name,
            number(value, digits=3),
            *(number(metrics.get(name, float("nan")), digits=3) for metrics in baselines.values()),
            ", ".join(comparison.wins.get(name, [])),
            ", ".join(comparison.ties.get(name, [])),
            ", ".join(lost[name]),
        )
        for name, value in comparison.flat().items()
    ]
    beats = len(header) - 3
    numbers = tuple(range(1, 2 + len(baselines)))
    print_table(header, rows, right=numbers, styles={0: "bold", beats: "green", beats + 2: "red"})
    print()
    _render_totals(comparison)
    _render_rates(comparison)
    if comparison.absent:
        print()
    for name, why in comparison.absent.items():
        say_line(f"no {name}: {why}")
    print()
    for line in verdict_of(comparison).lines():
        say_line(line)


def _render_totals(comparison: trafficgen.Comparison) -> None:
    totals = [vars(side) for side in comparison.totals]
    rows = [(name, *(number(side[name]) for side in totals)) for name in totals[0]]
    print_table(("media to the client", "reference", "candidate"), rows, right=(1, 2))


def _render_rates(comparison: trafficgen.Comparison) -> None:
    """Print both rates over the longer one's time, the reference above the candidate."""
    curves = comparison.rate_curves()
    end_s = max(curve.end_s for curve in curves) if curves else 0.0
    if curves is None or not end_s > 0:
        return
    names = ("reference", "candidate")
    bins = curve_bins(names)
    rates = [curve.rate_kbps(bins, start_s=0.0, end_s=end_s) for curve in curves]
    top = max(float(rate.max()) for rate in rates)
    print()
    print_curves(
        "rate of the media (IP bytes)",
        [Curve(name, rate, "kbps", top=top) for name, rate in zip(names, rates, strict=True)],
        start_s=0.0,
        end_s=end_s,
    )
