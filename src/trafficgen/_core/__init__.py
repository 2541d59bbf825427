"""Python face of the compiled Rust core: all names that ``_rust.pyi`` declares."""

from trafficgen.freed_memory import keep_freed_memory
from trafficgen.interruptions import defer_signals

with (
    defer_signals()
):  # an interrupt while numpy's own interface is looked up would be a panic of the core
    from trafficgen._core._rust import *  # noqa: F403 - one list of names, that of _rust.pyi

keep_freed_memory()
