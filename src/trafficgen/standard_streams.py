"""`-` as a file: standard input is opened by the name of a copy, standard output by its device.

A capture on standard input is read as it comes, without a copy, where it is read once. Anything
else (packet table, trace, model, workload) is copied to a temporary file with the ending of its
kind, once in a process. A stream may have no end: copies are bounded.
"""

from __future__ import annotations

import codecs
import ctypes
import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from trafficgen.errors import CaptureError, InputFileError, OutputFileError
from trafficgen.formatting import size_text, suggest_file
from trafficgen.input_files import expand_beginning, is_compressed, open_expanded
from trafficgen.interruptions import clean_up_at_end

STANDARD_INPUT = "-"
STANDARD_OUTPUT = Path("/dev/stdout")
#: Longest text that is read, bytes; a stream of text is copied no further.
LARGEST_TEXT_BYTES = 1_000_000_000
#: Share of the room for temporary files that the copy of a stream may take.
_LARGEST_SHARE = 0.5
_PIECE_BYTES = 1 << 20
_SNIFFED_BYTES = 4096
#: What is looked at of a stream: compressed text begins to expand after a block.
_PEEKED_BYTES = 1 << 16
_TABLE_ENDING = ".parquet"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: First line of YAML that is not a comment: a key, or the mark of a document.
_YAML_LINE = re.compile(r"---\s*$|[\"']?\w[\w-]*[\"']?:(\s|$)")
#: Streams that were copied -> name of the copy.
_copies: dict[object, str] = {}


def output_place(text: str) -> str:
    """Return where an output goes: ``-`` is standard output, ``./-`` a file of that name."""
    return str(STANDARD_OUTPUT) if text == "-" else text


def output_path(text: str) -> Path:
    """Return the path of an output file: ``-`` is standard output, ``./-`` a file of that name.

    Raises:
        OutputFileError: If the text ends as that of a folder does, which a path would not show.
    """
    if text.endswith(os.sep):
        remedy = f"name the file in it, such as {text}NAME"
        raise OutputFileError(file=text, problem="names a folder, not a file", remedy=remedy)
    return Path(output_place(text))


def input_file(name: str, *, stream_captures: bool = False) -> str:
    """Return the name of a file to read: for standard input (``-``) that of a copy.

    With ``stream_captures``, ``-`` is returned for standard input that may be a capture, which its
    reader takes as it comes.
    """
    if name != STANDARD_INPUT:
        return name
    stream: IO[bytes] = sys.stdin.buffer
    if stream in _copies:
        return _copies[stream]
    seen = _peek(stream) if stream_captures else None
    if seen is not None and _may_be_capture(seen):
        return name
    file = tempfile.NamedTemporaryFile(prefix="trafficgen-", delete=False)  # noqa: SIM115
    clean_up_at_end(lambda: Path(copy).unlink(missing_ok=True))
    copy = file.name
    with file:
        copy_piece(stream, file)
        with open_expanded(copy) as expanded, suppress(InputFileError):
            copy += _ending(expanded.read(_SNIFFED_BYTES))
        copy_rest(stream, file, name=name, most_bytes=_most_bytes(copy, file.name))
    Path(file.name).rename(copy)
    _copies[stream] = copy
    return copy


def _most_bytes(name: str, place: str) -> int | None:
    """Return how much of a stream is wanted, of which a piece was copied; None for all of it."""
    if name.endswith(_TABLE_ENDING) or is_compressed(place):
        return None
    if name != place:
        return LARGEST_TEXT_BYTES
    from trafficgen._core import CaptureReader  # noqa: PLC0415 - most streams are something else

    try:
        CaptureReader([place], keep_packets=False).read(1)
    except CaptureError:
        return 0  # its reader will say so
    return None


def copy_piece(source: IO[bytes], copy: IO[bytes]) -> None:
    """Copy the first piece of a stream to a file, which shows what it is."""
    copy.write(source.read(_PIECE_BYTES))
    copy.flush()


