"""The page of the public Python names, from their docstrings."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator

import trafficgen
from reference_pages.markdown import Rows, bullets, first_line, page, table

_SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Warns|Examples?|Source|Note):(.*)$")
_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_ITEM = re.compile(r"^(?P<name>\*{0,2}\w[\w.]*)(?: \([^)]*\))?: ?(?P<meaning>.*)$")
_NAMED = {"Args": "Arguments", "Attributes": "Attributes", "Raises": "Raises", "Warns": "Warns"}


def python_page() -> str:
    """Return the page of the public Python names: functions, objects, errors."""
    things = {
        name: getattr(trafficgen, name) for name in trafficgen.__all__ if not name.startswith("__")
    }
    errors = {
        name: one
        for name, one in things.items()
        if isinstance(one, type) and issubclass(one, Exception)
    }
    classes = {
        name: one for name, one in things.items() if isinstance(one, type) and name not in errors
    }
    functions = {
        name: one for name, one in things.items() if name not in errors and name not in classes
    }
    return page(
        "Python",
        _INTRODUCTION,
        "## Functions",
        *(part for name, function in functions.items() for part in _function_parts(name, function)),
        "## Objects",
        *(part for name, cls in classes.items() for part in _class_parts(name, cls)),
        "## Errors and warnings",
        "[Errors](errors.md) has what each is for, and its attributes.",
        table(
            ("class", "kind of", "meaning"),
            [
                (f"`{name}`", f"`{cls.__bases__[0].__name__}`", first_line(cls))
                for name, cls in errors.items()
            ],
        ),
    )


_INTRODUCTION = """\
Import these names from `trafficgen`; all others may change without notice. Each command has a
function of the same name. [How to use it from Python](../how-to/use-from-python.md) shows them
together. The examples run in a folder that holds the repository's `examples`."""


def _function_parts(name: str, function: Callable[..., object]) -> Iterator[str]:
    yield f"### {name}"
    yield f"```py\n{name}{_signature(function)}\n```"
    yield from docstring_parts(function)


def _class_parts(name: str, cls: type) -> Iterator[str]:
    yield f"### {name}"
    yield from docstring_parts(cls)
    rows = _members(cls)
    if rows:
        yield table(("member", "what it gives"), rows)


def _members(cls: type) -> Rows:
    """Return the methods and properties of a class and its bases, in the order of the source."""
    found = {}
    for one in reversed([one for one in cls.__mro__ if one.__module__.startswith("trafficgen")]):
        found.update(
            {name: member for name, member in vars(one).items() if not name.startswith("_")}
        )
    return [
        (_member_name(name, one), _prose(first_line(_function_of(one))))
        for name, one in found.items()
        if _has_text(one)
    ]


def _function_of(member: object) -> object:
    return (
        member.fget
        if isinstance(member, property)
        else getattr(member, "__func__", getattr(member, "func", member))
    )


def _has_text(member: object) -> bool:
    function = _function_of(member)
    return inspect.isfunction(function) and bool(function.__doc__)


def _member_name(name: str, member: object) -> str:
    function = _function_of(member)
    if not callable(function) or isinstance(member, property) or hasattr(member, "func"):
        return f"`.{name}`"
    names = [one for one in inspect.signature(function).parameters if one not in {"self", "cls"}]
    return f"`.{name}({', '.join(names)})`"


def docstring_parts(thing: object) -> Iterator[str]:
    """Yield a docstring of Google's style as Markdown: prose, lists of what is named, examples."""
    before, sections = _sections(inspect.cleandoc(thing.__doc__ or ""))
    yield _prose(before)
    for title, body in sections:
        if title in _NAMED:
            yield f"{_NAMED[title]}:"
            yield bullets(f"`{name}`: {_prose(meaning)}" for name, meaning in _items(body))
        elif title.startswith("Example"):
            yield "Example:"
            yield f"```pycon\n{body}\n```"
        else:
            yield f"{title}: {_prose(body)}"


def _sections(text: str) -> tuple[str, list[tuple[str, str]]]:
    lines: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        mark = _SECTION.match(line)
        if mark:
            lines = [mark[2].strip()] if mark[2].strip() else []
            sections.append((mark[1], lines))
        elif not sections or line.startswith(" ") or not line:
            lines.append(line) if sections else sections.append(("", lines := [line]))
        else:
            sections.append(("", lines := [line]))
    joined = [(title, textwrap.dedent("\n".join(body)).strip("\n")) for title, body in sections]
    return (
        "\n".join(body for title, body in joined if not title),
        [one for one in joined if one[0]],
    )


def _items(body: str) -> Iterator[tuple[str, str]]:
    found: list[list[str]] = []
    for line in body.splitlines():
        mark = _ITEM.match(line)
        if mark:
            found.append([mark["name"], mark["meaning"]])
        elif found:
            found[-1][1] += f" {line.strip()}"
    yield from ((name, meaning) for name, meaning in found)


def _prose(text: str) -> str:
    text = _ROLE.sub(r"`\1`", text).replace("``", "`")
    return re.sub(r"(?<![\n`])\n(?!\n)", " ", text)


def _signature(function: Callable[..., object]) -> str:
    signature = inspect.signature(function)
    lines = []
    keyword_only = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            lines.append("    *,")
            keyword_only = True
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        lines.append(f"    {parameter.name}: {parameter.annotation}{default},")
    body = "\n".join(lines)
    return (
        f"(\n{body}\n) -> {signature.return_annotation}"
        if lines
        else f"() -> {signature.return_annotation}"
    )
