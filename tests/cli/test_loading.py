"""What help needs is little, and what it says of other parts is what they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trafficgen.worker_processes import worker_pool

_STATISTICS = (
    "scipy",
    "pandas",
    "statsmodels",
    "rich",
    "matplotlib",
    "plotly",
    "jinja2",
    "starlette",
)
_CLUSTERS = ("dask", "distributed", "fsspec")
_HEAVY = ("pyarrow", *_STATISTICS, *_CLUSTERS)


@pytest.mark.parametrize(
    "command",
    [
        ["--help"],
        ["--version"],
        *([name, "--help"] for name in ("export", "simulate", "convert", "inspect")),
    ],
)
def test_help_loads_no_heavy_library(command: list[str]) -> None:
    core = () if command == ["--version"] else ("numpy",)  # the version is that of the core
    code = (
        "import sys; from trafficgen.cli.app import run; run(sys.argv[1:]); "
        f"sys.exit(', '.join(name for name in {(*_HEAVY, *core)!r} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == ""
    assert "trafficgen" in done.stdout


@pytest.mark.parametrize("kind", ["table", "capture"])
def test_looking_into_a_file_loads_no_statistics(kind: str, table_file: Path) -> None:
    capture = Path(__file__).parents[2] / "examples" / "captures" / "rtsp_rtp_two_streams.pcap.gz"
    names = (*_STATISTICS, *_CLUSTERS)
    code = (
        "import sys; from trafficgen.cli.app import run; run(['inspect', sys.argv[1]]); "
        f"sys.exit(', '.join(name for name in {names!r} if name in sys.modules))"
    )
    path = table_file if kind == "table" else capture
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if line and "captured in part" not in line]
    assert said == []
    assert " packets" in done.stdout


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
@pytest.mark.parametrize(("setting", "threads"), [({}, 1), ({"OPENBLAS_NUM_THREADS": "2"}, 2)])
def test_sums_of_a_command_do_not_depend_on_the_number_of_cores(
    setting: dict[str, str], threads: int
) -> None:
    code = (
        "import os; from trafficgen.cli import app, entry; "
        "count = lambda: print(__import__('numpy') and len(os.listdir('/proc/self/task'))); "
        "app.main = count; entry.main()"
    )
    others = {name: value for name, value in os.environ.items() if "_NUM_THREADS" not in name}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=others | setting,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) == min(threads, os.cpu_count() or 1)


def test_generating_a_file_loads_no_search_for_parameters(tmp_path: Path) -> None:
    model = Path(__file__).parents[2] / "benchmarks" / "renewal_model.json"
    names = ("scipy.optimize", "scipy.integrate", "scipy.stats", *_STATISTICS[1:], *_CLUSTERS)
    code = (
        "import sys; from trafficgen.cli.app import run; run(sys.argv[1:]); "
        f"sys.exit(', '.join(name for name in {names!r} if name in sys.modules))"
    )
    arguments = ["generate", str(model), "-o", str(tmp_path / "made.pcap"), "--duration", "5"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert "packets in" in done.stderr.splitlines()[0]
    assert [line for line in done.stderr.splitlines()[1:] if line] == []


def test_arrow_without_pandas_still_gives_data_frames() -> None:
    code = (
        "import sys, pyarrow as pa;"
        " from trafficgen.imports import load_arrow_without_pandas as load;"
        " load(); column = pa.array([1, 2]); print('pandas' in sys.modules);"
        " print(pa.table({'a': column}).to_pandas().a.sum())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "3"]


def test_workers_do_without_pandas() -> None:
    with worker_pool(1) as pool:
        assert (
            pool.submit(
                eval, "(__import__('pyarrow').array([1]), 'pandas' in __import__('sys').modules)[1]"
            ).result()
            is False
        )


def test_special_functions_come_without_numpys_tools_which_still_load() -> None:
    code = (
        "import sys, numpy; import trafficgen.calibration.fit;"
        " names = ('numpy.f2py', 'numpy.testing', 'unittest', 'scipy.linalg', 'scipy.stats');"
        " print([name for name in names if name in sys.modules]);"
        " from scipy import stats; print(numpy.f2py.__name__, numpy.testing.__name__);"
        " print(stats.norm.cdf(0.0))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["[]", "numpy.f2py numpy.testing", "0.5"]


def test_a_thread_that_imports_special_functions_meanwhile_gets_them_all() -> None:
    code = (
        "import importlib, threading, time; from trafficgen import imports as ours\n"
        "def use():\n from scipy.special import softmax\n print(softmax([0.0]).tolist())\n"
        "thread, load = threading.Thread(target=use), importlib.import_module\n"
        "def load_slowly(name):\n"
        " importlib.import_module = load\n thread.start(); time.sleep(0.3)\n return load(name)\n"
        "importlib.import_module = load_slowly\n"
        "print(ours.special.gammaln(1.0)); thread.join()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (sorted(done.stdout.split()), done.stderr) == (["0.0", "[1.0]"], "")


def test_fitting_one_session_loads_nothing_of_populations_and_workers(tmp_path: Path) -> None:
    capture = Path(__file__).parents[2] / "examples" / "captures" / "rtsp_rtp_two_streams.pcap.gz"
    population = "trafficgen.calibration.population.fit_population"
    names = (population, "multiprocessing.connection", "yaml")
    code = (
        "import sys; from trafficgen.cli.app import run; run(sys.argv[1:]); "
        f"print([name for name in {names!r} if name in sys.modules])"
    )
    arguments = ["fit", str(capture), "-o", str(tmp_path / "model.json"), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert (tmp_path / "model.json").exists()
    assert done.stdout.splitlines()[-1] == "[]"
