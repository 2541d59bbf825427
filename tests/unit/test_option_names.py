"""Messages name options as the user types them: flags on the command line, keywords in Python."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import trafficgen
from reference_pages.command_line import commands
from trafficgen.errors import GenerationError, PacketTableError
from trafficgen.option_names import name_options, write_flags
from trafficgen.simulation.options import PATH_HELP

SOURCE = Path(trafficgen.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z]|(?<![\w-])-[a-z](?![\w-])")
COMMAND = re.compile(rf"\b({'|'.join(name for name, _ in commands())})\b")
MARKED = re.compile(r"\[(?:-|`?trafficgen )[^\]]*\]")
#: Modules that write commands of a shell: reports and pages say how to get their result again.
SHELL = (
    *("cli/", "demo/", "explore/", "reports/"),
    *("export/targets/", "export/iperf_runs.py", "export/stream_runs.py"),
)
#: Commands to type as they are, of other tools or without a counterpart in Python; a help text.
QUOTED = (
    "## How close it is",
    "-e frame.",
    "-e ip.len",
    "`ITGDec LOG -l",
    "`editcap -F",
    "trafficgen reproduce --list",
    "ulimit -n",
    PATH_HELP,
)
#: Flags alone, which a function puts into brackets.
NAMES = re.compile(r"--[a-z-]+")


def test_messages_mark_the_options_that_they_name() -> None:
    bare = [
        f"{place}: {text}"
        for place, text in _literals()
        if not place.startswith(SHELL)
        and not any(word in text for word in QUOTED)
        and NAMES.fullmatch(text) is None
        and any(one.search(MARKED.sub("", text)) for one in (FLAG, COMMAND))
    ]
    assert not bare, "name them in brackets (trafficgen.option_names)"


def test_keywords_of_messages_are_taken_by_a_function() -> None:
    taken = {"window_s"}
    for name in trafficgen.__all__:
        work = getattr(trafficgen, name)
        if inspect.isfunction(work):
            taken |= inspect.signature(work).parameters.keys()
    wrong = {}
    for place, text in _literals():
        for mark in re.findall(r"\[--[^\]|]*\]", text):
            keyword = name_options(mark).partition("=")[0]
            if keyword not in taken:
                wrong[mark] = place
    assert not wrong


@pytest.mark.parametrize(
    ("text", "flags", "keywords"),
    [
        ("[--memory]", "--memory", "memory_bytes=..."),
        ("[--buffering-end TIME]", "--buffering-end TIME", "buffering_end_s=TIME"),
        ("[--payload-bytes 0]", "--payload-bytes 0", "payload_bytes=0"),
        ("[--to 25min]", "--to 25min", "to='25min'"),
        ("[--upload]", "--upload", "upload=True"),
        ("[--set mode=exact]", "--set mode=exact", "settings={'mode': 'exact'}"),
        ("[--set path=rate=1]", "--set path=rate=1", "settings={'path': 'rate=1'}"),
        ("give [--force, or |]another", "give --force, or another", "give another"),
        ("[trafficgen fit A|fit('A')]", "trafficgen fit A", "fit('A')"),
        (
            "a[0] of list[-1], 'x --set'",
            "a[0] of list[-1], 'x --set'",
            "a[0] of list[-1], 'x --set'",
        ),
    ],
)
def test_an_option_is_named_for_its_user(text: str, flags: str, keywords: str) -> None:
    assert (str(GenerationError(text)), name_options(text)) == (keywords, keywords)
    error = PacketTableError(file="a.csv", problem=text, remedy=text)
    assert (error.problem, error.remedy, str(error).count(keywords)) == (keywords, keywords, 2)
    write_flags(True)
    try:
        assert str(GenerationError(text)) == flags
    finally:
        write_flags(False)


def _literals() -> Iterator[tuple[str, str]]:
    """Yield the place and text of literals that may be messages; f-strings as one, with gaps."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree, place = ast.parse(path.read_text()), path.relative_to(SOURCE).as_posix()
        skipped = {id(one) for node in ast.walk(tree) for one in _not_messages(node)}
        for node in ast.walk(tree):
            if id(node) in skipped:
                continue
            if isinstance(node, ast.JoinedStr):
                parts = [one.value if isinstance(one, ast.Constant) else "0" for one in node.values]
                skipped |= {id(one) for one in node.values}
                yield f"{place}:{node.lineno}", "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{place}:{node.lineno}", node.value


def _not_messages(node: ast.AST) -> Iterator[ast.AST]:
    """Yield docstrings and what declarations of options have."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("option", "Option"):
        yield from ast.walk(node)
