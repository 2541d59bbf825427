"""Inputs of the commands: their names, and whether they are captures, packet tables or traces."""

from __future__ import annotations

import codecs
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from trafficgen._core import CaptureReader
from trafficgen.capture.memory import Budget
from trafficgen.capture.table_files import holds_packet_table, read_table
from trafficgen.capture.table_streams import TableFile, open_table_file, packets_in
from trafficgen.errors import CaptureError, PacketTableError
from trafficgen.formatting import describe_value, suggest_file
from trafficgen.input_files import open_expanded, strip_packed_ending
from trafficgen.option_names import writes_flags
from trafficgen.options import DataFrame
from trafficgen.redaction import redact_addresses
from trafficgen.standard_streams import (
    STANDARD_INPUT,
    copy_piece,
    copy_rest,
    input_file,
    restore_name,
)
from trafficgen.tables import PacketTable
from trafficgen.tables.metadata import is_dataset, part_paths

_TABLE_ENDINGS = (".parquet", ".csv")
_SNIFFED_BYTES = 1 << 16
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

Paths = str | Path | Sequence[str | Path]
_IN_MEMORY_REMEDY = (
    "; give a packet table alone to what takes one, and one of several as a file:"
    " export(table, to='parquet', directory='out')"
)
#: Name of packets in memory that no file is known of.
_TABLE_NAME = "table"


def as_paths(paths: Paths) -> list[str]:
    """Return one or several paths as a list of names; ``-`` becomes a copy if it is not a capture.

    Raises:
        CaptureError: If standard input is named more than once.
        TypeError: If something in the list is not a name.
    """
    listed = [paths] if isinstance(paths, str | bytes | Path) else list(paths)
    for one in listed:
        if not isinstance(one, str | Path):
            is_table = isinstance(one, PacketTable | DataFrame)
            remedy = _IN_MEMORY_REMEDY if is_table else ""
            raise TypeError(
                f"a list of files must hold texts or paths, not {describe_value(one)}{remedy}"
            )
    names = [str(path) for path in listed]
    if names.count(STANDARD_INPUT) > 1:
        problem = "standard input is named more than once"
        raise CaptureError(file=STANDARD_INPUT, problem=problem, remedy="name it once")
    for name in names:
        _refuse_wrong_name(name)
    return [input_file(name, stream_captures=True) for name in names]


def _refuse_wrong_name(name: str) -> None:
    """Refuse a folder of captures, and a missing file whose name resembles that of another one."""
    if re.search(r"\.csv\.(bz2|zip)$", name.lower()):
        remedy = "decompress it, or compress it with gzip, zstd or xz"
        problem = "is compressed in a way that is not read"
        raise PacketTableError(file=name, problem=problem, remedy=remedy)
    if not name:
        raise CaptureError(file="''", problem="is not the name of a file", remedy="name a capture")
    path = Path(name)
    pattern = str(path / "*.pcap")
    if not writes_flags():  # which no shell expands
        pattern = f"sorted(pathlib.Path({name!r}).glob('*.pcap'))"
        if "*" in path.name and not path.exists():
            remedy = f"give sorted(pathlib.Path({str(path.parent)!r}).glob({path.name!r}))"
            raise CaptureError(file=name, problem="is a pattern, not a file", remedy=remedy)
    if path.is_dir() and not is_dataset(path) and not part_paths(path):
        remedy = f"name the captures in it, such as {pattern}"
        raise PacketTableError(file=name, problem="is a folder and no packet table", remedy=remedy)
    if name != STANDARD_INPUT and (guess := suggest_file(path)):
        problem = f"cannot be opened (No such file or directory){guess}"
        raise CaptureError(file=name, problem=problem, remedy="check the name")


def refuse_missing(names: Iterable[str | Path]) -> None:
    """Raise CaptureError for a file that does not exist."""
    for name in map(str, names):
        _refuse_wrong_name(name)
        if name != STANDARD_INPUT and not os.path.lexists(name):
            problem = "cannot be opened (No such file or directory)"
            remedy = "check the name and the permissions"
            raise CaptureError(file=name, problem=problem, remedy=remedy)


def input_names(source: Paths | PacketTable) -> list[str]:
    """Return names as :func:`as_paths` does; of a table those of the files it was read from."""
    if not isinstance(source, PacketTable):
        return as_paths(source)
    files = source.notes.get("files")
    return [str(name) for name in files] if files and isinstance(files, list) else [_TABLE_NAME]


def is_stream(name: str) -> bool:
    """Return whether an input can be read only once: standard input, a pipe, ``<(...)``."""
    path = Path(name)
    return name == STANDARD_INPUT or (path.exists() and not (path.is_file() or path.is_dir()))


def is_table_file(name: str) -> bool:
    """Return whether a name is that of a packet table: by its ending, or a folder."""
    return _table_ending(name) in _TABLE_ENDINGS or Path(name).is_dir()


