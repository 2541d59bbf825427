"""Compare traffic with a reference and with baselines: `trafficgen compare`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace

from trafficgen.capture.inputs import Paths, file_text, input_names
from trafficgen.capture.memory import COMPARE_PACKET_BYTES, Budget, count_pieces
from trafficgen.capture.options import ReadOptions
from trafficgen.capture.reading import read_frame
from trafficgen.capture.session import open_session
from trafficgen.flows import SessionView, clock_tick_ns, resegment
from trafficgen.options import DataFrame, takes
from trafficgen.progress import report_step
from trafficgen.tables import PacketTable, compact_ip_bytes
from trafficgen.validation.comparison import Comparison
from trafficgen.validation.measurement import (
    BASELINES,
    Measurement,
    burst_threshold_s,
    generate_baseline,
    measure,
)
from trafficgen.validation.metrics import (
    Metrics,
    compute_metrics,
    flat_metrics,
    incomparable_rates,
    median_metrics,
    noise_levels,
    total_metrics,
)
from trafficgen.validation.options import CompareOptions
from trafficgen.validation.two_sample import TwoSampleTests, run_tests

#: Baselines with random draws are the median of this many runs.
_RUNS = 5
_RUNS_OF = {name: 1 if name == "cbr" else _RUNS for name in BASELINES}
#: Clocks up to this granularity, that of most captures, are used unchanged.
_FINE_TICK_NS = 1000


@takes(CompareOptions)
def compare(
    reference: Paths | PacketTable | DataFrame,
    candidate: Paths | PacketTable | DataFrame,
    options: CompareOptions,
) -> Comparison:
    """Measure how closely traffic to the client matches a reference, compared with baselines.

    Args:
        reference: What was measured: one or several capture files, or one packet table, a file
            or in memory, or a data frame as for :func:`~trafficgen.read_packets`.
        candidate: What is judged.
        options: See :class:`~trafficgen.validation.options.CompareOptions`.

    Raises:
        InputFileError: If an input cannot be read at all, or does not fit into the memory.
        SelectionError: If there is no such flow or session.
        ValueError: If a side has both a flow and a session, or one of them with ``every``.

    Example:
        >>> import trafficgen
        >>> capture = "examples/captures/http_burst_then_paced.pcap.gz"
        >>> _ = trafficgen.generate(trafficgen.fit(capture).model, "synthetic.parquet", seed=1)
        >>> comparison = trafficgen.compare(capture, "synthetic.parquet")
        >>> for metric in ("gap_s.ks", "rate.0.1.ks", "variance_time.max_abs_log10_ratio"):
        ...     print(metric, "closer than", comparison.wins[metric])
        gap_s.ks closer than ['cbr', 'poisson']
        rate.0.1.ks closer than ['cbr', 'poisson']
        variance_time.max_abs_log10_ratio closer than ['cbr', 'poisson']
    """
    if isinstance(reference, DataFrame):
        reference = read_frame(reference)
    if isinstance(candidate, DataFrame):
        candidate = read_frame(candidate)
    chosen, window = options.choose_candidate(), options.window
    # Both sides are in memory together.
    budget = Budget(options.memory_bytes, COMPARE_PACKET_BYTES)
    how = ReadOptions(memory_bytes=options.memory_bytes)
    measured = open_session(
        reference, options.choose_reference(), how, packet_bytes=COMPARE_PACKET_BYTES, window=window
    )
    table = measured.view.table
    packets = count_pieces(compact_ip_bytes(table)) if options.undo_offload else len(table)
    left = replace(how, memory_bytes=budget.memory_after(packets))
    judged = open_session(
        candidate,
        chosen,
        left,
        packet_bytes=COMPARE_PACKET_BYTES,
        window=window,
        upload_flag="--candidate-upload",
    )
    comparison = compare_sessions(
        measured.view, judged.view, seed=options.seed, undo_offload=options.undo_offload
    )
    part = "" if window.is_whole else f", {window}"
    return replace(comparison, names=(_name_of(reference) + part, _name_of(candidate) + part))


def compare_sessions(
    reference: SessionView, candidate: SessionView, *, seed: int = 0, undo_offload: bool = True
) -> Comparison:
    """Compare two sessions, both measured by the same code.

    The seed is that of the baselines and of the resampling in the search for phases.
    ``undo_offload`` first cuts segmentation-offload packets to MTU size on both sides, as a fit
    does: they were handed to a network card, not sent.
    """
    reference, cut_in_reference = _without_offload(reference) if undo_offload else (reference, 0)
    candidate, cut_in_candidate = _without_offload(candidate) if undo_offload else (candidate, 0)
    tick_ns = clock_tick_ns(reference.media_time_ns)
    threshold_s = burst_threshold_s(reference)
    to_measure = 2 + sum(_RUNS_OF.values())
    done = itertools.count()

    def measure_next(view: SessionView) -> Measurement:
        report_step("measuring", next(done), to_measure, unit="sides and baselines")
        return measure(view, burst_threshold_s=threshold_s, seed=seed)

    def test(view: SessionView) -> TwoSampleTests:
        return run_tests(reference, view, threshold_s=threshold_s, seed=seed)

    def measure_run(name: str, run: int) -> Metrics:
        view = generate_baseline(reference, name=name, seed=seed, run=run)
        view = _on_clock(view, tick_ns)
        if run == 0:
            tests[name] = test(view)
        return compute_metrics(measured, measure_next(view))

    measured = measure_next(reference)
    candidate = _on_clock(candidate, tick_ns)
    judged = measure_next(candidate)
    tests: dict[str, TwoSampleTests] = {}
    metrics = compute_metrics(measured, judged)
    baselines = {
        name: median_metrics([measure_run(name, run) for run in range(runs)])
        for name, runs in _RUNS_OF.items()
    }
    flat, noise = flat_metrics(metrics), noise_levels(measured, judged)
    noise = {name: level for name, level in noise.items() if name in flat}
    copied = flat_metrics(total_metrics(measured.totals, judged.totals))
    distances = {name: distance for name, distance in flat.items() if name not in copied}
    others = {name: flat_metrics(found) for name, found in baselines.items()}
    wins, ties = judge_baselines(distances, others, noise)
    two_sample = test(candidate).add_baselines(tests)
    return Comparison(
        metrics=metrics,
        baselines=baselines,
        totals=(measured.totals, judged.totals),
        wins=wins,
        ties=ties,
        noise=noise,
        absent=incomparable_rates(measured, judged) | two_sample.absent,
        burst_threshold_s=threshold_s,
        resegmented_packets=(cut_in_reference, cut_in_candidate),
        seed=seed,
        sides=(measured, judged),
        two_sample=two_sample,
    )


def judge_baselines(
    candidate: Mapping[str, float],
    baselines: Mapping[str, Mapping[str, float]],
    noise: Mapping[str, float],
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Find by metric the baselines that are beaten and those that are tied; NaN is left out."""
    wins: dict[str, list[str]] = {}
    ties: dict[str, list[str]] = {}
    for name, distance in candidate.items():
        if math.isnan(distance):
            continue
        others = {key: other[name] for key, other in baselines.items()}
        level = noise.get(name, 0.0)
        ties[name] = [key for key, other in others.items() if _is_tie(distance, other, level)]
        wins[name] = [
            key for key, other in others.items() if key not in ties[name] and distance < other
        ]
    return wins, ties


def _is_tie(distance: float, other: float, level: float) -> bool:
    return distance == other or (distance < level and other < level)  # never with NaN


def _on_clock(view: SessionView, tick_ns: int) -> SessionView:
    """Return a session as a clock of this granularity would have captured it.

    A reference captured in milliseconds has gaps of whole milliseconds; what a candidate does
    between the ticks could be seen on one side only.
    """
    if tick_ns <= _FINE_TICK_NS:
        return view
    return replace(view, table=view.table.round_to_clock(tick_ns))


def _without_offload(view: SessionView) -> tuple[SessionView, int]:
    table, cut = resegment(view.table)
    return (replace(view, table=table) if cut else view), cut


def _name_of(source: Paths | PacketTable) -> str:
    return ", ".join(file_text(name) for name in input_names(source))
