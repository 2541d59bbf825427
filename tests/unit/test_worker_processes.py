"""Worker processes of a script: it is not run again, unless it registers what they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import trafficgen

print("run of", __name__)
for rate in (300, 400):
    trafficgen.generate("cbr", f"{rate}.pcap", duration_s=10, settings={"rate_kbps": rate})
print(trafficgen.fit_population(["300.pcap", "400.pcap"], workers=2).population.sessions)
"""
REGISTERING = """
import trafficgen

@trafficgen.register_source("own")
def place(generator, duration_s):
    return [0.5, 1.0], [100, 100]

if __name__ == "__main__":
    trafficgen.generate_workload("own", "x.csv", sessions=4, duration_s=2, workers=2)
    print("made")
"""


@pytest.mark.parametrize(
    ("script", "said"), [(SCRIPT, ["run of __main__", "2"]), (REGISTERING, ["made"])]
)
def test_a_script_is_run_once_and_its_functions_are_found(
    script: str, said: list[str], tmp_path: Path
) -> None:
    (tmp_path / "script.py").write_text(script)
    command = [sys.executable, "script.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.splitlines()) == (0, said), run.stderr
