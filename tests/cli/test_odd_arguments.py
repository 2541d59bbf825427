"""Arguments and outputs that are odd: each command ends with one line, never with a traceback."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
import typer
from tests.cli.conftest import Command

import trafficgen
from trafficgen.cli.app import command_table, run
from trafficgen.models import dump_model

LONG = "a" * 5000
ROOT = Path(__file__).resolve().parents[2]


#: Each command with a name in each place where it takes one.
NAMED = [
    ("inspect", LONG),
    ("convert", LONG, "-o", "out.csv"),
    ("convert", "cbr.csv", "-o", LONG),
    ("fit", LONG),
    ("fit", "cbr.csv", "--player-log", LONG),
    ("fit", "cbr.csv", "--receiver", LONG),
    ("fit", "cbr.csv", "--report", f"{LONG}.html"),
    ("fit", "cbr.csv", "--exchanges", f"{LONG}.parquet"),
    ("fit", LONG, LONG, "--same-source"),
    ("fit", "cbr.csv", "-o", LONG),
    ("models", "show", LONG),
    ("models", "diff", LONG, "cbr"),
    ("generate", LONG, "-o", "out.csv"),
    ("generate", "cbr", "-o", LONG),
    ("generate", "cbr", "-o", f"{LONG}/out.csv"),
    ("generate", "cbr", "-o", "out.csv", "--path", LONG),
    ("generate", "cbr", "-o", "out.csv", "--arrivals", LONG),
    ("generate", "cbr", "-o", "out.csv", "--for", "1min", "--arrivals", f"file:{LONG}"),
    ("generate", "cbr", "-o", "out.csv", "--set", LONG),
    ("generate", "cbr", "-o", "out.csv", "--compete", LONG, "--path", "rate=1Mbps"),
    ("simulate", "cbr", "--path", LONG),
    ("simulate", "cbr", "--path", f"trace={LONG}"),
    ("simulate", LONG, "--path", "rate=1Mbps"),
    ("export", LONG, "--to", "pcap", "-o", "out"),
    ("export", "cbr.csv", "--to", LONG, "-o", "out"),
    ("export", "cbr.csv", "--to", "pcap", "-o", LONG),
    ("compare", LONG, "cbr.csv"),
    ("compare", "cbr.csv", "cbr.csv", "--plots", LONG),
    ("reproduce", LONG),
    ("explore", LONG),
]


@pytest.mark.parametrize("arguments", NAMED)
def test_names_too_long_for_the_system_are_one_line(
    command: Command, arguments: tuple[str, ...]
) -> None:
    assert command("generate", "cbr", "-o", "cbr.csv", "--duration", "12s", "-q").code == 0
    result = command(*arguments)
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert result.err.startswith("trafficgen: ")


@pytest.mark.parametrize("number", [0xDCFF, 0xD800, 0], ids=["byte", "surrogate", "nul"])
@pytest.mark.parametrize("arguments", NAMED)
def test_names_with_odd_characters_are_taken_or_refused_in_one_line(
    command: Command, arguments: tuple[str, ...], number: int
) -> None:
    """A byte that is not UTF-8 may be in a name of Linux; the others may not."""
    command("generate", "cbr", "-o", "cbr.csv", "--duration", "12s", "-q")
    result = command(*(one.replace(LONG, f"a{chr(number)}b") for one in arguments))
    assert result.code in (0, 2) if number == 0xDCFF else result.code == 2
    assert "Traceback" not in result.err
    assert result.code == 0 or result.err.splitlines()[-1].startswith("trafficgen: ")
    assert all(line.isprintable() for line in result.err.splitlines())


@pytest.fixture(scope="module")
def fitted() -> str:
    """Return a model file with frames."""
    capture = ROOT / "examples" / "captures" / "rtsp_rtp_two_streams.pcap.gz"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dump_model(trafficgen.fit(capture).model)


@pytest.mark.parametrize("target", ["ns3", "mgen", "ditg", "trex"])
@pytest.mark.parametrize("bytes_factor", [1e14, 1e3, 1e-9])
def test_models_of_absurd_sizes_are_exported_or_refused_in_one_line(
    command: Command, fitted: str, tmp_path: Path, target: str, bytes_factor: float
) -> None:
    content = json.loads(fitted)
    frames = [
        phase["process"]
        for stream in content["streams"]
        for phase in stream["phases"]
        if phase["process"]["kind"] == "frames"
    ]
    assert frames
    for kind in (kind for process in frames for kind in process["types"]):
        for point in kind["frame_bytes"]["quantiles"]:
            point["value"] *= bytes_factor
    (tmp_path / "model.json").write_text(json.dumps(content))
    approximate = ["--set", "approximate=on"] if target == "ns3" else []
    result = command("export", "model.json", "-q", "--to", target, "-o", "out", *approximate)
    assert result.code in (0, 2)
    assert result.err.count("\n") == (1 if result.code else 0)


def _whole_number_flags(name: str) -> list[str]:
    command = typer.main.get_command(command_table([name]))
    command = getattr(command, "commands", {name: command})[name]
    return [one.opts[-1] for one in command.params if "int" in str(one.type_descriptor.annotation)]


@pytest.mark.parametrize(
    "arguments",
    [
        ("generate", "model.json", "-o", "out.pcap"),
        ("generate", "wmedia9_nichols2004", "-o", "out.pcap", "--duration", "2s"),
        ("simulate", "cbr", "--path", "rate=1Mbps", "--duration", "2s"),
        ("export", "model.json", "--to", "trex", "-o", "out"),
        ("inspect", "cbr.csv"),
        ("compare", "cbr.csv", "cbr.csv"),
    ],
)
def test_huge_whole_numbers_are_taken_or_refused_in_one_line(
    command: Command, fitted: str, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "model.json").write_text(fitted)
    assert command("generate", "cbr", "-o", "cbr.csv", "--duration", "2s", "-q").code == 0
    flags = _whole_number_flags(arguments[0])
    assert flags
    for flag in flags:
        result = command(*arguments, "-q", flag, str(10**26))
        assert result.code in (0, 2), flag
        assert result.err.count("\n") == (1 if result.code else 0), flag
        assert flag != "--sessions" or arguments[0] != "generate" or result.code


def test_a_link_that_leads_nowhere_is_not_followed_without_force(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "out.csv").symlink_to("elsewhere.csv")
    result = command("generate", "cbr", "-o", "out.csv", "--duration", "3s")
    assert result.code == 2
    assert "out.csv: exists already" in result.err
    assert not (tmp_path / "elsewhere.csv").exists()
    assert command("generate", "cbr", "-o", "out.csv", "--duration", "3s", "--force").code == 0
    assert (tmp_path / "elsewhere.csv").exists()


def test_warnings_of_libraries_do_not_reach_stderr(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def warn_and_return(*_: object, **__: object) -> list[object]:
        warnings.warn("of a library", RuntimeWarning, stacklevel=1)
        return []

    monkeypatch.setattr("trafficgen.models_list", warn_and_return)
    monkeypatch.setattr("sys.warnoptions", [])
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run(["models", "list"]) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "words",
    [
        *("inspect", "fit", "models show", "models diff x", "explore", "convert -o x.csv"),
        *("generate -o x.csv", "export --to mgen -o e", "simulate --path rate=1Mbps", "compare x"),
        *("generate cbr -o", "demo -o", "fit cbr.csv -o", "fit cbr.csv --report", "reproduce"),
    ],
)
@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_word_is_refused_in_one_line(command: Command, words: str, empty: str) -> None:
    result = command(*words.split(), empty)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "an empty word" in result.err
    assert not list(Path().iterdir())


@pytest.mark.parametrize("out", [".", "..", "/", "./"])
@pytest.mark.parametrize(
    "words", ["fit t.csv -o", "fit t.csv --report", "compare t.csv t.csv --report"]
)
def test_a_folder_in_the_place_of_a_file_is_refused(command: Command, words: str, out: str) -> None:
    assert command("generate", "cbr", "-o", "t.csv", "--duration", "3s", "-q").code == 0
    result = command(*words.split(), out)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert any(word in result.err for word in ("folder", "ending", "an input too"))
