"""Build the fuzz targets with stable Rust and run each for its share: `make fuzz SECONDS=120`."""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from seeds import write_seeds

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "fuzz"
FOUND = HERE / "artifacts"
CORPUS = HERE / "corpus"
BUILT = HERE / "target"
#: Longest input of each target, bytes.
TARGETS = {"ingest": 16_384, "frames": 2048, "signalling": 8192, "writer": 1024, "scenario": 4096}
#: What cargo-fuzz asks of the compiler, as far as its stable version takes it: counters of branches
#: and of comparisons.
_COVERAGE = (
    "-Cpasses=sancov-module",
    *(
        f"-Cllvm-args=-sanitizer-coverage-{what}"
        for what in ("level=4", "inline-8bit-counters", "pc-table", "trace-compares")
    ),
    "--cfg=fuzzing",
)
_LONGEST_INPUT_S = 5
_MOST_MEMORY_MB = 512


def main() -> int:
    """Return 0 when nothing was found, or nothing can be built here; 1 when something was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120, help="for all targets together")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="targets that run at a time"
    )
    parser.add_argument(
        "--seeds", type=Path, action="append", default=[], help="a folder of more captures"
    )
    parser.add_argument(
        "targets", nargs="*", default=list(TARGETS), help="which targets; all without"
    )
    options = parser.parse_args()
    missing = [
        tool for tool in ("cargo", os.environ.get("CXX", "c++")) if shutil.which(tool) is None
    ]
    if missing:
        print(f"note: no fuzzing here: libFuzzer needs {' and '.join(missing)} to be built")
        return 0
    folder = _built()
    write_seeds(CORPUS, ROOT, options.seeds)
    FOUND.mkdir(exist_ok=True)
    jobs = min(options.jobs, len(options.targets))
    seconds = max(1, options.seconds // math.ceil(len(options.targets) / jobs))
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda name: _run(folder / name, name, seconds), options.targets))
    return max(results)


def _built() -> Path:
    facts = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    # With a target of its own name, the flags are not those of build scripts.
    host = re.search(r"^host: (.*)$", facts, re.MULTILINE)
    triple = host[1] if host else ""
    command = [
        "cargo",
        "build",
        "--quiet",
        "--locked",
        "--release",
        "--target",
        triple,
        "--target-dir",
        str(BUILT),
    ]
    flags = " ".join((*_COVERAGE, os.environ.get("RUSTFLAGS", ""))).strip()
    subprocess.run(command, cwd=HERE, check=True, env={**os.environ, "RUSTFLAGS": flags})
    return BUILT / triple / "release"


def _run(program: Path, name: str, seconds: int) -> int:
    dictionary = HERE / "dictionaries" / f"{name}.dict"
    replayed = ROOT / "crates" / "trafficgen-core" / "tests" / "fuzz_regressions" / name
    limits = [
        f"-max_total_time={seconds}",
        f"-timeout={_LONGEST_INPUT_S}",
        f"-rss_limit_mb={_MOST_MEMORY_MB}",
    ]
    shape = [
        f"-max_len={TARGETS[name]}",
        f"-artifact_prefix={FOUND}/{name}-",
        "-print_final_stats=1",
    ]
    words = [f"-dict={dictionary}"] if dictionary.exists() else []
    command = [str(program), *limits, *shape, *words, str(CORPUS / name), str(replayed)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")
    figure = dict(re.findall(r"^stat::(\w+):\s+(\d+)", done.stderr, re.MULTILINE))
    covered = re.findall(r"cov: (\d+)", done.stderr)
    executions = int(figure.get("number_of_executed_units", 0))
    print(
        f"{name}: {executions:,} executions in {seconds} s, {covered[-1] if covered else 0}"
        f" branches, at most {figure.get('peak_rss_mb', '?')} MB",
        flush=True,
    )
    if done.returncode == 0 and executions:
        return 0
    sys.stderr.write("\n".join(done.stderr.splitlines()[-40:]) + "\n")
    sys.stderr.write(
        f"{name}: found something: see the lines above, and the input under"
        f" {FOUND.relative_to(ROOT)}; mend it and put the input into {replayed.relative_to(ROOT)}\n"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
