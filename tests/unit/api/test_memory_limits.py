"""All functions that take a memory limit: they keep it or refuse, and do what it has room for."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_memory_limits import LIMIT, MOST_BYTES, write_capture

import trafficgen

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc"),
]

#: Each with `file`, a capture, in the place of what may be large.
CALLS = {
    "compare": "(file, file",
    "convert": "(file, 'c.csv'",
    "estimate_workload": "('cbr', 'e.pcap', sessions=3, settings=settings",
    "export": "(file, to='mgen', directory='e'",
    "fit": "(file",
    "fit_population": "([file, other]",
    "fit_same_source": "([file, other]",
    "generate_workload": "('cbr', 'g.pcap', sessions=3, settings=settings",
    "inspect": "(file",
    "measure_exchanges": "(file",
    "rank_catalogue": "(file",
    "read_packets": "(file",
    "simulate": "('cbr', path='rate=9Mbps', settings=settings",
    "simulate_workload": "('cbr', path='rate=1kbps,queue=9000000p', settings=settings, sessions=2",
}
#: Prints the most memory that the call has taken, and the line of a refusal.
_PROGRAM = """
import sys, warnings, trafficgen
file, other, call, s = sys.argv[1:]
settings = {"rate_kbps": 8000, "duration_s": float(s)}
warnings.simplefilter("ignore")
said = ""
try:
    eval(call)
except trafficgen.TrafficgenError as error:
    said = str(error)
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")), said)
"""
_SMALL = Path(__file__).resolve().parents[3] / "examples/captures/http_burst_then_paced.pcap.gz"


def _call(name: str, folder: Path, file: Path, *, duration_s: float) -> tuple[int, str]:
    other = folder / f"other{''.join(file.suffixes)}"
    other.symlink_to(file)
    call = f"trafficgen.{name}{CALLS[name]}, memory_bytes={LIMIT.removesuffix('MB')}_000_000)"
    words = [str(file), str(other), call, str(duration_s)]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    peak, _, said = done.stdout.strip().partition(" ")
    return 1024 * int(peak), said


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture whose packets take twice the limit."""
    place = tmp_path_factory.mktemp("large") / "large.pcap"
    write_capture(place, packets=2_000_000, flows=1)
    return place


def test_all_functions_with_a_limit_are_tried() -> None:
    functions = {name: getattr(trafficgen, name) for name in trafficgen.__all__}
    limited = {
        name
        for name, one in functions.items()
        if inspect.isfunction(one) and "memory_bytes" in inspect.signature(one).parameters
    }
    assert limited == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_a_function_keeps_its_limit_or_refuses(tmp_path: Path, large: Path, name: str) -> None:
    peak_bytes, said = _call(name, tmp_path, large, duration_s=9000)
    assert peak_bytes <= MOST_BYTES, f"{peak_bytes / 1e6:.0f} MB: {said}"
    assert not said or "memory" in said or "flow" in said, said


@pytest.mark.parametrize("name", CALLS)
def test_what_a_limit_has_room_for_is_done(tmp_path: Path, name: str) -> None:
    peak_bytes, said = _call(name, tmp_path, _SMALL, duration_s=20)
    assert said == ""
    assert peak_bytes <= MOST_BYTES
