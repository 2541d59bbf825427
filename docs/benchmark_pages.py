"""The page "How fast" and its chart, from the records in ``docs/benchmarks``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reference_pages.markdown import Rows, table
from trafficgen.units import megabytes

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "docs" / "benchmarks"
PICTURE = "docs/images/how-fast.svg"
#: Benchmark -> its headline, in the order of the page.
PARTS = {
    "ingest": "Reading captures",
    "fit": "Fitting",
    "generate": "Generating",
    "merge": "Merging",
    "write": "Writing captures",
    "export": "Exporting",
    "simulate": "Simulating",
    "start": "Starting",
}
_MILLION = 1e6

_INTRODUCTION = """# How fast

<!-- Made by `make docs` from docs/benchmarks; do not edit. -->

The time and memory of trafficgen and of other tools, on the same data in the same run, and how they
grow with the size of the task.

- Times are processor time, of all threads and processes together, where a part does not say that
  time elapsed. Each is the median of several runs, each in its own process. Tools take turns, so
  that other load affects all of them.
- *x as fast* compares the first row of a table with each other row: above 1, trafficgen is faster.
- Exponents are slopes on logarithmic scales over the whole sweep: 1 is linear growth, 0 none.
- Workloads have a requested number of packets and come within a tenth of it; rates use what was
  requested.
- The records are renewed by hand; each says how much else the machine did. `make bench` prints the
  same tables anywhere.
  `make callgrind` counts instructions of the inner loops, which other load does not change."""


def records() -> dict[str, dict[str, Any]]:
    """Return the records that are kept, by benchmark, in the order of the page."""
    paths = {name: RECORDS / f"{name}.json" for name in PARTS}
    return {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name, path in paths.items()
        if path.exists()
    }


def page() -> str:
    """Return the page."""
    parts = [
        _INTRODUCTION,
        f"![Time and memory over size, on logarithmic scales](../images/{Path(PICTURE).name})",
    ]
    for name, record in records().items():
        parts += [
            f"## {PARTS[name]}",
            *map(_race, record["races"]),
            *_sweeps(record["sweeps"]),
            _made_by(record),
        ]
    return "\n\n".join(parts) + "\n"


def _race(race: Mapping[str, Any]) -> str:
    columns = _columns(race["rows"])
    rows: Rows = [
        (row["name"], *(make(row) for make in columns.values()), row["note"])
        for row in race["rows"]
    ]
    parts = [f"**{race['title']}**" + (f" ({race['remark']})" if race["remark"] else "")]
    parts.append(table(("", *columns, ""), rows))
    if race["absent"]:
        parts.append(f"Absent on this machine: {', '.join(race['absent'])}.")
    return "\n\n".join(parts)


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns that say something of these rows."""
    columns: dict[str, Any] = {"s": lambda row: _number(row["time_s"])}
    if any(row["packets"] for row in rows):
        columns["million packets/s"] = lambda row: (
            _number(row["packets"] / row["time_s"] / _MILLION) if row["packets"] else ""
        )
    if any(row["bytes"] for row in rows):
        columns["MB/s"] = lambda row: (
            _number(megabytes(row["bytes"]) / row["time_s"]) if row["bytes"] else ""
        )
    columns["peak, MB"] = lambda row: f"{megabytes(row['peak_bytes']):.0f}"
    columns["x as fast"] = lambda row: _number(row["times_as_fast"])
    return columns


def _sweeps(sweeps: list[dict[str, Any]]) -> Iterator[str]:
    for sweep in sweeps:
        axis = sweep["axis"]
        yield f"**{sweep['title']}**" + (f" ({sweep['remark']})" if sweep["remark"] else "")
        rows: Rows = [
            (
                f"{row['size']:,}",
                _number(row["time_s"]),
                f"{row['size'] / row['time_s']:,.0f}",
                f"{megabytes(row['peak_bytes']):.0f}",
                row["note"],
            )
            for row in sweep["rows"]
        ]
        yield table((axis, "s", f"{axis}/s", "peak, MB", ""), rows)
        yield (
            f"Time grows with exponent {_number(sweep['time_exponent'])}, "
            f"memory with {_number(sweep['memory_exponent'])}{_each(sweep)}."
        )


def _each(sweep: Mapping[str, Any]) -> str:
    """Return the cost of one more item, from the last two sizes of a sweep over kept items."""
    if sweep["axis"] != "flows":
        return ""
    before, last = sweep["rows"][-2:]
    more_bytes = (last["peak_bytes"] - before["peak_bytes"]) / (last["size"] - before["size"])
    return f"; each flow more takes {more_bytes:,.0f} bytes"


def _made_by(record: Mapping[str, Any]) -> str:
    load = "; times elapsed, on an idle machine"  # of records that do not know it
    if "load" in record:
        load = f", {_number(record['load'])} processes at work on average"
    return (
        f"Made by `{record['command']} --record` with trafficgen {record['version']}, commit"
        f" {record['commit']}, on {record['machine']}{load}."
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def draw_picture(path: Path) -> None:
    """Draw time and memory of every sweep over packets."""
    import matplotlib as mpl  # noqa: PLC0415 - tests import this module for its page

    mpl.use("svg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    mpl.rcParams["svg.hashsalt"] = "how-fast"  # the same bytes each time
    figure, (times, peaks) = plt.subplots(1, 2, figsize=(11, 4.6))
    # A layout that is computed differs in the last digits from machine to machine.
    figure.subplots_adjust(left=0.07, right=0.99, bottom=0.12, top=0.97, wspace=0.22)
    sweeps = [
        sweep
        for record in records().values()
        for sweep in record["sweeps"]
        if sweep["axis"] == "packets"
    ]
    for sweep in sweeps:
        sizes, style = [row["size"] for row in sweep["rows"]], {"marker": "o", "markersize": 3}
        times.plot(sizes, [row["time_s"] for row in sweep["rows"]], label=sweep["title"], **style)
        peaks.plot(sizes, [megabytes(row["peak_bytes"]) for row in sweep["rows"]], **style)
    for axes, what in ((times, "time, s"), (peaks, "peak memory of one process, MB")):
        axes.set(xscale="log", yscale="log", xlabel="packets", ylabel=what)
        axes.grid(visible=True, which="major", linewidth=0.4)
    times.legend(fontsize="x-small")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
