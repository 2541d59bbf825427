"""What the commands write: the same bytes whoever runs them, whole or not at all, and equal when
read back.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen.models import Model, dump_model, read_model

Command = Callable[..., Any]
ENDINGS = ("parquet", "csv", "pcap", "pcapng")


def _program(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    code = "from trafficgen.cli.app import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def _digest(path: str | Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_seed_gives_the_same_bytes_in_approximate_with_any_workers(
    command: Command, rtp_model_file: Path, ending: str
) -> None:
    for workers in ("1", "2", "4"):
        command(
            *("generate", str(rtp_model_file), "-o", f"{workers}.{ending}", "--sessions", "5"),
            *("--seed", "7", "--workers", workers),
        )
    hashing = {**os.environ, "PYTHONHASHSEED": "123"}
    _program(
        "generate",
        str(rtp_model_file),
        "-o",
        f"p.{ending}",
        "--sessions",
        "5",
        "--seed",
        "7",
        env=hashing,
    )
    assert len({_digest(f"{name}.{ending}") for name in ("1", "2", "4", "p")}) == 1
    command(
        "generate", str(rtp_model_file), "-o", f"other.{ending}", "--sessions", "5", "--seed", "8"
    )
    assert _digest(f"other.{ending}") != _digest(f"1.{ending}")


def test_a_seed_may_be_any_size(command: Command, model_file: Path) -> None:
    result = command("generate", str(model_file), "-o", "a.pcap", "--seed", str(2**200))
    assert result.code == 0


def test_generated_packets_read_back_equal_from_every_format(
    command: Command, rtp_model_file: Path
) -> None:
    for ending in ENDINGS:
        command("generate", str(rtp_model_file), "-o", f"a.{ending}")
    table, *others = (trafficgen.read_packets(f"a.{ending}") for ending in ENDINGS)
    for other in others:
        np.testing.assert_array_equal(
            table.time_ns + table.origin_ns, other.time_ns + other.origin_ns
        )
        for name in (
            "ip_bytes",
            "payload_bytes",
            "to_client",
            "rtp_sequence",
            "rtp_timestamp",
            "rtp_marker",
        ):
            np.testing.assert_array_equal(table.values(name), other.values(name))


def test_fitting_twice_gives_the_same_model_which_plays_the_same_from_file(
    command: Command, table_file: Path
) -> None:
    for name in ("a.json", "b.json"):
        assert command("fit", str(table_file), "-o", name).code == 0
    # The day of the fit is the only part that could differ, and only across midnight.
    first, second = (json.loads(Path(name).read_text()) for name in ("a.json", "b.json"))
    first["provenance"]["date"] = second["provenance"]["date"]
    assert first == second
    model = read_model("a.json")
    assert isinstance(model, Model)
    assert dump_model(model) == Path("a.json").read_text()
    fitted = trafficgen.fit(str(table_file)).model
    assert trafficgen.generate(fitted).packets.equals(trafficgen.generate("a.json").packets)


def test_fit_warns_of_nothing_in_development_mode(command: Command, rtp_model_file: Path) -> None:
    command("generate", str(rtp_model_file), "-o", "a.pcap")
    code = (
        "import sys; from trafficgen.cli.app import run; sys.exit(run(['fit', 'a.pcap', '--json',"
        " '-q']))"
    )
    ignored = ["-W", "ignore::DeprecationWarning:pyarrow"]
    flags = ["-X", "dev", "-W", "error", *ignored]
    found = subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("name", ["with space.pcap", "ünï.pcap", "ünï.csv", "ünï.parquet"])
def test_files_may_have_any_name(command: Command, model_file: Path, name: str) -> None:
    assert command("generate", str(model_file), "-o", name).code == 0
    found = command("inspect", name, "--json")
    assert found.json["files"] == [name]
    assert command("fit", name, "-o", f"{name}.json").code == 0
    assert command("models", "show", f"{name}.json", "--json").json["provenance"]["files"] == [name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_names_that_are_not_utf8_are_read_and_written(
    command: Command, model_file: Path, ending: str
) -> None:
    name = os.fsdecode(b"bad\xff." + ending.encode())
    assert command("generate", str(model_file), "-o", name, "-q").code == 0
    assert os.path.exists(name)  # noqa: PTH110
    assert command("inspect", name, "--json").json["files"] == [f"bad?.{ending}"]
    assert command("fit", name, "-o", "out.json", "-q").code == 0
    assert (
        command("export", name, "--to", "csv", "-o", os.fsdecode(b"dir\xff"), "-q", "--json").code
        == 0
    )


def test_an_old_file_is_replaced_as_a_whole_or_kept(command: Command, model_file: Path) -> None:
    Path("out.pcap").write_text("old")
    generate = ("generate", str(model_file), "-o", "out.pcap", "--force")
    assert command(*generate, "--duration", "0.1").code == 2
    assert Path("out.pcap").read_text() == "old"
    assert command(*generate).code == 0
    assert Path("out.pcap").stat().st_size > 1000
    assert {entry.name for entry in Path().iterdir()} == {"model.json", "out.pcap"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_is_one_line_and_leaves_nothing(
    command: Command, model_file: Path, ending: str
) -> None:
    result = _program(
        "generate",
        str(model_file),
        *("-o", f"out.{ending}"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
    )
    assert (result.returncode, result.stderr.count("\n")) == (2, 1), result.stderr
    assert "cannot be written" in result.stderr
    assert {entry.name for entry in Path().iterdir()} == {"model.json"}


@pytest.mark.parametrize(("sent", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_that_ends_a_command_leaves_nothing_half_written(
    command: Command, model_file: Path, sent: signal.Signals, expected: int
) -> None:
    code = "from trafficgen.cli.app import main; main()"
    arguments = [
        "generate",
        str(model_file),
        "-o",
        "out.csv",
        "--duration",
        "30000",
        "--memory",
        "9GB",
    ]
    # A shell's background job ignores interrupts, and so would the program that it starts.
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )
    deadline = time.monotonic() + 60
    while not list(Path().glob(".out.csv.*.part")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(sent)
    _, said = process.communicate(timeout=60)
    word = "interrupted" if sent == signal.SIGINT else "terminated"
    assert (process.returncode, said) == (expected, f"trafficgen: {word}\n")
    assert {entry.name for entry in Path().iterdir()} == {"model.json"}


def test_a_terminated_export_leaves_no_folder(command: Command, model_file: Path) -> None:
    command("generate", str(model_file), "-o", "t.parquet", "--duration", "3000")
    code = "from trafficgen.cli.app import main; main()"
    arguments = ["export", "t.parquet", "--to", "mgen", "-o", "out", "--set", "mode=exact"]
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list(Path().glob(".out.*.part")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert not Path("out").exists()


def test_a_reader_that_goes_away_is_met_quietly(command: Command, table_file: Path) -> None:
    code = "from trafficgen.cli.app import main; main()"
    for arguments in (
        ["models", "schema"],
        ["compare", str(table_file), str(table_file), "--json"],
        ["--help"],
    ):
        program = [sys.executable, "-c", code, *arguments]
        with subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == ""
            assert process.wait(timeout=60) == 0


def test_a_failed_check_exits_with_one(
    command: Command, table_file: Path, model_file: Path
) -> None:
    command("generate", str(model_file), "-o", "other.parquet")
    result = command(
        "compare", str(table_file), "other.parquet", "--fail-above", "gap_s.ks=0.01", "--json"
    )
    assert result.code == 1
    assert result.json["metrics"]["gap_s"]["ks"] > 0.01
    assert result.err.startswith("failed: gap_s.ks is ")
    assert (
        command("compare", str(table_file), str(table_file), "--fail-above", "gap_s.ks=0.01").code
        == 0
    )


def test_totals_stand_below_the_metrics_and_lose_to_no_baseline(
    command: Command, table_file: Path
) -> None:
    lines = command("compare", str(table_file), str(table_file)).out.splitlines()
    (packets,) = (line.split() for line in lines if line.startswith("packets.relative_difference"))
    assert packets[1:3] == ["0", "0"]
    assert len(packets) == 5  # candidate and three baselines, nothing beaten, met or lost to
    first = lines.index("") + 2  # below an empty line and the header
    assert [line.split()[0] for line in lines[first : first + 4]] == [
        "packets",
        "IP",
        "payload",
        "duration",
    ]


def test_quiet_says_nothing(command: Command, table_file: Path) -> None:
    assert command("fit", str(table_file), "-o", "m.json", "-q").err == ""
    assert command("generate", "m.json", "-o", "a.pcap", "-q").err == ""
    assert command("export", "a.pcap", "--to", "csv", "-o", "out", "-q").err == ""


def test_version_is_that_of_the_package(command: Command) -> None:
    assert command("--version").out == f"trafficgen {trafficgen.__version__}\n"


def test_python_runs_the_package_as_the_command() -> None:
    words = [sys.executable, "-m", "trafficgen", "models", "list", "cbr"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "\ncbr  (udp" in done.stdout
    refused = subprocess.run([*words[:3], "fitt"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "python -m" not in refused.stderr  # it is named as its users know it


@pytest.mark.parametrize(
    "name",
    [
        "inspect",
        "fit",
        "generate",
        "compare",
        "export",
        "models show",
        "models schema",
        "models list",
        "reproduce",
    ],
)
def test_help_has_an_example(command: Command, name: str) -> None:
    result = command(*name.split(), "--help")
    assert result.code == 0
    assert f"Example: trafficgen {name}" in result.out


def test_shell_completion_can_be_installed(tmp_path: Path) -> None:
    shell = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    found = _program("--show-completion", "bash", env=shell)
    assert found.returncode == 0
    assert "_TRAFFICGEN_COMPLETE" in found.stdout


def test_fragments_smaller_than_their_headers_are_raised_and_counted(
    command: Command, make_table: Callable[..., Any]
) -> None:
    sizes = np.array([1000, 24, 1000, 20])
    table = make_table([0.0, 0.1, 0.2, 0.3], ip_bytes=sizes)
    for target in ("pcap", "pcapng"):
        report = trafficgen.export(table, to=target, directory=target)
        assert (report.packets_changed, report.bytes_before, report.bytes_after) == (2, 2044, 2056)
        assert any("raised" in text for text in report.cannot_express)


def test_years_of_silence_do_not_fill_the_memory(
    command: Command, write_table: Callable[..., str]
) -> None:
    name = write_table(np.r_[np.arange(100) * 0.01, 1e8 + np.arange(100) * 0.01])
    metrics = command("compare", name, name, "--json").json["metrics"]
    assert metrics["gap_s"]["ks"] == 0
    assert metrics["rate"]["0.1"]["ks"] is None


def test_a_command_ends_with_its_code_and_all_its_output_without_tearing_python_down(
    table_file: Path,
) -> None:
    # Threads of libraries that outlive their owners while Python ends abort the process now and
    # then.
    program = (
        "import atexit, sys; atexit.register(print, 'torn down'); from trafficgen.cli.app import"
        " main; sys.argv = ['trafficgen', 'inspect', *sys.argv[1:]]; main()"
    )
    for arguments, code in (([str(table_file)], 0), (["nowhere.pcap"], 2)):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == code
        assert "torn down" not in done.stdout
        assert ("1,000 packets" in done.stdout) == (code == 0)
        assert done.stderr.count("\n") == (code != 0)


@pytest.mark.long
def test_worker_processes_leave_no_complaint_behind() -> None:
    done = _program("reproduce", "-q", "BMW-T1.1", "--runs", "2", "--workers", "2")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [("fit", "a.pcap", "-o"), ("convert", "a.csv", "-o")])
def test_a_file_that_is_named_as_a_folder_is_refused(
    command: Command, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    refused = command(*arguments, "models/")
    assert refused.code == 2
    assert "models/: names a folder, not a file; name the file in it, such as models/NAME" in (
        refused.err
    )
    assert not (tmp_path / "models").exists()
