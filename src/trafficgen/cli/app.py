"""The command `trafficgen`: its table of commands, and errors as one line with their exit code.

Exit codes: 0 done; 1 a requested check failed; 2 bad input or usage; 130 interrupted; 143
terminated; 129 hung up.
"""

from __future__ import annotations

import gc
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import copy_context
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trafficgen
from trafficgen.cli._help import CommandWithExamples, require_command
from trafficgen.cli._progress import clear_line
from trafficgen.cli._signals import (
    end_now,
    exit_code,
    print_error,
    raise_if_interrupted,
    report_end,
    signal_that_came,
    watch,
)
from trafficgen.errors import OutputFileError, TrafficgenError, TrafficgenWarning, find_remedy
from trafficgen.formatting import clean_text, cut_middle, one_line, shorten_figures, suggest_name
from trafficgen.option_names import write_flags

if TYPE_CHECKING:
    from typing_extensions import Buffer


class StdoutError(OSError):
    """Results that cannot be printed."""

    @property
    def line(self) -> str:
        """What is wrong, and what can be done."""
        return (
            f"standard output: cannot be written ({self.strerror}); make room, or redirect it"
            " elsewhere"
        )


class _Stdout(io.BufferedWriter):
    """Stdout, whose errors say that they are its own.

    They are marked here: an interrupt in a ``write`` of Python below the buffer, after the bytes
    have gone, would have them written once more.
    """

    def write(self, data: Buffer, /) -> int:
        with _own_errors():
            return super().write(data)

    def flush(self) -> None:
        with _own_errors():
            super().flush()


@contextmanager
def _own_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StdoutError(error.errno, error.strerror) from error


def open_streams() -> None:
    """Open the standard streams that the caller has closed: the next file would take their place.

    What is printed to a closed stdout fails, as on a full disk. Characters that the encoding of
    stdout lacks become question marks.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest number that is free
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - as Python opens them
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    before = sys.stdout
    if before is None or isinstance(before, io.TextIOWrapper):
        sys.stdout = io.TextIOWrapper(
            _Stdout(io.FileIO(1, "wb", closefd=False)),
            encoding=None if before is None else before.encoding,
            errors="replace",
            line_buffering=before is not None and before.line_buffering,
        )


USAGE_ERROR = 2
INTERRUPTED = 130
#: What other tools call the format of an output.
_FORMAT_OPTIONS = ("--format", "--type", "--output-format")
#: Options of simulate that generate lacks: one command plays a workload over a path and reports it.
_REPORT_OPTIONS = ("--report", "--plots", "--interactive")
#: Characters of a line about an error: what was typed may be of any length.
_LONGEST_ERROR = 300
#: Prose of typer, some of it pydantic's -> ours.
_PLAIN = (
    (": Input should be", ": it must be"),
    ("a valid integer, unable to parse string as an integer", "a whole number"),
    ("a valid number, unable to parse string as a number", "a number"),
    ("greater than or equal to", "at least"),
    ("less than or equal to", "at most"),
    ("greater than", "above"),
    ("less than", "below"),
)
#: Objects between searches for cycles: with Python's 700 they take a tenth of a short command.
_GARBAGE_THRESHOLD = 50_000
#: Each is a function in a module of its name or, if it has commands of its own, ``app`` there.
COMMANDS = (
    "demo",
    "inspect",
    "fit",
    "generate",
    "simulate",
    "compare",
    "convert",
    "export",
    "reproduce",
    "explore",
    "models",
)


def command_table(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """Return the table of the named commands; the others are not loaded."""
    table = typer.Typer(
        name="trafficgen",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    table.callback(invoke_without_command=True)(_common)
    groups = [table]
    for name in names:
        module = import_module(f"trafficgen.cli.{name}")
        if isinstance(group := getattr(module, "app", None), typer.Typer):
            table.add_typer(group, name=name)
            groups.append(group)
        else:
            table.command(name)(getattr(module, name))
    for command in (command for group in groups for command in group.registered_commands):
        command.cls = CommandWithExamples
    return table


def _version(wanted: bool) -> None:
    if wanted:
        print(f"trafficgen {trafficgen.__version__}")
        raise typer.Exit


def _common(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Fit models to captures, generate traffic from them, and measure how closely it matches."""
    require_command(context)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors are one line on stderr."""
    write_flags(True)
    try:
        return _outcome(arguments)
    except (KeyboardInterrupt, typer.Abort):
        return report_end()
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # typer has met it before us
            return 0
        raise
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does; what it wanted it has.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if signal_that_came() is not None:  # a library may say by any error that it was interrupted
            return report_end()
        text = _error_text(error)
        if text is None:
            raise
        line = shorten_figures(f"trafficgen: {text}")
        print_error(cut_middle(line, longest=_LONGEST_ERROR))
        return USAGE_ERROR
    finally:
        write_flags(False)


def _outcome(arguments: Sequence[str] | None) -> int:
    # A command whose output takes stdout sends what it prints to stderr: that ends with it.
    with warnings.catch_warnings(), redirect_stdout(sys.stdout):
        warnings.showwarning = _show_warning
        given = list(sys.argv[1:] if arguments is None else arguments)
        table = command_table(given[:1]) if given and given[0] in COMMANDS else command_table()
        raise_if_interrupted()
        # What a command sets for itself, such as that files are kept, ends with it.
        result = copy_context().run(
            table, args=given, prog_name="trafficgen", standalone_mode=False
        )
    sys.stdout.flush()  # a reader that has gone is noticed here, not when Python ends
    if result == INTERRUPTED:  # typer has turned the interrupt into a result
        raise KeyboardInterrupt
    return result if isinstance(result, int) else 0


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning of ours; those of libraries only with `-W` or `PYTHONWARNINGS`."""
    if not isinstance(message, TrafficgenWarning) and not sys.warnoptions:
        return
    clear_line()
    print_error(f"warning: {clean_text(str(message))}")


