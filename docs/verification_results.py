"""Collect the results of "How sure are we": `make verification-results [PARTS="theory"]`.

Each part is one file in ``docs/verification``. The checks are the project's own tests: those that
compare figures note them (fixture ``record_check``), and the notes are read from pytest's report.
What this machine cannot run is said, and its file stays as it is.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import trafficgen
from applications import application_rows
from classified import classified_rows
from held_out import held_out_rows
from populations import CHECKOUTS as RECORDINGS
from populations import population_rows
from transfers import transfer_rows

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "verification"
_NS3_PYTHON = ROOT / ".venv-ns3" / "bin" / "python"
_DIGITS = 6
_VERIFICATION = "tests/verification"
#: Tests whose notes a part holds, and the arguments that choose them.
CHECKS: dict[str, tuple[str, ...]] = {
    "theory": (f"{_VERIFICATION}/test_queues.py", f"{_VERIFICATION}/test_tcp_throughput.py"),
    "standards": (f"{_VERIFICATION}/test_standard_models.py", "-m", "long or not long"),
    # One after the other: simulations, and runs of ns-3, are shared by several tests. Runs of mixes
    # are kept: `make kernel` and `make ns3` make them anew.
    "kernel": (
        f"{_VERIFICATION}/test_against_the_kernel.py",
        f"{_VERIFICATION}/test_mixes.py",
        *("-k", "kernel", "-n", "0"),
    ),
    "quic": (f"{_VERIFICATION}/test_quic.py", "-n", "0"),
    "ns3": (
        f"{_VERIFICATION}/test_against_ns3.py",
        f"{_VERIFICATION}/test_mixes.py",
        *("-m", "ns3 or not slow", "-k", "test_against_ns3 or ns-3:", "-n", "0"),
    ),
    "ns3-models": (f"{_VERIFICATION}/test_standard_models_against_ns3.py", "-m", "ns3", "-n", "0"),
    "intervals": (
        f"{_VERIFICATION}/test_family_recovery.py",
        f"{_VERIFICATION}/test_pooling.py",
        f"{_VERIFICATION}/test_loss_laws.py",
        f"{_VERIFICATION}/test_hurst.py",
        f"{_VERIFICATION}/test_phases.py",
        f"{_VERIFICATION}/test_rate_states.py",
        *("-m", "slow or not slow"),
    ),
}
#: Checkouts that `ns3-models` compiles: variable -> project.
_CHECKOUTS = {
    "TRAFFICGEN_NS3_SOURCE": "ns-3",
    "TRAFFICGEN_NR_SOURCE": "5G-LENA",
    "TRAFFICGEN_VR_SOURCE": "vr-app",
    "TRAFFICGEN_SYNCODECS_SOURCE": "syncodecs",
}
#: What is exported: a source over UDP, and a capture of HTTP over TCP.
_EXPORTED = {
    "wmedia9_nichols2004": "12 s of `wmedia9_nichols2004` (RTP over UDP)",
    "examples/captures/http_burst_then_paced.pcap.gz": (
        "`http_burst_then_paced.pcap.gz` (HTTP over TCP)"
    ),
}


@dataclass
class CannotBeRunError(Exception):
    """A part that this machine cannot run."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def recorded_checks(part: str) -> list[dict[str, object]]:
    """Run the tests of a part and return what they noted, with the test and whether it passed.

    Raises:
        CannotBeRunError: If no test noted anything.
    """
    environment = dict(os.environ)
    if _NS3_PYTHON.exists():
        environment.setdefault("TRAFFICGEN_NS3_PYTHON", str(_NS3_PYTHON))
    with tempfile.TemporaryDirectory(prefix="trafficgen-verification-") as folder:
        report = Path(folder) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "--quiet",
            "-n",
            "auto",
            f"--junitxml={report}",
            *CHECKS[part],
        ]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, check=False, stdout=subprocess.PIPE, text=True
        )
        cases = list(ET.parse(report).iter("testcase"))
    checks = [check for case in cases for check in _notes_of(case)]
    if not checks:
        raise CannotBeRunError(f"no test could be run: {done.stdout.strip().splitlines()[-1]}")
    return checks


def _notes_of(case: ET.Element) -> list[dict[str, object]]:
    notes = [one.get("value") or "" for one in case.iter("property") if one.get("name") == "check"]
    module = (case.get("classname") or "").replace(".", "/")
    test = f"{module}.py::{(case.get('name') or '').partition('[')[0]}"
    return [{"test": test, "result": _result_of(case), **json.loads(note)} for note in notes]


