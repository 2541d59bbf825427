"""Python face of the Rust core: everything in the compiled module, with its types in ``_rust.pyi``."""

from trafficgen._core._rust import CaptureWriter, __version__

__all__ = ["CaptureWriter", "__version__"]
