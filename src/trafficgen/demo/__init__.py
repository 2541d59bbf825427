"""A tour of the commands on a capture that comes with the package."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from trafficgen.calibration.fit import Fit, fit
from trafficgen.capture.reading import inspect
from trafficgen.errors import TrafficgenError
from trafficgen.formatting import format_count, format_duration
from trafficgen.imports import require
from trafficgen.models import save_model
from trafficgen.options import checks_arguments
from trafficgen.outputs import check_folder, folders_above, whole_files
from trafficgen.reports.writing import save_report
from trafficgen.validation.compare import compare
from trafficgen.validation.comparison import Comparison
from trafficgen.workloads.export import export
from trafficgen.workloads.generate import generate

_SHIPPED = "http_burst_then_paced.pcap.gz"
_TOOL = "tcpreplay"
_FOLDER_FOR_TOOL = f"for-{_TOOL}"
_COMMANDS = "commands.sh"
_SEED = 1
#: Files and folders of the results; the reports are left out where they cannot be drawn.
_RESULTS = (
    "capture.pcap.gz",
    "model.json",
    "fit.html",
    "synthetic.pcap",
    "compare.html",
    _FOLDER_FOR_TOOL,
    _COMMANDS,
)


@checks_arguments
def demo(folder: str | Path = "demo-results") -> list[str]:
    """Inspect, fit, generate, compare and export a shipped capture.

    Args:
        folder: Folder for the results; it is made where it is missing. ``commands.sh`` there has
            the commands that do the same. Without the extra ``report`` there are no reports.

    Returns:
        A line for each step: what it found and wrote.

    Raises:
        OutputFileError: If the folder cannot be written.

    Example:
        >>> import trafficgen
        >>> steps = trafficgen.demo("tour")
        >>> steps[0]
        'inspect   7,072 packets of 1 flow in 51.3 s: capture.pcap.gz'
    """
    return list(take_steps(Path(folder)))


def take_steps(folder: Path) -> Iterator[str]:
    """Take the steps of :func:`demo`, each when its line is taken."""
    check_folder(folder, earlier=_RESULTS)
    return _take_steps(folder)


def find_missing_extra() -> TrafficgenError | None:
    """Return the error of reports that cannot be drawn; None if their packages are installed."""
    try:
        for module in ("jinja2", "matplotlib"):
            require("report", module)
    except TrafficgenError as error:
        return error
    return None


def _take_steps(folder: Path) -> Iterator[str]:
    with_reports = find_missing_extra() is None
    capture, synthetic = folder / "capture.pcap.gz", folder / "synthetic.pcap"
    pair = [capture, folder / _COMMANDS]
    with folders_above(capture), whole_files(pair) as (copy, commands):
        copy.write_bytes((files("trafficgen.demo") / _SHIPPED).read_bytes())
        commands.write_text(_commands(with_reports=with_reports), encoding="utf-8")

    def report(result: Fit | Comparison, name: str) -> str:
        if not with_reports:
            return ""
        save_report(result, folder / name)
        return name

    found = inspect(capture)
    flows = format_count(found.flows.num_rows, "flow")
    summary = f"{found.packets:,} packets of {flows} in {format_duration(found.duration_s)}"
    yield _line("inspect", summary, capture.name)

    fitted = fit(capture)
    save_model(fitted.model, folder / "model.json")
    yield _line("fit", fitted.model.summary_line(), "model.json", report(fitted, "fit.html"))

    table = generate(fitted.model, synthetic, seed=_SEED)
    yield _line("generate", f"{table.packets.num_rows:,} packets", synthetic.name)

    compared = compare(capture, synthetic)
    summary = compared.verdict().summary.removesuffix(".")
    yield _line("compare", summary, report(compared, "compare.html"))

    exported = export(synthetic, to=_TOOL, directory=folder / _FOLDER_FOR_TOOL)
    yield _line("export", f"{exported.packets:,} packets for {_TOOL}", _FOLDER_FOR_TOOL)


def _line(command: str, summary: str, *written: str) -> str:
    names = ", ".join(name for name in written if name)
    return f"{command:<9} {summary}{f': {names}' if names else ''}"


def _commands(*, with_reports: bool) -> str:
    """Return a script that does what the demo did; it is run in the folder of the results."""
    fit_report, compare_report = (
        f" --report {name}" if with_reports else "" for name in ("fit.html", "compare.html")
    )
    return f"""\
trafficgen inspect capture.pcap.gz
trafficgen fit capture.pcap.gz -o model.json{fit_report} --force
trafficgen generate model.json -o synthetic.pcap --seed {_SEED} --force
trafficgen compare capture.pcap.gz synthetic.pcap{compare_report} --force
trafficgen export synthetic.pcap --to {_TOOL} -o {_FOLDER_FOR_TOOL} --force
"""
