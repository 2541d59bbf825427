"""Commands whose help shows each example as it is typed, however long the line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
import typer.core

_EXAMPLE = "Example: "
#: Before a paragraph, keeps its lines in the help as they are.
_AS_IT_IS = "\b\n"


def examples_of(text: str) -> list[str]:
    """Return the command lines of a help text: its paragraphs that begin with ``Example:``."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    return [line.removeprefix(_EXAMPLE) for line in paragraphs if line.startswith(_EXAMPLE)]


def require_command(context: typer.Context) -> None:
    """Print the help of a group of commands and refuse it if none of them was named."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.BadParameter("Give a command.", ctx=context)


class CommandWithExamples(typer.core.TyperCommand):
    """A command with examples in its help, which starts without loading pandas."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words, none of which may be empty, as those of unset variables are."""
        for number, word in enumerate([] if ctx.resilient_parsing else args):
            option, _, value = word.partition("=") if word.startswith("--") else ("", "", word)
            if not value.strip() and (not option or "=" in word):
                of = option or " ".join(args[max(number - 1, 0) : number])
                after = f" after {of}" if of else ""
                raise typer.BadParameter(f"an empty word{after}; give a name or value", ctx=ctx)
        with _within(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        from trafficgen.imports import load_arrow_without_pandas  # noqa: PLC0415 - help needs no Arrow
        from trafficgen.options import refuse_odd_names  # noqa: PLC0415 - not of --help

        for value in ctx.params.values():
            refuse_odd_names(value)
        load_arrow_without_pandas()
        with _within(ctx):
            self._check_pipes(ctx)
        return super().invoke(ctx)

    def _check_pipes(self, ctx: Any) -> None:
        """Refuse a pipe that is named twice."""
        from trafficgen.cli._outputs import refuse_repeated_streams  # noqa: PLC0415 - not of --help

        names: list[str] = []
        for one in self.params:
            value = ctx.params.get(one.name) if one.param_type_name == "argument" else None
            names += value if isinstance(value, list) else [] if value is None else [str(value)]
        refuse_repeated_streams([str(name) for name in names])

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the help text, examples unwrapped."""
        plain = self.help
        self.help = "\n\n".join(_unwrapped(paragraph) for paragraph in (plain or "").split("\n\n"))
        try:
            super().format_help_text(ctx, formatter)
        finally:
            self.help = plain


@contextmanager
def _within(ctx: Any) -> Iterator[None]:
    """Have errors of this block name the help of a command, not that of all commands."""
    try:
        yield
    except typer.exceptions.TyperException as error:
        usage: Any = error
        if getattr(usage, "ctx", ctx) is None:  # other errors have none
            usage.ctx = ctx
        raise


def _unwrapped(paragraph: str) -> str:
    line = " ".join(paragraph.split())
    return _AS_IT_IS + line if line.startswith(_EXAMPLE) else paragraph
