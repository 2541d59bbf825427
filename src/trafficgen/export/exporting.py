"""Export packets as a schedule, or a fitted model as the law that a tool draws itself."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.capture.memory import TABLE_PACKET_BYTES, Budget
from trafficgen.capture.options import ReadOptions
from trafficgen.capture.reading import read_frame, read_or_stream
from trafficgen.errors import ExportError, InputFileError
from trafficgen.export.options import ExportOptions
from trafficgen.export.settings import Settings
from trafficgen.export.target import FormatWriter, Target, Written
from trafficgen.export.targets import TARGETS
from trafficgen.flows.selection import require_number
from trafficgen.formatting import describe_value, find_name, list_first, markdown_text, suggest_name
from trafficgen.json_text import JsonTextError, read_json
from trafficgen.models import Model, ModelHolder, PublishedModel
from trafficgen.models.published import entry_names, find_model
from trafficgen.option_names import name_options
from trafficgen.options import DataFrame
from trafficgen.outputs import is_stream, list_leftovers, whole_files, whole_folder
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.packet_files.writing import select_view
from trafficgen.progress import report_step
from trafficgen.provenance import file_digest
from trafficgen.registry import name_failures
from trafficgen.standard_streams import input_file, read_text_file
from trafficgen.tables import PacketTable
from trafficgen.tables.stream import PacketStream

_NOTE = re.compile(r"(?P<subject>flow \d+|\S+): (?P<text>.*)", re.DOTALL)
#: Parts of a model from which on they share a note: which has which number is worth a line.
_FEWEST_PARTS = 4
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
#: Writes the files of an export into an empty folder.
Writer = Callable[[Path], Written]


def export_packets(
    table: PacketTable | DataFrame | Model | ModelHolder | str | Path, options: ExportOptions
) -> ProjectionReport:
    """Write packets, or a model's law, for another tool into a folder.

    Errors are those of :func:`~trafficgen.export`, which exports workloads too.
    """
    target, settings = find_target(options)
    if isinstance(table, DataFrame):
        table = read_frame(table)
    if isinstance(table, str | Path):
        table = input_file(str(table), stream_captures=True)
    if not isinstance(table, PacketTable) and _is_or_names_a_model(table):
        if options.flow is not None or options.at != "sender":
            raise ExportError("A model has no flows and no views; leave out [--flow] and [--at].")
        write = _model_writer(table, target, settings)
    else:
        packets = table if isinstance(table, PacketTable) else _read(str(table), target, options)
        write = _packets_writer(packets, target, settings, options)
    return write_folder(target, options.directory, write)


def find_target(options: ExportOptions) -> tuple[Target, Settings]:
    """Return the target of an export and its settings.

    Raises:
        ExportError: If there is no such target, or it writes more files than a stream takes.
        SettingError: If the target has no such setting.
    """
    name = find_name(options.to, TARGETS)
    if name is None:
        guess = suggest_name(options.to, TARGETS)
        raise ExportError(f"Unknown target {options.to!r}{guess}. Use one of {', '.join(TARGETS)}.")
    target, directory = TARGETS[name], Path(options.directory)
    if target.several_files and is_stream(directory):
        raise ExportError(
            f"{target.name} writes several files, and {directory} takes one; give"
            " [-o|directory=] a folder"
        )
    return target, Settings(target.name, target.settings, options.settings or {})


def write_folder(target: Target, directory: str | Path, write: Writer) -> ProjectionReport:
    """Write the files of an export and their README into a folder, all of them or none.

    A stream gets the one file of an export, without its README.

    Raises:
        OutputFileError: If the folder cannot be written, or a file that is not an earlier export's
            would be overwritten.
    """
    report_step(f"exporting for {target.name}")
    directory = Path(directory)
    if is_stream(directory):
        return _write_one_file(target, directory, write)
    earlier = read_manifest(directory)
    with whole_folder(directory, earlier=earlier, list_file=MANIFEST) as folder:
        written = _run_writer(target, write, folder)
        limits = join_notes([name_options(note) for note in written.report.cannot_express])
        written = replace(written, report=replace(written.report, cannot_express=limits))
        text = readme_of(written, versions=target.versions)
        (folder / README).write_text(text, encoding="utf-8", errors="replace")
        write_manifest(folder)
        removed = list_leftovers(directory, earlier, [path.name for path in folder.iterdir()])
    return replace(written.report, removed=tuple(removed))


def _run_writer(target: Target, write: Writer, folder: Path) -> Written:
    """Run a writer; raise ExportError if that of a user fails or reports absent files."""
    if TARGETS.module_of(target.name) is None:
        return write(folder)
    what = f"exporter {target.name}"
    with name_failures(what, remedy="correct its writer", kind=ExportError):
        written: object = write(folder)
    if not isinstance(written, Written):
        raise ExportError(
            f"{what} gives {describe_value(written)}; return Written(report, how_to_run)"
        )
    absent = [name for name in written.report.files if not (folder / str(name)).exists()]
    if absent:
        raise ExportError(
            f"{what} reports the file {absent[0]!r}, which it did not write; correct its report"
        )
    return written


def _write_one_file(target: Target, stream: Path, write: Writer) -> ProjectionReport:
    """Write the file of an export to a stream; of a pair, such as that of CSV, the first."""
    with tempfile.TemporaryDirectory(prefix="trafficgen-") as folder:
        report = _run_writer(target, write, Path(folder)).report
        names = report.files
        if len(names) > 1 and not isinstance(target.write, FormatWriter):
            listed = f"{', '.join(names[:3])}{', ...' if names[3:] else ''}"
            raise ExportError(
                f"{target.name} writes {len(names)} files ({listed}), and {stream} takes one; give"
                " [-o|directory=] a folder"
            )
        with (
            Path(folder, names[0]).open("rb") as written,
            whole_files([stream]) as [part],
            part.open("wb") as output,
        ):
            shutil.copyfileobj(written, output)
    return replace(report, files=names[:1])


def join_notes(notes: Sequence[str]) -> tuple[str, ...]:
    """Return notes with one for all flows, or parts of a model, that lack the same.

    A note on one begins with its name, such as ``flow 3: ...``. The note for all has the names of
    the first three, and numbers from lowest to highest; other notes stay as they are.
    """
    alike: dict[str, list[re.Match[str]]] = {}
    found = [_NOTE.fullmatch(note) for note in notes]
    for one in filter(None, found):
        alike.setdefault(_cause(one), []).append(one)
    joined = []
    for note, about in zip(notes, found, strict=True):
        same = [] if about is None else alike[_cause(about)]
        if len(same) < (2 if note.startswith("flow ") else _FEWEST_PARTS):
            joined.append(note)
        elif same[0] is about:
            joined.append(_join_alike(same))
    return tuple(joined)


def _cause(about: re.Match[str]) -> str:
    """Return a note without its numbers and the number of its flow."""
    return _NUMBER.sub("0", f"{about['subject'].startswith('flow ')} {about['text']}")


def _join_alike(found: Sequence[re.Match[str]]) -> str:
    """Return one note for all that differ in their subjects and numbers alone."""
    texts = [about["text"] for about in found]
    numbers = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    ranges = iter(
        same[0] if len(set(same)) == 1 else f"{min(same, key=float)} to {max(same, key=float)}"
        for same in numbers
    )
    names = list_first([about["subject"].removeprefix("flow ") for about in found])
    kind = "flows " if found[0]["subject"].startswith("flow ") else ""
    return f"{kind}{names}: {_NUMBER.sub(lambda _: next(ranges), texts[0])}"


def _is_or_names_a_model(name: Model | ModelHolder | str | Path) -> bool:
    if not isinstance(name, str | Path):
        return True
    return Path(name).suffix.lower() in (".json", ".yaml", ".yml") or (
        str(name) in entry_names() and not Path(name).exists()
    )


def _model_writer(
    model: Model | ModelHolder | str | Path, target: Target, settings: Settings
) -> Writer:
    known = find_model(model)
    if isinstance(known, PublishedModel):
        raise ExportError(
            f"{known.name} is a source of the catalogue, played by a state machine, and has no law"
            " to export; generate packets of it and export those:"
            f" [`trafficgen generate {known.name} -o packets.parquet`"
            f'|table = generate("{known.name}")], then'
            " [`trafficgen export packets.parquet ...`|export(table, ...)]"
        )
    write_model = target.write_model
    if write_model is None:
        able = ", ".join(name for name, other in TARGETS.items() if other.write_model)
        raise ExportError(
            f"{target.name} takes packets, not a model's law; generate packets and export those, or"
            f" choose one of {able or 'none'}"
        )
    return lambda folder: write_model(known, folder, settings)


def _read(name: str, target: Target, options: ExportOptions) -> PacketTable | PacketStream:
    """Return the packets of an input, of one flow if options say so; as a stream if too many."""
    remedy = None
    if target.stream_writer is None and options.flow is None:
        able = ", ".join(name for name, other in TARGETS.items() if other.stream_writer)
        remedy = f"choose one flow with [--flow], or a target that takes any number: {able}"
    known = read_or_stream(name, ReadOptions(memory_bytes=options.memory_bytes), remedy=remedy)
    stream, flow = known.stream, options.flow
    if stream is None:
        return known.table
    if options.at != "sender" and "arrival_ns" in stream.columns:
        raise ExportError(
            f"{name}: the receiver's view is in another order, for which all packets have to be in"
            " memory; give more [--memory], or leave [--at] out"
        )
    if flow is None:
        return stream
    _require_flow(stream.head, flow)
    pieces = (piece.filter(pc.equal(piece.column("flow"), flow)) for piece in stream.pieces)
    chosen = (piece for piece in pieces if piece.num_rows)
    budget = Budget(options.memory_bytes, TABLE_PACKET_BYTES)
    row = stream.head.flows.filter(pc.equal(stream.head.flows.column("flow"), flow)).to_pylist()[0]
    packets = row["packets_to_client"] + row["packets_to_server"]
    if budget.holds(packets):
        found = pa.concat_tables(chosen, promote_options="default")
        return replace(stream.head, packets=found)
    if target.stream_writer is None:
        remedy = "choose a shorter flow"
        raise budget.refusal(f"{name}, flow {flow}", packets, remedy=remedy)
    return replace(stream, pieces=chosen, rows=None)


def _require_flow(packets: PacketTable, flow: int) -> None:
    require_number(flow, packets.flows.column("flow").to_pylist(), what="flow")


def _packets_writer(
    packets: PacketTable | PacketStream, target: Target, settings: Settings, options: ExportOptions
) -> Writer:
    write: Any = target.stream_writer
    if isinstance(packets, PacketTable):
        packets, write = _select_packets(packets, target, options), target.write
    is_named = isinstance(write, FormatWriter) and options.flow is not None
    named = {"stem": f"flow{options.flow}"} if is_named else {}
    return lambda folder: write(packets, folder, settings, **named)


def _select_packets(packets: PacketTable, target: Target, options: ExportOptions) -> PacketTable:
    """Return the packets of the flow and the view that options choose."""
    flow = options.flow
    if flow is not None:
        _require_flow(packets, flow)
        packets = packets.select_flows([flow])
    if not len(packets):
        where = "the table" if flow is None else f"flow {flow}"
        raise ExportError(
            f"there are no packets in {where}; choose another flow or generate a longer session"
        )
    if options.at != "sender" and not target.takes_view:
        raise ExportError(f"{target.name} holds both views; leave [--at] out")
    # Other tools play what each end sends.
    return packets if options.at == "sender" else select_view(packets, options.at)


README = "README.md"

_LISTED_FILES = 12


def readme_of(written: Written, *, versions: str) -> str:
    """Return the text: what is there, how it is run, what the target could not hold."""
    report = written.report
    lacks = "".join(f"- {markdown_text(text)}\n" for text in report.cannot_express) or "- nothing\n"
    return (
        f"# {report.target} export by trafficgen\n\n"
        f"Written for: {versions}.\n\n"
        f"{_contents(report)}\n\n"
        f"## How to run it\n\n{written.how_to_run.strip()}\n\n"
        f"{_model_check(report)}"
        f"## What it keeps of the {'model' if report.kind == 'model' else 'packet table'}\n\n"
        f"{_kept(report)}"
        f"Lost:\n\n{lacks}"
    )


def _contents(report: ProjectionReport) -> str:
    return f"Files: {list_first([f'`{name}`' for name in report.files], most=_LISTED_FILES)}."


def _model_check(report: ProjectionReport) -> str:
    """Return how to compare packets that a tool drew with the model; nothing for a schedule."""
    if report.kind != "model":
        return ""
    return (
        "## How close it is\n\nPackets are drawn anew in each run. Capture one (`sent.pcap`,"
        " where the tool writes none) and compare it with packets of the model:\n\n```sh\ntcpdump"
        " -i INTERFACE -w sent.pcap\ntrafficgen generate MODEL.json -o wanted.parquet\ntrafficgen"
        " compare wanted.parquet sent.pcap --all\n```\n\nWhere a TCP sender connects to its sink,"
        " add `--candidate-upload`.\n\n"
    )


def _kept(report: ProjectionReport) -> str:
    lines = []
    if report.packets is not None:
        changed = report.packets_changed
        of_which = "" if changed is None else f", of which changed in size: {changed}"
        lines.append(f"- packets: {report.packets}{of_which}")
        lines.append(f"- IP bytes: {report.bytes_before} before, {report.bytes_after} after")
    if report.timing_error_s is not None:
        error = report.timing_error_s
        lines.append(f"- timing error: at most {error.max:.9g} s, mean {error.mean:.9g} s")
    lines += [
        f"- distance {markdown_text(metric)}: {distance:.4g}"
        for metric, distance in report.distances.items()
    ]
    return "".join(f"{line}\n" for line in lines) + "\n"


MANIFEST = ".trafficgen-export.json"

#: A hundred thousand files with their digests have less.
_LARGEST_BYTES = 16_000_000


def write_manifest(folder: Path) -> None:
    """Write the names and SHA-256 digests of all files of a folder into it."""
    digests = {path.name: file_digest(path) for path in sorted(folder.iterdir())}
    text = json.dumps({"files": digests}, indent=1)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, str | None]:
    """Return the files that an earlier export put into a folder, each with its digest.

    The list itself is one of them, without a digest. The result is empty where no list can be read:
    texts of the export, such as its README, may hold what others wrote.
    """
    try:
        text = read_text_file(folder / MANIFEST, most_bytes=_LARGEST_BYTES, remedy="", regular=True)
        content = read_json(text)
    except (InputFileError, JsonTextError):
        return {}
    files = content.get("files") if isinstance(content, dict) else None
    if not isinstance(files, dict):
        return {}
    named = {name: digest for name, digest in files.items() if Path(name).name == name}
    return {**{name: str(digest) for name, digest in named.items()}, MANIFEST: None}
