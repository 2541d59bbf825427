"""The documentation says what the code does: pages are current, documented commands run, nothing is
left out.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import console_pages
import generate
from trafficgen import errors
from trafficgen.capture.traces.formats import FORMATS
from trafficgen.cli.app import command_table
from trafficgen.export.targets import TARGETS
from trafficgen.tables.columns import Column
from trafficgen.tables.flow import FLOW_COLUMNS, RTCP_COLUMNS, SIGNALLING_COLUMNS
from trafficgen.tables.packet import PACKET_COLUMNS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
PAGES_THAT_RUN = [
    name for name in generate.all_pages() if console_pages.has_commands(generate.source_of(name))
]
#: Pages of half a minute or more, most of it waiting for tools that `tests/real_tools` run too.
LONGEST_PAGES = [
    "docs/how-to/feed-ditg.md",
    "docs/how-to/feed-iperf.md",
    "docs/how-to/feed-mgen.md",
    "docs/how-to/feed-ns-3.md",
    "docs/how-to/feed-tcpreplay.md",
    "docs/how-to/generate-a-fleet.md",
    "docs/how-to/read-a-report.md",
    "docs/how-to/reproduce-the-papers.md",
    "docs/how-to/use-a-cluster.md",
]
MADE_AND_NOT_RUN = sorted(set(generate.MADE) - set(PAGES_THAT_RUN))
PAGES = sorted(
    [
        *(path for path in DOCS.rglob("*.md") if "_build" not in path.parts),
        *ROOT.glob("*.md"),
        ROOT / "examples" / "README.md",
    ]
)
WRITTEN = [path for path in PAGES if str(path.relative_to(ROOT)) not in generate.MADE]
#: Blocks of code that nobody runs, with the comment that must stand before them.
_NOT_RUN = re.compile(r"(?P<before>.*)\n *```(?:sh|bash|shell|py)\n(?P<first>.*)")
_REASON = re.compile(r" *<!-- not run: \S.* -->")

_TABLE = command_table()
COMMANDS = {str(command.name): command for command in _TABLE.registered_commands}
SUBCOMMANDS = {
    f"{group.name} {command.name}": command
    for group in _TABLE.registered_groups
    if group.typer_instance is not None
    for command in group.typer_instance.registered_commands
}


def _check(*pages: str) -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--check", *pages],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_pages_that_are_made_are_what_code_and_results_give() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in REFERENCE.rglob("*.md")}
    assert found <= set(generate.MADE), "pages whose entry or code is gone"
    _check(*MADE_AND_NOT_RUN)


@pytest.mark.long
@pytest.mark.skipif(
    shutil.which("bash") is None, reason="the commands of the pages are run by bash"
)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page in LONGEST_PAGES else ())
        for page in PAGES_THAT_RUN
    ],
)
def test_commands_of_a_page_run_and_print_what_it_says(page: str) -> None:
    missing = console_pages.missing_for(generate.source_of(page))
    if missing:
        pytest.skip(f"{page} needs {', '.join(missing)}")
    _check(page)


def test_every_option_of_every_command_is_documented() -> None:
    page = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    group = typer.main.get_command(_TABLE)
    for name in COMMANDS:
        section = page.partition(f"## trafficgen {name}\n")[2].partition("\n## ")[0]
        command = group.commands[name]  # type: ignore[attr-defined]
        names = [
            option
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
        ]
        options = [option for option in names if option.startswith("-")]
        assert options, f"{name} has no options"
        assert [option for option in options if f"`{option}`" not in section] == []


@pytest.mark.parametrize("name", sorted(COMMANDS | SUBCOMMANDS))
def test_command_has_an_example_that_calls_it(name: str) -> None:
    callback = (COMMANDS | SUBCOMMANDS)[name].callback
    assert callback is not None
    example = (callback.__doc__ or "").partition("Example: ")[2]
    assert example.startswith(f"trafficgen {name}")
    assert f"\n## trafficgen {name}\n" in (REFERENCE / "cli.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_command_has_the_function_of_its_name(name: str) -> None:
    import trafficgen  # noqa: PLC0415 (its names are loaded on first use)

    assert name in trafficgen.__all__
    assert callable(getattr(trafficgen, name))


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_export_target_is_documented(name: str) -> None:
    assert f"| `{name}` |" in (REFERENCE / "export-targets.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_trace_format_is_documented(name: str) -> None:
    assert f"| `{name}` |" in (REFERENCE / "trace-formats.md").read_text(encoding="utf-8")
    assert f"`{name}`" in (DOCS / "how-to" / "bring-other-traces.md").read_text(encoding="utf-8")


def test_every_error_class_is_documented_and_drawn_in_the_tree() -> None:
    page = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    drawn = set(
        re.findall(r"\w+(?:Error|Warning)\b", page.partition("```text\n")[2].partition("```")[0])
    )
    names = {
        name
        for name, thing in vars(errors).items()
        if isinstance(thing, type) and issubclass(thing, Exception)
    }
    assert drawn == names
    assert {name for name in names if f"| `{name}` |" not in page} == set()


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param(PACKET_COLUMNS, id="packets"),
        pytest.param(FLOW_COLUMNS, id="flows"),
        pytest.param(SIGNALLING_COLUMNS, id="signalling"),
        pytest.param(RTCP_COLUMNS, id="rtcp"),
    ],
)
def test_every_column_has_a_meaning(columns: tuple[Column, ...]) -> None:
    page = (REFERENCE / "packet-table.md").read_text(encoding="utf-8")
    for column in columns:
        assert column.meaning.endswith(".")
        assert f"| `{column.name}` | `{column.type}` | {column.meaning} |" in page


@pytest.mark.parametrize("page", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_blocks_that_are_not_run_say_why(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    silent = [
        match["first"]
        for match in _NOT_RUN.finditer(text)
        if not _REASON.fullmatch(match["before"])
    ]
    assert silent == []
    # A command in a block of plain text would be one that nobody runs either.
    plain = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    assert [
        line
        for block in plain
        for line in block.splitlines()
        if line.startswith(("trafficgen ", "$ "))
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_the_map_of_the_code_names_every_folder() -> None:
    text = (DOCS / "explanation" / "map-of-the-code.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (ROOT / "src" / "trafficgen").glob("*/__init__.py")}
    assert sorted(name for name in packages if f"| `{name}` |" not in text) == []
