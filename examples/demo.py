"""The road on one shipped capture, through the real command line: `make demo`.

Inspects, fits, generates and compares, prints each command before it runs it, and leaves the
results in a folder.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CAPTURE = Path("examples") / "captures" / "http_burst_then_paced.pcap.gz"


class StepFailedError(Exception):
    """A command of the demo exits with something else than 0."""


def step(title: str, *command: str, save_as: Path | None = None) -> None:
    """Print a command, run it from the root of the repository, and save its output if named.

    Raises:
        StepFailedError: If it exits with something else than 0.
    """
    shown = shlex.join([Path(command[0]).name, *command[1:]])
    print(f"\n# {title}\n$ {shown}{f' > {save_as}' if save_as else ''}", flush=True)
    if save_as is None:
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
    else:
        with (ROOT / save_as).open("w", encoding="utf-8") as output:
            code = subprocess.run(command, cwd=ROOT, check=False, stdout=output).returncode
    if code:
        raise StepFailedError(f"`{shown}` exits with {code}")


def run_demo(capture: str, results: Path) -> None:
    """Inspect, fit, generate and compare a capture."""
    trafficgen = str(Path(sys.executable).with_name("trafficgen"))
    model, synthetic = str(results / "model.json"), str(results / "synthetic.pcap")
    step("what is in the capture", trafficgen, "inspect", capture)
    fit_report, compare_report = str(results / "fit.html"), str(results / "compare.html")
    step(
        "a model of its heaviest session",
        trafficgen,
        "fit",
        capture,
        "-o",
        model,
        "--report",
        fit_report,
        "--force",
    )
    step(
        "traffic from the model",
        trafficgen,
        "generate",
        model,
        "-o",
        synthetic,
        "--seed",
        "1",
        "--force",
    )
    judge = ("compare", capture, synthetic, "--report", compare_report, "--force")
    step("how close it is, beside what people use today", trafficgen, *judge)
    for name, arguments in (
        ("fit.json", ["fit", capture]),
        ("compare.json", ["compare", capture, synthetic]),
    ):
        step(
            f"the same for programs: {name}",
            trafficgen,
            *arguments,
            "--json",
            "--quiet",
            save_as=results / name,
        )
    picture = str(results / "rates.png")
    step("a picture", sys.executable, "examples/rate_curves.py", capture, synthetic, "-o", picture)


def main() -> int:
    """Read the arguments and run the demo; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "capture", nargs="?", default=str(CAPTURE), help=f"capture to use; default {CAPTURE}"
    )
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("demo-results"), help="folder for the results"
    )
    arguments = parser.parse_args()
    (ROOT / arguments.out).mkdir(parents=True, exist_ok=True)
    try:
        run_demo(arguments.capture, arguments.out)
    except StepFailedError as error:
        print(f"demo failed: {error}", file=sys.stderr)
        return 1
    written = sorted((ROOT / arguments.out).iterdir())
    print(f"\nResults are in {arguments.out}/: {', '.join(path.name for path in written)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