def copy_rest(
    source: IO[bytes], copy: IO[bytes], *, name: str, most_bytes: int | None = None
) -> None:
    """Copy the rest of a stream to a temporary file, and a little more than ``most_bytes`` at most.

    Raises:
        InputFileError: If the copy would take more than half of the room for temporary files.
    """
    room_bytes = int(_LARGEST_SHARE * shutil.disk_usage(Path(copy.name).parent).free)
    while most_bytes is None or copy.tell() <= most_bytes:
        if copy.tell() > room_bytes:
            copy.truncate(0)
            problem = (
                f"is longer than {size_text(room_bytes)}, half of the room for temporary files"
            )
            remedy = "save it to a file and name that, or set TMPDIR to a folder with more room"
            raise InputFileError(file=name, problem=problem, remedy=remedy)
        if not copy.write(source.read(_PIECE_BYTES)):
            break
    copy.flush()


def read_text_file(
    path: str | Path,
    *,
    most_bytes: int,
    remedy: str,
    shorten: str | None = None,
    regular: bool = False,
    error: type[InputFileError] = InputFileError,
) -> str:
    """Read a whole text file, UTF-8 with or without its mark.

    ``remedy`` is what to give instead of a file that cannot be read, and ``shorten`` what to do
    about one that is too large (None: the same). One that is to be ``regular`` is not a pipe, which
    would be waited for: it is read again later, or nobody has named it.

    Raises:
        InputFileError: If it cannot be read, is not text or too large; of the kind ``error``.
    """
    try:
        if regular and not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - of any name
            raise OSError(errno.EINVAL, "it is a folder, pipe, socket or device")
        with Path(path).open("rb") as stream:
            is_larger = os.fstat(stream.fileno()).st_size > most_bytes  # 0 of a pipe
            content = b"" if is_larger else stream.read(most_bytes + 1)
        if not is_larger and len(content) <= most_bytes:
            return content.decode("utf-8-sig")
        problem = f"is larger than {most_bytes:,} bytes"
    except (OSError, ValueError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else "not a text file"
        problem = f"cannot be read ({reason}){suggest_file(Path(path))}"
        if str(path) == STANDARD_INPUT:
            problem = "is not taken here, only a file"
        raise error(file=str(path), problem=problem, remedy=remedy) from cause
    raise error(file=str(path), problem=problem, remedy=shorten or remedy)


def restore_name(name: str) -> str:
    """Return a name as the user gave it: ``-`` for the copy of standard input."""
    return STANDARD_INPUT if name in _copies.values() else name


def describe_input(name: str) -> str:
    """Return the name of an input for people: standard input is called so."""
    given = restore_name(name)
    return "standard input" if given == STANDARD_INPUT else given


def as_given(text: str) -> str:
    """Replace the names of standard input's copy and of standard output's device in a message."""
    for copy in _copies.values():
        text = text.replace(f"{copy}:", "standard input:").replace(copy, STANDARD_INPUT)
    return text.replace(str(STANDARD_OUTPUT), "standard output")


def _may_be_capture(beginning: bytes) -> bool:
    """Return whether a stream that begins so may be a capture, or is empty.

    Compressed input is copied if it is text, or if its beginning cannot be expanded alone.
    """
    expanded = expand_beginning(beginning)
    return not _ending(expanded[:_SNIFFED_BYTES]) and bool(expanded) == bool(beginning)


def _ending(beginning: bytes) -> str:
    """Return the ending that suits a content; empty for what may be a capture, or is empty."""
    if beginning.startswith(b"PAR1"):
        return _TABLE_ENDING
    encoding = "utf-16" if beginning.startswith(_UTF16_MARKS) else "utf-8-sig"
    try:  # the last character may be cut
        text = codecs.getincrementaldecoder(encoding)().decode(beginning)
    except UnicodeDecodeError:
        return ""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    first = next(lines, text).lstrip()
    if "\0" in text or not first:
        return ""
    if first.startswith(("{", "[")):
        return ".json"
    if _YAML_LINE.match(first):
        return ".yaml"
    return ".csv" if "," in first else ".txt"


def _peek(stream: IO[bytes]) -> bytes | None:
    """Return the first bytes of a file or pipe and leave them in it; None where that fails."""
    with suppress(OSError, AttributeError):
        number = stream.fileno()
        with suppress(OSError):
            return os.pread(number, _PEEKED_BYTES, os.lseek(number, 0, os.SEEK_CUR))
        reader, writer = os.pipe()
        try:  # tee of Linux copies from pipe to pipe; elsewhere it is missing
            count = ctypes.CDLL(None).tee(number, writer, _PEEKED_BYTES, 0)
            if count >= 0:
                return os.read(reader, count) if count else b""
        finally:
            os.close(reader)
            os.close(writer)
    return None
