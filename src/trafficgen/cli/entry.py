"""Entry point of the command: watches for signals before anything that takes time is loaded."""

from __future__ import annotations

import os

from trafficgen.cli import _signals


def main() -> None:
    """Run the command and end the process with its exit code."""
    # Threads of the linear algebra in numpy and scipy: others would wait in a loop, a third of the
    # time of a fit, and the last digits of sums depend on their number.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        _signals.watch()
        from trafficgen.cli.app import main as run_and_end  # noqa: PLC0415 - a signal may come meanwhile

        run_and_end()
    except BaseException:  # a library whose loading is interrupted may raise any error
        if _signals.signal_that_came() is None:
            raise
        _signals.end_now(_signals.report_end())
