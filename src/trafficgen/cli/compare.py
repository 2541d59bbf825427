"""`trafficgen compare`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

import trafficgen
from trafficgen.cli._completion import complete_metric
from trafficgen.cli._options import AsJson, expand_options
from trafficgen.cli._output import Messages, number, print_json, say_line
from trafficgen.cli._outputs import Force, Outputs, Reports, claim, refuse_missing, write_reports
from trafficgen.cli._tables import Curve, curve_bins, print_curves, print_table
from trafficgen.formatting import format_quantity
from trafficgen.validation.options import CompareOptions

#: Models of a ranking that are printed.
_SHOWN = 10
_TOTALS = {
    "packets": "packets",
    "ip_bytes": "IP bytes",
    "payload_bytes": "payload",
    "duration_s": "duration",
}


@expand_options
def compare(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REFERENCE",
            help="Capture or packet table that was measured; - is standard input.",
        ),
    ],
    options: CompareOptions,
    *,
    candidate: Annotated[
        str | None,
        typer.Argument(
            metavar="CANDIDATE",
            help="Capture or packet table that is judged; - is standard input.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="catalogue",
            help="Instead of a candidate: rank the published models, the nearest first.",
        ),
    ] = None,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE",
            help="Exit with 1 when this metric is above this value; may be repeated.",
            autocompletion=complete_metric,
        ),
    ] = None,
    reports: Reports,
    force: Force = False,
    as_json: AsJson = False,
    messages: Messages,
) -> None:
    """Measure how closely traffic matches a reference.

    CBR, Poisson and resampled traffic are measured too, as baselines.

    Example: trafficgen compare capture.pcapng synthetic.pcap --fail-above gap_s.ks=0.1 --fail-above
    packets=0.1

    Example: trafficgen compare capture.pcapng synthetic.pcap --report comparison.html --plots plots
    --plot-format svg

    Example: trafficgen compare capture.pcapng synthetic.pcap --from 5s

    Example: trafficgen compare capture.pcapng --against catalogue
    """
    _check_sides(candidate, against, options, fail_above)
    _check_choice("", options.flow, options.session, every=options.every)
    _check_choice(
        "candidate-", options.candidate_flow, options.candidate_session, every=options.every
    )
    from trafficgen.validation.comparison import check_limits  # noqa: PLC0415 - not of --help

    check_limits(fail_above or ())
    inputs = [reference] if candidate is None else [reference, candidate]
    claim(
        Outputs(reports=reports),
        force=force,
        inputs=inputs,
        as_json=as_json,
        quiet=messages.quiet,
        check_names=partial(refuse_missing, inputs),
    )
    if candidate is None:
        _rank(reference, options, reports, messages, as_json=as_json)
        return
    compare_both = trafficgen.compare  # loaded before the clock of the progress runs
    with messages.progress("reading"):
        comparison = compare_both(reference, candidate, **vars(options))
    write_reports(comparison, reports, messages)
    exceeded = trafficgen.exceeded_limits(comparison, fail_above or ())
    if as_json:
        print_json(comparison.to_json())
    else:
        _print_comparison(comparison)
    for limit in exceeded:
        messages.fail(f"failed: {limit}")
    if exceeded:
        raise typer.Exit(1)


def _check_sides(
    candidate: str | None,
    against: str | None,
    options: CompareOptions,
    fail_above: list[str] | None,
) -> None:
    if against is None:
        if candidate is None:
            raise typer.BadParameter("name a candidate, or give --against catalogue")
        return
    if against != "catalogue":
        raise typer.BadParameter(f"{against!r} is nothing to rank; it can be catalogue")
    if candidate is not None:
        raise typer.BadParameter(f"--against replaces the candidate; leave {candidate} out")
    of_candidate = (options.candidate_flow, options.candidate_session, options.candidate_upload)
    if fail_above or options.upload or any(one is not None for one in of_candidate):
        raise typer.BadParameter(
            "--against takes both directions of one capture; leave --upload, --fail-above and"
            " --candidate-... out"
        )
    if not options.window.is_whole:
        raise typer.BadParameter("--against takes a whole capture; leave --from and --to out")


def _rank(
    capture: str, options: CompareOptions, reports: Reports, messages: Messages, *, as_json: bool
) -> None:
    rank = trafficgen.rank_catalogue
    with messages.progress("reading"):
        ranking = rank(
            capture,
            flow=options.flow,
            session=options.session,
            every=options.every,
            seed=options.seed,
            undo_offload=options.undo_offload,
            memory_bytes=options.memory_bytes,
        )
    write_reports(ranking, reports, messages)
    if as_json:
        print_json(ranking.to_json())
        return
    rows = [
        (
            one.command,
            number(one.distance, digits=2),
            *(number(value, digits=2) for value in one.features.values()),
        )
        for one in ranking.models[:_SHOWN]
    ]
    header = ("model", "distance", *ranking.feature_names)
    print_table(header, rows, right=tuple(range(1, len(header))), styles={0: "bold"})
    if left := len(ranking.models) - len(rows):
        say_line(f"and {left} further ones (--json)")
    say_line("")
    say_line(ranking.verdict())


def _check_choice(prefix: str, flow: int | None, session: int | None, *, every: bool) -> None:
    if sum((flow is not None, session is not None, every)) > 1:
        options = f"--{prefix}flow, --{prefix}session, --all"
        raise typer.BadParameter("give one of them", param_hint=options)


def _print_comparison(comparison: trafficgen.Comparison) -> None:
    baselines, losses = comparison.flat_baselines(), comparison.losses()
    header = ("metric", "candidate", *baselines, "beats", "ties with", "loses to")
    rows = [
        (
            name,
            number(value, digits=3),
            *(number(metrics.get(name, float("nan")), digits=3) for metrics in baselines.values()),
            ", ".join(comparison.wins.get(name, [])),
            ", ".join(comparison.ties.get(name, [])),
            ", ".join(losses[name]),
        )
        for name, value in comparison.flat().items()
    ]
    beats = len(header) - 3
    numbers = tuple(range(1, 2 + len(baselines)))
    print_table(header, rows, right=numbers, styles={0: "bold", beats: "green", beats + 2: "red"})
    print()
    totals = [vars(side) for side in comparison.totals]
    total_rows = [
        (label, *(format_quantity(name, side[name]) for side in totals))
        for name, label in _TOTALS.items()
    ]
    print_table(("media to the client", "reference", "candidate"), total_rows, right=(1, 2))
    _print_rates(comparison)
    if comparison.absent:
        print()
    for name, why in comparison.absent.items():
        say_line(f"no {name}: {why}")
    print()
    for line in (*comparison.two_sample.lines(), *comparison.verdict().lines()):
        say_line(line)


def _print_rates(comparison: trafficgen.Comparison) -> None:
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
        [Curve(name, rate, top=top) for name, rate in zip(names, rates, strict=True)],
        start_s=0.0,
        end_s=end_s,
    )
