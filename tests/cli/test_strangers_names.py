"""Hostile text in every text field of models, tables and workloads, exported to every target.

Such text must stay within its line of a README, a script or a message, and must not choose which
files are written or deleted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from tests.cli.conftest import Command
from tests.mutated.other_inputs import named_files

from trafficgen.errors import InputFileError
from trafficgen.export.targets import TARGETS
from trafficgen.models.io import read_model
from trafficgen.models.published.registry import ENTRIES

#: Ends a line, moves the cursor, turns the direction of writing; has what shells and C++ read, and
#: what a page of Markdown fetches, links to or runs.
HOSTILE = (
    'vidéo\nAll files: `precious.txt`\r\x1b[31m\u202e\u2028\x85"; touch owned; `touch owned` #'
    " ![i](https://a.example/i) \\[c](javascript:c) <img src=x onerror=c> |"
)
_LONG = "w" * 3000
_LONGEST_LINE = 2000
_STARTS = ("All files", "precious", "touch owned", "`touch")


def _texts(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all texts in JSON."""
    if isinstance(value, str):
        yield place
    elif isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(one, (*place, key))


def _set(content: Any, place: tuple[Any, ...], text: str) -> Any:
    """Return a copy of JSON with another text at a place."""
    copy = json.loads(json.dumps(content))
    at = copy
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = text
    return copy


def _assert_clean(text: str, where: str) -> None:
    for line in text.split("\n"):
        assert all(one.isprintable() or one == "\t" for one in line), (where, line)
        assert not line.lstrip("- ").startswith(_STARTS), (where, line)
    if where.endswith(("README.md", "stdout")):
        assert max(map(len, text.split("\n"))) <= _LONGEST_LINE, where
    if where.endswith("README.md"):
        own = re.sub(r"\\.|`[^`\n]*`", "", text)
        assert "<img" not in own, where
        assert "](" not in own, where


def _assert_export_clean(command: Command, folder: Path, name: str, target: str) -> None:
    (folder / "out").mkdir(exist_ok=True)
    (folder / "out" / "precious.txt").write_text("precious")
    for _ in range(2):  # the second finds what the first has written
        result = command("export", name, "--to", target, "-o", "out", "--force")
        assert result.code in (0, 2), result.err
        assert "Traceback" not in result.err
        for line in (*result.out.splitlines(), *result.err.splitlines()):
            _assert_clean(line, f"{target} stdout")
    assert (folder / "out" / "precious.txt").read_text() == "precious"
    if result.code == 2:
        return
    written = [
        path
        for path in (folder / "out").iterdir()
        if path.suffix in _TEXT_ENDINGS and path.name != "precious.txt"
    ]
    assert folder / "out" / "README.md" in written
    for path in written:
        _assert_clean(path.read_bytes().decode(), f"{target} {path.name}")


_TEXT_ENDINGS = {".md", ".txt", ".csv", ".mgn", ".sh", ".cc", ".h", ".json", ".py", ".ini", ".ned"}


def _set_all_texts(file: Path) -> set[Any]:
    """Make all texts of a model hostile that may be; return their keys."""
    content = yaml.safe_load(file.read_text())
    changed = set()
    for place in _texts(content):
        hostile = _set(content, place, f"{place[-1]} {HOSTILE}{_LONG}")
        file.write_text(json.dumps(hostile))
        try:
            read_model(file)
        except InputFileError:  # one of a few words, such as the name of a family
            continue
        content = hostile
        changed.add(place[-1])
    file.write_text(json.dumps(content))
    return changed


@pytest.mark.parametrize("target", [name for name in TARGETS if TARGETS[name].write_model])
def test_texts_of_a_model_stay_on_their_line(
    command: Command, rtp_model_file: Path, tmp_path: Path, target: str
) -> None:
    assert _set_all_texts(rtp_model_file) >= {"name", "method", "description"}
    _assert_export_clean(command, tmp_path, "rtp.json", target)


@pytest.fixture(scope="module")
def hostile_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a fitted player and published models whose texts are hostile."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "player.json").write_bytes(named_files()["player.json"])
    assert _set_all_texts(folder / "player.json") >= {"name", "method"}
    for name in ("wmedia9_nichols2004", "video_tgax_bv1"):
        (folder / f"{name}.json").write_text((ENTRIES / f"{name}.yaml").read_text())
        assert _set_all_texts(folder / f"{name}.json") >= {"description", "source", "reason"}
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("model", ["player", "wmedia9_nichols2004", "video_tgax_bv1"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("models", "show", "{0}"),
        ("models", "diff", "{0}", "cbr"),
        ("models", "diff", "cbr", "{0}"),
        ("generate", "{0}", "-o", "out.csv", "--duration", "9s"),
        ("generate", "{0}", "--dry-run", "--sessions", "2", "--for", "9s"),
        *(
            ("simulate", "{0}", "--path", "rate=1Mbps", "--duration", "12s", *more)
            for more in (("--report", "out.html"), ("--runs", "2"), ("--sessions", "2"))
        ),
        *(("export", "{0}", "--to", name, "-o", "out") for name in TARGETS),
    ],
    ids=" ".join,
)
@pytest.mark.filterwarnings("ignore::trafficgen.errors.SimulationWarning")
def test_texts_of_players_and_published_models_stay_on_their_line(
    command: Command, hostile_models: Path, tmp_path: Path, model: str, arguments: tuple[str, ...]
) -> None:
    result = command(*(part.format(hostile_models / f"{model}.json") for part in arguments))
    assert result.code in (0, 2), result.err
    assert "Traceback" not in result.err
    for text in (result.out, result.err):
        _assert_clean(text, "stdout" if arguments[:2] != ("models", "show") else "show")
    for path in tmp_path.rglob("*"):
        if path.suffix in {*_TEXT_ENDINGS, ".html"}:
            _assert_clean(path.read_bytes().decode(), path.name)


