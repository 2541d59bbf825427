"""The report of a fit, section by section; a chart is there where the capture says something
about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trafficgen.calibration.session_fit import Calibration
from trafficgen.models import FittedProvenance
from trafficgen.reports.fit.frames import chart_frames
from trafficgen.reports.fit.levels import chart_player, level_blocks
from trafficgen.reports.fit.packets import chart_bursts, chart_packets
from trafficgen.reports.fit.path import chart_path
from trafficgen.reports.fit.rate import chart_rates, chart_time_scales
from trafficgen.reports.fit.subject import FitSubject
from trafficgen.reports.fit.summary import detail_lines, summary_lines
from trafficgen.reports.fit.tables import (
    choices_table,
    conditions_blocks,
    estimates_table,
    laws_tables,
    measures_table,
)
from trafficgen.reports.names import without_folder
from trafficgen.reports.page import Block, Report, Section, Text


def fit_report(
    calibration: Calibration, *, flow: Mapping[str, object], warnings: tuple[str, ...]
) -> Report:
    """Return the report of a fit.

    Args:
        calibration: The fit.
        flow: The heaviest media flow, as `inspect` describes it.
        warnings: What is doubtful about the capture and the fit, one sentence each.
    """
    subject = FitSubject(calibration, flow, warnings)
    sections = [
        _section("In words", _words(subject)),
        _section("Rate", [*chart_rates(subject), *level_blocks(subject), *chart_player(subject)]),
        _section("Packets", chart_packets(subject)),
        _section("Bursts", chart_bursts(subject)),
        _section("Frames", chart_frames(subject)),
        _section("Time scales", chart_time_scales(subject)),
        _section(
            "Path and response",
            [*chart_path(subject), measures_table(subject), *conditions_blocks(subject)],
        ),
        _section(
            "Estimates", [estimates_table(subject), *laws_tables(subject), choices_table(subject)]
        ),
    ]
    return Report(
        title="Fit of a session",
        subtitle=_subtitle(subject.provenance),
        sections=tuple(section for section in sections if section is not None),
        made_by=_made_by(subject.provenance),
    )


def _subtitle(provenance: FittedProvenance) -> str:
    text = f"Session {provenance.session} of {', '.join(provenance.files) or 'standard input'}"
    if provenance.receiver_files:
        text += f", at the receiver {', '.join(provenance.receiver_files)}"
    return (
        text if provenance.player_log is None else f"{text}, player's log {provenance.player_log}"
    )


def _made_by(provenance: FittedProvenance) -> str:
    words = [f"{provenance.software}: trafficgen fit", *(provenance.files or ("-",))]
    words += [f"--receiver {name}" for name in provenance.receiver_files]
    words += [] if provenance.player_log is None else [f"--player-log {provenance.player_log}"]
    return " ".join([*words, f"--seed {provenance.seed}"])


def _section(title: str, blocks: Iterable[Block | None]) -> Section | None:
    """Return a section of the blocks that there are; None where there is none."""
    present = tuple(block for block in blocks if block is not None)
    return Section(title=title, blocks=present) if present else None


def _words(subject: FitSubject) -> Iterator[Block]:
    yield Text(lines=(" ".join(summary_lines(subject)),), kind="lead")
    yield Text(lines=tuple(detail_lines(subject)), kind="list")
    doubts = [without_folder(text) for text in subject.warnings]
    if isinstance(subject.played, str):
        doubts.append(
            f"the model cannot be played, so charts show the capture alone: {subject.played}"
        )
    if doubts:
        yield Text(lines=("To be careful about:",))
        yield Text(lines=tuple(doubts), kind="warnings")
    flow = subject.flow
    unnamed = any(stream.name.startswith("unknown") for stream in subject.model.streams)
    yield Text(
        lines=(
            f"Heaviest flow: number {flow['flow']}, {flow['protocol']} from {flow['server']} port"
            f" {flow['server_port']} to {flow['client']} port {flow['client_port']}. Times count"
            " from the first media packet; rates are of IP bytes towards the client. Blue is"
            " measured, green is a fitted law, orange is what the model plays."
            + (
                " A stream is called unknown where the capture does not say what it carries."
                if unnamed
                else ""
            ),
        )
    )
