"""Python face of the compiled Rust core: all names that ``_rust.pyi`` declares."""

from trafficgen.interruptions import defer_signals
from trafficgen.process_memory import keep_freed_memory

with (
    defer_signals()
):  # an interrupt while numpy's own interface is looked up would be a panic of the core
    from trafficgen._core._rust import *  # noqa: F403 - one list of names, that of _rust.pyi

keep_freed_memory()
