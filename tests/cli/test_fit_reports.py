"""`trafficgen fit --report` and `--plots`: what is written, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Command


def test_fit_writes_a_report_and_plots_beside_its_summary(
    command: Command, table_file: Path
) -> None:
    result = command(
        "fit",
        str(table_file),
        "--report",
        "fit.html",
        "--plots",
        "plots",
        "--plot-format",
        "svg",
        "--json",
    )
    assert result.code == 0
    assert result.json["packets"] == 1000
    page = Path("fit.html").read_text(encoding="utf-8")
    drawn = {path.stem for path in Path("plots").iterdir()}
    assert {"rate", "gaps", "gap-tail"} <= drawn
    assert all(f'data-chart="{name}"' in page for name in drawn)
    assert f"{len(drawn)} plots written to plots" in result.err
    assert str(table_file.parent) not in page


def test_the_same_fit_writes_the_same_report(command: Command, table_file: Path) -> None:
    for name in ("one.html", "two.html"):
        assert command("fit", "-q", str(table_file), "--report", name).code == 0
    assert Path("one.html").read_bytes() == Path("two.html").read_bytes()


def test_a_report_has_a_script_only_if_it_is_interactive(
    command: Command, table_file: Path
) -> None:
    for name, options in (("still.html", ()), ("zoom.html", ("--interactive",))):
        assert command("fit", "-q", str(table_file), "--report", name, *options).code == 0
        text = Path(name).read_text(encoding="utf-8")
        assert ("<script>" in text) == ('data-zoom="' in text) == bool(options)
        assert len(text) < 500_000


def test_a_report_of_many_captures_names_each_session(command: Command, table_file: Path) -> None:
    result = command(
        "fit",
        "--population",
        "--workers",
        "1",
        str(table_file),
        str(table_file),
        "--report",
        "all.html",
    )
    assert result.code == 0
    assert (
        Path("all.html").read_text(encoding="utf-8").count("<td>table.parquet, session 0</td>") >= 2
    )


@pytest.mark.parametrize(
    "options",
    [
        ("--report", "missing/fit.html"),
        ("--plots", "plots", "--plot-format", "gif"),
        ("--plots", "table.parquet"),
        ("--interactive",),
    ],
)
def test_what_cannot_be_written_is_one_line_and_exit_code_2(
    command: Command, table_file: Path, options: tuple[str, ...]
) -> None:
    result = command("fit", "-q", str(table_file), *options)
    assert result.code == 2
    assert len(result.err.strip().splitlines()) == 1
    assert {path.name for path in Path().iterdir()} == {table_file.name}