@pytest.mark.parametrize("column", ["protocol", "server", "client", "media"])
@pytest.mark.parametrize("target", TARGETS)
def test_texts_of_a_table_stay_on_their_line(
    command: Command, table_file: Path, tmp_path: Path, target: str, column: str
) -> None:
    table = pq.read_table(table_file)
    metadata = dict(table.schema.metadata)
    content = json.loads(metadata[b"trafficgen"])
    content["flows"][column] = [HOSTILE + _LONG for _ in content["flows"][column]]
    content["notes"] = {HOSTILE: HOSTILE}
    metadata[b"trafficgen"] = json.dumps(content).encode()
    pq.write_table(table.replace_schema_metadata(metadata), table_file)
    _assert_export_clean(command, tmp_path, "table.parquet", target)


@pytest.mark.parametrize("target", [name for name in TARGETS if TARGETS[name].takes_workloads])
def test_texts_of_a_workload_stay_on_their_line(
    command: Command, tmp_path: Path, target: str
) -> None:
    groups = [{"name": f"{place} {HOSTILE}", "model": "cbr", "share": "50%"} for place in range(2)]
    workload = {"name": HOSTILE, "description": HOSTILE, "sessions": 3, "groups": groups}
    (tmp_path / "workload.yaml").write_text(yaml.safe_dump(workload))
    _assert_export_clean(command, tmp_path, "workload.yaml", target)


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "{table}"),
        ("convert", "{table}", "-o", "converted.csv"),
        ("compare", "{table}", "{table}", "--report", "report.html"),
        ("fit", "{table}", "-o", "fitted.json", "--report", "report.html"),
        ("models", "show", "{model}"),
        ("models", "diff", "{model}", "{model}"),
        ("generate", "{model}", "-o", "generated.csv"),
        ("simulate", "{model}", "--path", "rate=5Mbps,delay=10ms"),
    ],
)
@pytest.mark.filterwarnings("ignore::trafficgen.errors.SimulationWarning")
def test_texts_stay_on_their_line_in_every_command(
    command: Command,
    table_file: Path,
    rtp_model_file: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
) -> None:
    content = json.loads(rtp_model_file.read_text())
    content["name"] = content["description"] = content["streams"][0]["name"] = HOSTILE
    rtp_model_file.write_text(json.dumps(content))
    table = pq.read_table(table_file)
    metadata = dict(table.schema.metadata)
    known = json.loads(metadata[b"trafficgen"])
    for column in ("protocol", "media"):
        known["flows"][column] = [HOSTILE for _ in known["flows"][column]]
    metadata[b"trafficgen"] = json.dumps({**known, "notes": {"model": HOSTILE}}).encode()
    pq.write_table(table.replace_schema_metadata(metadata), table_file)
    result = command(*(part.format(table=table_file, model=rtp_model_file) for part in arguments))
    assert result.code in (0, 2)
    assert "Traceback" not in result.err
    written = [path for path in tmp_path.iterdir() if path.suffix in (".csv", ".html", ".json")]
    for text in (result.out, result.err, *(path.read_text() for path in written)):
        _assert_clean(text.replace("\\u", "u"), arguments[0])


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "{0}.parquet"),
        ("inspect", "missing{0}.parquet"),
        ("convert", "{0}.parquet", "-o", "{0}.csv"),
        ("fit", "{0}.parquet", "-o", "{0}.json", "--report", "{0}.html"),
        ("compare", "{0}.parquet", "{0}.parquet", "--report", "{0}.html", "--interactive"),
        ("generate", "cbr", "-o", "{0}.pcap"),
        ("generate", "{0}", "-o", "out.pcap"),
        ("simulate", "cbr", "--path", "{0}"),
        ("export", "{0}.parquet", "--to", "mgen", "-o", "{0}"),
    ],
)
def test_names_of_files_do_not_move_the_cursor(
    command: Command, table_file: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    name = "\x1b[2J\x1b]0;t\x07\u202e<img src=x onerror=c>\n\x9b31mAll files"
    table_file.rename(f"{name}.parquet")
    result = command(*(part.format(name) for part in arguments))
    assert result.code in (0, 2)
    reports = [path.read_text().replace("\xa0", " ") for path in tmp_path.glob("*.html")]
    assert len(reports) == ("--report" in arguments)
    for text in (result.out, result.err, *reports):
        _assert_clean(text, arguments[0])
        assert "<img src=x" not in text or text not in reports