def _result_of(case: ET.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "passed" if case.find("skipped") is None else "known to fail"


def reproduced() -> dict[str, object]:
    """Return what `trafficgen reproduce --seeds 10 --json` prints."""
    return trafficgen.reproduce(seeds=10).to_json()


def exported() -> dict[str, object]:
    """Return the reports of all exports of two tables, and the reasons of refusals."""
    from trafficgen.export.targets import TARGETS  # noqa: PLC0415 (slow to import)

    rows: list[dict[str, object]] = []
    for name, described in _EXPORTED.items():
        table = _table_of(name)
        for target in TARGETS:
            row: dict[str, object] = {"table": described, "target": target}
            with tempfile.TemporaryDirectory(prefix="trafficgen-verification-") as folder:
                try:
                    report = trafficgen.export(
                        table, to=target, directory=Path(folder) / "out"
                    ).to_json()
                except trafficgen.ExportError as error:
                    rows.append({**row, "refused": str(error)})
                    continue
            kept = (
                "packets",
                "packets_changed",
                "bytes_before",
                "bytes_after",
                "timing_error_s",
                "distances",
            )
            rows.append({**row, **{key: report[key] for key in kept if key in report}})
    return {"exports": rows}


def _table_of(name: str) -> trafficgen.PacketTable:
    if "/" not in name:
        return trafficgen.generate(name, duration_s=12, seed=1)
    with warnings.catch_warnings(
        action="ignore", category=trafficgen.CaptureWarning
    ):  # packets were cut when recorded
        return trafficgen.read_packets(ROOT / name)


def _part(part: str) -> dict[str, object]:
    return {"checks": recorded_checks(part)}


def _compared_with_ns3() -> dict[str, object]:
    """Return the checks against ns-3's generators, with the revisions of their sources."""
    return {"sources": _find_revisions(_CHECKOUTS), **_part("ns3-models")}


def _judged_populations() -> dict[str, object]:
    """Return how well populations meet sessions not fitted, with the revisions of recordings."""
    return {"sources": _find_revisions(RECORDINGS), **population_rows()}


def _find_revisions(checkouts: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the revision of each checkout, by the variable that names it.

    Raises:
        CannotBeRunError: If a variable does not name one.
    """
    sources = []
    for variable, project in checkouts.items():
        place = os.environ.get(variable)
        if not place:
            raise CannotBeRunError(f"{variable} does not name a checkout of {project}")
        revision = subprocess.run(
            ["git", "-C", place, "rev-parse", "--short=10", "HEAD"],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout.strip()
        sources.append({"variable": variable, "project": project, "revision": revision})
    return sources


#: Part -> what makes it.
PARTS: dict[str, Callable[[], dict[str, object]]] = {
    "leave-one-out": lambda: trafficgen.leave_one_out(draws=30, runs=1).to_json(),
    "reproduce": reproduced,
    "sensitivity": lambda: trafficgen.measure_sensitivity(runs=1).to_json(),
    "exports": exported,
    "transfer": lambda: {"transfers": list(transfer_rows())},
    "classified": classified_rows,
    "held-out": held_out_rows,
    "population": _judged_populations,
    "applications": application_rows,
    **{part: lambda part=part: _part(part) for part in CHECKS},  # type: ignore[misc]
    "ns3-models": _compared_with_ns3,
}


def results_of(part: str) -> dict[str, object]:
    """Return the results of a part, with what made them."""
    made_with = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    head = {
        "command": f"make verification-results PARTS={part}",
        "version": trafficgen.__version__,
        "with": made_with,
    }
    return {**head, **PARTS[part]()}


def in_json(value: object) -> object:
    """Return a value with numbers of six digits, and null for those that are none."""
    if isinstance(value, dict):
        return {key: in_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [in_json(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def written(results: dict[str, object]) -> str:
    """Return results as JSON with one row a line, so that a change of one shows as one line."""
    parts = []
    for key, value in results.items():
        text = json.dumps(in_json(value), ensure_ascii=False)
        if isinstance(value, list):
            rows = ",\n  ".join(json.dumps(in_json(row), ensure_ascii=False) for row in value)
            text = f"[\n  {rows}\n ]"
        parts.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    """Read the arguments, run, write; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default: all"
    )
    chosen = parser.parse_args().parts or list(PARTS)
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    missing = 0
    for part in chosen:
        try:
            text = written(results_of(part))
        except CannotBeRunError as error:
            print(f"left as it is: {part}: {error}", file=sys.stderr)
            missing = 1
            continue
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{part}.json").write_text(text, encoding="utf-8")
        print(f"made docs/verification/{part}.json")
    return missing


if __name__ == "__main__":
    sys.exit(main())
