"""One interpreter that does command after command, as a notebook or a service would, and says how
large it has grown.

Reads a JSON object a line: ``arguments``, ``folder``. Answers each with one: ``code``, ``error``
(what went to stderr, and the traceback of what should not have happened), ``rss_bytes`` without the
pages of libraries, ``open_files``, and ``heap_bytes`` and ``objects``, which live: resident memory
is also what allocators keep.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import json
import os
import re
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa

from trafficgen.cli.app import run

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def done(arguments: list[str], folder: str) -> dict[str, Any]:
    """Return what came of one command."""
    os.chdir(folder)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(arguments)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            code = -1
            traceback.print_exc()
        out.flush()
        err.flush()
    said = err.detach().getvalue().decode(errors="replace")
    return {"code": code, "error": said[-4000:]}


def size() -> dict[str, int]:
    """Return the resident memory after all that can be given back is given back, and the number of
    open files.
    """
    gc.collect()
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # a libc without it keeps what it has
        ctypes.CDLL(None).malloc_trim(0)
    resident_pages, of_files = (
        int(pages) for pages in Path("/proc/self/statm").read_text(encoding="ascii").split()[1:3]
    )
    return {
        "rss_bytes": (resident_pages - of_files) * _PAGE_BYTES,
        "open_files": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "heap_bytes": heap_bytes(),
        "objects": sys.getallocatedblocks(),
    }


def heap_bytes() -> int:
    """Return what was allocated from the C library and not given back; 0 where the library does not
    tell.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "malloc_info"):
        return 0
    libc.fdopen.restype = ctypes.c_void_p
    told = os.memfd_create("heap")
    stream = ctypes.c_void_p(libc.fdopen(os.dup(told), b"w"))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    os.lseek(told, 0, os.SEEK_SET)
    with os.fdopen(told, encoding="ascii") as file:
        totals = file.read().rpartition("</heap>")[2]
    free, mapped = (
        sum(int(size) for size in re.findall(rf'<total type="(?:{kind})"[^>]*size="(\d+)"', totals))
        for kind in ("fast|rest", "mmap")
    )
    found = re.search(r'<system type="current" size="(\d+)"', totals)
    return int(found[1]) - free + mapped if found else 0


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(
        os.dup(1), "w", encoding="utf-8"
    )  # what a library prints past sys.stdout is not an answer
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)
    for kind in (RuntimeWarning, DeprecationWarning, ResourceWarning):
        warnings.simplefilter("error", kind)
    with answers:
        for line in sys.stdin:
            asked = json.loads(line)
            answer = {**done(asked["arguments"], asked["folder"]), **size()}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
