"""Entry point of the command: looks out for signals before anything that takes time is loaded."""

from __future__ import annotations

from trafficgen.cli import _ending


def main() -> None:
    """Run the command and end the process with its exit code."""
    _ending.watch()
    try:
        from trafficgen.cli.app import main as run_and_end  # noqa: PLC0415 - a signal may come meanwhile

        run_and_end()
    except BaseException:
        # A library whose loading is interrupted may say so by any error.
        if _ending.signal_that_came() is None:
            raise
        _ending.end_now(_ending.say_ended())