def _table_ending(name: str) -> str:
    """Return the ending of a name: of a CSV the same whether or not it is compressed."""
    plain = strip_packed_ending(name).suffix.lower()
    return plain if plain == ".csv" else Path(name).suffix.lower()


def is_trace(name: str) -> bool:
    """Return whether the content of a file shows that it is a trace of another tool."""
    from trafficgen.capture.traces.formats.packet_list import PARQUET_ENDING, is_parquet_list  # noqa: PLC0415 - captures need no readers of traces
    from trafficgen.capture.traces.reading import recognise_format  # noqa: PLC0415

    if Path(name).suffix.lower() == PARQUET_ENDING:
        return is_parquet_list(name)
    return recognise_format(name) is not None


def read_table_file(names: list[str]) -> PacketTable | None:
    """Return the packet table if the input is one, or a recognised trace; None for captures.

    Raises:
        PacketTableError: If it cannot be read, or is one of several inputs.
    """
    readers = {name: _table_reader(name) for name in names}
    tables = [(name, reader) for name, reader in readers.items() if reader is not None]
    if not tables:
        return None
    name, reader = tables[0]
    if len(names) > 1:
        raise PacketTableError(
            file=name,
            problem="packet tables are read one at a time",
            remedy="give it alone, or give captures only",
        )
    return reader(name)


def _table_reader(name: str) -> Callable[[str], PacketTable] | None:
    """Return the reader of a packet table or a trace; None for a capture."""
    ending = _table_ending(name)
    has_ending = ending in _TABLE_ENDINGS
    if Path(name).is_dir() or (has_ending and holds_packet_table(name)):
        return read_table
    if not has_ending and not _may_be_text(name):
        return None
    from trafficgen.capture.traces.reading import read_trace, refuse_text  # noqa: PLC0415 - captures need no readers of traces

    if is_trace(name):
        return lambda trace: read_trace(trace).table
    if ending == ".csv":  # the reader of packet lists says which columns are needed
        return lambda trace: read_trace(trace, format_name="packet-list").table
    if has_ending:
        return read_table
    refuse_text(name)
    return None


def _may_be_text(name: str) -> bool:
    """Return whether a file may begin with text; a stream, read only once, is a capture."""
    if is_stream(name):
        return False
    try:
        with open_expanded(name) as stream:
            beginning = stream.read(_SNIFFED_BYTES)
    except CaptureError:
        return False
    except (OSError, ValueError):
        return True  # the reader that is tried next says what is wrong with it
    return b"\0" not in beginning or beginning.startswith(_UTF16_MARKS)


def find_long_table(names: list[str], budget: Budget) -> TableFile | None:
    """Open the packet table among the inputs if it exceeds the memory; else return None."""
    if len(names) != 1 or not is_table_file(names[0]) or is_stream(names[0]):
        return None
    is_ours = Path(names[0]).is_dir() or holds_packet_table(names[0])
    if budget.most_packets is None or not is_ours or budget.holds(packets_in(names[0])):
        return None
    return open_table_file(names[0])


@contextmanager
def keep_streams(names: list[str]) -> Iterator[list[str]]:
    """Give names that can be read twice: streams are copied to temporary files meanwhile."""
    with ExitStack() as stack:
        real_names = [_copy_stream(name, stack) if is_stream(name) else name for name in names]
        with _names_as_given(dict(zip(real_names, names, strict=True))):
            yield real_names


@contextmanager
def _names_as_given(given: dict[str, str]) -> Iterator[None]:
    """Give errors the names that the user gave for those of copies."""
    try:
        yield
    except CaptureError as error:
        if given.get(error.file, error.file) == error.file:
            raise
        raise CaptureError(
            file=given[error.file], problem=error.problem, remedy=error.remedy
        ) from error


def _copy_stream(name: str, stack: ExitStack) -> str:
    if name != STANDARD_INPUT and not stat.S_ISFIFO(Path(name).stat().st_mode):
        problem = "is a device or socket, which may have no end"
        raise CaptureError(file=name, problem=problem, remedy="give a file or a pipe")
    copy_file = tempfile.NamedTemporaryFile(prefix="trafficgen-", suffix=".capture")  # noqa: SIM115
    copy = stack.enter_context(copy_file)
    try:
        with (
            nullcontext(sys.stdin.buffer) if name == STANDARD_INPUT else Path(name).open("rb")
        ) as source:
            copy_piece(source, copy)
            with _names_as_given({copy.name: name}):  # what is not a capture is refused
                CaptureReader([copy.name], keep_packets=False).read(1)
            copy_rest(source, copy, name=name)
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise CaptureError(
            file=name, problem=problem, remedy="check the name and the permissions"
        ) from error
    return copy.name


def file_text(name: str) -> str:
    """Return a file's name without folders as valid UTF-8, as JSON needs it."""
    return Path(restore_name(name)).name.encode(errors="replace").decode()


def name_in_model(name: str) -> str:
    """Return a file's name without folders as a model keeps it: addresses in it are masked."""
    return redact_addresses(file_text(name))