def _error_text(error: Exception) -> str | None:
    """Return what is wrong, in a line; None for an error of the program itself."""
    if isinstance(error, MemoryError):
        return "not enough memory; choose fewer flows or packets"
    if isinstance(error, FileNotFoundError | OutputFileError) and not _has_folder():
        return "the current folder no longer exists; change to one that does"
    if isinstance(error, TrafficgenError | StdoutError):
        return error.line if isinstance(error, StdoutError) else clean_text(str(error))
    if isinstance(error, OSError) and error.strerror:  # such as a name that is too long
        where = "" if error.filename is None else f"{one_line(error.filename)}: "
        problem = f"cannot be used ({error.strerror})"
        remedy = find_remedy(problem, usual="check the name and the permissions")
        return f"{where}{problem}; {remedy}"
    if not isinstance(error, typer.exceptions.TyperException):
        return None
    context = getattr(error, "ctx", None)
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    for theirs, ours in _PLAIN:
        text = text.replace(theirs, ours)
    text = _suggest_word(text, error, context)
    command = "trafficgen" if context is None else context.command_path
    return f"{clean_text(text)} (see {command} --help)"


def _suggest_word(text: str, error: Exception, context: Any) -> str:
    """Return a text about an unknown option or command with what it may have meant."""
    if isinstance(option := getattr(error, "option_name", None), str):
        if option in _FORMAT_OPTIONS:
            names = [] if context is None else [one.name for one in context.command.params]
            instead = " (--to that of standard output)" if "to_format" in names else ""
            return f"No such option: {option}; the ending of the output names its format{instead}"
        if option in _REPORT_OPTIONS and context is not None and context.info_name == "generate":
            return f"No such option: {option}; simulate has it and writes packets too, with -o"
        known = getattr(error, "possibilities", None) or ()
        return text.partition(" (Possible")[0] + suggest_name(option, known)
    if text.startswith("No such command") and text.endswith("'.") and context is not None:
        found = suggest_name(text.split("'")[1], getattr(context.command, "commands", ()))
        return text.removesuffix(".") + found
    return text


def _has_folder() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - asks no more than that
    except OSError:
        return False
    return True


def main() -> None:
    """Run the command of this process's arguments; signals that end it leave nothing half-written.

    The process ends without tearing the interpreter down: on a busy machine native threads of the
    libraries that read Parquet now and then outlived their owners there, and aborted a command
    whose work was done.
    """
    gc.set_threshold(_GARBAGE_THRESHOLD)
    watch()
    open_streams()
    try:
        code = run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    end_now(exit_code(code))
