"""Arrow without pandas, for processes of our own: commands and workers.

To see whether a list is a pandas series, Arrow loads pandas when it makes its first array of a
list: half a second and 40 MB. Commands and workers hand it none. Whoever asks for a data frame
later still gets one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType


class _WithoutPandas(MetaPathFinder):
    """Finds that there is no pandas."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Raise for pandas, and leave all else to others."""
        if fullname == "pandas":
            raise ModuleNotFoundError("Arrow does without pandas here", name=fullname)


def arrow_without_pandas() -> None:
    """Have Arrow look for pandas now and find none; other modules find it as always."""
    import pyarrow as pa  # noqa: PLC0415 - a command that only prints its help does without

    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
